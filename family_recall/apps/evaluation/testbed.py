"""A household filled with a dataset, to ask its questions in, and others that lack some of it."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import functools
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from family_recall.api import FamilyRecall
from family_recall.api.models import Encoder, Encoding, PairScorer
from family_recall.apps.evaluation.checkpoint import Checkpoint
from family_recall.apps.evaluation.datasets import Dataset, Household, Query, to_memory
from family_recall.apps.evaluation.outcomes import Outcome
from family_recall.config import RecallConfig
from family_recall.types import Filters, Grant, Person, RecallContext, Relation, Space
from family_recall.types.aliases import StepCallback

EVALUATOR = "evaluator"


class CachingEncoder:
    """An embedder that encodes no memory twice, so filling a store again costs only the writing.

    A text's vectors do not depend on what it is encoded with: they are the same to the last bit.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._cache: dict[str, Encoding] = {}
        self.model_id, self.dim, self.token_dim = encoder.model_id, encoder.dim, encoder.token_dim
        self.encode_question = encoder.encode_question
        self.token_ids, self.token_weights = encoder.token_ids, encoder.token_weights

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode the memories that are new, and return all."""
        new = [text for text in dict.fromkeys(texts) if text not in self._cache]
        self._cache |= zip(new, self._encoder.encode_memories(new), strict=True)
        return [self._cache[text] for text in texts]


@dataclass(frozen=True)
class Testbed:
    """A dataset, how it is asked, and the models to ask it with, loaded once.

    Files are made under ``folder``: one for all of the dataset, and a temporary one for each
    :meth:`household_without`. What is in the ``checkpoint`` is not done again.
    """

    __test__ = False  # not a class of tests, whatever pytest reads into its name

    dataset: Dataset
    context: RecallContext
    config: RecallConfig
    folder: Path
    encoder: Encoder | None = None
    scorer: PairScorer | None = None
    static: Encoder | None = None
    models: Path | None = None
    checkpoint: Checkpoint = field(default_factory=Checkpoint)

    @functools.cached_property
    def context_of(self) -> Callable[[Query], RecallContext]:
        """The context each question is asked in, whatever the store lacks."""
        return contexts(self.dataset, self.context)

    @property
    def household(self) -> Path:
        """The file of the whole dataset; :meth:`fill` fills it, once."""
        return self.folder / "household.db"

    def open(self, config: RecallConfig | None = None, path: Path | None = None) -> FamilyRecall:
        """Open the household of the whole dataset, or of another file."""
        return FamilyRecall.open(
            path or self.household,
            **region_of(self.dataset),
            models=self.models,
            encoder=self.encoder,
            scorer=self.scorer,
            static=self.static,
            config=config or self.config,
        )

    def fill(self, progress: StepCallback | None = None) -> str | None:
        """Store the whole dataset, or what is missing of it; return the embedder's id."""
        filled = self.checkpoint.record("import", "") is not None and self.household.exists()
        with self.open() as home:
            if not filled:
                furnish(home, self.dataset, progress)
                if self.encoder is not None or self.static is not None:
                    home.flush()  # an import that was interrupted left memories without vectors
                self.checkpoint.keep("import", "", {"memories": len(self.dataset.memories)})
            embedder: str | None = home.maintenance.stats()["model"]
            return embedder

    def ask(self, leg: str = "ask", progress: StepCallback | None = None) -> list[Outcome]:
        """Ask every question in the filled household, newly opened for all of them.

        ``leg`` is the name of these questions in the checkpoint, and of the step of ``progress``.
        """
        with contextlib.ExitStack() as opened:

            @functools.cache
            def home() -> FamilyRecall:
                household = opened.enter_context(self.open())
                household.warmup()
                return household

            def ask(query: Query) -> Outcome:
                return Outcome.of(query, home().recall(query.text, self.context_of(query)))

            return self.ask_each(leg, self.dataset.queries, ask, progress)

    def ask_each(
        self,
        leg: str,
        queries: Sequence[Query],
        ask: Callable[[Query], Outcome],
        progress: StepCallback | None,
    ) -> list[Outcome]:
        """Return the outcome of each question: from the checkpoint, or asked and added there."""
        outcomes = []
        for done, query in enumerate(queries, 1):
            compute = functools.partial(ask, query)
            outcomes.append(self.checkpoint.once(Outcome, leg, query.id, compute))
            if progress:
                progress(leg, done, len(queries))
        return outcomes

    @contextlib.contextmanager
    def household_without(self, space: str, dropped: Collection[str]) -> Iterator[FamilyRecall]:
        """Open a household of one space in which some memories were never stored.

        Nothing of a memory that is not there can show: not its words, its neighbours' order,
        nor its share of the statistics. Since no question crosses a space, the others are left
        out, unless ``household.json`` opens several to who asks.
        """
        whole = self.dataset
        stored = tuple(
            memory
            for memory in whole.memories
            if (whole.household or memory.space == space) and memory.id not in dropped
        )
        queries = tuple(query for query in whole.queries if query.space == space)
        with (
            tempfile.TemporaryDirectory(prefix="without_", dir=self.folder) as scratch,
            self.open(path=Path(scratch) / "without.db") as home,
        ):
            furnish(home, dataclasses.replace(whole, memories=stored, queries=queries))
            yield home


