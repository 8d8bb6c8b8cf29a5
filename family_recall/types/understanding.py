"""Records of what a question is understood to ask."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from msgspec.structs import replace

from family_recall.errors import InvalidRequestError
from family_recall.types.fields import Checked, about
from family_recall.types.records import Record

Strategy = Literal["FACTUAL", "EPISODIC", "MILESTONE", "TIMELINE", "HYBRID"]
Mode = Literal["hybrid", "knowledge", "neural"]
Breadth = Literal["one", "all", "about"]
"""Whether a question asks for one thing, all of a kind, or everything about somebody."""
IdentifierKind = Literal[
    "url", "email", "isbn", "issue", "ticket", "path", "phone", "reference", "licence_plate"
]
HEMISPHERES = ("north", "south")


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier as written, and in a form that all its spellings share.

    ``normalised`` is lower case for URLs, e-mail addresses and tickets; digits, with any leading
    ``+``, for phone numbers; 13 digits for ISBNs; capitals and digits for licence plates and
    reference numbers. ``span`` holds character offsets into the text.
    """

    kind: IdentifierKind
    text: str
    normalised: str
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Region(Checked):
    """Where a household lives, to interpret words for time.

    Args:
        country: ISO 3166 code, for Thanksgiving, Mother's Day and the like.
        hemisphere: ``north`` or ``south``, for seasons.
    """

    country: str = "US"
    hemisphere: Annotated[str, about(choices=HEMISPHERES)] = "north"

    def __post_init__(self) -> None:
        """Raise for an unknown hemisphere or an invalid country code."""
        if not (
            isinstance(self.country, str) and len(self.country) == 2 and self.country.isalpha()
        ):
            raise InvalidRequestError(
                f"country must be a two-letter ISO 3166 code such as IN, got {self.country!r}"
            )
        object.__setattr__(self, "country", self.country.upper())
        Checked.__post_init__(self)


class SpokenTime(Record, frozen=True):
    """The half-open interval of local time that a question is about.

    ``certainty`` is in [0, 1]; from 0.9 on the interval may filter. ``matched`` are the words it
    was read from; an open end is None.
    """

    start: dt.datetime | None
    end: dt.datetime | None
    certainty: float
    matched: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return every field, moments in local time without an offset."""
        start, end = (end and end.replace(tzinfo=None) for end in (self.start, self.end))
        return Record.to_json(replace(self, start=start, end=end))


class Understanding(Record, frozen=True):
    """What a question asks, and how it is searched.

    ``identifiers`` are normalised for look-up. ``entities`` are its names of people and things, as
    known in the asker's spaces. ``tier_weights`` of facts, milestones and episodes sum to 1.
    ``breadth`` is one thing, all of a kind, or everything about somebody; ``terms`` are the words
    searched for.
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
        return Record.to_json(self) | {"identifiers": identifiers}

    @classmethod
    def _as_stored(cls, record: Any) -> Any:
        return with_pairs(record)


def with_pairs(record: Any) -> Any:
    """Return an understanding's JSON with its identifiers as pairs of kind and value."""
    if not isinstance(record, Mapping) or not isinstance(record.get("identifiers"), Sequence):
        return record
    pairs = [
        (item.get("kind"), item.get("value")) if isinstance(item, Mapping) else item
        for item in record["identifiers"]
    ]
    return {**record, "identifiers": pairs}


COUNTRIES: Final = frozenset(
    """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO
    BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ
    DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP
    GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG
    KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML
    MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE
    PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL
    SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM
    US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW
    """.split()
)
"""ISO 3166-1 alpha-2, as of 2024, and XK, which Kosovo uses until it has a code."""

_CORRECT_CODES = {"UK": "GB", "EN": "GB", "EL": "GR", "SU": "RU", "YU": "RS"}


def check_country(code: str) -> None:
    """Check that a country has a code.

    Raises:
        InvalidRequestError: If none has; the message suggests one.
    """
    if code.upper() not in COUNTRIES:
        correct = _CORRECT_CODES.get(code.upper())
        example = f"did you mean {correct}?" if correct else "write two letters, such as GB or IN"
        raise InvalidRequestError(f"no country has the ISO 3166 code {code!r}; {example}")
