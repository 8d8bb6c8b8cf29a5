"""Which of the turns after a memory is the reply to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from family_recall.english import Question, Statement, mask_of, mask_of_kinds
from family_recall.store.memory_queries import Turn

TURNS: Final = 3
"""Turns after a question among which its reply is looked for."""

TOLD: Final = frozenset(("time", "day", "date", "money", "amount", "size", "number", "colour"))
"""Kinds of values that a few words, or another question, tell in passing."""

LEAST: Final = 0.3
"""Plausibility below which a turn is no reply."""

_BY_PLACE = (1.0, 0.8, 0.65)
_OWN_ANSWER = 0.6  # by who asked
_COMMENT = 0.3  # by who asked, after somebody else has replied
_EVADES = 0.15
_COUNTERED = 0.7  # somebody else asked in between
_OTHER_KIND = 0.75  # tells nothing of the kind asked for …
_RIGHT_KIND = 1.3  # … or something
_CORRECTS = 1.7
_TELLS_OTHERWISE = 1.4  # somebody else tells something of that kind later
_LONGEST_ELLIPSIS = 14  # words
_LONGEST_REPLY = 40  # words; a longer one needs no context, and what follows is no reply

_ASKS = mask_of("asks", "only_asks")
_FEW = 8  # words


class Reply(msgspec.Struct, frozen=True):
    """A turn that may be the reply to a memory, by row ids, with its plausibility above 0."""

    question: int
    id: int
    plausibility: float


def replies_to(turns: Sequence[Turn]) -> list[Reply]:
    """Return the turns after one question that may be its reply, most plausible first.

    A turn that asks again, or says that it does not know, is none. One that denies another, or in
    which somebody else tells otherwise, comes before it; what the person who asked says about a
    reply comes after it.

    Args:
        turns: The turns after one question, in order.
    """
    if not turns:
        return []
    asked = Question(turns[0].asked)
    exchange = _Exchange(mask_of_kinds(asked.kinds), asked.asks_who)
    replies = [Reply(turn.question, turn.id, exchange.plausibility(turn)) for turn in turns]
    plausible = [reply for reply in replies if reply.plausibility >= LEAST]
    return sorted(plausible, key=lambda reply: (-reply.plausibility, reply.id))


def answer_after(turns: Sequence[Turn], question: Question) -> list[Reply]:
    """Return the turn after a statement that tells what it leaves open; at most one.

    *I booked Tom's dentist* is followed by *Thursday at four*: asked when it is, a short turn that
    tells something of the kind asked for is the answer, if the statement tells nothing of it.

    Args:
        turns: The turns after one statement, in order.
        question: What is asked now.
    """
    # When something happened is told by the moment of the memory itself.
    kinds = frozenset[str]() if question.asks_when_it_was else question.kinds & TOLD
    of_kinds = mask_of_kinds(kinds)
    if not turns or turns[0].says & of_kinds:
        return []
    for turn in turns:
        if turn.cues & _ASKS or len(turn.text.split()) > _LONGEST_ELLIPSIS:
            continue
        is_them = (
            question.asks_who and turn.author != turn.asker and Statement(turn.text).volunteers
        )
        if is_them or turn.cues & of_kinds:
            return [Reply(turn.question, turn.id, _BY_PLACE[turn.place - 1])]
    return []


@dataclass(slots=True)
class _Exchange:
    """What was said after a question so far: who replied, and whether that told what was asked.

    ``kinds`` are the bits of the kinds of values that were asked for.
    """

    kinds: int
    wants_somebody: bool
    replied: dict[str | None, bool] = field(default_factory=dict)
    countered: bool = False
    closed: bool = False

    def plausibility(self, turn: Turn) -> float:
        """Return how likely the next turn is the reply, 0 or more."""
        self.closed = self.closed or len(turn.text.split()) > _LONGEST_REPLY
        if self.closed:
            return 0.0
        if turn.cues & _ASKS:
            self.countered = self.countered or turn.author != turn.asker
            return 0.0
        factor = _BY_PLACE[turn.place - 1]
        if Statement(turn.text).evades:
            factor *= _EVADES
        else:
            tells = self._tells(turn)
            by_content = self._by_content(tells=tells)
            if self._denies(turn):
                factor *= _CORRECTS * max(by_content, 1.0)
            else:
                factor *= by_content * self._by_author(turn, tells=tells)
            self.replied[turn.author] = self.replied.get(turn.author, False) or tells
        return factor * (_COUNTERED if self.countered else 1.0)

    def _others(self, turn: Turn) -> list[bool]:
        """Return, for each of the others who replied, whether that told what was asked for."""
        return [told for author, told in self.replied.items() if author != turn.author]

    def _denies(self, turn: Turn) -> bool:
        return bool(self._others(turn)) and Statement(turn.text).denies

    def _by_author(self, turn: Turn, *, tells: bool) -> float:
        """Return the factor for who says it after what others said."""
        others = self._others(turn)
        if turn.author == turn.asker:
            return _COMMENT if others else self._by_asker(turn, tells=tells)
        return _TELLS_OTHERWISE if any(others) and tells else 1.0

    def _by_asker(self, turn: Turn, *, tells: bool) -> float:
        """Return the factor where nobody else has replied.

        To an assistant people say one thing after another: they have to say that they found
        it, or in a few words what was asked for.
        """
        few = len(turn.text.split()) <= _FEW
        answers = Statement(turn.text).finds or (few and tells)
        return _OWN_ANSWER if answers or self.countered else 0.0

    def _by_content(self, *, tells: bool) -> float:
        """Return the factor for what it tells."""
        if self.kinds or self.wants_somebody:
            return _RIGHT_KIND if tells else _OTHER_KIND
        return 1.0

    def _tells(self, turn: Turn) -> bool:
        if self.wants_somebody:
            return Statement(turn.text).names_somebody
        return turn.cues & self.kinds != 0
