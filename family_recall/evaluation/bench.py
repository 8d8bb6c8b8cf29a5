"""Bench: a dataset in; a filled household to ask it in, and others that lack some of it, out."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from family_recall.api import FamilyRecall
from family_recall.encoders.loader import Models
from family_recall.evaluation.checkpoint import Checkpoint
from family_recall.evaluation.datasets import Dataset, DatasetMemory, Query, to_memory
from family_recall.evaluation.outcomes import Outcome
from family_recall.types import Filters, Grant, Person, RecallContext, Space
from family_recall.types.progress import StepCallback

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from family_recall.config import RecallConfig
    from family_recall.encoders.base import Encoder, Encoding, Floats, Ints, PairScorer

EVALUATOR = "evaluator"


class Memo:
    """An embedder that reads no memory twice: filling a store again costs only the writing.

    A text's vectors do not depend on what it is read with, so they are the same to the last bit.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._known: dict[str, Encoding] = {}

    @property
    def model_id(self) -> str:
        """Name the embedder behind it."""
        return self._encoder.model_id

    @property
    def dim(self) -> int:
        """Length of a pooled vector."""
        return self._encoder.dim

    @property
    def token_dim(self) -> int:
        """Length of a token vector."""
        return self._encoder.token_dim

    def encode_question(self, text: str) -> Encoding:
        """Encode what somebody asks."""
        return self._encoder.encode_question(text)

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode the memories that are new, and give all."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known |= zip(new, self._encoder.encode_memories(new), strict=True)
        return [self._known[text] for text in texts]

    def token_ids(self, text: str) -> Ints:
        """Give the vocabulary ids of a text's tokens."""
        return self._encoder.token_ids(text)

    def token_weights(self, token_ids: Ints) -> Floats:
        """Give how much each token says."""
        return self._encoder.token_weights(token_ids)


