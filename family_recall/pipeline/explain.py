"""Explain: numbers in, words for people out. Nothing here changes a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from family_recall.dataflow import PathStep
from family_recall.types import Answer, Contribution, Rationale, Result


def rationale(path: Sequence[PathStep], names: Mapping[int, str]) -> Rationale | None:
    """Tell a path through the graph; None where part of it has no name to tell.

    Args:
        path: From the seed to the memory; each link names a node and the edge that leads on,
            the last one the memory itself.
        names: What each node is called: a doc_id, or an entity's name.
    """
    if len(path) < 2 or any(link.node not in names for link in path):
        return None
    steps: list[str] = []
    for link in path:
        steps += [names[link.node], link.kind]
    return Rationale(
        path=tuple(steps[:-1]),
        entities=tuple(names[link.node] for link in path if link.node < 0),
        evidence=tuple(names[link.node] for link in path if link.node > 0),
    )


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a memory is in an answer, or why not.

    ``verdict`` is ``returned``; ``outranked`` (it was a candidate, ``rank`` says how far down);
    ``duplicate`` (a near copy of another one, at whose ``rank`` it is counted);
    or ``not_found`` (no source brought it up, or too far down to be scored; ``rank`` is where it
    would have stood).
    ``last`` is the last result returned, whose score it had to pass.
    """

    doc_id: str
    verdict: Literal["returned", "outranked", "duplicate", "not_found"]
    rank: int
    top_k: int
    score: float
    contributions: tuple[Contribution, ...]
    found_by: Mapping[str, int]
    last: Result | None
    space_id: str = ""

    def lines(self) -> list[str]:
        """Say it in sentences, then term by term."""
        place = f"rank {self.rank} of the {self.top_k} asked for"
        first = {
            "returned": f"{self.doc_id} was returned: {place}.",
            "duplicate": f"{self.doc_id} is a near copy of another result: {place}.",
            "outranked": f"{self.doc_id} was a candidate but came too late: {place}.",
            "not_found": f"{self.doc_id} was {self.unfound}; it would have had {place}.",
        }[self.verdict]
        found = ", ".join(f"{source} at {rank}" for source, rank in self.found_by.items())
        lines = [first, f"found by: {found or 'none'}", f"score {self.score:.4f}, made of:"]
        lines += [
            f"  {part.feature:<16} {part.value:8.4f} × {part.weight:5.2f} = {part.amount:+.4f}"
            for part in self.contributions
        ]
        if self.verdict != "returned" and self.last is not None:
            lines.append(f"the last one returned is {self.last.doc_id} with {self.last.score:.4f}")
        return lines

    @property
    def unfound(self) -> str:
        """Say how a memory was not found: by nobody, or by somebody and too far down."""
        return "found, but too far down to be scored" if self.found_by else "found by no source"

    def to_json(self) -> dict[str, Any]:
        """Give every field; contributions as ``[feature, value, weight]``."""
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
class Missed:
    """A memory that came close to an answer and is not in it, with what it says."""

    explanation: Explanation
    text: str

    @property
    def doc_id(self) -> str:
        """Its id."""
        return self.explanation.doc_id

    @property
    def why(self) -> str:
        """Say in a sentence what kept it out."""
        told = self.explanation
        if told.verdict == "duplicate":
            return f"A near copy of what stands at rank {told.rank}, and counted there."
        if told.verdict == "not_found":
            return f"It was {told.unfound}; its score would have put it at rank {told.rank}."
        if told.last is None:
            return f"It came at rank {told.rank}, past the {told.top_k} asked for."
        gap = told.last.score - told.score
        if gap <= 0.0:
            return (
                f"It scored {-gap:.3f} more than the last result, and was moved to rank "
                f"{told.rank} because it says what those above it say."
            )
        most = _most_of_the_gap(told.last.contributions, told.contributions)
        because = f", mostly by {most}" if most else ""
        return f"At rank {told.rank}, {gap:.3f} short of the last result{because}."


@dataclass(frozen=True, slots=True)
class Inspection:
    """An answer, and what stood closest and is not in it, the closest first."""

    answer: Answer
    missed: tuple[Missed, ...]


def _most_of_the_gap(last: Sequence[Contribution], this: Sequence[Contribution]) -> str:
    had = {part.feature: part.amount for part in this}
    gaps = [(part.amount - had.get(part.feature, 0.0), part.feature) for part in last]
    gap, feature = max(gaps, default=(0.0, ""))
    return feature if gap > 0.0 else ""
