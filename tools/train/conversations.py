"""Invented talks: cards in, conversations with questions about them out.

A card is one thread of talk. `facts` are different things `{me}` tells in it: `says` are ways of
saying one fact, `asks` questions it answers, `hints` later remarks it explains. `near` are lines
of the same thread that answer nothing. `slots` are filled with one value for the whole card. A
conversation gives two people a few cards each, so that a question has to find the right fact, of
the right person, among lines alike in topic, words and speaker.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.train.groups import Group
from tools.train.person_names import FAMILY_NAMES, FIRST_NAMES
from tools.train.spoken import as_spoken

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

CARDS = Path(__file__).parent / "cards" / "training.jsonl"
CARDS_PER_PERSON = 3
SHARE_FIRST_PERSON = 0.08
SHARE_FULL_NAMES = 0.2
SHARE_OTHER_SPEAKER = 0.1
SHARE_JOINED = 0.12
SHARE_EXCHANGES = 0.12
SHARE_ANSWERS = 0.3
SHARE_EVASIONS = 0.15
SHARE_BEFORE = 0.85


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing told: how it was said, what it answers, what it explains later."""

    says: tuple[str, ...]
    asks: tuple[str, ...]
    hints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """One thread of talk, its slots still open."""

    topic: str
    slots: Mapping[str, Sequence[str]]
    facts: tuple[Fact, ...]
    near: tuple[str, ...]


def read_cards(path: Path = CARDS) -> list[Card]:
    """Return the cards of a JSON Lines file, in order.

    Raises:
        ValueError: If a card is malformed or there is none; says which line.
    """
    cards = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.strip():
            try:
                cards.append(_card(json.loads(line)))
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{path.name}, line {number}: not a card: {error}") from error
    if not cards:
        raise ValueError(f"{path}: no cards here")
    return cards


def _card(record: dict[str, Any]) -> Card:
    card = Card(
        record["topic"],
        record["slots"],
        tuple(
            Fact(tuple(fact["says"]), tuple(fact["asks"]), tuple(fact["hints"]))
            for fact in record["facts"]
        ),
        tuple(record["near"]),
    )
    known = {"me", "you", *card.slots}
    lines = [*card.near, *(t for f in card.facts for t in (*f.says, *f.asks, *f.hints))]
    unknown = {slot for line in lines for slot in re.findall(r"{(\w*)}", line)} - known
    if unknown:
        raise ValueError(f"slots {sorted(unknown)} have no values")
    return card


@dataclass(frozen=True, slots=True)
class Line:
    """One turn; `key` is its place in the talk."""

    key: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Talk:
    """A card told: its turns in order; its questions as (text, category, key of the answer)."""

    lines: tuple[Line, ...]
    questions: tuple[tuple[str, str, str], ...]


class Teller:
    """A card with its slots filled for two people."""

    def __init__(self, card: Card, me: str, you: str, rng: random.Random) -> None:
        self.card = card
        self.me = me
        self.you = you
        self.values = {name: rng.choice(list(options)) for name, options in card.slots.items()}

    def fill(self, text: str, speaker: str | None = None) -> str:
        """The text with every slot filled, `{me}` being the speaker (default: the teller)."""
        me = speaker or self.me
        filled = {**self.values, "me": me, "you": self.you if me == self.me else self.me}
        return re.sub(r"{(\w+)}", lambda slot: filled[slot[1]], text)

    def line(self, text: str, speaker: str | None = None) -> str:
        """The text as the index sees it: its speaker before it."""
        return f"{speaker or self.me}: {self.fill(text, speaker)}"

    def speaker_of_near(self, text: str, rng: random.Random) -> str:
        """Who says a line that tells nothing: questions are the listener's."""
        return self.you if "?" in text else rng.choice((self.me, self.you))

    def said(self, fact: Fact, rng: random.Random) -> str:
        """One way of saying a fact, now and then with small talk after it."""
        text = rng.choice(fact.says)
        return f"{text} {rng.choice(self.card.near)}" if rng.random() < SHARE_JOINED else text

    def turn(self, fact: Fact, rng: random.Random) -> str:
        """What was said, its speaker before it; now and then with the listener's reply."""
        told = self.line(self.said(fact, rng))
        if rng.random() >= SHARE_EXCHANGES:
            return told
        both = f"{told}\n{self.line(rng.choice(self.card.near), self.you)}"
        unnamed = rng.random() < 0.5
        return (
            both.replace(f"{self.me}: ", "A: ").replace(f"{self.you}: ", "B: ") if unnamed else both
        )

    def question(self, fact: Fact, rng: random.Random) -> str:
        """Something that the fact answers."""
        ask = rng.choice(fact.asks)
        ask = first_person(ask) if rng.random() < SHARE_FIRST_PERSON else ask
        return as_spoken(self.fill(ask), rng)

    def asked(self, fact: Fact, rng: random.Random) -> str:
        """What the listener may have asked to be told a fact."""
        return self.fill(second_person(rng.choice(fact.asks)))

    def hint(self, fact: Fact, rng: random.Random) -> str:
        """A later remark that the fact explains, with its speaker or without."""
        hint = self.fill(rng.choice(fact.hints))
        return hint if rng.random() < 0.5 else f"{self.me}: {hint}"