@dataclass(frozen=True, slots=True)
class Bench:
    """A dataset, how it is asked, and the models to ask it with, loaded once.

    Files are made under ``folder``: one for all of the dataset, and one, gone when it is
    closed, for each :meth:`without`. What ``kept`` knows is not done again.
    """

    dataset: Dataset
    context: RecallContext
    config: RecallConfig
    folder: Path
    encoder: Encoder | None = None
    scorer: PairScorer | None = None
    static: Encoder | None = None
    models: Path | None = None
    kept: Checkpoint = field(default_factory=Checkpoint)
    moments: Mapping[str, dt.datetime] = field(init=False)

    def __post_init__(self) -> None:
        """Remember when each space ends."""
        object.__setattr__(self, "moments", last_moments(self.dataset))

    @classmethod
    def load(
        cls,
        dataset: Dataset,
        context: RecallContext,
        config: RecallConfig,
        folder: Path,
        *,
        models: Path | None = None,
        refills: bool = False,
        kept: Checkpoint | None = None,
    ) -> Bench:
        """Load the models of a folder; ``refills`` keeps vectors for :meth:`without`."""
        loaded = Models(models)
        encoder = loaded.wait()
        return cls(
            dataset,
            context,
            config,
            folder,
            encoder=Memo(encoder) if encoder is not None and refills else encoder,
            scorer=loaded.scorer(),
            static=loaded.static(),
            models=models,
            kept=kept or Checkpoint(),
        )

    def open(self, config: RecallConfig | None = None) -> FamilyRecall:
        """Open the household of the whole dataset; :meth:`fill` fills it, once."""
        return self._open(self._household, config or self.config)

    def fill(self, progress: StepCallback | None = None) -> str | None:
        """Store the whole dataset, or what is missing of it; gives the embedder's id."""
        filled = self.kept.knows("import", "") and self._household.exists()
        with self.open() as home:
            if not filled:
                furnish(home, self.dataset, progress)
                if self.encoder is not None or self.static is not None:
                    home.flush()  # what an import that was stopped had no vectors for yet
                self.kept.keep("import", "", {"memories": len(self.dataset.memories)})
            embedder: str | None = home.maintenance.stats()["model"]
            return embedder

    def ask(
        self,
        leg: str = "full",
        config: RecallConfig | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[Outcome]:
        """Ask every question in the filled household, opened anew for all of them.

        Args:
            leg: What this asking is called among what is kept.
            config: What it is asked with, in place of the bench's own.
            progress: Told how many are done.
        """
        with contextlib.ExitStack() as opened:

            @functools.cache
            def home() -> FamilyRecall:
                household = opened.enter_context(self.open(config))
                household.warmup()
                return household

            def ask(query: Query) -> Outcome:
                return Outcome.of(query, home().recall(query.text, self.asked(query)))

            outcomes = []
            for done, query in enumerate(self.dataset.queries, 1):
                outcomes.append(self.once(leg, query, ask))
                if progress:
                    progress(done)
        return outcomes

    def once(self, leg: str, query: Query, ask: Callable[[Query], Outcome]) -> Outcome:
        """Give what is kept of a question, or ask it and keep that."""
        return self.kept.once(Outcome, leg, query.id, lambda: ask(query))

    def asked(self, query: Query) -> RecallContext:
        """Give the context a question is asked in, whatever the store lacks."""
        return in_context(self.context, query, query.as_of or self.moments.get(query.space))

    @contextlib.contextmanager
    def without(self, space: str, dropped: Collection[str]) -> Iterator[FamilyRecall]:
        """Give a household made anew of one space, in which some memories were never stored.

        Nothing of a memory that is not there can show: not its words, its neighbours' order,
        nor what it counts for. Since nothing crosses a space, the others are left out too.
        """
        kept = [m for m in self.dataset.memories if m.space == space and m.id not in dropped]
        with (
            tempfile.TemporaryDirectory(prefix="without_", dir=self.folder) as scratch,
            self._open(Path(scratch) / "without.db", self.config) as home,
        ):
            _move_in(home, [space])
            _store(home, kept)
            yield home

    @property
    def _household(self) -> Path:
        return self.folder / "household.db"

    def _open(self, path: Path, config: RecallConfig) -> FamilyRecall:
        return FamilyRecall.open(
            path,
            timezone="UTC",
            models=self.models,
            encoder=self.encoder,
            scorer=self.scorer,
            static=self.static,
            config=config,
        )


def furnish(home: FamilyRecall, dataset: Dataset, progress: StepCallback | None = None) -> None:
    """Make a dataset's spaces, let the evaluator into all of them, and store its memories.

    No log is kept of what the evaluator asks: it is nobody's secret, and costs time.
    """
    home.audit.keep_days(0)
    _move_in(home, dict.fromkeys(memory.space for memory in dataset.memories))
    _store(home, dataset.memories, progress)


def in_context(context: RecallContext, query: Query, moment: dt.datetime | None) -> RecallContext:
    """Give the context a question is asked in: its space, its day's end, its session's past."""
    return RecallContext(
        person_id=context.person_id,
        space_id=query.space,
        time_budget_ms=context.time_budget_ms,
        top_k=context.top_k,
        allow_cross_encoder=context.allow_cross_encoder,
        profile=context.profile,
        filters=Filters(before_session=query.session) if query.session else Filters(),
        now=moment and moment.replace(hour=23, minute=59, second=59, microsecond=0),
    )


def last_moments(dataset: Dataset) -> dict[str, dt.datetime]:
    """Give the moment of each space's last memory; a space without moments is left out."""
    last: dict[str, dt.datetime] = {}
    for memory in dataset.memories:
        moment = memory.occurred_at
        if moment is not None and _utc(moment) >= _utc(last.get(memory.space, moment)):
            last[memory.space] = moment
    return last


def _move_in(home: FamilyRecall, spaces: Iterable[str]) -> None:
    home.people.add(Person(EVALUATOR, "Evaluator"))
    for space in spaces:
        home.spaces.add(Space(space, "shared"))
        home.spaces.grant(Grant(EVALUATOR, space, role="adult"))


def _store(
    home: FamilyRecall, memories: Sequence[DatasetMemory], progress: StepCallback | None = None
) -> None:
    home.remember_many(
        map(to_memory, memories),
        progress=(lambda done: progress("import", done, len(memories))) if progress else None,
    )


def _utc(moment: dt.datetime) -> dt.datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
