"""Load the written homes, whose schema is in README.md beside this file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TRAINING = Path(__file__).parent / "training.jsonl"
HELD_OUT = Path(__file__).parent / "held_out.jsonl"

UNANSWERED = ("unear", "twin")
"""Kinds of question that nothing stored answers."""

KINDS = frozenset(
    """
    direct number paraphrase temporal whosaid changed multihop kinship implicit list context paired
    """.split()
) | {*UNANSWERED}
"""Kinds of question. A `paired` one is followed by its `twin`, very like it and unanswered."""


@dataclass(frozen=True, slots=True)
class Said:
    """One memory of a home: on which day, by whom, what."""

    day: int
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question; `gold` and `stale` are places in the home's memories."""

    kind: str
    asker: str
    text: str
    gold: tuple[int, ...]
    stale: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Home:
    """One family's memories, in order, and its questions."""

    name: str
    people: tuple[str, ...]
    memories: tuple[Said, ...]
    questions: tuple[Question, ...]


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
    memories = tuple(Said(*memory) for memory in record["memories"])
    questions = tuple(
        Question(kind, asker, text, tuple(gold), tuple(stale))
        for kind, asker, text, gold, stale in record["questions"]
    )
    _check_memories(memories, people)
    for question in questions:
        try:
            _check_question(question, people, len(memories))
        except ValueError as error:
            raise ValueError(f"{question.text!r}: {error}") from None
    return Home(record["home"], people, memories, questions)


def _check_memories(memories: Sequence[Said], people: Sequence[str]) -> None:
    days = [memory.day for memory in memories]
    if days != sorted(days):
        raise ValueError("days must not fall")
    if strangers := {memory.speaker for memory in memories} - set(people):
        raise ValueError(f"{sorted(strangers)} speak and are none of the people")
    if any(not memory.text.strip() for memory in memories):
        raise ValueError("a memory has no text")


def _check_question(question: Question, people: Sequence[str], n_memories: int) -> None:
    if question.kind not in KINDS:
        raise ValueError(f"kind {question.kind!r} is none of {', '.join(sorted(KINDS))}")
    if question.asker not in people:
        raise ValueError(f"{question.asker!r} is none of the people")
    if not all(0 <= place < n_memories for place in (*question.gold, *question.stale)):
        raise ValueError(f"gold and stale must lie within the {n_memories} memories")
    if bool(question.gold) == (question.kind in UNANSWERED):
        raise ValueError(f"only questions of kind {' and '.join(UNANSWERED)} have no gold")
