"""The words that a pattern may begin with, so that it is tried at those words alone.

A pattern of many whole words, searched for, is tried at every character of a text. Where the words
of the text are looked up in a table first, it is tried at a few of them, or at none.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

_TOKEN = re.compile(r"\\.|\(\?[:=!]|\(\?<[=!]|\[[^\]]*\]|\{\d+(?:,\d*)?\}|.", re.DOTALL)
_Begun = set[tuple[str, bool]]
"""What may have been read so far: letters, and whether the word has ended behind them."""

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_ANY_LETTER = ("*", True)


def first_words(pattern: str) -> frozenset[str]:
    r"""Return every word that a match of a pattern in lower case may begin with.

    Reads letters, groups, sets, alternatives, ``?`` and ``{m,n}``; anything else ends the word.
    A word is a run of letters; matches that begin with none, such as numbers, are left out.

    Raises:
        ValueError: If a match may begin with any letter.

    >>> sorted(first_words(r"\b(?:stopp(?:ed|ing)|can['’]?t stand|not any ?more|\d+ am)"))
    ['can', 'cant', 'not', 'stopped', 'stopping']
    """
    words = frozenset(word for word, _ in _alternatives(_Tokens(pattern)) if word)
    if open_ended := sorted(word for word in words if "*" in word):
        raise ValueError(f"expected words to begin with, got any that are like {open_ended[0]}")
    return words


class _Tokens:
    """The parts of a pattern, read one by one."""

    def __init__(self, pattern: str) -> None:
        self._parts: Iterator[str] = iter(_TOKEN.findall(pattern))
        self.next = next(self._parts, "")

    def take(self) -> str:
        """Return the next part, and go on behind it."""
        part, self.next = self.next, next(self._parts, "")
        return part


def _alternatives(tokens: _Tokens) -> _Begun:
    """Read alternatives up to the end of their group."""
    begun = _sequence(tokens)
    while tokens.next == "|":
        tokens.take()
        begun |= _sequence(tokens)
    return begun


def _sequence(tokens: _Tokens) -> _Begun:
    begun: _Begun = {("", False)}
    while tokens.next not in {"", "|", ")"}:
        part = _part(tokens)
        if tokens.next == "?":
            tokens.take()
            part = part | {("", False)}
            if tokens.next == "?":  # as few as possible: the same words
                tokens.take()
        elif tokens.next.startswith("{"):
            low, _, high = tokens.take()[1:-1].partition(",")
            part = _repeated(part, int(low), int(high or low))
        elif tokens.next in {"*", "+"}:
            tokens.take()
            part = {_ANY_LETTER} if any(word for word, _ in part) else part | {("", True)}
        begun = _joined(begun, part)
    return begun


def _part(tokens: _Tokens) -> _Begun:
    taken = tokens.take()
    if taken.startswith("("):
        inside = _alternatives(tokens)
        tokens.take()
        # What stands around a word is no part of it.
        return inside if taken in {"(", "(?:"} else {("", False)}
    if taken.startswith("["):
        letters = taken[1:-1].replace(r"\s", " ")
        is_range = "\\" in letters or letters.startswith("^") or "-" in letters[1:-1]
        return {_ANY_LETTER} if is_range else {_letter(each) for each in letters}
    return {("", False)} if taken == r"\b" else {_letter(taken)}


def _letter(token: str) -> tuple[str, bool]:
    if token in _LETTERS:
        return token, False
    return _ANY_LETTER if token in {r"\w", r"\S", "."} else ("", True)


def _repeated(part: _Begun, low: int, high: int) -> _Begun:
    repeated: _Begun = {("", False)}
    counts: list[_Begun] = [repeated]
    for _ in range(high):
        repeated = _joined(repeated, part)
        counts.append(repeated)
    return set(itertools.chain.from_iterable(counts[low:]))


def _joined(begun: _Begun, part: _Begun) -> _Begun:
    ended = {(word, True) for word, has_ended in begun if has_ended}
    return ended | {
        (word + more, has_ended)
        for word, word_ended in begun
        if not word_ended
        for more, has_ended in part
    }
