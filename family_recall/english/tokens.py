"""Tokens: the words, numbers and signs of a text, time words spelt right, numbers joined."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from .lexicon import COUNTS, DASHES, MONTH_NAMES, ORDINALS, TENS, WEEKDAY_NAMES

MAX_SCANNED_CHARS = 4000
"""Characters of a text that are cut; the rest is left out."""

_LONG_WORDS = frozenset(
    "yesterday tomorrow tonight weekend christmas thanksgiving halloween afternoon".split()
).union(name for name in (*MONTH_NAMES, *WEEKDAY_NAMES) if len(name) > 6)
"""Time words in which one wrong letter is corrected."""

MISSPELLINGS = {
    "tommorow": "tomorrow", "tmrw": "tomorrow", "tmw": "tomorrow",
    "yday": "yesterday", "tonite": "tonight", "weds": "wed",
    "lst": "last", "nxt": "next", "nite": "night", "wk": "week", "wks": "weeks", "mth": "month",
    "mths": "months", "yr": "year", "yrs": "years", "hr": "hour", "hrs": "hours", "mins": "minutes",
    "wendsday": "wednesday", "wensday": "wednesday", "wendesday": "wednesday",
}  # fmt: skip
_SHORTENED = {word[:at] + word[at + 1 :]: word for word in _LONG_WORDS for at in range(len(word))}
_TOKEN = re.compile(
    r"[^\W\d_]+(?:['’](?i:s|t|ll|re|ve|d|m)(?![^\W_]))?"
    r"|[0-9]{4}(?:-[0-9]{1,2}-|/[0-9]{1,2}/|\.[0-9]{1,2}\.)[0-9]{1,2}(?![0-9])"
    r"|[0-9]{1,2}(?:-[0-9]{1,2}-|/[0-9]{1,2}/|\.[0-9]{1,2}\.)[0-9]{4}(?![0-9])"
    r"|[0-9]+(?:[:/.,][0-9]+)+"
    r"|['’]?[0-9]+(?i:st|nd|rd|th|s)?(?![^\W_])"
    r"|[0-9]+"
    r"|\S"
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


NO_TOKEN = Token("", "", 0, 0, possessive=False)


@lru_cache(maxsize=4)  # a question is read for its times and for its milestones
def tokens_of(text: str) -> tuple[Token, ...]:
    """Cut the first few thousand characters of a text into tokens.

    Words are in lower case and time words spelt right; *twenty-five* is one token, ``25``.

    >>> [token.word for token in tokens_of("Mum's tommorow at 7:30, on the twenty-fifth")]
    ['mum', 'tomorrow', 'at', '7:30', ',', 'on', 'the', '25th']
    """
    tokens = []
    for match in _TOKEN.finditer(text[:MAX_SCANNED_CHARS]):
        word, possessive = _read_word(match[0])
        tokens.append(Token(word, match[0], match.start(), match.end(), possessive))
    has_tens = any(token.word in TENS for token in tokens)
    return tuple(_with_whole_numbers(tokens) if has_tens else tokens)


@lru_cache(maxsize=16384)
def _read_word(raw: str) -> tuple[str, bool]:
    """Return a token in lower case, spelt right, without a closing 's; and whether it had one."""
    word = raw.lower().replace("’", "'")
    possessive = word.endswith("'s")
    return _spelt_right(word.removesuffix("'s")), possessive


def _spelt_right(word: str) -> str:
    """Correct a long time word in which one letter is wrong, missing, doubled or swapped."""
    if word in MISSPELLINGS:
        return MISSPELLINGS[word]
    plural = word.endswith("s") and not word.endswith("mas")
    if not 6 <= len(word) <= 13 or plural or word in _LONG_WORDS:
        return word
    if word in _SHORTENED:
        return _SHORTENED[word]
    for at in range(len(word)):
        shorter = word[:at] + word[at + 1 :]
        if shorter in _LONG_WORDS:
            return shorter
        if shorter in _SHORTENED:
            return _SHORTENED[shorter]
    return word


def _with_whole_numbers(tokens: list[Token]) -> list[Token]:
    """Join *twenty-five* to ``25`` and *twenty-fifth* to ``25th``."""
    joined: list[Token] = []
    i = 0
    while i < len(tokens):
        token = tokens[i]
        j = i + 1 + (i + 2 < len(tokens) and tokens[i + 1].word in DASHES)
        tens, last = TENS.get(token.word), tokens[j] if j < len(tokens) else NO_TOKEN
        ones = COUNTS.get(last.word, 0)
        nth = 0 if last.word == "second" and j == i + 1 else ORDINALS.get(last.word, 0)
        if tens and (0 < ones < 10 or 0 < nth < 10):
            word = f"{tens + (ones or nth)}{'th' if nth else ''}"
            joined.append(Token(word, word, token.start, last.end, last.possessive))
            i = j + 1
        else:
            joined.append(token)
            i += 1
    return joined


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
    """Return the singular of ``summers``, ``Fridays`` or ``Christmases``."""
    if word.endswith("ses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
