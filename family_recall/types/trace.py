"""Traces: what a recall was asked, what it understood, found and decided, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import msgspec

from family_recall.types.records import Record
from family_recall.types.request import RecallRequest
from family_recall.types.stages import label_of
from family_recall.types.understanding import Understanding, with_pairs

SkipReason = Literal[
    "no_time",  # it could not be paid for
    "stopped",  # it ran, and had to end before it was done
    "shed",  # it was left to more urgent recalls
    "disabled",  # by the configuration or the request
    "zero_weight",  # the profile does not weigh what it finds
    "no_model",  # none is installed, or it is still loading, or it lacks what the stage needs
    "not_needed",  # another stage has answered, or there is nothing to do it for
    "not_found",  # what the request names is not there, or not for who asks
    "failed",  # it raised an exception
    "damaged",  # the file, or some memories in it
]
"""Why a stage was left out."""


class Span(msgspec.Struct, frozen=True, array_like=True):
    """One stage that ran: how long it took, how many went in and came out, and when it began.

    ``start_ms`` counts from the request. Stages overlap where they ran side by side, or within.
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
    """One stage that was left out, whole or in part: for ``n`` units where it has any.

    ``reason`` is for programs, ``detail`` says the same to people, with the figures.
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
    """One limit of a request that was cut: which, from how much to how much, and why."""

    name: str
    requested: float
    granted: float
    detail: str


class Admission(Record, frozen=True):
    """What the gate made of a request before any stage ran.

    ``service_class`` is its class; ``clamps`` what was cut; ``affordable`` the stages that were
    expected to fit into the budget, in order, with the units of each (tokens, memories, pairs).
    """

    service_class: str
    clamps: tuple[Clamp, ...] = ()
    affordable: tuple[tuple[str, int], ...] = ()


class Hit(msgspec.Struct, frozen=True, array_like=True):
    """One memory that a source found: its rank in all that the source found, and its score there.

    Scores of one source only compare.
    """

    doc_id: str
    rank: int
    score: float


class Trace(Record, frozen=True):
    """How an answer came about.

    Attributes:
        spans: The stages that ran, in the order they ended.
        skips: The stages that were left out.
        counts: By name: visible, candidates, duplicates, vectors_pending.
        hits: By source, which of the candidates it found, best first.
        top3: The first doc_ids with their reasons.
        embedder: The model_id of the vectors that took part; None where words answered alone.
        decided_by: What the confidence is by: ``score``; or what decides in place of scores: the
            ``time`` asked for, an ``identifier``, the ``focus``, or whom it is ``about``.
        evidence: What is known of the answer, by name, where the score decides; else empty.
        gate: What the gate made of the request.
        request: What was asked, as the gate admitted it: the question, who asks, the mode, profile
            and filters asked for.
        understanding: What the question was understood to ask, with the mode it suggests; None for
            an opening, which asks nothing.
        decisions: By stage, what it decided where its span and skips do not say: why reading
            ended, whether a time filters, and so on.
        weights: The weight of each feature that counted, the asker's own learned ones among them.
        kinds: How many of the results are of each kind of memory.
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
        """Return the trace as lists and objects; the stage it describes is always the last."""
        record = {"stage": "final", **Record.to_json(self)}
        if self.understanding is not None:
            # Moments that can be read without knowing the household's zone.
            timespan = self.understanding.timespan
            record["understanding"]["timespan"] = timespan and Record.to_json(timespan)
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote."""
        return super().from_json(prepared(record))


def prepared(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trace's JSON with its understanding's identifiers as pairs."""
    understanding = record.get("understanding")
    return {**record, "understanding": understanding and with_pairs(understanding)}
