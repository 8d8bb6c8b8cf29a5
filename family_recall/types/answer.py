"""Answers: results with reasons, a confidence, a status and a trace."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from family_recall.types.answer_text import html_of, in_words, lines_of, sureness
from family_recall.types.briefing import ELLIPSIS, RECALLED, BriefedMemory, briefing, shortened
from family_recall.types.checked import checked_call
from family_recall.types.printable import on_one_line
from family_recall.types.records import Record
from family_recall.types.timeline import Period
from family_recall.types.trace import Trace, prepared

Status = Literal["ok", "weak", "no_match"]

_HEADINGS: Mapping[Status, str] = {
    "ok": RECALLED,
    "weak": "You may remember this from recent conversations; none of it surely answers:",
    "no_match": "You remember nothing that answers this. What comes nearest, and is no answer:",
}
_PRINTED_CHARS = 100
_SPOKEN_RESULTS = 3
_MOST_QUOTED = 65_536  # characters of a text without a passage, before they are shortened


class Contribution(msgspec.Struct, frozen=True, array_like=True):
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


class RelationResult(Record, frozen=True):
    """One relation of an answer: *Leela* is *married to* *Vikram*.

    ``answers`` is whether it answers the question by itself; ``asked_for`` is the end that the
    question asks for, None if it names both or neither. Other relations show how the people and
    things of the question are connected. ``evidence`` lists the doc_ids of visible memories that
    state it; ``confidence`` is in [0, 1]; ``valid_from`` and ``valid_until`` are ISO 8601, None
    for an open end.
    """

    subject: str
    relation: str
    object: str
    space_id: str = ""
    confidence: float = 1.0
    valid_from: str | None = None
    valid_until: str | None = None
    evidence: tuple[str, ...] = ()
    answers: bool = False
    asked_for: str | None = None

    def __str__(self) -> str:
        """Return a sentence: ``Leela lives in Pune (since 2021-06-01)``."""
        dates = (("since", self.valid_from), ("until", self.valid_until))
        notes = ", ".join(f"{word} {moment[:10]}" for word, moment in dates if moment)
        text = on_one_line(f"{self.subject} {self.phrase} {self.object}")
        return f"{text} ({notes})" if notes else text

    @property
    def phrase(self) -> str:
        """The relation in words: ``OWNED BY`` for ``OWNED_BY``."""
        return self.relation.replace("_", " ")

    @property
    def fact(self) -> tuple[str, str] | None:
        """The fact as key and value, ``("Leela lives in", "Pune")``; None if it answers nothing."""
        if not self.answers or self.asked_for is None:
            return None
        if self.asked_for == self.subject:
            return f"{self.phrase} {self.object}", self.subject
        return f"{self.subject} {self.phrase}", self.object


class Rationale(Record, frozen=True):
    """The graph's path from the question to a memory.

    ``path`` alternates nodes and edge kinds, from a seed to the memory. ``entities`` are the names
    on it; ``evidence`` the doc_ids of memories on it or stating its relations.
    """

    path: tuple[str, ...]
    entities: tuple[str, ...]
    evidence: tuple[str, ...]


class RepliedTo(Record, frozen=True):
    """The memory that a result replies to, a few turns earlier; usually a question."""

    doc_id: str
    text: str
    author: str | None


class Result(Record, frozen=True):
    """One memory of an answer.

    ``score`` is comparable within this answer only; ``confidence`` in [0, 1] is calibrated and
    comparable across answers. ``contributions`` add up to ``score``.
    ``source`` names the source that ranked it best: lexical, vector, graph, relation, …
    ``superseded_by`` is the doc_id of a newer memory with another answer, and
    ``superseded_because`` the reason; ``superseded`` marks an earlier version of a memory.
    ``copies`` are the doc_ids of copies by the same author that it represents.
    ``whose`` names whose fact it tells, where the question asks of somebody else.
    ``author`` is a person's id or a name as heard; ``said_by`` is the person's name.
    ``day``, ISO 8601 in the household's zone, is when it occurred: what *yesterday* in its text
    counts from. Of a text with such words and without a moment it is the day of recording.
    ``reply_to`` is the memory that it replies to. ``highlights`` are (start, end) character
    offsets of the question's words in ``text``. In a long text ``passage`` is the part closest to
    the question, and ``sentence`` the closest sentence in it. ``rank_by_score`` is the rank before
    diversification; None if that did not move it.
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
    passage: tuple[int, int] | None = None
    sentence: tuple[int, int] | None = None
    rationale: Rationale | None = None
    fact_key: str | None = None
    fact_value: str | None = None
    superseded_by: str | None = None
    superseded_because: str | None = None
    copies: tuple[str, ...] = ()
    author_name: str | None = None
    reply_to: RepliedTo | None = None
    rank_by_score: int | None = None
    whose: str | None = None
    day: str | None = None

    @property
    def said_by(self) -> str | None:
        """The name of the person who said it, or the author as heard; None if unknown."""
        return self.author_name or self.author

    @property
    def on_day(self) -> str | None:
        """The day as told, ISO 8601: the household's, or that of ``occurred_at`` as written."""
        return self.day or (self.occurred_at[:10] if self.occurred_at else None)

    def __str__(self) -> str:
        """Return one line: the text, shortened, who said it, when, and the confidence."""
        text = shortened(on_one_line(self.excerpt(_PRINTED_CHARS)), _PRINTED_CHARS)
        outdated = f"replaced by {self.superseded_by}" if self.superseded_by else None
        question = f"in reply to “{shortened(self.reply_to.text, 60)}”" if self.reply_to else None
        notes = (self.said_by, self.on_day, question, outdated, f"confidence {self.confidence:.2f}")
        return on_one_line(f"{text} ({', '.join(note for note in notes if note)})")

    @checked_call
    def excerpt(self, max_chars: int) -> str:
        """Return the part of the text to quote, marked ``…`` where text is left out.

        The whole text if it fits; its beginning if it has no ``passage``; otherwise the passage, or
        its end from the closest sentence on. The caller shortens what is longer than ``max_chars``.
        """
        if self.passage is None or len(self.text) <= max_chars:
            return self.text[: max(max_chars + 1, _MOST_QUOTED)]
        start, end = self.passage
        if self.sentence is not None and end - start + 2 * len(ELLIPSIS) > max_chars:
            start = self.sentence[0]
        before = ELLIPSIS if start else ""
        after = ELLIPSIS if end < len(self.text) else ""
        return f"{before}{self.text[start:end]}{after}"

    @property
    def features(self) -> dict[str, float]:
        """The value of each feature that the profile weighs."""
        return {part.feature: part.value for part in self.contributions}

    @property
    def reasons(self) -> tuple[str, ...]:
        """The terms of the score, the rank before MMR, and the confidence.

        ``("bm25*1.00=0.810", "rrf=+0.008", "mmr: rank 5 by score", "conf≈0.72")``, without terms
        of 0.
        """
        terms = [part.reason for part in self.contributions if part.amount != 0.0]
        if self.rank_by_score is not None:
            terms.append(f"mmr: rank {self.rank_by_score} by score")
        return (*terms, f"conf≈{self.confidence:.2f}")

    def to_json(self) -> dict[str, Any]:
        """Return every field; contributions as ``[feature, value, weight]``."""
        return Record.to_json(self) | {"features": self.features, "reasons": list(self.reasons)}


