"""Explain: numbers in, words for people out. Nothing here changes a score."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from family_recall.stage import Link
from family_recall.stores.base import Snapshot, StoredMemory
from family_recall.types import Contribution, Rationale, Result, Scope

_BUMPS = frozenset({"rrf_raw", "rrf_decayed"})
_LONGEST_PATH = 8


def reasons(contributions: Sequence[Contribution], confidence: float) -> tuple[str, ...]:
    """Say what a score is made of, term by term, and how sure it is.

    >>> reasons([Contribution("bm25", 0.81, 1.0), Contribution("rrf_raw", 0.008, 1.0)], 0.72)
    ('bm25*1.00=0.810', 'rrf=+0.008', 'conf≈0.72')
    """
    lines = [
        f"rrf={part.amount:+.3f}"
        if part.feature in _BUMPS
        else f"{part.feature}*{part.weight:.2f}={part.amount:.3f}"
        for part in contributions
        if part.amount != 0.0
    ]
    return (*lines, f"conf≈{confidence:.2f}")


def highlights(
    text: str, stems: Collection[str], snapshot: Snapshot
) -> tuple[tuple[int, int], ...]:
    """Find where a text says the words that were searched for: (start, end) in characters."""
    if not stems:
        return ()
    spans: list[tuple[int, int]] = []
    at = 0
    for word, stem in snapshot.stems(text):
        start = text.find(word, at)
        if start < 0:
            continue
        at = start + len(word)
        if stem in stems:
            spans.append((start, at))
    return tuple(spans)


def rationale(
    memory: int, links: Mapping[int, Link], scope: Scope, snapshot: Snapshot
) -> Rationale | None:
    """Follow a memory's links back to the seed its rank came from; None if it was a seed."""
    nodes, kinds = [memory], list[str]()
    while nodes[-1] in links and len(kinds) < _LONGEST_PATH:
        link = links[nodes[-1]]
        kinds.append(link.kind)
        nodes.append(link.node)
    if not kinds:
        return None
    ids = np.array(nodes, np.int64)
    names = dict(snapshot.entity_names(ids, scope))
    names |= {stored.id: str(stored.memory.doc_id) for stored in _stored(snapshot, ids, scope)}
    if len(names) < len(nodes):
        return None
    path = [str(names[nodes[-1]])]
    for node, kind in zip(reversed(nodes[:-1]), reversed(kinds), strict=True):
        path += [kind, str(names[node])]
    return Rationale(
        path=tuple(path),
        entities=tuple(str(names[node]) for node in nodes if node < 0),
        evidence=tuple(str(names[node]) for node in nodes if node > 0),
    )


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a memory is in an answer, or why not.

    ``verdict`` is ``returned``; ``outranked`` (it was a candidate, ``rank`` says how far down);
    or ``not_found`` (no source brought it up; ``rank`` is where it would have stood).
    ``last`` is the last result returned, whose score it had to pass.
    """

    doc_id: str
    verdict: Literal["returned", "outranked", "not_found"]
    rank: int
    top_k: int
    score: float
    contributions: tuple[Contribution, ...]
    found_by: Mapping[str, int]
    last: Result | None

    def lines(self) -> list[str]:
        """Say it in sentences, then term by term."""
        place = f"rank {self.rank} of the {self.top_k} asked for"
        first = {
            "returned": f"{self.doc_id} was returned: {place}.",
            "outranked": f"{self.doc_id} was a candidate but came too late: {place}.",
            "not_found": f"{self.doc_id} was found by no source; it would have had {place}.",
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


def _stored(snapshot: Snapshot, ids: np.ndarray[Any, Any], scope: Scope) -> list[StoredMemory]:
    return snapshot.memories(ids[ids > 0], scope)
