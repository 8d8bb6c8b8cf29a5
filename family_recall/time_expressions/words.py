"""Words: a question in, its tokens and the time words among them out."""

from __future__ import annotations

import re
from typing import NamedTuple

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun",
            "july jul", "august aug", "september sept sep", "october oct", "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
GIVEN_NAMES = frozenset("may april june august jan mar summer autumn".split())
"""Months and seasons that people are called by."""

WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mon", "tuesday tues tue", "wednesday wed", "thursday thurs thur thu",
            "friday fri", "saturday sat", "sunday sun",
        )
    )
    for name in names.split()
}  # fmt: skip
SEASONS = {"spring": 0, "summer": 1, "autumn": 2, "fall": 2, "winter": 3}
PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 29)}
"""Parts of the day in hours from its midnight; a night runs into the next day."""

UNITS = {
    f"{unit}{ending}": unit
    for unit in ("minute", "hour", "day", "week", "month", "quarter", "year", "decade")
    for ending in ("", "s")
}
CHOICES = {
    "last": "last", "past": "last", "previous": "last",
    "this": "this", "current": "this",
    "next": "next", "coming": "next",
}  # fmt: skip

_COUNTS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
).split()
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
_TENS = {
    word: 10 * number
    for number, word in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2
    )
}
COUNTS = {word: number for number, word in enumerate(_COUNTS, start=1)} | _TENS
ORDINALS = {word: number for number, word in enumerate(_ORDINALS, start=1)}
ORDINALS["thirtieth"] = 30
DECADES = {
    "thirties": 1930, "forties": 1940, "fifties": 1950, "sixties": 1960, "seventies": 1970,
    "eighties": 1980, "nineties": 1990, "noughties": 2000,
}  # fmt: skip
EDGES = {
    "early": 0, "beginning": 0, "start": 0,
    "mid": 1, "middle": 1,
    "late": 2, "end": 2,
}  # fmt: skip

OWNERS = frozenset("my your his her its our their".split())
DASHES = frozenset("-–—")
RANGES = frozenset(("to", "until", "till", "til", "through", "thru", *DASHES))
FOLLOWERS = frozenset(
    "in on at with for from to about of by and or but when while that which who where what "
    "how did do does i we you he she they it again together instead first then too also "
    "because if so before after since until during near over".split()
)
"""Words that may follow a finished time phrase; anything else makes it part of a name."""

COMPOUNDS = frozenset(
    "camp camps coat coats jacket boots tyres tires school dress dresses house job jobs olympics "
    "break cleaning roll rolls onion onions water party bike bag roast holiday holidays vacation "
    "half term terms sale sales bank exams market markets season shopping fair concert play".split()
)
"""Words that make a thing, or a stretch nobody can know, of the season or feast before them."""

GATHERINGS = frozenset(
    "party market markets season shopping fair concert play parade service lunch dinner breakfast "
    "brunch meal".split()
)
"""What is held for a feast, on its day or some other one."""

_OFTEN_MISSPELT = (
    "yesterday tomorrow tonight weekend january february september october november december "
    "tuesday wednesday thursday saturday christmas thanksgiving halloween afternoon"
).split()
_MISSPELLINGS = {
    "tommorow": "tomorrow", "tmrw": "tomorrow", "tonite": "tonight",
    "lst": "last", "nxt": "next", "nite": "night", "wk": "week", "wks": "weeks", "mth": "month",
    "mths": "months", "yr": "year", "yrs": "years", "hr": "hour", "hrs": "hours", "mins": "minutes",
    "wendsday": "wednesday", "wensday": "wednesday", "wendesday": "wednesday",
}  # fmt: skip
_SHORTENED = {
    word[:at] + word[at + 1 :]: word for word in _OFTEN_MISSPELT for at in range(len(word))
}

