"""What is answered: results with reasons, a confidence, a status and a trace."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from family_recall.types.briefing import BriefedMemory, briefing, shortened
from family_recall.types.stages import label_of
from family_recall.types.timeline import Period

Status = Literal["ok", "weak", "no_match"]

_PRINTED_RESULTS = 3
_PRINTED_CHARS = 100

SkipReason = Literal[
    "no_time",  # it could not be paid for
    "stopped",  # it ran, and had to end before it was done
    "shed",  # it was left to more urgent recalls
    "disabled",  # by the configuration or the request
    "zero_weight",  # the profile does not weigh what it finds
    "no_model",  # none is installed, or it is still loading, or it lacks what the stage needs
    "not_needed",  # another stage has answered, or there is nothing to do it for
    "failed",  # it raised an exception
    "damaged",  # the file, or some memories in it
]
"""Why a stage was left out."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """One feature's part of a score: ``weight × value``."""

    feature: str
    value: float
    weight: float

    @property
    def amount(self) -> float:
        """What this feature adds to the score."""
        return self.value * self.weight

    @property
    def reason(self) -> str:
        """The same in text: ``bm25*1.00=0.810``, or ``rrf=+0.008`` for fused ranks."""
        if self.feature in {"rrf_raw", "rrf_decayed"}:
            return f"rrf={self.amount:+.3f}"
        return f"{self.feature}*{self.weight:.2f}={self.amount:.3f}"