def furnish(home: FamilyRecall, dataset: Dataset, progress: StepCallback | None = None) -> None:
    """Add a dataset's people, spaces and memories; without household, one evaluator sees all.

    The audit log is off: the evaluator's questions are no secret, and writing costs time.
    """
    home.audit.keep_days(0)
    household, memories = dataset.household, dataset.memories
    if household is None:
        home.people.add(Person(EVALUATOR, "Evaluator"))
        spaces = [memory.space for memory in memories] + [q.space for q in dataset.queries]
        for space_id in dict.fromkeys(spaces):
            home.spaces.add(Space(space_id, "shared"))
            home.spaces.grant(Grant(EVALUATOR, space_id, role="adult"))
    else:
        _furnish_household(home, household)
    home.remember_many(
        [to_memory(memory, household) for memory in memories],
        progress=(lambda done: progress("import", done, len(memories))) if progress else None,
    )


def _furnish_household(home: FamilyRecall, household: Household) -> None:
    """Add people, spaces, grants and relations to an empty household."""
    people = [Person(*person) for person in household.people]
    for person in people:
        home.people.add(person)
    for space_id, space in household.spaces.items():
        home.spaces.add(Space(space_id, space.kind))
        if space.owner is not None:
            home.spaces.grant(Grant(space.owner, space_id, role="owner"))
            continue
        for person in people:
            role = household.roles.get(person.person_id, "owner")
            home.spaces.grant(Grant(person.person_id, space_id, role=role))
        for subject, relation, object_ in household.relations:
            home.relations.add(Relation(subject, relation, object_, space_id))


def region_of(dataset: Dataset) -> dict[str, Any]:
    """Return the time zone, country and hemisphere to open a dataset's household with."""
    household = dataset.household
    if household is None:
        return {"timezone": "UTC"}
    return {
        "timezone": household.timezone,
        "country": household.country,
        "hemisphere": household.hemisphere,
    }


def contexts(dataset: Dataset, context: RecallContext) -> Callable[[Query], RecallContext]:
    """Return the function that says in which context a question is asked.

    In its space, by the context's person; in a household, by a member over every space open to
    them, and by anybody else as an unknown voice. At the end of its day: ``as_of``, or the
    household's ``now``, or that of the space's last memory. Memories of its session's past alone.
    """
    household, last = dataset.household, _last_moments(dataset)

    def context_of(query: Query) -> RecallContext:
        moment = query.as_of or (household and household.now) or last.get(query.space)
        return dataclasses.replace(
            context,
            person_id=household.person_id_of(query.asker) if household else context.person_id,
            space_id=None if household else query.space,
            filters=Filters(before_session=query.session) if query.session else Filters(),
            previous=query.previous,
            now=moment and moment.replace(hour=23, minute=59, second=59, microsecond=0),
        )

    return context_of


def _last_moments(dataset: Dataset) -> dict[str, dt.datetime]:
    """Return the moment of each space's last memory; a space without moments is left out."""

    def utc(moment: dt.datetime) -> dt.datetime:
        return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)

    last: dict[str, dt.datetime] = {}
    for memory in dataset.memories:
        moment = memory.occurred_at
        if moment is not None and utc(moment) >= utc(last.get(memory.space, moment)):
            last[memory.space] = moment
    return last