MAX_SCANNED_CHARS = 4000
_TOKEN = re.compile(
    r"[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}(?![0-9])"
    r"|[0-9]{1,2}([-/.])[0-9]{1,2}\2[0-9]{4}(?![0-9])"
    r"|[0-9]+(?:[:/.,][0-9]+)+"
    r"|['’]?[0-9]+(?:st|nd|rd|th|s)?(?![^\W_])"
    r"|[0-9]+"
    r"|[^\W\d_]+(?:['’](?:s|t|ll|re|ve|d|m)(?![^\W_]))?"
    r"|\S",
    re.IGNORECASE,
)


class Token(NamedTuple):
    """One word, number or sign, as written and in lower case without a closing 's."""

    word: str
    raw: str
    start: int
    end: int
    possessive: bool

    @property
    def capitalised(self) -> bool:
        """Whether it begins with a capital letter and is not all capitals."""
        return self.raw[:1].isupper() and not self.raw.isupper()


END = Token("", "", 0, 0, possessive=False)


def tokens_of(question: str) -> list[Token]:
    """Cut the first few thousand characters of a question into tokens."""
    found = []
    for match in _TOKEN.finditer(question[:MAX_SCANNED_CHARS]):
        raw = match.group()
        word = raw.lower().replace("’", "'")
        possessive = word.endswith("'s")
        if possessive:
            word = word[:-2]
        word = _spelt(word) if len(word) > 4 else _MISSPELLINGS.get(word, word)
        found.append(Token(word, raw, match.start(), match.end(), possessive))
    if not any(token.word in _TENS for token in found):
        return found
    return _with_whole_numbers(found)


def _spelt(word: str) -> str:
    """Right a long time word in which one letter is wrong, missing, doubled or swapped."""
    if word in _MISSPELLINGS:
        return _MISSPELLINGS[word]
    plural = word.endswith("s") and not word.endswith("mas")
    if not 6 <= len(word) <= 13 or plural or word in _OFTEN_MISSPELT:
        return word
    if word in _SHORTENED:
        return _SHORTENED[word]
    for at in range(len(word)):
        shorter = word[:at] + word[at + 1 :]
        if shorter in _SHORTENED or shorter in _OFTEN_MISSPELT:
            return _SHORTENED.get(shorter, shorter)
    return word


def _with_whole_numbers(tokens: list[Token]) -> list[Token]:
    """Join *twenty-five* to ``25`` and *twenty-fifth* to ``25th``."""
    found: list[Token] = []
    i = 0
    while i < len(tokens):
        token = tokens[i]
        j = i + 1 + (i + 2 < len(tokens) and tokens[i + 1].word in DASHES)
        tens, last = _TENS.get(token.word), tokens[j] if j < len(tokens) else END
        ones = COUNTS.get(last.word, 0)
        nth = 0 if last.word == "second" and j == i + 1 else ORDINALS.get(last.word, 0)
        if tens and (0 < ones < 10 or 0 < nth < 10):
            word = f"{tens + (ones or nth)}{'th' if nth else ''}"
            found.append(Token(word, word, token.start, last.end, last.possessive))
            i = j + 1
        else:
            found.append(token)
            i += 1
    return found


def count_of(word: str) -> int | None:
    """Read ``3`` or ``three``; None for anything else or more than four digits."""
    if word in COUNTS:
        return COUNTS[word]
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 4 else None


def day_of(word: str) -> int | None:
    """Read ``5``, ``5th`` or ``fifth`` as a day of the month."""
    if word in ORDINALS:
        return ORDINALS[word]
    digits = word[:-2] if word[-2:] in {"st", "nd", "rd", "th"} else word
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 2):
        return None
    return int(digits) if 1 <= int(digits) <= 31 else None


def is_ordinal(word: str) -> bool:
    """Whether the word is ``5th`` or ``fifth`` rather than ``5`` or ``five``."""
    return word in ORDINALS or (word[:1].isdigit() and word[-2:] in {"st", "nd", "rd", "th"})


def singular_of(word: str) -> str:
    """Drop the ending of ``summers``, ``Fridays`` or ``Christmases``."""
    if word.endswith("ses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
