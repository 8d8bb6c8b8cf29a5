"""What is answered: results with reasons, a confidence, a status and a trace."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Self

import msgspec

from family_recall.types.answer_text import html_of, lines_of
from family_recall.types.briefing import ELLIPSIS, RECALLED, BriefedMemory, briefing, shortened
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

    ``answers`` says whether it answers the question by itself, and ``asked_for`` which of its
    two ends was asked for; None where the question names both, or neither in particular. Other
    relations tell how those that the question names belong together.
    ``evidence`` are the doc_ids of memories that say so, of those the request may see;
    ``confidence`` in [0, 1] is how sure the relation was stated; ``valid_from`` and
    ``valid_until`` are ISO 8601, None where an end is open.
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
        """Return it as a sentence reads: ``Leela lives in Pune (since 2021-06-01)``."""
        dates = (("since", self.valid_from), ("until", self.valid_until))
        notes = ", ".join(f"{word} {moment[:10]}" for word, moment in dates if moment)
        text = f"{self.subject} {self.phrase} {self.object}"
        return f"{text} ({notes})" if notes else text

    @property
    def phrase(self) -> str:
        """The relation in words: ``OWNED BY`` for ``OWNED_BY``."""
        return self.relation.replace("_", " ")

    @property
    def fact(self) -> tuple[str, str] | None:
        """What it states, as key and value: ``("Leela lives in", "Pune")``; or None."""
        if not self.answers or self.asked_for is None:
            return None
        if self.asked_for == self.subject:
            return f"{self.phrase} {self.object}", self.subject
        return f"{self.subject} {self.phrase}", self.object


class Rationale(Record, frozen=True):
    """Why the graph found it: the path from the question to this memory.

    ``path`` alternates nodes and edge kinds, from a seed to the memory; ``entities`` are the
    named things on it; ``evidence`` the doc_ids of the memories on it, and of what states its
    relations.
    """

    path: tuple[str, ...]
    entities: tuple[str, ...]
    evidence: tuple[str, ...]


class RepliedTo(Record, frozen=True):
    """What a result is the reply to: the memory a few turns before it, most often a question."""

    doc_id: str
    text: str
    author: str | None


class Result(Record, frozen=True):
    """One memory of an answer.

    ``score`` compares results of this answer alone; ``confidence`` in [0, 1] is calibrated and
    compares across answers. ``contributions`` add up to ``score``.
    ``source`` names the source that ranked it best: lexical, vector, graph, relation, …
    ``superseded_by`` is the doc_id of a newer memory that answers the question otherwise, and
    ``superseded_because`` says what shows that; ``superseded`` is an earlier version of its text;
    ``copies`` are the doc_ids of near copies by the same author that it stands for.
    ``author`` is as stored, a person's id or a name as heard; ``said_by`` is what that person is
    called.
    ``reply_to`` is the memory that it replies to, without which it may mean nothing;
    ``highlights`` are (start, end) character offsets into ``text``: where the question's words
    stand or, of a text too long to be read at once, the ``passage`` closest to the question, and
    ``sentence`` the closest sentence in it. ``rank_by_score`` is the rank from which diversity
    moved it; None where it did not.
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

    @property
    def said_by(self) -> str | None:
        """The name of the person who said it, or the author as heard; None if unknown."""
        return self.author_name or self.author

    def __str__(self) -> str:
        """Return one line to read: the text, shortened, who said it, when, and the confidence."""
        text = shortened(" ".join(self.excerpt(_PRINTED_CHARS).split()), _PRINTED_CHARS)
        day = self.occurred_at[:10] if self.occurred_at else None
        outdated = f"replaced by {self.superseded_by}" if self.superseded_by else None
        asked = f"in reply to “{shortened(self.reply_to.text, 60)}”" if self.reply_to else None
        notes = (self.said_by, day, asked, outdated, f"confidence {self.confidence:.2f}")
        return f"{text} ({', '.join(note for note in notes if note)})"

    def excerpt(self, max_chars: int) -> str:
        """Return what to quote of the text in some characters.

        All of a text that fits or has no ``passage``, for the caller to shorten; else the passage
        or, where that does not fit, what follows from its closest sentence on. ``…`` stands where
        the text goes on before or after.
        """
        if self.passage is None or len(self.text) <= max_chars:
            return self.text
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
        """What the score is made of, term by term, whether MMR moved it, and how sure it is.

        ``("bm25*1.00=0.810", "rrf=+0.008", "mmr: rank 5 by score", "conf≈0.72")``; terms of 0 are
        left out.
        """
        terms = [part.reason for part in self.contributions if part.amount != 0.0]
        if self.rank_by_score is not None:
            terms.append(f"mmr: rank {self.rank_by_score} by score")
        return (*terms, f"conf≈{self.confidence:.2f}")

    def to_json(self) -> dict[str, Any]:
        """Return every field; contributions as ``[feature, value, weight]``."""
        return Record.to_json(self) | {"features": self.features, "reasons": list(self.reasons)}


