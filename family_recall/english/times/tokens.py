"""Tokens: a question cut into words and signs, misspelt time words corrected, numbers read."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, overload

from .words import COUNTS, DASHES, ORDINALS, TENS

MAX_SCANNED_CHARS = 4000
_OFTEN_MISSPELT = dict.fromkeys(
    (
        "yesterday tomorrow tonight weekend january february september october november december "
        "tuesday wednesday thursday saturday christmas thanksgiving halloween afternoon"
    ).split()
)
MISSPELLINGS = {
    "tommorow": "tomorrow", "tmrw": "tomorrow", "tonite": "tonight",
    "lst": "last", "nxt": "next", "nite": "night", "wk": "week", "wks": "weeks", "mth": "month",
    "mths": "months", "yr": "year", "yrs": "years", "hr": "hour", "hrs": "hours", "mins": "minutes",
    "wendsday": "wednesday", "wensday": "wednesday", "wendesday": "wednesday",
}  # fmt: skip
_SHORTENED = {
    word[:at] + word[at + 1 :]: word for word in _OFTEN_MISSPELT for at in range(len(word))
}
_BEGINNINGS = frozenset(word[:3] for word in (*_OFTEN_MISSPELT, *_SHORTENED))
_AFTER, _BEFORE = dict[str, str](), dict[str, str]()
"""The letters behind the first, and before the last, of long time words."""
for _word in (*_OFTEN_MISSPELT, *_SHORTENED):
    _AFTER[_word[0]] = _AFTER.get(_word[0], "") + _word[1]
    _BEFORE[_word[-1]] = _BEFORE.get(_word[-1], "") + _word[-2]
_END = ".!?"
_WORD = r"[^\W\d_]+(?:['’](?i:s|t|ll|re|ve|d|m)(?![^\W_]))?"
_TOKEN = re.compile(
    rf"{_WORD}"
    r"|[0-9]{4}(?:-[0-9]{1,2}-|/[0-9]{1,2}/|\.[0-9]{1,2}\.)[0-9]{1,2}(?![0-9])"
    r"|[0-9]{1,2}(?:-[0-9]{1,2}-|/[0-9]{1,2}/|\.[0-9]{1,2}\.)[0-9]{4}(?![0-9])"
    r"|[0-9]+(?:[:/.,][0-9]+)+"
    r"|['’]?[0-9]+(?i:st|nd|rd|th|s)?(?![^\W_])"
    r"|[0-9]+"
    r"|\S"
)
_WORD_OR_FIGURE = re.compile(rf"{_WORD}|['’0-9]")


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


@lru_cache(maxsize=1)  # a question is read for its times and for its milestones
def tokens_of(question: str) -> tuple[Token, ...]:
    """Cut the first few thousand characters of a question into tokens."""
    tokens = []
    has_tens = False
    for match in _TOKEN.finditer(question[:MAX_SCANNED_CHARS]):
        raw = match[0]
        word, possessive = read_word(raw)
        start = match.start()
        # What `Token(…)` does, in half of the time.
        tokens.append(tuple.__new__(Token, (word, raw, start, start + len(raw), possessive)))
        has_tens = has_tens or word in TENS
    return tuple(_with_whole_numbers(tokens) if has_tens else tokens)


class LateTokens(Sequence[Token]):
    """The tokens of a sentence, cut where one of them is asked for: most statements need none."""

    def __init__(self, sentence: str) -> None:
        self._sentence = sentence[:MAX_SCANNED_CHARS]

    def __len__(self) -> int:
        """Count the tokens."""
        return len(tokens_of(self._sentence))

    @overload
    def __getitem__(self, at: int) -> Token: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Token]: ...
    def __getitem__(self, at: int | slice) -> Token | Sequence[Token]:
        """Return a token, or some."""
        return tokens_of(self._sentence)[at]

    def words(self) -> list[str]:
        """Return the words alone, in a tenth of the time."""
        body = self._sentence.rstrip(_END)
        words = body.lower().split()
        letters = "".join(words)
        if letters.isascii() and letters.isalpha():
            words = list(map(spelt_right, words))
            words += self._sentence[len(body) :]
        else:
            parts = self._sentence.split()
            words = list(itertools.chain.from_iterable(map(_words_of_part, parts)))
        if TENS.keys().isdisjoint(words):
            return words
        return [token.word for token in self]


def words_and_figures(text: str) -> list[str]:
    """List the words of a text as written, and each digit and apostrophe that is in none."""
    return _WORD_OR_FIGURE.findall(text)


@lru_cache(maxsize=16384)
def _words_of_part(part: str) -> tuple[str, ...]:
    """Return the words of what stands between two spaces: no token reaches beyond."""
    raws = [part] if part.isalpha() else _TOKEN.findall(part)
    return tuple([read_word(raw)[0] for raw in raws])


@lru_cache(maxsize=16384)
def read_word(raw: str) -> tuple[str, bool]:
    """Return a token in lower case, spelt right, without a closing 's; and whether it had one."""
    word = raw.lower().replace("’", "'")
    possessive = word.endswith("'s")
    if possessive:
        word = word[:-2]
    return spelt_right(word), possessive


@lru_cache(maxsize=16384)
def spelt_right(word: str) -> str:
    """Return a word in lower case, time words among them spelt right."""
    return _corrected(word) if len(word) > 4 else MISSPELLINGS.get(word, word)


def _may_be_misspelt(word: str) -> bool:
    """Whether a word without one of its letters may begin and end as long time words do."""
    first, second, third = word[0], word[1], word[2]
    after = _AFTER.get(first, "")
    if not (second in after or third in after or third in _AFTER.get(second, "")):
        return False
    third, second, last = word[-3], word[-2], word[-1]
    before = _BEFORE.get(last, "")
    return second in before or third in before or third in _BEFORE.get(second, "")


def _corrected(word: str) -> str:
    """Correct a long time word in which one letter is wrong, missing, doubled or swapped."""
    if word in MISSPELLINGS:
        return MISSPELLINGS[word]
    plural = word[-1] == "s" and word[-3:] != "mas"
    if not 6 <= len(word) <= 13 or plural or word in _OFTEN_MISSPELT:
        return word
    if word in _SHORTENED:
        return _SHORTENED[word]
    if not _may_be_misspelt(word):
        return word
    # A letter too many further on would leave the beginning as it is.
    n = len(word) if word[:3] in _BEGINNINGS else 3
    for at in range(n):
        shorter = word[:at] + word[at + 1 :]
        if shorter in _SHORTENED or shorter in _OFTEN_MISSPELT:
            return _SHORTENED.get(shorter, shorter)
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
