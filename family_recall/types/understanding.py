"""What a question is understood to ask, before anything is searched."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from family_recall.errors import InvalidRequestError

Strategy = Literal["FACTUAL", "EPISODIC", "MILESTONE", "TIMELINE", "HYBRID"]
Mode = Literal["hybrid", "knowledge", "neural"]
HEMISPHERES = ("north", "south")


@dataclass(frozen=True, slots=True)
class Region:
    """Where a household lives, as far as words for time depend on it.

    Args:
        country: ISO 3166 code, for Thanksgiving, Mother's Day and the like.
        hemisphere: ``north`` or ``south``: which half of the year is summer.
    """

    country: str = "US"
    hemisphere: str = "north"

    def __post_init__(self) -> None:
        """Refuse an unknown hemisphere, and what is not a country code."""
        if not (
            isinstance(self.country, str) and len(self.country) == 2 and self.country.isalpha()
        ):
            raise InvalidRequestError(
                f"country must be a two-letter ISO 3166 code such as IN, got {self.country!r}"
            )
        object.__setattr__(self, "country", self.country.upper())
        if self.hemisphere not in HEMISPHERES:
            raise InvalidRequestError(f"hemisphere must be north or south, got {self.hemisphere!r}")


@dataclass(frozen=True, slots=True)
class SpokenTime:
    """The half-open interval of local time that a question is about.

    ``certainty`` in [0, 1]: from 0.9 on it may be used as a filter. ``matched`` are the words
    it was read from; an open end is None.
    """

    start: dt.datetime | None
    end: dt.datetime | None
    certainty: float
    matched: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return local ISO moments, without an offset."""
        return {
            "start": _local(self.start),
            "end": _local(self.end),
            "certainty": self.certainty,
            "matched": list(self.matched),
        }


@dataclass(frozen=True, slots=True)
class Understanding:
    """The plan a question leads to.

    ``identifiers`` as normalised for look-up; ``entities`` the names of people and things in it, as
    the spaces of the person who asks know them; ``tier_weights`` of facts, milestones and
    episodes, summing to 1; ``terms`` the words that are searched for.
    """

    question: str
    timespan: SpokenTime | None
    past_reference: bool
    identifiers: tuple[tuple[str, str], ...]
    entities: tuple[str, ...]
    strategy: Strategy
    strategy_confidence: float
    mode: Mode
    tier_weights: Mapping[str, float]
    terms: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return every field; an identifier as its kind and value."""
        return {
            "question": self.question,
            "timespan": self.timespan.to_json() if self.timespan else None,
            "past_reference": self.past_reference,
            "identifiers": [{"kind": kind, "value": value} for kind, value in self.identifiers],
            "entities": list(self.entities),
            "strategy": self.strategy,
            "strategy_confidence": self.strategy_confidence,
            "mode": self.mode,
            "tier_weights": dict(self.tier_weights),
            "terms": list(self.terms),
        }


def _local(moment: dt.datetime | None) -> str | None:
    return None if moment is None else moment.replace(tzinfo=None).isoformat()
