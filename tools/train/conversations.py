"""Generate conversations, and questions about them, from cards.

A card is one thread of a conversation, see cards/README.md. A conversation has two people with a
few cards each, so that a question has to find the right fact, of the right person, among lines
alike in topic, words and speaker.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.train.cards.loader import Card, Fact
from tools.train.groups import Group
from tools.train.person_names import FAMILY_NAMES, FIRST_NAMES
from tools.train.spoken import as_spoken

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

CARDS_PER_PERSON = 3
SHARE_FIRST_PERSON = 0.08
SHARE_FULL_NAMES = 0.2
SHARE_OTHER_SPEAKER = 0.1
SHARE_JOINED = 0.12
SHARE_EXCHANGES = 0.12
SHARE_OF_THE_OTHER = 0.12


@dataclass(frozen=True, slots=True)
class Line:
    """One turn; `key` is its place in the session."""

    key: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class CardSession:
    """The turns of a card in order; its questions as (text, category, key of the answer)."""

    lines: tuple[Line, ...]
    questions: tuple[tuple[str, str, str], ...]


class FilledCard:
    """A card with its slots filled for two people."""

    def __init__(self, card: Card, me: str, you: str, rng: random.Random) -> None:
        self.card = card
        self.me = me
        self.you = you
        self.values = {name: rng.choice(list(options)) for name, options in card.slots.items()}

    def fill(self, text: str, speaker: str | None = None) -> str:
        """Return the text with every slot filled, `{me}` being the speaker (default: `self.me`)."""
        me = speaker or self.me
        filled = {**self.values, "me": me, "you": self.you if me == self.me else self.me}
        return re.sub(r"{(\w+)}", lambda slot: filled[slot[1]], text)

    def line(self, text: str, speaker: str | None = None) -> str:
        """Return the text as the index sees it: its speaker before it."""
        return f"{speaker or self.me}: {self.fill(text, speaker)}"

    def speaker_of_near(self, text: str, rng: random.Random) -> str:
        """Return the speaker of a line without a fact: questions are the listener's."""
        return self.you if "?" in text else rng.choice((self.me, self.you))

    def say_fact(self, fact: Fact, rng: random.Random) -> str:
        """Draw one way of saying a fact, sometimes with small talk after it."""
        text = rng.choice(fact.says)
        return f"{text} {rng.choice(self.card.near)}" if rng.random() < SHARE_JOINED else text

    def turn(self, fact: Fact, rng: random.Random) -> str:
        """Draw a line that says a fact, after its speaker; sometimes with the listener's reply."""
        line = self.line(self.say_fact(fact, rng))
        if rng.random() >= SHARE_EXCHANGES:
            return line
        both = f"{line}\n{self.line(rng.choice(self.card.near), self.you)}"
        unnamed = rng.random() < 0.5
        return (
            both.replace(f"{self.me}: ", "A: ").replace(f"{self.you}: ", "B: ") if unnamed else both
        )

    def question(self, fact: Fact, rng: random.Random) -> str:
        """Draw a question that the fact answers."""
        ask = rng.choice(fact.asks)
        ask = first_person(ask) if rng.random() < SHARE_FIRST_PERSON else ask
        return as_spoken(self.fill(ask), rng)

    def question_of_other(self, fact: Fact, rng: random.Random) -> str | None:
        """Draw the same question about the listener, which nothing answers; None if of nobody."""
        asks = [ask for ask in fact.asks if "{me}" in ask and "{you}" not in ask]
        return as_spoken(self.fill(rng.choice(asks), self.you), rng) if asks else None

    def hint(self, fact: Fact, rng: random.Random) -> str:
        """Draw a later remark that the fact explains, with its speaker or without."""
        hint = self.fill(rng.choice(fact.hints))
        return hint if rng.random() < 0.5 else f"{self.me}: {hint}"


class Conversations:
    """A source of groups: batches of questions about a few conversations."""

    def __init__(self, cards: Sequence[Card], name: str = "conversations") -> None:
        self.name = name
        self.cards = cards

    def draw(self, n: int, rng: random.Random) -> list[Group]:
        """Draw `n` groups from as few conversations as hold them."""
        groups: list[Group] = []
        while len(groups) < n:
            groups += self.conversation(rng)
        return groups[:n]

    def conversation(self, rng: random.Random) -> list[Group]:
        """Draw a question for each fact that two people tell each other; shuffled."""
        people = two_names(rng)
        groups = []
        for i, card in enumerate(rng.sample(self.cards, 2 * CARDS_PER_PERSON)):
            groups += _questions(FilledCard(card, people[i % 2], people[1 - i % 2], rng), rng)
        rng.shuffle(groups)
        return groups


def two_names(rng: random.Random) -> tuple[str, str]:
    """Draw two different people, some with their family names."""
    first, second = rng.sample(FIRST_NAMES, 2)
    if rng.random() < SHARE_FULL_NAMES:
        return f"{first} {rng.choice(FAMILY_NAMES)}", f"{second} {rng.choice(FAMILY_NAMES)}"
    return first, second


def _questions(filled: FilledCard, rng: random.Random) -> list[Group]:
    near = [filled.line(t, filled.speaker_of_near(t, rng)) for t in filled.card.near]
    turns = [filled.turn(fact, rng) for fact in filled.card.facts]
    groups = []
    for fact, turn in zip(filled.card.facts, turns, strict=True):
        negatives = [text for text in turns if text != turn] + rng.sample(near, 2)
        if rng.random() < SHARE_OTHER_SPEAKER:
            negatives.append(filled.line(rng.choice(fact.says), filled.you))
        share_of_hints = len(fact.hints) / (len(fact.hints) + len(fact.asks))
        is_hint = rng.random() < share_of_hints
        text = filled.hint(fact, rng) if is_hint else filled.question(fact, rng)
        if rng.random() < SHARE_OF_THE_OTHER and (of_other := filled.question_of_other(fact, rng)):
            groups.append(Group(of_other, None, (turn, *near, *(t for t in turns if t != turn))))
        also = frozenset(filled.line(said) for said in fact.says)
        groups.append(Group(text, turn, tuple(negatives), also, answers=not is_hint))
    return groups


def session_of(card: Card, me: str, you: str, rng: random.Random) -> CardSession:
    """Return a card as a part of a session, with two questions and a hint for each fact."""
    filled = FilledCard(card, me, you, rng)
    turns: list[tuple[str, str, Fact | None]]
    turns = [(me, filled.say_fact(fact, rng), fact) for fact in card.facts]
    for text in card.near:
        speaker = filled.speaker_of_near(text, rng)
        turns.insert(rng.randrange(len(turns) + 1), (speaker, text, None))
    lines, questions = [], []
    for n, (speaker, text, fact) in enumerate(turns):
        key = f"{n:02d}"
        lines.append(Line(key, speaker, filled.fill(text, speaker)))
        if fact is not None:
            asks = {filled.question(fact, rng): "question" for _ in range(2)}
            asks |= {filled.hint(fact, rng): "hint" for _ in fact.hints[::2]}
            questions += [(text, category, key) for text, category in asks.items()]
    return CardSession(tuple(lines), tuple(questions))


def first_person(ask: str) -> str:
    """Return a question about `{me}` as `{me}` asks it: "do I like my job"."""
    turned = re.sub(r"\b[Ii]s {me}(?!')", "am I", ask)
    turned = re.sub(r"\b[Dd]oes {me}(?!')", "do I", turned)
    turned = re.sub(r"\b[Hh]as {me}(?!')", "have I", turned)
    turned = turned.replace("{me}'s", "my").replace("{me}", "I")
    return turned[:1].upper() + turned[1:]
