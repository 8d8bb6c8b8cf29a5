"""The results of a recall as a page shows them, and how its question was understood."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from family_recall.api.explanations import FEATURES
from family_recall.types import Answer, Contribution, Result
from family_recall.types.answer_text import sureness

_DAY = dt.timedelta(days=1)


def understood(answer: Answer) -> dict[str, str]:
    """Return what an answer says of how its question was read.

    ``sureness`` of the answer, the ``time`` that the question is about (empty where it names none)
    and what the ``order`` of the results means.
    """
    asked = answer.trace.understanding
    span = asked.timespan if asked else None
    return {
        "sureness": sureness(answer),
        "time": time_text(span.start, span.end) if span else "",
        "order": "in order of time" if answer.strategy == "TIMELINE" else "best match first",
    }


def time_text(start: dt.datetime | None, end: dt.datetime | None) -> str:
    """Return a half-open time in words; whole days, months and years by their names.

    >>> time_text(dt.datetime(2025, 8, 1), dt.datetime(2025, 9, 1))
    'August 2025'
    >>> time_text(dt.datetime(2025, 8, 29), dt.datetime(2025, 9, 2))
    '29 August to 1 September 2025'
    >>> time_text(dt.datetime(2025, 8, 1, 18), dt.datetime(2025, 8, 1, 21, 30))
    '1 August 2025, 18:00 to 21:30'
    """
    if start is None or end is None:
        since = f"since {_moment(start)}" if start else ""
        return f"before {_moment(end)}" if end else since
    if start.time() != dt.time() or end.time() != dt.time():
        same_day = start.date() == end.date()
        return f"{_moment(start)} to {f'{end:%H:%M}' if same_day else _moment(end)}"
    return days_text(start.date(), (end - _DAY).date())


def days_text(first: dt.date, last: dt.date) -> str:
    """Return days in words, the last among them; whole months and years by their names."""
    after = last + _DAY
    if first.day == 1 and after.day == 1:
        if (first.month, after.month) == (1, 1):
            return _range(str(first.year), str(last.year))
        years = "" if first.year == last.year else f" {first.year}"
        return _range(f"{first:%B}{years}", f"{last:%B}", f" {last.year}")
    if first.year != last.year:
        return f"{_date(first)} to {_date(last)}"
    if first.month != last.month:
        return f"{first.day} {first:%B} to {_date(last)}"
    return _range(str(first.day), str(last.day), f" {last:%B %Y}")


def _range(first: str, last: str, after: str = "") -> str:
    return f"{first if first == last else f'{first} to {last}'}{after}"


def _date(day: dt.date) -> str:
    return f"{day.day} {day:%B %Y}"


def _moment(moment: dt.datetime) -> str:
    at = "" if moment.time() == dt.time() else f", {moment:%H:%M}"
    return f"{_date(moment.date())}{at}"


GROUPS: Mapping[str, tuple[str, ...]] = {
    "words": ("bm25", "bm25_squared", "related_words", "identifier", "pending"),
    "meaning": ("maxsim", "cosine", "static", "belongs", "cross_encoder"),
    "links": ("session", "ppr", "graph_bias", "entities", "near_focus", "evidence", "concerns"),
    "time": ("temporal_match", "recency", "tells_when", "event_kind"),
    "other": (
        *("tier", "tier_share", "in_mode", "importance", "matters", "personalization", "emotion"),
        *("affect_compat", "identity", "length", "rrf", "rrf_raw", "rrf_decayed", "source_prior"),
        *("inherited", "withheld", "rejected"),
    ),
}
"""Features that share a colour, by what they look at: five colours, as many as can be told apart.
"""

MEANINGS = {feature.name: feature.meaning for feature in FEATURES}
_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}
_PLACE = {name: position for position, name in enumerate(_GROUP_OF)}
_WIDTH = 1000.0


@dataclass(frozen=True, slots=True)
class Card:
    """One result as its card shows it.

    Args:
        result: The result itself.
        passages: Its text in pieces, each with whether it is highlighted.
        bars: The terms that are not 0, by group; each with where its part of the bar starts and its
            width, in proportion to its amount. The bar is 1000 long.
        terms: The terms that are not 0, the largest first.
        n_zero: How many terms are 0.
    """

    result: Result
    passages: tuple[tuple[str, bool], ...]
    bars: tuple[tuple[Contribution, float, float], ...]
    terms: tuple[Contribution, ...]
    n_zero: int


@dataclass(frozen=True, slots=True)
class Cards:
    """Cards, and the names of the groups whose colours appear on them."""

    cards: tuple[Card, ...]
    groups: Mapping[str, str]

    @staticmethod
    def meaning(feature: str) -> str:
        """Return what a feature looks at, in a few words; empty if it is not declared."""
        return MEANINGS.get(feature, "")

    @staticmethod
    def group(feature: str) -> str:
        """Return the group whose colour a feature has."""
        return _GROUP_OF.get(feature, "other")


def cards(shown: Sequence[Result]) -> Cards:
    """Lay out results."""
    laid_out = tuple(map(_card, shown))
    used = {Cards.group(term.feature) for card in laid_out for term in card.terms}
    return Cards(laid_out, {group: group for group in GROUPS if group in used})


def bars(contributions: Sequence[Contribution]) -> Iterator[tuple[Contribution, float, float]]:
    """Yield each term that is not 0 with the start and the width of its part of the bar."""
    total, start = sum(abs(part.amount) for part in contributions), 0.0
    for part in sorted(contributions, key=_place):
        if width := _WIDTH * abs(part.amount) / total if total else 0.0:
            yield part, start, width
            start += width


def _card(result: Result) -> Card:
    terms = [part for part in result.contributions if part.amount]
    return Card(
        result=result,
        passages=tuple(_passages(result.text, result.highlights)),
        bars=tuple(bars(result.contributions)),
        terms=tuple(sorted(terms, key=lambda part: -abs(part.amount))),
        n_zero=len(result.contributions) - len(terms),
    )


def _passages(text: str, highlights: Sequence[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    position = 0
    for start, end in sorted(highlights):
        if start >= position:
            yield text[position:start], False
            yield text[start:end], True
            position = end
    yield text[position:], False


def _place(part: Contribution) -> tuple[int, str]:
    return _PLACE.get(part.feature, len(_PLACE)), part.feature
