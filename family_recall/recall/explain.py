"""Explain a ranking in words for people. Nothing here changes a score."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from family_recall.recall.dataflow import PathStep
from family_recall.types import Answer, Contribution, Rationale, Result

Verdict = Literal["returned", "outranked", "duplicate", "not_found"]


Link: TypeAlias = tuple[int, str, int]
"""A relation walked from one entity to another: node, kind and node."""


def rationale(
    path: Sequence[PathStep],
    names: Mapping[int, str],
    stated: Mapping[Link, tuple[str, ...]] = MappingProxyType({}),
) -> Rationale | None:
    """Describe a path through the graph; None where part of it has no name.

    Args:
        path: From the seed to the memory; each step is a node and the edge that leads on, the
            last one the memory itself.
        names: The name of each node: a doc_id, or an entity's name.
        stated: The doc_ids of what states each relation.
    """
    if len(path) < 2 or any(link.node not in names for link in path):
        return None
    steps: list[str] = []
    evidence: list[str] = []
    for link, following in itertools.pairwise(path):
        steps += [names[link.node], link.kind]
        evidence += [names[link.node]] * (link.node > 0)
        evidence += stated.get((link.node, link.kind, following.node), ())
    memory = names[path[-1].node]
    return Rationale(
        path=(*steps, memory),
        entities=tuple(names[link.node] for link in path if link.node < 0),
        evidence=tuple(dict.fromkeys((*evidence, memory))),
    )


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a memory is in an answer, or why not.

    ``verdict`` is ``returned``; ``outranked`` (it was a candidate, ``rank`` says how far down);
    ``duplicate`` (a near copy of another one, at whose ``rank`` it is counted);
    or ``not_found`` (no source found it, or too far down to be scored; ``rank`` is where it would
    have stood).
    ``last`` is the last result returned, whose score it had to pass.
    """

    doc_id: str
    verdict: Verdict
    rank: int
    top_k: int
    score: float
    contributions: tuple[Contribution, ...]
    found_by: Mapping[str, int]
    last: Result | None
    space_id: str = ""

    def lines(self, short: Callable[[str], str] = str) -> list[str]:
        """Write it in sentences, then term by term; ``short`` shortens an id."""
        place, asked = ordinal(self.rank), f"you asked for {self.top_k}"
        this = short(self.doc_id)
        first = {
            "returned": f"{this} was returned: it ranked {place}, and {asked}.",
            "duplicate": f"{this} is a near copy of a result that ranked {place}; {asked}.",
            "outranked": f"{this} was a candidate but ranked {place}; {asked}.",
            "not_found": f"{this} was {self.unfound}; it would have ranked {place}.",
        }[self.verdict]
        sources = ", ".join(f"{source} at {rank}" for source, rank in self.found_by.items())
        lines = [first, f"found by: {sources or 'none'}", f"score {self.score:.4f}, made of:"]
        lines += [
            f"  {part.feature:<16} {part.value:8.4f} × {part.weight:5.2f} = {part.amount:+.4f}"
            for part in self.contributions
            if part.amount != 0.0
        ]
        if self.verdict != "returned" and self.last is not None:
            last = short(self.last.doc_id)
            lines.append(f"the last one returned is {last} with {self.last.score:.4f}")
        return lines

    @property
    def unfound(self) -> str:
        """How a memory was not found: by no source, or too far down."""
        return "found, but too far down to be scored" if self.found_by else "found by no source"

    def to_json(self) -> dict[str, Any]:
        """Return every field; contributions as ``[feature, value, weight]``."""
        return {
            "doc_id": self.doc_id,
            "verdict": self.verdict,
            "rank": self.rank,
            "top_k": self.top_k,
            "score": self.score,
            "contributions": [[c.feature, c.value, c.weight] for c in self.contributions],
            "found_by": dict(self.found_by),
            "last": self.last and {"doc_id": self.last.doc_id, "score": self.last.score},
        }


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A memory that came close to an answer and is not in it, with what it says."""

    explanation: Explanation
    text: str

    @property
    def doc_id(self) -> str:
        """Its id."""
        return self.explanation.doc_id

    @property
    def why(self) -> str:
        """What kept it out, in a sentence."""
        this = self.explanation
        if this.verdict == "duplicate":
            return f"A near copy of what stands at rank {this.rank}, and counted there."
        if this.verdict == "not_found":
            return f"It was {this.unfound}; its score would have put it at rank {this.rank}."
        if this.last is None:
            return f"It ranked {ordinal(this.rank)}; you asked for {this.top_k}."
        gap = this.last.score - this.score
        if gap <= 0.0:
            return (
                f"It scored {-gap:.3f} more than the last result, and was moved to rank "
                f"{this.rank} because it says the same as results above it."
            )
        most = _most_of_the_gap(this.last.contributions, this.contributions)
        because = f", mostly by {most}" if most else ""
        return f"At rank {this.rank}, {gap:.3f} short of the last result{because}."


@dataclass(frozen=True, slots=True)
class Inspection:
    """An answer, and what came closest and is not in it, the closest first."""

    answer: Answer
    near_misses: tuple[NearMiss, ...]


def ordinal(n: int) -> str:
    """Write a rank: 1st, 2nd, 3rd, 4th, 11th, 21st."""
    ending = "th" if n % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def _most_of_the_gap(last: Sequence[Contribution], this: Sequence[Contribution]) -> str:
    had = {part.feature: part.amount for part in this}
    gaps = [(part.amount - had.get(part.feature, 0.0), part.feature) for part in last]
    gap, feature = max(gaps, default=(0.0, ""))
    return feature if gap > 0.0 else ""