class Conversations:
    """A source of groups: batches of questions about a few conversations."""

    def __init__(self, cards: Sequence[Card], name: str = "conversations") -> None:
        self.name = name
        self.cards = cards

    def draw(self, n: int, rng: random.Random) -> list[Group]:
        """`n` groups from as few conversations as hold them."""
        groups: list[Group] = []
        while len(groups) < n:
            groups += self.conversation(rng)
        return groups[:n]

    def conversation(self, rng: random.Random) -> list[Group]:
        """A question for each fact that two people tell each other; shuffled."""
        people = two_names(rng)
        groups = []
        for i, card in enumerate(rng.sample(self.cards, 2 * CARDS_PER_PERSON)):
            groups += _questions(Teller(card, people[i % 2], people[1 - i % 2], rng), rng)
        rng.shuffle(groups)
        return groups


def two_names(rng: random.Random) -> tuple[str, str]:
    """Two different people, some with their family names."""
    first, second = rng.sample(FIRST_NAMES, 2)
    if rng.random() < SHARE_FULL_NAMES:
        return f"{first} {rng.choice(FAMILY_NAMES)}", f"{second} {rng.choice(FAMILY_NAMES)}"
    return first, second


def _questions(teller: Teller, rng: random.Random) -> list[Group]:
    near = [teller.line(t, teller.speaker_of_near(t, rng)) for t in teller.card.near]
    told = [teller.turn(fact, rng) for fact in teller.card.facts]
    before = _turns_before(teller, told, near, rng)
    groups = []
    for fact, said in zip(teller.card.facts, told, strict=True):
        negatives = [text for text in told if text != said] + rng.sample(near, 2)
        if rng.random() < SHARE_OTHER_SPEAKER:
            negatives.append(teller.line(rng.choice(fact.says), teller.you))
        share_of_hints = len(fact.hints) / (len(fact.hints) + len(fact.asks))
        asked = teller.hint if rng.random() < share_of_hints else teller.question
        also = frozenset(teller.line(text) for text in fact.says)
        groups.append(Group(asked(fact, rng), said, tuple(negatives), also, before))
    return groups


def _turns_before(
    teller: Teller, told: Sequence[str], near: Sequence[str], rng: random.Random
) -> dict[str, str]:
    """A turn before most lines: another line of the thread, or the question that led to it.

    Now and then the question led to nothing: it stands before a line that does not answer it.
    """
    lines = [*told, *near]
    facts = dict(zip(told, teller.card.facts, strict=True))
    before = {}
    for line in lines:
        chance = rng.random()
        if line in facts and chance < SHARE_ANSWERS:
            before[line] = teller.asked(facts[line], rng)
        elif line not in facts and chance < SHARE_EVASIONS:
            before[line] = teller.asked(rng.choice(teller.card.facts), rng)
        elif chance < SHARE_BEFORE:
            before[line] = rng.choice([one for one in lines if one != line]).partition(": ")[2]
    return before


def told_card(card: Card, me: str, you: str, rng: random.Random) -> Talk:
    """A card as a stretch of a longer talk, and two questions and a hint for each of its facts."""
    teller = Teller(card, me, you, rng)
    turns: list[tuple[str, str, Fact | None]]
    turns = [(me, teller.said(fact, rng), fact) for fact in card.facts]
    for text in card.near:
        speaker = teller.speaker_of_near(text, rng)
        turns.insert(rng.randrange(len(turns) + 1), (speaker, text, None))
    lines, questions = [], []
    for n, (speaker, text, told) in enumerate(turns):
        key = f"{n:02d}"
        lines.append(Line(key, speaker, teller.fill(text, speaker)))
        if told is not None:
            asked = {teller.question(told, rng): "question" for _ in range(2)}
            asked |= {teller.hint(told, rng): "hint" for _ in told.hints[::2]}
            questions += [(text, category, key) for text, category in asked.items()]
    return Talk(tuple(lines), tuple(questions))


def second_person(ask: str) -> str:
    """A question about `{me}` as it is put to them: "do you like your job"."""
    return _addressed(ask, "are you", "do you", "have you", "your", "you")


def first_person(ask: str) -> str:
    """A question about `{me}` as `{me}` asks it: "do I like my job"."""
    return _addressed(ask, "am I", "do I", "have I", "my", "I")


def _addressed(ask: str, is_me: str, does_me: str, has_me: str, my: str, me: str) -> str:
    turned = re.sub(r"\b[Ii]s {me}(?!')", is_me, ask)
    turned = re.sub(r"\b[Dd]oes {me}(?!')", does_me, turned)
    turned = re.sub(r"\b[Hh]as {me}(?!')", has_me, turned)
    turned = turned.replace("{me}'s", my).replace("{me}", me)
    return turned[:1].upper() + turned[1:]
