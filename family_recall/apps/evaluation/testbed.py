"""A household filled with a dataset, to ask its questions in, and others that lack some of it."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import functools
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from family_recall.api import FamilyRecall
from family_recall.api.models import Encoder, Encoding, PairScorer
from family_recall.apps.evaluation.checkpoint import Checkpoint
from family_recall.apps.evaluation.datasets import (
    Dataset,
    DatasetMemory,
    Household,
    Query,
    to_memory,
)
from family_recall.apps.evaluation.outcomes import Outcome
from family_recall.config import RecallConfig
from family_recall.types import Filters, Grant, Person, RecallContext, Space
from family_recall.types.aliases import StepCallback

EVALUATOR = "evaluator"


class RegionFields(TypedDict, total=False):
    """Where a household is, as ``FamilyRecall.open`` takes it."""

    timezone: str
    country: str
    hemisphere: str


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
        filled = self.checkpoint.has("import", "") and self.household.exists()
        with self.open() as home:
            if not filled:
                furnish(home, self.dataset, progress)
                if self.encoder is not None or self.static is not None:
                    home.flush()  # an import that was interrupted left memories without vectors
                self.checkpoint.keep("import", "", {"memories": len(self.dataset.memories)})
            embedder: str | None = home.maintenance.stats()["model"]
            return embedder

    def ask(
        self,
        leg: str = "full",
        progress: StepCallback | None = None,
        step: str = "ask",
        number: int = 0,
        n_legs: int = 1,
    ) -> list[Outcome]:
        """Ask every question in the filled household, newly opened for all of them.

        Args:
            leg: The name of these questions in the checkpoint.
            progress: Called after each question, with ``step``.
            step: What progress is of, in ``n_legs`` legs of which this is ``number``, from 0.
            number: See ``step``.
            n_legs: See ``step``.
        """
        with contextlib.ExitStack() as opened:

            @functools.cache
            def home() -> FamilyRecall:
                household = opened.enter_context(self.open())
                household.warmup()
                return household

            def ask(query: Query) -> Outcome:
                return Outcome.of(query, home().recall(query.text, self.context_of(query)))

            outcomes: list[Outcome] = []
            queries = self.dataset.queries
            for done, query in enumerate(queries, number * len(queries) + 1):
                outcomes.append(self.once(leg, query, ask))
                if progress:
                    progress(step, done, n_legs * len(queries))
        return outcomes

    def once(self, leg: str, query: Query, ask: Callable[[Query], Outcome]) -> Outcome:
        """Return the outcome in the checkpoint, or ask and add it there."""
        return self.checkpoint.once(Outcome.from_json, leg, query.id, lambda: ask(query))

    @contextlib.contextmanager
    def household_without(self, space: str, dropped: Collection[str]) -> Iterator[FamilyRecall]:
        """Open a household of one space in which some memories were never stored.

        Nothing of a memory that is not there can show: not its words, its neighbours' order,
        nor its share of the statistics. Since no question crosses a space, the others are left
        out, unless ``household.json`` opens several to who asks.
        """
        stored = [
            memory
            for memory in self.dataset.memories
            if (self.dataset.household or memory.space == space) and memory.id not in dropped
        ]
        with (
            tempfile.TemporaryDirectory(prefix="without_", dir=self.folder) as scratch,
            self.open(path=Path(scratch) / "without.db") as home,
        ):
            _fill(home, [space], stored, self.dataset.household)
            yield home


def furnish(home: FamilyRecall, dataset: Dataset, progress: StepCallback | None = None) -> None:
    """Add a dataset's people, spaces and memories; without household, one evaluator sees all.

    The audit log is off: the evaluator's questions are no secret, and writing costs time.
    """
    home.audit.keep_days(0)
    spaces = dict.fromkeys(memory.space for memory in dataset.memories)
    _fill(home, spaces, dataset.memories, dataset.household, progress)


def region_of(dataset: Dataset) -> RegionFields:
    """Return the time zone, country and hemisphere to open a dataset's household with."""
    household = dataset.household
    if household is None:
        return {"timezone": "UTC"}
    region = household.region
    return {
        "timezone": household.timezone,
        "country": region.country,
        "hemisphere": region.hemisphere,
    }


def contexts(dataset: Dataset, context: RecallContext) -> Callable[[Query], RecallContext]:
    """Return the function that says in which context a question is asked.

    In its space, by the context's person; in a household, by a member over every space open to
    them, and by anybody else as an unknown voice. At the end of its day: ``as_of``, or the
    household's ``now``, or that of the space's last memory. Memories of its session's past alone.
    """
    household, last = dataset.household, last_moments(dataset)

    def context_of(query: Query) -> RecallContext:
        moment = query.as_of or (household and household.now) or last.get(query.space)
        return dataclasses.replace(
            context,
            person_id=household.person_id_of(query.asker) if household else context.person_id,
            space_id=None if household else query.space,
            filters=Filters(before_session=query.session) if query.session else Filters(),
            now=moment and moment.replace(hour=23, minute=59, second=59, microsecond=0),
        )

    return context_of


def last_moments(dataset: Dataset) -> dict[str, dt.datetime]:
    """Return the moment of each space's last memory; a space without moments is left out."""

    def utc(moment: dt.datetime) -> dt.datetime:
        return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)

    last: dict[str, dt.datetime] = {}
    for memory in dataset.memories:
        moment = memory.occurred_at
        if moment is not None and utc(moment) >= utc(last.get(memory.space, moment)):
            last[memory.space] = moment
    return last


def _fill(
    home: FamilyRecall,
    spaces: Iterable[str],
    memories: Sequence[DatasetMemory],
    household: Household | None = None,
    progress: StepCallback | None = None,
) -> None:
    if household is not None:
        household.furnish(home)
    else:
        home.people.add(Person(EVALUATOR, "Evaluator"))
        for space in spaces:
            home.spaces.add(Space(space, "shared"))
            home.spaces.grant(Grant(EVALUATOR, space, role="adult"))
    home.remember_many(
        [to_memory(memory, household) for memory in memories],
        progress=(lambda done: progress("import", done, len(memories))) if progress else None,
    )
