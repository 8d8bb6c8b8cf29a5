"""Load the written homes, whose schema is in README.md beside this file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TRAINING = Path(__file__).parent / "training.jsonl"
HELD_OUT = Path(__file__).parent / "held_out.jsonl"
MANY_HANDS = Path(__file__).parent / "many_hands.jsonl"
MANY_HANDS_CONSTANTS = Path(__file__).parent / "many_hands_constants.jsonl"
MANY_HANDS_HELD_OUT = Path(__file__).parent / "many_hands_held_out.jsonl"

NEAR = ("near_person", "near_thing", "near_time")
UNANSWERED = ("unear", "twin", *NEAR, "far")
"""Kinds of question that nothing stored answers."""

KINDS = frozenset(
    """
    direct number paraphrase temporal whosaid changed multihop kinship implicit list context paired
    indirect was mine yesno count follow two
    """.split()
) | {*UNANSWERED}
"""Kinds of question. A `paired` one is followed by its `twin`, very like it and unanswered."""


@dataclass(frozen=True, slots=True)
class Said:
    """One memory of a home: on which day, by whom, what; and what is known of it.

    ``replies_to`` is the place of the turn it answers or carries on, ``alone`` the same as one
    sentence that stands alone, ``slot`` (whom, which attribute, the value in its own words).
    ``over`` are the places of memories that it makes untrue, with nothing new if it ``ends`` them;
    what is said ``once`` replaces nothing.
    """

    day: int
    speaker: str
    text: str
    replies_to: int | None = None
    alone: str | None = None
    slot: tuple[str, str, str] | None = None
    over: tuple[int, ...] = ()
    ends: bool = False
    once: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """One question; `gold` and `stale` are places in the home's memories.

    A follow-up has the question ``after`` which it is asked, and itself in full as ``alone``. One
    that nothing answers may name the memory that is ``near`` to an answer; it has the ``group`` of
    the answered one that it is like.
    """

    kind: str
    asker: str
    text: str
    gold: tuple[int, ...]
    stale: tuple[int, ...]
    after: str | None = None
    alone: str | None = None
    near: int | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Home:
    """One family's memories, in order, and its questions; ``kin`` are (one, relation, other)."""

    name: str
    people: tuple[str, ...]
    memories: tuple[Said, ...]
    questions: tuple[Question, ...]
    kin: tuple[tuple[str, str, str], ...] = ()

    @property
    def hand(self) -> str:
        """Who wrote it: its name without the number at the end."""
        return self.name.rstrip("0123456789")


def read_homes(path: Path = TRAINING) -> list[Home]:
    """Return the homes of a JSON Lines file, in order.

    Raises:
        ValueError: If a home does not fit the schema, or there is none; names the line.
    """
    homes = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.strip():
            try:
                homes.append(_home(json.loads(line)))
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{path.name}, line {number}: not a home: {error}") from error
    if not homes:
        raise ValueError(f"{path}: no homes here")
    return homes


def _home(record: Mapping[str, Any]) -> Home:
    people = tuple(record["people"])
    memories = tuple(
        Said(day, speaker, text, **_known(more[0] if more else {}))
        for day, speaker, text, *more in record["memories"]
    )
    questions = tuple(
        Question(kind, asker, text, tuple(gold), tuple(stale), **(more[0] if more else {}))
        for kind, asker, text, gold, stale, *more in record["questions"]
    )
    _check_memories(memories, people)
    for question in questions:
        try:
            _check_question(question, people, len(memories))
        except ValueError as error:
            raise ValueError(f"{question.text!r}: {error}") from None
    kin = tuple((one, relation, other) for one, relation, other in record.get("kin", ()))
    return Home(record["home"], people, memories, questions, kin)


def _known(more: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in more.items()}


def _check_memories(memories: Sequence[Said], people: Sequence[str]) -> None:
    days = [memory.day for memory in memories]
    if days != sorted(days):
        raise ValueError("days must not fall")
    if strangers := {memory.speaker for memory in memories} - set(people):
        raise ValueError(f"{sorted(strangers)} speak and are none of the people")
    if any(not memory.text.strip() for memory in memories):
        raise ValueError("a memory has no text")
    for n, memory in enumerate(memories):
        if any(place >= n for place in (memory.replies_to or 0, *memory.over) if place):
            raise ValueError(f"{memory.text!r} replies to, or ends, what comes after it")
        if memory.slot and memory.slot[2].casefold() not in memory.text.casefold():
            raise ValueError(f"{memory.text!r} does not say {memory.slot[2]!r}")


def _check_question(question: Question, people: Sequence[str], n_memories: int) -> None:
    if question.kind not in KINDS:
        raise ValueError(f"kind {question.kind!r} is none of {', '.join(sorted(KINDS))}")
    if question.asker not in people:
        raise ValueError(f"{question.asker!r} is none of the people")
    if not all(0 <= place < n_memories for place in (*question.gold, *question.stale)):
        raise ValueError(f"gold and stale must lie within the {n_memories} memories")
    if bool(question.gold) == (question.kind in UNANSWERED):
        raise ValueError(f"only questions of kind {' and '.join(UNANSWERED)} have no gold")
