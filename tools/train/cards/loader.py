"""Load the conversation cards, whose schema is in README.md beside this file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CARDS = Path(__file__).parent / "training.jsonl"
HELD_OUT = Path(__file__).parent / "held_out.jsonl"


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact: ways to say it, questions it answers, later remarks it explains."""

    says: tuple[str, ...]
    asks: tuple[str, ...]
    hints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """One thread of a conversation, its slots still open."""

    topic: str
    slots: Mapping[str, Sequence[str]]
    facts: tuple[Fact, ...]
    near: tuple[str, ...]


def read_cards(path: Path = CARDS) -> list[Card]:
    """Return the cards of a JSON Lines file, in order.

    Raises:
        ValueError: If a card does not fit the schema, or there is none; names the line.
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


def _card(record: Mapping[str, Any]) -> Card:
    slots, facts = record["slots"], record["facts"]
    if not isinstance(slots, dict) or not isinstance(facts, list) or not facts:
        raise ValueError("slots must be an object, and facts a list that is not empty")
    card = Card(
        _texts([record["topic"]], "topic", 1)[0],
        {name: list(_texts(values, f"slot {name}", 1)) for name, values in slots.items()},
        tuple(Fact(*(_texts(fact[name], name, n) for name, n in _FACT.items())) for fact in facts),
        _texts(record["near"], "near", 2),
    )
    lines = [*card.near, *(t for f in card.facts for t in (*f.says, *f.asks, *f.hints))]
    used = {slot for line in lines for slot in re.findall(r"{(\w*)}", line)}
    if unknown := used - {"me", "you", *card.slots}:
        raise ValueError(f"slots {sorted(unknown)} have no values")
    return card


_FACT = {"says": 1, "asks": 1, "hints": 0}
"""Fields of a fact, with the fewest texts each has."""


def _texts(value: object, name: str, least: int) -> tuple[str, ...]:
    if (
        not isinstance(value, list)
        or len(value) < least
        or not all(isinstance(text, str) and text.strip() for text in value)
    ):
        raise ValueError(f"{name} must be a list of {least} or more texts")
    return tuple(value)
