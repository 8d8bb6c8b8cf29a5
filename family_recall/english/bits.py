"""What a text says of its own statement, as the bits of one number that a memory is stored with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from .cues import MAX_CHARS, WORDINGS, Cues
from .first_words import first_words
from .questions import asked_in, may_ask, waits_for_answer
from .values import KINDS, MENTIONED, has_name, has_place, kinds_of_digits, test_of

BITS_VERSION: Final = "3"
"""Of the rules behind the bits: a file whose bits were found by others finds them again."""

BITS: Final = {
    name: 1 << at
    for at, name in enumerate((*Cues.__slots__, *(f"kind:{kind}" for kind in KINDS), "fact"))
}
"""The bit of each cue, of each kind of value (``kind:time``), and of a fact with a key."""

_NO_WORD = re.compile(r"\W")
_OF_WORDS = re.sub("[0-9]", "0", _NO_WORD.sub(" ", "".join(map(chr, range(128)))))
_OF_WORDS_IN_BYTES = _OF_WORDS.encode().ljust(256)
_APOSTROPHES = ("'", "’")
_PLACE = BITS["kind:place"]


def bits_of(text: str, fact_key: str | None = None) -> int:
    """Return the bits of a text's cues and of the kinds of its values.

    >>> [name for name, bit in BITS.items() if bits_of("swimming has moved to 5 pm") & bit]
    ['changed', 'kind:number', 'kind:time']
    """
    text = text[:MAX_CHARS].strip()
    lowered = text.lower()
    bits = BITS["fact"] if fact_key else 0
    words = f" {_words_alone(lowered)} "
    if "0" in words or not lowered.isascii():
        bits |= mask_of_kinds(kinds_of_digits(lowered))
    first_place = len(words)
    for word in _WORDS.intersection(words.split()):
        between_spaces = f" {word} "
        start = words.find(between_spaces)
        while start >= 0:
            tests = _TESTS[word]
            if lowered[start - 1 : start] in _APOSTROPHES:
                tests = _AFTER_APOSTROPHE.get(word, _NO_TESTS)
            bits |= tests.certain
            for bit, test in tests.possible:
                if not bits & bit and test(lowered, start):
                    bits |= bit
            if tests.may_be_place and start < first_place:
                first_place = start
            start = words.find(between_spaces, start + 1)
    if first_place < len(words) and has_place(lowered, first_place):
        bits |= _PLACE
    if has_name(text):
        bits |= BITS["kind:name"]
    return bits | _asking(text)


def _words_alone(lowered: str) -> str:
    """Return a text with spaces in place of what is part of no word; of ASCII, 0 for each digit."""
    if lowered.isascii():  # by way of bytes, which are translated at many times the speed
        return lowered.encode("ascii").translate(_OF_WORDS_IN_BYTES).decode("ascii")
    return _NO_WORD.sub(" ", lowered)


def mask_of(*names: str) -> int:
    """Return the bits of some cues and kinds together."""
    return sum(BITS[name] for name in names)


def mask_of_kinds(kinds: Iterable[str]) -> int:
    """Return the bits of some kinds of values together."""
    return mask_of(*(f"kind:{kind}" for kind in kinds))


def _asking(text: str) -> int:
    if not may_ask(text):
        return 0
    asked = asked_in(text)
    bits = BITS["asks"] if waits_for_answer(asked, text) else 0
    return bits | (BITS["only_asks"] if asked.only else 0)


@dataclass(frozen=True, slots=True)
class _Tests:
    """The bits that a word has for certain, and those that depend on what follows it."""

    certain: int
    possible: tuple[tuple[int, Callable[[str, int], object]], ...]
    may_be_place: bool = False

    @classmethod
    def of(cls, word: str, kinds: Iterable[str], cues: Iterable[str] = ()) -> _Tests:
        """Return the tests of a word with which values of some kinds, and cues, may begin."""
        certain, possible = 0, list[tuple[int, Callable[[str, int], object]]]()
        for cue in cues:
            if WORDINGS[cue].fullmatch(word):
                certain |= BITS[cue]
            else:
                possible.append((BITS[cue], WORDINGS[cue].match))
        for kind in kinds:
            if kind in _SINGLE_WORDS and MENTIONED[kind].fullmatch(word):
                certain |= BITS[f"kind:{kind}"]
            elif kind != "place":
                possible.append((BITS[f"kind:{kind}"], test_of(kind)))
        return cls(certain, tuple(possible), "place" in kinds)


def _by_word(patterns: Mapping[str, re.Pattern[str]]) -> dict[str, list[str]]:
    """Map each word with which some patterns may begin to their names."""
    names: dict[str, list[str]] = {}
    for name, pattern in patterns.items():
        for word in first_words(pattern.pattern):
            names.setdefault(word, []).append(name)
    return names


_NO_TESTS = _Tests(0, ())
_SINGLE_WORDS = MENTIONED.keys() - {"time", "place"}
"""Kinds of which a word that matches is a value, whatever follows it."""

_CUES, _KINDS = _by_word(WORDINGS), _by_word(MENTIONED)
_AFTER_APOSTROPHE = {word: _Tests.of(word, kinds) for word, kinds in _KINDS.items()}
_TESTS = {
    word: _Tests.of(word, _KINDS.get(word, ()), _CUES.get(word, ()))
    for word in _CUES.keys() | _KINDS.keys()
}
"""By the word: what it says, where it is no part of another behind an apostrophe."""
_WORDS = frozenset(_TESTS)
