"""The results of a recall as a page shows them, and how its question was understood."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from family_recall.api.explanations import FEATURES
from family_recall.types import Answer, Contribution, Result
from family_recall.types.answer_text import sureness

_DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Understood:
    """What stands above the results.

    Args:
        sureness: How sure the answer is: ``Probably``.
        time: The time that the question is about; empty where it names none.
        order: What the order of the results means.
    """

    sureness: str
    time: str
    order: str


def understood(answer: Answer) -> Understood:
    """Return what an answer says of how its question was read."""
    asked = answer.trace.understanding
    span = asked.timespan if asked else None
    in_order = answer.strategy == "TIMELINE"
    return Understood(
        sureness(answer),
        time_text(span.start, span.end) if span else "",
        "in order of time" if in_order else "best match first",
    )


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
_ENDS = (0.1, 1.0, 2.0, 5.0, 10.0)
"""Where a track may end: at 1, unless scores are all tiny or some are higher."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What every track of an answer spans: 0 to 1, further where terms or scores lie outside.

    A profile whose scores are all below 0.1 has a track that ends there.
    """

    low: float
    high: float

    @classmethod
    def of(cls, results: Sequence[Result]) -> Scale:
        """Return the scale on which all of some results fit, zero among them."""
        amounts = [[part.amount for part in result.contributions] for result in results]
        low = min((sum(a for a in each if a < 0.0) for each in amounts), default=0.0)
        high = max((sum(a for a in each if a > 0.0) for each in amounts), default=0.0)
        return cls(low, next((end for end in _ENDS if end >= high), high))

    def at(self, amount: float) -> float:
        """Return where an amount is on a line 1000 long."""
        return (amount - self.low) / (self.high - self.low) * _WIDTH


@dataclass(frozen=True, slots=True)
class Card:
    """One result as its card shows it.

    Args:
        result: The result itself.
        passages: Its text in pieces, each with whether it is highlighted.
        bars: The terms that are not 0, by group; each with where its bar starts and its width.
        zero: Where 0 is on the bar; None where it begins there.
        end: Where the score is on the bar.
        terms: The terms that are not 0, the largest first.
        n_zero: How many terms are 0.
    """

    result: Result
    passages: tuple[tuple[str, bool], ...]
    bars: tuple[tuple[Contribution, float, float], ...]
    zero: float | None
    end: float
    terms: tuple[Contribution, ...]
    n_zero: int


@dataclass(frozen=True, slots=True)
class Cards:
    """Cards with one scale, and the names of the groups whose colours appear on them."""

    cards: tuple[Card, ...]
    groups: Mapping[str, str]
    scale: Scale

    @staticmethod
    def meaning(feature: str) -> str:
        """Return what a feature looks at, in a few words; empty if it is not declared."""
        return MEANINGS.get(feature, "")

    @staticmethod
    def group(feature: str) -> str:
        """Return the group whose colour a feature has."""
        return _GROUP_OF.get(feature, "other")


def cards(shown: Sequence[Result]) -> Cards:
    """Lay out results on one scale."""
    scale = Scale.of(shown)
    laid_out = tuple(_card(result, scale) for result in shown)
    used = {Cards.group(term.feature) for card in laid_out for term in card.terms}
    return Cards(laid_out, {group: group for group in GROUPS if group in used}, scale)


def stack(contributions: Sequence[Contribution]) -> Iterator[tuple[Contribution, float]]:
    """Yield each term with the amount at which its bar starts: right of zero, or left of it."""
    right = left = 0.0
    for part in sorted(contributions, key=_place):
        if part.amount > 0.0:
            yield part, right
            right += part.amount
        elif part.amount < 0.0:
            left += part.amount
            yield part, left


def _card(result: Result, scale: Scale) -> Card:
    terms = [part for part in result.contributions if part.amount]
    return Card(
        result=result,
        passages=tuple(_passages(result.text, result.highlights)),
        bars=tuple(
            (part, scale.at(start), scale.at(start + abs(part.amount)) - scale.at(start))
            for part, start in stack(result.contributions)
        ),
        zero=scale.at(0.0) if scale.low < 0.0 else None,
        end=scale.at(result.score),
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
