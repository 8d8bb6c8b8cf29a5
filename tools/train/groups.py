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
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# Runs of lines that one batch is drawn from: neighbours share a scene or an article.
STRETCHES_PER_BATCH = 4


@dataclass(frozen=True, slots=True)
class Group:
    """One question.

    ``also`` are further texts that answer it: never negatives. A group without a positive is a
    question that nothing answers. ``before`` gives the turn that came before a text, where it is
    known.
    """

    query: str
    positive: str | None
    negatives: tuple[str, ...]
    also: frozenset[str] = field(default_factory=frozenset)
    before: Mapping[str, str] = field(default_factory=dict)


class Source(Protocol):
    """A set that groups are drawn from."""

    name: str

    def draw(self, n: int, rng: random.Random) -> list[Group]:
        """Draw `n` groups for one batch."""


class Pairs:
    """The lines of a `pairs.jsonl.gz`: `query`, `positive`, `hard_negative` (a list).

    `before`, where it is there, has the turn before each of these texts: the positive's first.
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
        pairs: list[tuple[str, str, list[str], dict[str, str]]] = []
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for n, line in enumerate(lines, 1):
                pair = json.loads(line)
                try:
                    texts = [pair["positive"], *pair["hard_negative"]]
                    before = dict(zip(texts, pair.get("before", ()), strict=False))
                    pairs.append((pair["query"], texts[0], texts[1:], before))
                except KeyError as missing:
                    raise ValueError(f"{path}, line {n}: field {missing} is missing") from missing
        answers: dict[str, set[str]] = {}
        for query, positive, _, _ in pairs:
            answers.setdefault(query, set()).add(positive)
        groups = [
            Group(
                query,
                positive,
                tuple(text for text in negatives if text not in answers[query]),
                frozenset(answers[query] - {positive}),
                before,
            )
            for query, positive, negatives, before in pairs
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
