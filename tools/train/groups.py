"""Groups to train on: questions, each with texts that answer it and texts that do not.

A source draws groups that sit well in one batch, near neighbours together, since within a batch
each text is a negative of every other question.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from pathlib import Path

# Runs of lines that one batch is drawn from: neighbours share a scene or an article.
STRETCHES_PER_BATCH = 4

BEARING = frozenset(
    {"implicit", "context", "multihop", "hint", "implicit-preference", "proactive-recall"}
)
"""Kinds of questions whose answers, each by itself, only bear on them."""


@dataclass(frozen=True, slots=True)
class Group:
    """One question.

    ``also`` are further texts that answer it: never negatives. A group without a positive is a
    question that nothing answers. ``negatives`` come hardest first. ``answers`` is False where the
    positive only bears on the question: it ranks above the others, and answers nothing by itself.
    """

    query: str
    positive: str | None
    negatives: tuple[str, ...]
    also: frozenset[str] = field(default_factory=frozenset)
    answers: bool = True


class Source(Protocol):
    """A set that groups are drawn from."""

    name: str

    def draw(self, n: int, rng: random.Random) -> list[Group]:
        """Draw `n` groups for one batch."""


class Pairs:
    """The lines of a `pairs.jsonl.gz`: `query`, `positive`, `hard_negative` (a list).

    `positive` is null where nothing answers the question; `kind` says how it is asked.
    """

    def __init__(self, name: str, groups: Sequence[Group]) -> None:
        if not groups:
            raise ValueError(f"{name}: no pair to learn from")
        self.name = name
        self.groups = groups

    @classmethod
    def read(cls, path: Path, name: str | None = None) -> Pairs:
        """Read one file; texts that answer the same question are never its negatives.

        Raises:
            FileNotFoundError: If there is none.
            ValueError: If a line lacks a field, or no line is there.
        """
        pairs: list[tuple[str, str | None, list[str], bool]] = []
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for n, line in enumerate(lines, 1):
                pair = json.loads(line)
                try:
                    answers = pair.get("kind") not in BEARING
                    pairs.append((pair["query"], pair["positive"], pair["hard_negative"], answers))
                except KeyError as missing:
                    raise ValueError(f"{path}, line {n}: field {missing} is missing") from missing
        known: dict[str, set[str]] = {}
        for query, positive, _, _ in pairs:
            known.setdefault(query, set()).update([positive] if positive is not None else [])
        groups = [
            Group(
                query,
                positive,
                tuple(text for text in negatives if text not in known[query]),
                frozenset(known[query] - {positive}),
                answers,
            )
            for query, positive, negatives, answers in pairs
        ]
        return cls(name or path.parent.name, groups)

    def draw(self, n: int, rng: random.Random) -> list[Group]:
        """Draw several runs of neighbouring lines."""
        length = -(-n // STRETCHES_PER_BATCH)
        starts = [rng.randrange(len(self.groups)) for _ in range(STRETCHES_PER_BATCH)]
        drawn = [self.groups[(s + i) % len(self.groups)] for s in starts for i in range(length)]
        return drawn[:n]


class Mixture:
    """Batches, each from one source, the sources in stated shares."""

    def __init__(self, sources: Sequence[Source], shares: Sequence[float]) -> None:
        self.sources = sources
        self.shares = shares

    def draw(self, n: int, rng: random.Random) -> list[Group]:
        """Draw one batch."""
        return rng.choices(self.sources, self.shares)[0].draw(n, rng)
