"""A household filled with a dataset, to ask its questions in, and others that lack some of it."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import functools
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from family_recall.api import FamilyRecall
from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoder, Encoding, PairScorer
from family_recall.evaluation.checkpoint import Checkpoint
from family_recall.evaluation.datasets import Dataset, DatasetMemory, Query, to_memory
from family_recall.evaluation.outcomes import Outcome
from family_recall.types import Filters, Grant, Person, RecallContext, Space
from family_recall.types.progress import StepCallback

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
    def moments(self) -> Mapping[str, dt.datetime]:
        """The moment of each space's last memory."""
        return last_moments(self.dataset)

    @property
    def household(self) -> Path:
        """The file of the whole dataset; :meth:`fill` fills it, once."""
        return self.folder / "household.db"

    def open(self, config: RecallConfig | None = None, path: Path | None = None) -> FamilyRecall:
        """Open the household of the whole dataset, or of another file."""
        return FamilyRecall.open(
            path or self.household,
            timezone="UTC",
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

    def context_of(self, query: Query) -> RecallContext:
        """Return the context a question is asked in, whatever the store lacks."""
        return in_context(self.context, query, query.as_of or self.moments.get(query.space))

    @contextlib.contextmanager
    def household_without(self, space: str, dropped: Collection[str]) -> Iterator[FamilyRecall]:
        """Open a household of one space in which some memories were never stored.

        Nothing of a memory that is not there can show: not its words, its neighbours' order,
        nor its share of the statistics. Since nothing crosses a space, the others are left out.
        """
        stored = [m for m in self.dataset.memories if m.space == space and m.id not in dropped]
        with (
            tempfile.TemporaryDirectory(prefix="without_", dir=self.folder) as scratch,
            self.open(path=Path(scratch) / "without.db") as home,
        ):
            _fill(home, [space], stored)
            yield home


def furnish(home: FamilyRecall, dataset: Dataset, progress: StepCallback | None = None) -> None:
    """Add a dataset's spaces, an evaluator who may see them all, and its memories.

    The audit log is off: the evaluator's questions are no secret, and writing costs time.
    """
    home.audit.keep_days(0)
    spaces = dict.fromkeys(memory.space for memory in dataset.memories)
    _fill(home, spaces, dataset.memories, progress)


def in_context(context: RecallContext, query: Query, moment: dt.datetime | None) -> RecallContext:
    """Return the context a question is asked in: its space, its day's end, its session's past."""
    return dataclasses.replace(
        context,
        space_id=query.space,
        filters=Filters(before_session=query.session) if query.session else Filters(),
        now=moment and moment.replace(hour=23, minute=59, second=59, microsecond=0),
    )


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
    progress: StepCallback | None = None,
) -> None:
    home.people.add(Person(EVALUATOR, "Evaluator"))
    for space in spaces:
        home.spaces.add(Space(space, "shared"))
        home.spaces.grant(Grant(EVALUATOR, space, role="adult"))
    home.remember_many(
        map(to_memory, memories),
        progress=(lambda done: progress("import", done, len(memories))) if progress else None,
    )