class Change(Record, frozen=True):
    """Something that an answer's memories tell otherwise than before.

    ``doc_id`` is the older memory and ``replaced_by`` the newest that answers the question
    otherwise; ``since`` is when that was said or holds from, ISO 8601, ``reason`` what shows it.
    """

    doc_id: str
    replaced_by: str
    since: str
    reason: str


class Answer(Record, frozen=True, kw_only=True):
    """A ranked answer, how sure it is, and how it was found; iterates over its results.

    ``confidence`` is the calibrated probability that the first result, or a relation, answers, and
    ``answerable`` the one that anything stored does. ``status`` sums them up: ``ok``, to be said as
    it is; ``weak``, with "I think"; ``no_match``, when nothing stored seems to answer. Then
    ``facts`` and ``briefing()`` tell nothing, ``best`` is None, and the results are merely what
    comes nearest: ``closest``. ``uncovered`` is what the question names and the first result says
    nothing about: of *the printer at the office*, ``("office",)``; such an answer is never ``ok``.
    ``degraded`` lists what could not take part, such as ``"vector: no model"``.
    ``facts`` are the current facts that a question for a fact, a list or somebody concerns, key by
    key, of more than its results; and of any answer what its relations state. A TIMELINE answer's
    results are in the order they occurred, and ``timeline`` lists its days, weeks or months, the
    empty ones too. ``relations`` are those the question asks for, best first, which answer
    without any memory; and after them those between the people and things it names, the
    asker among them. ``completeness`` in [0, 1] is there where all of something is asked for: the
    share of it that the results are estimated to hold, None where that cannot be estimated.
    ``changed`` says which results a newer one replaced, and when.
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
        """The first result; None when there is none, or none that answers."""
        return self.results[0] if self.results and self.status != "no_match" else None

    @property
    def closest(self) -> tuple[Result, ...]:
        """The results that come nearest, where nothing stored answers; empty otherwise."""
        return self.results if self.status == "no_match" else ()

    def __str__(self) -> str:
        """Return a few lines to read: what answers, how surely, and at most three others."""
        return "\n".join(line.text for line in lines_of(self))

    def _repr_html_(self) -> str:
        """Return the same lines as HTML, which a notebook shows."""
        return html_of(self)

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
        """Write the relations that answer, the results, and other relations, as a block.

        Its first line says how sure it is. Empty when nothing was found or fits, and when nothing
        stored answers: unless ``closest`` asks for the nearest memories then, said to be no answer.
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

    def spoken(self, person_id: str | None = None, *, max_chars: int = 300) -> str:
        """Return the answer as sentences to say aloud; empty when nothing stored answers.

        The first result or, where relations answer, those; up to three where a list or a period is
        asked for. A weak answer begins with "I think".

        Args:
            person_id: Who asked; of what they said themselves it says "You said".
            max_chars: Most characters of one memory's text, the ellipsis included.
        """
        if self.status == "no_match":
            return ""
        sentences = [str(relation) for relation in self.relations if relation.answers]
        if not sentences:
            wants_several = self.strategy == "TIMELINE" or self.completeness is not None
            results = self.results if wants_several else self.results[:1]
            sentences = [_spoken(result, person_id, max_chars) for result in results]
        closed = [
            sentence if sentence.endswith((".", "!", "?", ELLIPSIS)) else f"{sentence}."
            for sentence in sentences[:_SPOKEN_RESULTS]
        ]
        return " ".join(["I think:", *closed] if closed and self.status == "weak" else closed)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote."""
        return super().from_json({**record, "trace": prepared(record["trace"])})


def _briefed(result: Result, max_chars: int) -> BriefedMemory:
    """Return what a briefing shows of a result; one that was replaced is marked, with its day."""
    outdated = result.superseded_by is not None
    day = result.occurred_at[:10] if result.occurred_at and outdated else None
    asked = result.reply_to.text if result.reply_to else ""
    text = result.excerpt(max_chars)
    return BriefedMemory(text, result.said_by, asked=asked, outdated=outdated, day=day)


def _spoken(result: Result, person_id: str | None, max_chars: int) -> str:
    text = shortened(result.excerpt(max_chars), max_chars)
    if result.said_by is None:
        return text
    is_own = person_id is not None and result.author == person_id
    return f"{'You' if is_own else result.said_by} said: {text}"