@dataclass(frozen=True, slots=True)
class Rationale:
    """Why the graph found it: the path from the question to this memory.

    ``path`` alternates nodes and edge kinds, from a seed to the memory; ``entities`` are the
    named things on it; ``evidence`` the doc_ids of the memories on it.
    """

    path: tuple[str, ...]
    entities: tuple[str, ...]
    evidence: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the three lists."""
        return {
            "path": list(self.path),
            "entities": list(self.entities),
            "evidence": list(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class Result:
    """One memory of an answer.

    ``score`` orders this answer only; ``confidence`` in [0, 1] is calibrated and compares
    across answers. ``contributions`` add up to ``score``.
    ``source`` names the source that ranked it best: lexical, vector or graph.
    ``outdated_by`` is the doc_id of a newer fact of the same key with another value;
    ``copies`` are the doc_ids of near copies by the same author that it stands for.
    ``highlights`` are (start, end) character offsets into ``text``.
    """

    rank: int
    doc_id: str
    score: float
    confidence: float
    text: str
    space_id: str
    kind: str
    author: str | None
    title: str | None
    session_id: str | None
    url: str | None
    section: str | None
    occurred_at: str | None
    superseded: bool
    source: str
    contributions: tuple[Contribution, ...]
    highlights: tuple[tuple[int, int], ...] = ()
    rationale: Rationale | None = None
    fact_key: str | None = None
    fact_value: str | None = None
    outdated_by: str | None = None
    copies: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return one line to read: the text, shortened, who said it, when, and the confidence."""
        text = shortened(" ".join(self.text.split()), _PRINTED_CHARS)
        day = self.occurred_at[:10] if self.occurred_at else None
        outdated = f"replaced by {self.outdated_by}" if self.outdated_by else None
        notes = (self.author, day, outdated, f"confidence {self.confidence:.2f}")
        return f"{text} ({', '.join(note for note in notes if note)})"

    @property
    def features(self) -> dict[str, float]:
        """The value of each feature that the profile weighs."""
        return {part.feature: part.value for part in self.contributions}

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the score is made of, term by term, and how sure it is.

        ``("bm25*1.00=0.810", "rrf=+0.008", "conf≈0.72")``; terms of 0 are left out.
        """
        terms = (part.reason for part in self.contributions if part.amount != 0.0)
        return (*terms, f"conf≈{self.confidence:.2f}")

    def to_json(self) -> dict[str, Any]:
        """Return every field; contributions as ``[feature, value, weight]``."""
        record = {name: getattr(self, name) for name in self.__slots__}
        record["features"] = self.features
        record["contributions"] = [[c.feature, c.value, c.weight] for c in self.contributions]
        record["reasons"] = list(self.reasons)
        record["highlights"] = [list(span) for span in self.highlights]
        record["rationale"] = self.rationale.to_json() if self.rationale else None
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Result:
        """Read what :meth:`to_json` wrote."""
        fields = {name: record[name] for name in cls.__slots__}
        fields["contributions"] = tuple(Contribution(*c) for c in record["contributions"])
        fields["highlights"] = tuple((start, end) for start, end in record["highlights"])
        rationale = record["rationale"]
        fields["copies"] = tuple(record.get("copies", ()))
        fields["rationale"] = rationale and Rationale(**{k: tuple(v) for k, v in rationale.items()})
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Span:
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


@dataclass(frozen=True, slots=True)
class Skip:
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


@dataclass(frozen=True, slots=True)
class Clamp:
    """One limit of a request that was cut: which, from how much to how much, and why."""

    name: str
    requested: float
    granted: float
    detail: str


@dataclass(frozen=True, slots=True)
class Admission:
    """What the gate made of a request before any stage ran.

    ``service_class`` is its class; ``clamps`` what was cut; ``affordable`` the stages that were
    expected to fit into the budget, in order, with the units of each (tokens, memories, pairs).
    """

    service_class: str
    clamps: tuple[Clamp, ...] = ()
    affordable: tuple[tuple[str, int], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give it as lists and objects."""
        return {
            "service_class": self.service_class,
            "clamps": [[c.name, c.requested, c.granted, c.detail] for c in self.clamps],
            "affordable": [list(planned) for planned in self.affordable],
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Admission:
        """Read what :meth:`to_json` wrote."""
        return cls(
            record["service_class"],
            tuple(Clamp(*clamp) for clamp in record["clamps"]),
            tuple((stage, n) for stage, n in record["affordable"]),
        )


@dataclass(frozen=True, slots=True)
class Trace:
    """How an answer came to be.

    ``spans`` in the order they ended, ``skips`` with their reasons, ``counts`` by name (among
    them ``vectors_pending``), ``runs`` the doc_ids each source found, best first, and ``top3``
    the leading doc_ids with their reasons. ``embedder`` is the model_id of whose vectors took
    part, the transformer or the static one; None where words answered alone. ``gate`` is what
    the request was let in as.
    """

    spans: tuple[Span, ...] = ()
    skips: tuple[Skip, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    runs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    top3: tuple[tuple[str, tuple[str, ...]], ...] = ()
    embedder: str | None = None
    gate: Admission | None = None

    def to_json(self) -> dict[str, Any]:
        """Give the trace as lists and objects; the stage it describes is always the last."""
        return {
            "stage": "final",
            "spans": [[s.stage, s.ms, s.n_in, s.n_out, s.start_ms] for s in self.spans],
            "skips": [[s.stage, s.reason, s.detail, s.n] for s in self.skips],
            "counts": dict(self.counts),
            "runs": {name: list(ids) for name, ids in self.runs.items()},
            "top3": [[doc_id, list(reasons)] for doc_id, reasons in self.top3],
            "embedder": self.embedder,
            "gate": self.gate and self.gate.to_json(),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Trace:
        """Read what :meth:`to_json` wrote."""
        return cls(
            spans=tuple(Span(*span) for span in record["spans"]),
            skips=tuple(Skip(*skip) for skip in record["skips"]),
            counts=dict(record["counts"]),
            runs={name: tuple(ids) for name, ids in record["runs"].items()},
            top3=tuple((doc_id, tuple(reasons)) for doc_id, reasons in record["top3"]),
            embedder=record.get("embedder"),
            gate=Admission.from_json(gate) if (gate := record.get("gate")) else None,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """A ranked answer, how sure it is, and how it was found; iterates over its results.

    ``confidence`` is the calibrated probability that the first result answers the question;
    ``status`` sums it up: ``ok``, ``weak``, or ``no_match`` when nothing stored seems to.
    ``degraded`` lists what could not take part, such as ``"vector: no model"``.
    ``facts`` of a FACTUAL answer are what its results state, key by key. A TIMELINE answer's
    results are in the order they occurred, and ``timeline`` lists its days, weeks or months,
    the empty ones too. ``relations`` are (subject, relation, object) between those the question
    names, the asker among them.
    """

    query_text: str
    results: tuple[Result, ...]
    status: Status
    confidence: float
    strategy: str
    mode: str
    profile: str
    now: dt.datetime
    as_of: dt.datetime
    known_at: dt.datetime | None
    used_time_ms: float
    degraded: tuple[str, ...]
    trace: Trace
    facts: Mapping[str, str] = field(default_factory=dict)
    timeline: tuple[Period, ...] = ()
    relations: tuple[tuple[str, str, str], ...] = ()

    def __iter__(self) -> Iterator[Result]:
        """Yield the results, best first; of a TIMELINE answer, in order of time."""
        return iter(self.results)

    def __len__(self) -> int:
        """Count the results."""
        return len(self.results)

    @property
    def best(self) -> Result | None:
        """The first result; None when there is none."""
        return self.results[0] if self.results else None

    def __str__(self) -> str:
        """Return a few lines to read: status, confidence, the first results, what was missing."""
        counted = f"{len(self)} result{'' if len(self) == 1 else 's'}"
        lines = [f"{self.status} (confidence {self.confidence:.2f}, {counted})"]
        lines += [f"{result.rank}. {result}" for result in self.results[:_PRINTED_RESULTS]]
        if len(self) > _PRINTED_RESULTS:
            lines.append("…")
        lines += [f"without {missing}" for missing in self.degraded]
        return "\n".join(lines)

    def briefing(
        self,
        *,
        max_chars: int = 2000,
        max_chars_per_memory: int = 200,
        count_tokens: Callable[[str], int] | None = None,
        max_tokens: int | None = None,
        numbered: bool = False,
    ) -> str:
        """Write the results, and after them the relations, as a ``<memory>`` block.

        See :func:`family_recall.types.briefing.briefing`; empty when nothing was found or fits.
        """
        related = [
            BriefedMemory(relation.replace("_", " "), relation=(subject, object_))
            for subject, relation, object_ in self.relations
        ]
        return briefing(
            [*(BriefedMemory(result.text, result.author) for result in self.results), *related],
            max_chars=max_chars,
            max_chars_per_memory=max_chars_per_memory,
            count_tokens=count_tokens,
            max_tokens=max_tokens,
            numbered=numbered,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the whole answer, moments as ISO 8601."""
        return {
            "query_text": self.query_text,
            "status": self.status,
            "confidence": self.confidence,
            "results": [result.to_json() for result in self.results],
            "facts": dict(self.facts),
            "timeline": [period.to_json() for period in self.timeline],
            "relations": [list(triple) for triple in self.relations],
            "strategy": self.strategy,
            "mode": self.mode,
            "profile": self.profile,
            "now": self.now.isoformat(),
            "as_of": self.as_of.isoformat(),
            "known_at": self.known_at.isoformat() if self.known_at else None,
            "used_time_ms": self.used_time_ms,
            "degraded": list(self.degraded),
            "trace": self.trace.to_json(),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Answer:
        """Read what :meth:`to_json` wrote."""
        fields = dict(record)
        fields["results"] = tuple(Result.from_json(result) for result in record["results"])
        fields["now"] = dt.datetime.fromisoformat(record["now"])
        fields["as_of"] = dt.datetime.fromisoformat(record["as_of"])
        known_at = record["known_at"]
        fields["known_at"] = known_at and dt.datetime.fromisoformat(known_at)
        fields["degraded"] = tuple(record["degraded"])
        fields["trace"] = Trace.from_json(record["trace"])
        fields["facts"] = dict(record.get("facts", {}))
        fields["relations"] = tuple(tuple(triple) for triple in record.get("relations", ()))
        fields["timeline"] = tuple(
            Period.from_json(period) for period in record.get("timeline", ())
        )
        return cls(**fields)
