"""The countries that a household may live in."""

from __future__ import annotations

from typing import Final

from family_recall.errors import InvalidRequestError

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
"""ISO 3166-1 alpha-2, as of 2024, and XK, by which Kosovo goes until it has a code."""

_MEANT = {"UK": "GB", "EN": "GB", "EL": "GR", "SU": "RU", "YU": "RS"}


def check_country(code: str) -> None:
    """Refuse a code that no country has; what is stored already is not checked so.

    Raises:
        InvalidRequestError: If none has; it names the one that may be meant.
    """
    if code.upper() not in COUNTRIES:
        meant = _MEANT.get(code.upper())
        example = f"did you mean {meant}?" if meant else "write two letters, such as GB or IN"
        raise InvalidRequestError(f"no country has the ISO 3166 code {code!r}; {example}")
