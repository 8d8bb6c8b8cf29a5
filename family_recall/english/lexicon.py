"""The English words for times and numbers, each list in one place."""

from __future__ import annotations


def _numbered(first: int, *names: str) -> dict[str, int]:
    """Number names from ``first`` on; names in one string share a number."""
    return {name: number for number, shared in enumerate(names, first) for name in shared.split()}


MONTHS = _numbered(
    1, "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
    "august aug", "september sept sep", "october oct", "november nov", "december dec",
)  # fmt: skip
MONTH_NAMES = tuple(name for name in MONTHS if len(name) > 4 or name in {"may", "june", "july"})
WEEKDAYS = _numbered(
    0, "monday mon", "tuesday tues tue", "wednesday wed", "thursday thurs thur thu",
    "friday fri", "saturday sat", "sunday sun",
)  # fmt: skip
WEEKDAY_NAMES = tuple(name for name in WEEKDAYS if name.endswith("day"))
SEASONS = _numbered(0, "spring", "summer", "autumn fall", "winter")
GIVEN_NAMES = frozenset("may april june august jan mar summer autumn".split())
"""Months and seasons that people are called by."""

PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 29)}
"""Parts of the day in hours from its midnight; a night runs into the next day."""

UNITS = {
    f"{unit}{ending}": unit
    for unit in ("minute", "hour", "day", "week", "month", "quarter", "year", "decade")
    for ending in ("", "s")
}
TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90,
}  # fmt: skip
COUNTS = TENS | _numbered(
    1,
    *"one two three four five six seven eight nine ten eleven twelve thirteen fourteen".split(),
    *"fifteen sixteen seventeen eighteen nineteen twenty".split(),
)
ORDINALS = _numbered(
    1,
    *"first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(),
    *"thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth".split(),
    "twentieth",
) | {"thirtieth": 30}
DECADES = {
    "thirties": 1930, "forties": 1940, "fifties": 1950, "sixties": 1960, "seventies": 1970,
    "eighties": 1980, "nineties": 1990, "noughties": 2000,
}  # fmt: skip
OWNERS = frozenset("my your his her its our their".split())
"""Possessive determiners."""

FROM_ITS_DAY = frozenset("today tonight yesterday tomorrow ago last next this".split())
"""Words whose time counts from the day on which they are said; weekdays are such, too."""

CHOICES = {
    "last": "last", "past": "last", "previous": "last",
    "this": "this", "current": "this",
    "next": "next", "coming": "next",
}  # fmt: skip
DASHES = frozenset("-–—")
THIRDS = {
    **dict.fromkeys(("early", "beginning", "start"), 0),
    **dict.fromkeys(("mid", "middle"), 1),
    **dict.fromkeys(("late", "end"), 2),
}
"""Words for the first, the second and the last third of a period."""

RANGES = frozenset(("to", "until", "till", "til", "through", "thru", *DASHES))
FOLLOWERS = frozenset(
    "in on at with for from to about of by and or but when while that which who where what "
    "how did do does i we you he she they it again together instead first then too also "
    "because if so before after since until till til through thru during near over".split()
)
"""Words that may follow a finished time phrase; anything else makes it part of a name."""

COMPOUNDS = frozenset(
    "camp camps coat coats jacket boots tyres tires school dress dresses house job jobs olympics "
    "break cleaning roll rolls onion onions water party bike bag roast holiday holidays vacation "
    "half term terms sale sales bank exams market markets season shopping fair concert play".split()
)
"""Words that make a thing, or a period nobody can know, of the season or holiday before them."""

TIME_STEMS = (
    *(
        "yesterdai todai tonight tomorrow ago last next week weekend month year morn recent"
        " januari februari march april june juli august septemb octob novemb decemb"
        " mondai tuesdai wednesdai thursdai fridai saturdai sundai summer winter autumn christma"
        " easter"
    ).split(),
    *map(str, range(1900, 2100)),
)
"""Stems of time expressions: a day, a month, a year, ago.

Those with another common meaning (*may*, *fall*, *even* of *evening*) are left out.
"""
