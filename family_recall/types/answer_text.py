"""Answers in plain words, as text and as HTML."""

from __future__ import annotations

import datetime as dt
import html
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from family_recall.types.briefing import shortened
from family_recall.types.printable import on_one_line

if TYPE_CHECKING:
    from family_recall.types.answer import Answer, Result

OTHERS = 3
"""Most memories listed below the answer, or if nothing answers."""

_MIN_CONFIDENCE = 0.1  # of another memory
_MIN_LISTED_CONFIDENCE = 0.25  # of a memory in a list or timeline
_QUOTE_CHARS = 160
_EARLIER_CHARS = 80
_STAGE_WORDS = {
    "vector": "the search by meaning",
    "embed": "the larger embedder",
    "rerank": "the cross-encoder",
}
_SECRET = re.compile(
    r"\b(?:pass(?:word|code|phrase)s?|pins?|(?:alarm|gate|door|safe|entry|security) codes?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line: the answer, how sure it is, another memory, or a remark.

    ``rank`` is the rank of the memory it quotes, if any.
    """

    kind: Literal["answer", "sureness", "other", "remark"]
    text: str
    rank: int | None = None


def lines_of(answer: Answer) -> Iterator[Line]:
    """Yield the lines of an answer, the answer itself first."""
    for line in _lines_of(answer):
        indent = line.text[: -len(line.text.lstrip(" ")) or None]
        yield Line(line.kind, f"{indent}{on_one_line(line.text)}", line.rank)


def _lines_of(answer: Answer) -> Iterator[Line]:
    if answer.status == "no_match" or answer.cut_short:
        yield Line("sureness", f"{sureness(answer)}.")
        yield from _uncovered(answer)
        yield from _others("What comes closest:", closest_to_show(answer), frozenset())
    elif answer.parts:
        yield from _both(answer)
    else:
        yield from _known(answer)
    for skip in answer.trace.skips:
        if skip.hurried:
            yield Line("remark", "There was no time for all steps; more may be found with more.")
            break
    for missing in answer.degraded:
        stage, _, why = missing.partition(": ")
        words = _STAGE_WORDS.get(stage)
        yield Line("remark", f"Answered without {words}." if words else f"Without {stage}: {why}.")


def sureness(answer: Answer) -> str:
    """Return in words how sure an answer is, without a full stop."""
    if answer.status == "no_match":
        return "Nothing stored answers that"
    if answer.cut_short:
        return "There was no time to look for it"
    return "Sure" if answer.status == "ok" else "Probably" if answer.confidence >= 0.5 else "Maybe"


def _known(answer: Answer) -> Iterator[Line]:
    """Yield the answer, how sure it is, and other memories."""
    relations = [str(relation) for relation in answer.relations if relation.answers]
    yield from (Line("answer", relation) for relation in relations)
    results = list(answer.results)
    quoted: set[str] = set()
    n_less_sure = 0
    if not relations and (answer.strategy == "TIMELINE" or answer.completeness is not None):
        listed = [
            result for result in results if result.confidence >= _MIN_LISTED_CONFIDENCE
        ] or results[:1]
        yield from (Line("answer", _other(result, indent=""), result.rank) for result in listed)
        n_less_sure = len(results) - len(listed)
        results = []
    elif not relations and results:
        first = results.pop(0)
        replaced = [
            change.doc_id for change in answer.changed if change.replaced_by == first.doc_id
        ]
        before = next((result for result in results if result.doc_id in replaced[:1]), None)
        yield Line("answer", _answer(first, before), first.rank)
        quoted = {memory.text for memory in (first, before, first.reply_to) if memory is not None}
    share = ""
    if answer.completeness is not None:
        share = f"; about {100 * answer.completeness:.0f} % of all there is"
    yield Line("sureness", f"{sureness(answer)} ({100 * answer.confidence:.0f} %{share}).")
    if n_less_sure:
        yield Line("other", f"{n_less_sure} more may belong to it, but probably do not.")
    if not relations:
        yield from _uncovered(answer)
    # Further facts about somebody belong to an answer about all of a kind, not about one thing.
    facts = answer.facts if answer.completeness is not None else {}
    values = {result.fact_value for result in answer.results[:1]}
    for relation in answer.relations:
        values |= {relation.subject, relation.object} if relation.answers else set()
    for key, value in facts.items():
        if value not in values:
            yield Line("other", f"{key.replace('_', ' ')}: {value}")
    yield from _others("Also:", results, quoted)


def _both(answer: Answer) -> Iterator[Line]:
    """Yield the answer to each question in one, how sure it is, and other memories."""
    ranks = {result.doc_id: result.rank for result in answer.results}
    quoted: set[str] = set()
    said: set[str] = set()
    for part in answer.parts:
        if part.status == "no_match" or part.cut_short:
            yield Line("remark", f"{sureness(part)}: “{part.query_text}”")
            continue
        for line in _known(part):
            if line.kind != "other" and (line.kind != "answer" or line.text not in said):
                rank = part.results[line.rank - 1].doc_id if line.rank else None
                yield Line(line.kind, line.text, ranks.get(rank) if rank else None)
            if line.kind == "answer":
                said.add(line.text)
        quoted |= {result.text for result in part.results[:1]}
    yield from _others("Also:", answer.results, quoted)


def closest_to_show(answer: Answer) -> list[Result]:
    """Return the closest memories, without passwords unless the question asks for one."""
    if _SECRET.search(answer.query_text):
        return list(answer.results)
    return [result for result in answer.results if not _SECRET.search(result.text)]


def _others(heading: str, results: Sequence[Result], quoted: Collection[str]) -> Iterator[Line]:
    """Yield other memories, each text once, none that was quoted."""
    others = {
        result.text: result
        for result in reversed(results)
        if result.confidence >= _MIN_CONFIDENCE and result.text not in quoted
    }
    if others:
        yield Line("other", heading)
        best = [*others.values()][::-1][:OTHERS]
        yield from (Line("other", _other(result), result.rank) for result in best)


def _answer(first: Result, before: Result | None) -> str:
    """Return the memory that answers, with what it replaced."""
    answer = f"{_quote(first)}{_origin(first)}"
    if before is None:
        return answer
    earlier = before.fact_value or shortened(on_one_line(before.text), _EARLIER_CHARS)
    return f"{answer} (until then: {earlier})"


def _other(result: Result, indent: str = "  ") -> str:
    """Return another memory on one line."""
    replaced = ", replaced since" if result.superseded_by or result.superseded else ""
    return f"{indent}{_quote(result)}{_origin(result)}{replaced}"


def _quote(result: Result) -> str:
    """Return the words of a memory, with the question that it replies to."""
    text = shortened(on_one_line(result.excerpt(_QUOTE_CHARS)), _QUOTE_CHARS)
    if result.reply_to is None:
        return text
    return f"{text} (in reply to “{shortened(on_one_line(result.reply_to.text), _EARLIER_CHARS)}”)"


def _origin(result: Result) -> str:
    day = in_words(result.on_day) if result.on_day else ""
    origin = ", ".join(part for part in (result.said_by, day) if part)
    return f" — {origin}" if origin else ""


def in_words(day: str) -> str:
    """Return a day, ISO 8601, as people write it: ``12 March 2026``."""
    at = dt.date.fromisoformat(day)
    return f"{at.day} {at:%B %Y}"


def _uncovered(answer: Answer) -> Iterator[Line]:
    if answer.uncovered:
        others = dict.fromkeys(result.whose for result in answer.results if result.whose)
        known = f"; what is known is about {', '.join(others)}" if others else ""
        yield Line("remark", f"Nothing about {', '.join(answer.uncovered)}{known}.")


_TAGS = {"answer": "strong", "sureness": "em", "remark": "span", "other": "span"}


def html_of(answer: Answer) -> str:
    """Return an answer as paragraphs with a list of other memories, every text escaped."""
    parts = []
    for is_item, lines in itertools.groupby(lines_of(answer), lambda line: line.text[:1] == " "):
        if is_item:
            items = "".join(f"<li>{_escaped(line.text)}</li>" for line in lines)
            parts.append(f"<ul>{items}</ul>")
        else:
            for line in lines:
                tag = _TAGS[line.kind]
                parts.append(f"<p><{tag}>{_escaped(line.text)}</{tag}></p>")
    return f"<div>{''.join(parts)}</div>"


def _escaped(text: str) -> str:
    """Return a text as HTML, isolated so that direction marks affect nothing outside it."""
    return f"<bdi>{html.escape(text.strip())}</bdi>"