class Change(Record, frozen=True):
    """A result that a newer memory replaced.

    ``doc_id`` is the older memory, ``replaced_by`` the newest with another answer. ``since`` is
    when that was said or became valid, ISO 8601; ``reason`` is the evidence.
    """

    doc_id: str
    replaced_by: str
    since: str
    reason: str


class Answer(Record, frozen=True, kw_only=True):
    """A ranked answer, how sure it is, and how it was found; iterates over its results.

    ``confidence`` is the calibrated probability that the first result, or a relation, answers;
    ``answerable`` that anything stored does. ``status`` sums them up: ``ok`` can be stated as it
    is, ``weak`` with "I think"; with ``no_match`` nothing stored seems to answer. Then ``facts``
    and ``briefing()`` are empty, ``best`` is None, and the results are only the ``closest``.
    ``uncovered`` lists what the question names and the first result does not mention, such as
    ``("office",)`` for *the printer at the office*, or whom it asks of and the first result tells
    nothing of; such an answer is never ``ok``, and ``no_match`` if it tells the same of another.
    ``degraded`` lists stages that could not take part, such as ``"vector: no model"``; and, where
    the answer had to wait for a thread and is late, how late.
    ``facts`` are current facts by key: for a question about a fact, a list or a person, also of
    memories beyond the results; for any question those of its relations. The results of a TIMELINE
    answer are in order of time; ``timeline`` lists its days, weeks or months, empty ones too.
    ``relations`` are first those that answer the question, best first; then those between the
    people and things it names, the asker among them. ``completeness`` in [0, 1] estimates, for a
    question about all of a kind, the share that the results hold; None if it cannot be estimated.
    ``changed`` lists the results that a newer memory replaced.
    ``parts`` answers each of two questions in one, such as *the door code and the Wi-Fi password?*,
    on its own; what answers them stands first in the results, and the answer is ``ok`` if all are.
    It is empty for one question, and where nothing stored answers any of them.
    """

    query_text: str
    status: Status
    confidence: float
    answerable: float = 0.0
    uncovered: tuple[str, ...] = ()
    completeness: float | None = None
    results: tuple[Result, ...]
    facts: Mapping[str, str] = msgspec.field(default_factory=dict)
    timeline: tuple[Period, ...] = ()
    relations: tuple[RelationResult, ...] = ()
    changed: tuple[Change, ...] = ()
    parts: tuple[Answer, ...] = ()
    strategy: str
    mode: str
    profile: str
    now: dt.datetime
    as_of: dt.datetime
    known_at: dt.datetime | None
    used_time_ms: float
    degraded: tuple[str, ...]
    trace: Trace

    def __iter__(self) -> Iterator[Result]:
        """Yield the results, best first; of a TIMELINE answer, in order of time."""
        return iter(self.results)

    def __len__(self) -> int:
        """Count the results."""
        return len(self.results)

    @property
    def best(self) -> Result | None:
        """The first result; None if there is none, or nothing answers."""
        return self.results[0] if self.results and self.status != "no_match" else None

    @property
    def cut_short(self) -> bool:
        """Whether there was no time for a search that may have found the answer, and none did."""
        return any(missing.startswith("search: ") for missing in self.degraded)

    @property
    def closest(self) -> tuple[Result, ...]:
        """The closest results if nothing stored answers; otherwise empty."""
        return self.results if self.status == "no_match" else ()

    def __str__(self) -> str:
        """Return a few lines: the answer, how sure it is, and at most three other memories."""
        return "\n".join(line.text for line in lines_of(self))

    def _repr_html_(self) -> str:
        """Return the same lines as HTML, for notebooks."""
        return html_of(self)

    @checked_call
    def briefing(
        self,
        *,
        max_chars: int = 2000,
        max_chars_per_memory: int = 200,
        count_tokens: Callable[[str], int] | None = None,
        max_tokens: int | None = None,
        numbered: bool = False,
        closest: bool = False,
    ) -> str:
        """Write the relations that answer, the results and other relations as a block.

        Its first line says how sure the answer is. It is empty if nothing was found or fits, and
        if nothing stored answers; ``closest`` then lists the closest memories, marked as no answer.
        See :func:`family_recall.types.briefing.briefing`.
        """
        if self.closest and not closest:
            return ""
        answering, others = (
            [
                BriefedMemory(relation.phrase, relation=(relation.subject, relation.object))
                for relation in self.relations
                if relation.answers == answers
            ]
            for answers in (True, False)
        )
        memories = [_briefed(result, max_chars_per_memory) for result in self.results]
        return briefing(
            [*answering, *memories, *others],
            heading=_HEADINGS[self.status],
            max_chars=max_chars,
            max_chars_per_memory=max_chars_per_memory,
            count_tokens=count_tokens,
            max_tokens=max_tokens,
            numbered=numbered,
        )

    @checked_call
    def spoken(self, person_id: str | None = None, *, max_chars: int = 300) -> str:
        """Return the answer as sentences to say aloud; empty if nothing stored answers.

        The relations that answer, or else the first result; up to three for a list or a period.
        Each memory comes with its day, but for those of today. A weak answer begins with "I
        think"; one for which there was no time says that alone.

        Args:
            person_id: Who asked; their own memories begin with "You said".
            max_chars: Maximum length of one memory's text, ellipsis included.
        """
        if self.status == "no_match":
            return ""
        if self.cut_short:
            return f"{sureness(self)}."
        if self.parts:
            each = [
                part.spoken(person_id, max_chars=max_chars)
                or f"{sureness(part)}: “{on_one_line(part.query_text)}”"
                for part in self.parts
            ]
            return " ".join(dict.fromkeys(each))
        sentences = [str(relation) for relation in self.relations if relation.answers]
        if not sentences:
            wants_several = self.strategy == "TIMELINE" or self.completeness is not None
            results = self.results if wants_several else self.results[:1]
            sentences = [_spoken(result, person_id, max_chars, self.now) for result in results]
        sentences = [sentence for sentence in map(on_one_line, sentences) if sentence]
        closed = [
            sentence if sentence.endswith((".", "!", "?", ELLIPSIS)) else f"{sentence}."
            for sentence in sentences[:_SPOKEN_RESULTS]
        ]
        return " ".join(["I think:", *closed] if closed and self.status == "weak" else closed)

    @classmethod
    def _as_stored(cls, record: Any) -> Any:
        if not isinstance(record, Mapping):
            return record
        parts = record.get("parts", ())
        if isinstance(parts, Sequence) and not isinstance(parts, str):
            parts = [cls._as_stored(part) for part in parts]
        return {**record, "parts": parts, "trace": prepared(record.get("trace"))}


def _briefed(result: Result, max_chars: int) -> BriefedMemory:
    """Return a result as a briefing shows it: with its day, and marked where it is replaced."""
    outdated = result.superseded_by is not None
    question = result.reply_to.text if result.reply_to else ""
    text = result.excerpt(max_chars)
    return BriefedMemory(
        text, result.said_by, question=question, outdated=outdated, day=result.on_day
    )


def _spoken(result: Result, person_id: str | None, max_chars: int, now: dt.datetime) -> str:
    """Return who said it on which day, and the text; *of* that day where it is still to come.

    Of today no day is told: *yesterday* means there what it means to who hears it.
    """
    text = shortened(on_one_line(result.excerpt(max_chars)), max_chars)
    is_dated = result.on_day is not None and result.on_day != now.date().isoformat()
    day = in_words(result.on_day) if result.on_day and is_dated else ""
    if not text or (result.said_by is None and day in text):
        return text
    if result.said_by is None:
        return f"{day}: {text}"
    is_own = person_id is not None and result.author == person_id
    joint = "of" if result.on_day and result.on_day > now.date().isoformat() else "on"
    when = f" {joint} {day}" if day else ""
    return f"{'You' if is_own else result.said_by} said{when}: {text}"
