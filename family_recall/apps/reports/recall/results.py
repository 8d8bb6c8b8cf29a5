"""Cards of results, each with a bar whose parts add up to its score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from family_recall.api.explanations import FEATURES
from family_recall.types import Contribution, Result

GROUPS: Mapping[str, tuple[str, ...]] = {
    "words": ("bm25", "bm25_squared", "related_words", "identifier", "pending"),
    "meaning": ("maxsim", "cosine", "static", "cross_encoder"),
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
