"""Traces: the request, understanding, findings, decisions and times of a recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from family_recall.types.records import Record
from family_recall.types.request import RecallRequest
from family_recall.types.stages import label_of
from family_recall.types.understanding import Understanding, with_pairs

SkipReason = Literal[
    "no_time",  # its price exceeds the time left
    "stopped",  # it ran and was stopped before it was done
    "shed",  # more urgent recalls took precedence
    "disabled",  # by the configuration or the request
    "zero_weight",  # its features have no weight in the profile
    "no_model",  # none is installed, it is still loading, or it lacks what the stage needs
    "not_needed",  # another stage has answered, or there is nothing to do
    "not_found",  # what the request names does not exist, or is not visible
    "failed",  # it raised an exception
    "damaged",  # the file, or some memories in it
]
"""Why a stage was left out."""


class Span(msgspec.Struct, frozen=True, array_like=True):
    """One stage that ran: its duration, the number of items in and out, and its start.

    ``start_ms`` counts from the request. Parallel and nested stages overlap.
    """

    stage: str
    ms: float
    n_in: int
    n_out: int
    start_ms: float = 0.0

    @property
    def end_ms(self) -> float:
        """When it ended."""
        return self.start_ms + self.ms

    @property
    def label(self) -> str:
        """What the stage does, for people."""
        return label_of(self.stage)


def busy_ms(spans: Sequence[Any]) -> float:
    """Return the milliseconds in which at least one stage ran."""
    busy, until_ms = 0.0, 0.0
    for span in sorted(spans, key=lambda span: span.start_ms):
        end_ms = span.start_ms + span.ms
        if end_ms > until_ms:
            busy += end_ms - max(span.start_ms, until_ms)
            until_ms = end_ms
    return busy


class Skip(msgspec.Struct, frozen=True, array_like=True):
    """One stage that was skipped, in whole or for ``n`` units.

    ``reason`` is for programs; ``detail`` says the same to people, with figures.
    """

    stage: str
    reason: SkipReason
    detail: str
    n: int = 0

    @property
    def hurried(self) -> bool:
        """Whether more time, or fewer recalls at once, would have let the stage run."""
        return self.reason in {"no_time", "stopped", "shed"}

    @property
    def label(self) -> str:
        """What the stage does, for people."""
        return label_of(self.stage)


class Clamp(msgspec.Struct, frozen=True, array_like=True):
    """One limit of a request that was reduced, and why."""

    name: str
    requested: float
    granted: float
    detail: str


class Admission(Record, frozen=True):
    """The gate's decision on a request before any stage ran.

    ``clamps`` lists reduced limits; ``affordable`` the stages expected to fit into the budget, in
    order, with the units of each (tokens, memories, pairs).
    """

    service_class: str
    clamps: tuple[Clamp, ...] = ()
    affordable: tuple[tuple[str, int], ...] = ()


class Hit(msgspec.Struct, frozen=True, array_like=True):
    """One memory that a source found, with its rank and score there.

    Scores are comparable within one source only.
    """

    doc_id: str
    rank: int
    score: float


class Trace(Record, frozen=True):
    """How an answer came about.

    Attributes:
        spans: The stages that ran, in the order they ended.
        skips: The stages that were skipped.
        counts: By name: visible, candidates, duplicates, vectors_pending.
        hits: By source, the candidates it found, best first.
        top3: The first doc_ids with their reasons.
        embedder: The model_id of the vectors used; None if words answered alone.
        decided_by: What the confidence follows from: ``score``, the ``time`` asked for, an
            ``identifier``, the ``focus``, or whom the question is ``about``.
        evidence: Inputs of the confidence by name, if the score decides; otherwise empty.
        gate: The gate's decision on the request.
        request: The request as the gate admitted it.
        understanding: What the question was understood to ask; None for an opening.
        decisions: By stage, decisions that spans and skips do not show: why reading ended,
            whether a time filters, and so on.
        weights: The weight of each feature used, with those learned from the asker.
        kinds: Number of results by kind of memory.
    """

    spans: tuple[Span, ...] = ()
    skips: tuple[Skip, ...] = ()
    counts: Mapping[str, int] = msgspec.field(default_factory=dict)
    hits: Mapping[str, tuple[Hit, ...]] = msgspec.field(default_factory=dict)
    top3: tuple[tuple[str, tuple[str, ...]], ...] = ()
    embedder: str | None = None
    decided_by: str = "score"
    evidence: Mapping[str, float] = msgspec.field(default_factory=dict)
    gate: Admission | None = None
    request: RecallRequest | None = None
    understanding: Understanding | None = None
    decisions: Mapping[str, str] = msgspec.field(default_factory=dict)
    weights: Mapping[str, float] = msgspec.field(default_factory=dict)
    kinds: Mapping[str, int] = msgspec.field(default_factory=dict)

    @property
    def runs(self) -> dict[str, tuple[str, ...]]:
        """The doc_ids of ``hits``."""
        return {source: tuple(hit.doc_id for hit in hits) for source, hits in self.hits.items()}

    def to_json(self) -> dict[str, Any]:
        """Return the trace as lists and objects; ``stage`` is always ``final``."""
        record = {"stage": "final", **Record.to_json(self)}
        if self.understanding is not None:
            # Moments that can be read without knowing the household's zone.
            timespan = self.understanding.timespan
            record["understanding"]["timespan"] = timespan and Record.to_json(timespan)
        return record

    @classmethod
    def _as_stored(cls, record: Any) -> Any:
        return prepared(record)


def prepared(record: Any) -> Any:
    """Return a trace's JSON with its understanding's identifiers as pairs."""
    if not isinstance(record, Mapping):
        return record
    return {**record, "understanding": with_pairs(record.get("understanding"))}
