"""What a question is understood to ask, before anything is searched."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from family_recall.errors import InvalidRequestError
from family_recall.types.checks import check_choice
from family_recall.types.json_records import JsonRecord

Strategy = Literal["FACTUAL", "EPISODIC", "MILESTONE", "TIMELINE", "HYBRID"]
Mode = Literal["hybrid", "knowledge", "neural"]
Breadth = Literal["one", "all", "about"]
"""How much a question asks for: one thing, all of a kind, or whatever is known about somebody."""
IdentifierKind = Literal[
    "url", "email", "isbn", "issue", "ticket", "path", "phone", "reference", "licence_plate"
]
HEMISPHERES = ("north", "south")


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier as written, and in the form that two spellings of it share.

    ``normalised`` is lower case for URLs, e-mail addresses and tickets; digits, with a leading
    ``+`` where one was written, for phone numbers; 13 digits for ISBNs; capitals and digits for
    licence plates and reference numbers. ``span`` are character offsets into the text.
    """

    kind: IdentifierKind
    text: str
    normalised: str
    span: tuple[int, int]


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
        check_choice("hemisphere", self.hemisphere, HEMISPHERES)


@dataclass(frozen=True, slots=True)
class SpokenTime(JsonRecord):
    """The half-open interval of local time that a question is about.

    ``certainty`` in [0, 1]: from 0.9 on it may be used as a filter. ``matched`` are the words
    it was read from; an open end is None.
    """

    start: dt.datetime | None
    end: dt.datetime | None
    certainty: float
    matched: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return every field, moments in local time without an offset."""
        start, end = (end and end.replace(tzinfo=None) for end in (self.start, self.end))
        return JsonRecord.to_json(replace(self, start=start, end=end))

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SpokenTime:
        """Read what :meth:`to_json` wrote."""
        start, end = (
            moment and dt.datetime.fromisoformat(moment)
            for moment in (record["start"], record["end"])
        )
        return cls(start, end, record["certainty"], tuple(record["matched"]))


@dataclass(frozen=True, slots=True)
class Understanding(JsonRecord):
    """The plan a question leads to.

    ``identifiers`` as normalised for look-up; ``entities`` the names of people and things in it, as
    the spaces of the person who asks know them; ``tier_weights`` of facts, milestones and
    episodes, summing to 1; ``breadth`` how much the question asks for: one thing, all of a kind, or
    whatever is known about somebody; ``terms`` the words that are searched for.
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
    breadth: Breadth = "one"

    def to_json(self) -> dict[str, Any]:
        """Return every field; an identifier as its kind and value."""
        identifiers = [{"kind": kind, "value": value} for kind, value in self.identifiers]
        return JsonRecord.to_json(self) | {"identifiers": identifiers}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Understanding:
        """Read what :meth:`to_json` wrote."""
        spoken = record["timespan"]
        return cls(
            **dict(record)
            | {
                "timespan": spoken and SpokenTime.from_json(spoken),
                "identifiers": tuple(
                    (each["kind"], each["value"]) for each in record["identifiers"]
                ),
                "entities": tuple(record["entities"]),
                "terms": tuple(record["terms"]),
            }
        )
