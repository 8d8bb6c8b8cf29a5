"""Phrases: a time expression that was read, and the sentence it was read in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Container, Sequence
from typing import NamedTuple

from .anchors import Anchor
from .intervals import Interval
from .repeats import Repeat
from .tense import Tense, tense_at
from .tokens import NO_TOKEN, Token
from .words import FOLLOWERS


class Phrase(NamedTuple):
    """A time expression on the tokens ``[first, last)``.

    It is either fixed or repeats, and is then chosen by tense or by a frame such as *last
    year*. ``main_day`` is what it means after *on*, *before*, *after* and *since*. ``bare``
    phrases mean a time only after a preposition or inside a frame.
    """

    first: int
    last: int
    grain: str
    fixed: Interval | None = None
    repeat: Repeat | None = None
    certainty: float = 0.95
    bare: bool = False
    article: bool = False
    main_day: Repeat | None = None


class _Words(dict[int, str]):
    def __missing__(self, _i: int) -> str:
        return ""


class Sentence:
    """A question's tokens and everything they are read against."""

    __slots__ = ("anchors", "country", "depth", "moment", "now", "south", "tokens", "word")

    def __init__(
        self,
        tokens: Sequence[Token],
        moment: dt.datetime,
        country: str,
        anchors: Sequence[Anchor],
        *,
        south: bool,
    ) -> None:
        self.tokens, self.moment, self.country = tokens, moment, country
        self.anchors, self.south, self.depth = anchors, south, 0
        # The sum no longer says which of two equal times of the wall clock is meant.
        self.now = moment.replace(tzinfo=None) + dt.timedelta()
        self.word = _Words(enumerate(token.word for token in tokens)).__getitem__
        """Returns a word; an empty one outside the question."""

    def at(self, i: int) -> Token:
        """Return a token; an empty one outside the question."""
        return self.tokens[i] if 0 <= i < len(self.tokens) else NO_TOKEN

    def reads(self, i: int, *pattern: str | Container[str]) -> bool:
        """Whether the words from a token on are these, each a word or one of several."""
        for at, expected in enumerate(pattern, i):
            word = self.word(at)
            if word != expected if isinstance(expected, str) else word not in expected:
                return False
        return True

    def words_before(self, i: int, reach: int) -> list[str]:
        """Return up to ``reach`` words before a token."""
        return [token.word for token in self.tokens[max(0, i - reach) : i]]

    def ago(self, length: dt.timedelta) -> dt.datetime:
        """Return the wall clock so long ago, whatever the clocks did since."""
        moment = self.moment.astimezone(dt.UTC) - length
        return moment.astimezone(self.moment.tzinfo).replace(tzinfo=None)

    def tense(self, first: int, last: int) -> Tense:
        """Return the tense around the tokens ``[first, last)``."""
        return tense_at(self.tokens, first, last)

    def ends_at(self, i: int) -> bool:
        """Whether a phrase may end before this token, rather than be part of a name."""
        word = self.word(i)
        return not word or word in FOLLOWERS or not (word[0].isalnum() or word[0] == "_")


def no_time(first: int, last: int) -> Phrase:
    """Step over words that mean no time, so that no part of them is read."""
    return Phrase(first, last, "nothing")


def unclear(first: int, last: int) -> Phrase:
    """Step over a time that only the speaker knows: the whole question then means none."""
    return Phrase(first, last, "unclear")
