"""An answer in plain words, as text and as HTML: what is known, how surely, what else was found."""

from __future__ import annotations

import datetime as dt
import html
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from family_recall.types.briefing import shortened

if TYPE_CHECKING:
    from family_recall.types.answer import Answer, Result

OTHERS = 3
"""How many memories are named beside the one that answers, or under "nothing answers"."""

_WORTH_NAMING = 0.1  # confidence of another memory
_LISTED = 0.25  # confidence of what is listed where all of a kind is asked for
_CHARS = 160
_OF_EARLIER = 80
_WITHOUT = {
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
    """One line, and what it is: the answer, how sure it is, another memory, or a remark.

    ``rank`` is that of the memory it quotes; None where it quotes none.
    """

    kind: Literal["answer", "sureness", "other", "remark"]
    text: str
    rank: int | None = None


def lines_of(answer: Answer) -> Iterator[Line]:
    """Yield an answer as lines to read, the answer itself first."""
    if answer.status == "no_match":
        yield Line("sureness", f"{sureness(answer)}.")
        yield from _uncovered(answer)
        yield from _others("What comes closest:", closest_to_show(answer), frozenset())
    else:
        yield from _known(answer)
    for skip in answer.trace.skips:
        if skip.hurried:
            yield Line("remark", "There was no time for all steps; more may be found with more.")
            break
    for missing in answer.degraded:
        stage, _, why = missing.partition(": ")
        what = _WITHOUT.get(stage)
        yield Line("remark", f"Answered without {what}." if what else f"Without {stage}: {why}.")


def sureness(answer: Answer) -> str:
    """Return how sure an answer is, in words without a full stop."""
    if answer.status == "no_match":
        return "Nothing stored answers that"
    return "Sure" if answer.status == "ok" else "Probably" if answer.confidence >= 0.5 else "Maybe"


def _known(answer: Answer) -> Iterator[Line]:
    """Yield what answers, how sure it is, and what else was found."""
    relations = [str(relation) for relation in answer.relations if relation.answers]
    yield from (Line("answer", relation) for relation in relations)
    results = list(answer.results)
    told: set[str] = set()
    n_less_sure = 0
    if not relations and (answer.strategy == "TIMELINE" or answer.completeness is not None):
        listed = [result for result in results if result.confidence >= _LISTED] or results[:1]
        yield from (Line("answer", _named(result, indent=""), result.rank) for result in listed)
        n_less_sure = len(results) - len(listed)
        results = []
    elif not relations and results:
        first = results.pop(0)
        earlier = next(
            (one.doc_id for one in answer.changed if one.replaced_by == first.doc_id), ""
        )
        before = next((result for result in results if result.doc_id == earlier), None)
        yield Line("answer", _told(first, before), first.rank)
        told = {one.text for one in (first, before, first.reply_to) if one is not None}
    whole = ""
    if answer.completeness is not None:
        whole = f"; about {100 * answer.completeness:.0f} % of all there is"
    yield Line("sureness", f"{sureness(answer)} ({100 * answer.confidence:.0f} %{whole}).")
    if n_less_sure:
        yield Line("other", f"{n_less_sure} more may belong to it, but probably do not.")
    if not relations:
        yield from _uncovered(answer)
    # Where one thing is asked, another fact about Mira is none of the answer.
    facts = answer.facts if answer.completeness is not None else {}
    values = {result.fact_value for result in answer.results[:1]}
    for relation in answer.relations:
        values |= {relation.subject, relation.object} if relation.answers else set()
    for key, value in facts.items():
        if value not in values:
            yield Line("other", f"{key.replace('_', ' ')}: {value}")
    yield from _others("Also:", results, told)


def closest_to_show(answer: Answer) -> list[Result]:
    """Return the closest memories without those that hold a password nobody asked for."""
    if _SECRET.search(answer.query_text):
        return list(answer.results)
    return [result for result in answer.results if not _SECRET.search(result.text)]


def _others(heading: str, results: Sequence[Result], told: Collection[str]) -> Iterator[Line]:
    """Yield memories that may be worth a look, each text once."""
    others = {
        result.text: result
        for result in reversed(results)
        if result.confidence >= _WORTH_NAMING and result.text not in told
    }
    if others:
        yield Line("other", heading)
        named = [*others.values()][::-1][:OTHERS]
        yield from (Line("other", _named(result), result.rank) for result in named)


def _told(first: Result, before: Result | None) -> str:
    """Return the memory that answers, with what it replaced."""
    was = ""
    if before is not None:
        earlier = before.fact_value or shortened(_flat(before.text), _OF_EARLIER)
        was = f" (until then: {earlier})"
    return f"{_quoted(first)}{_origin(first)}{was}"


def _named(result: Result, indent: str = "  ") -> str:
    """Return another memory on one line."""
    replaced = ", replaced since" if result.superseded_by or result.superseded else ""
    return f"{indent}{_quoted(result)}{_origin(result)}{replaced}"


def _quoted(result: Result) -> str:
    """Return the words of a memory, with the question that it replies to."""
    text = shortened(_flat(result.excerpt(_CHARS)), _CHARS)
    if result.reply_to is None:
        return text
    return f"{text} (in reply to “{shortened(_flat(result.reply_to.text), _OF_EARLIER)}”)"


def _origin(result: Result) -> str:
    day = ""
    if result.occurred_at:
        at = dt.datetime.fromisoformat(result.occurred_at)
        day = f"{at.day} {at:%B %Y}"
    origin = ", ".join(part for part in (result.said_by, day) if part)
    return f" — {origin}" if origin else ""


def _uncovered(answer: Answer) -> Iterator[Line]:
    if answer.uncovered:
        yield Line("remark", f"Nothing about {', '.join(answer.uncovered)}.")


def _flat(text: str) -> str:
    return " ".join(text.split())


_TAGS = {"answer": "strong", "sureness": "em", "remark": "span", "other": "span"}


def html_of(answer: Answer) -> str:
    """Return an answer as paragraphs, other memories as a list; every text of it escaped."""
    parts = []
    for is_item, lines in itertools.groupby(lines_of(answer), lambda line: line.text[:1] == " "):
        if is_item:
            items = "".join(f"<li>{_escaped(line.text)}</li>" for line in lines)
            parts.append(f"<ul>{items}</ul>")
        else:
            parts += [f"<p>{_tagged(_TAGS[line.kind], line.text)}</p>" for line in lines]
    return f"<div>{''.join(parts)}</div>"


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>{_escaped(text)}</{tag}>"


def _escaped(text: str) -> str:
    """Return a text as HTML; marks that turn its direction reach no further than itself."""
    # A notebook is sent as UTF-8, which has no lone surrogates.
    sendable = text.strip().encode("utf-8", "replace").decode("utf-8")
    return f"<bdi>{html.escape(sendable)}</bdi>"
