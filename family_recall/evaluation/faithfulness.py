"""Faithfulness: results with a rationale in; how far they fall without its evidence out."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from family_recall.evaluation.intervals import Interval, bootstrap_means

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from family_recall.evaluation.bench import Bench
    from family_recall.evaluation.datasets import Query
    from family_recall.evaluation.outcomes import Outcome
    from family_recall.types.progress import StepCallback


@dataclass(frozen=True, slots=True)
class Fall:
    """What became of one result when memories were taken out of the store.

    ``ranks`` it fell, above 0 for further down, not counting the places that the memories taken
    out left free; ``score`` it lost, above 0 for less.
    """

    query_id: str
    doc_id: str
    dropped: tuple[str, ...]
    ranks: int
    score: float

    def to_json(self) -> dict[str, Any]:
        """Give every field."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Fall:
        """Read what :meth:`to_json` wrote; raises ``KeyError`` or ``TypeError`` for else."""
        return cls(**{**record, "dropped": tuple(record["dropped"])})


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """Falls without the evidence a rationale names, and without as many other memories."""

    evidence: tuple[Fall, ...]
    control: tuple[Fall, ...]
    seed: int

    def to_json(self) -> dict[str, Any]:
        """Give how often and how far results fell.

        For ``evidence``, ``control`` and, pair by pair, their ``difference``: the share whose
        rank fell, the share whose score fell, the mean ranks and the mean score, each with its
        95 % interval. ``n`` 0 has none of them.
        """
        if not self.evidence:
            return {"n": 0}
        named, others = _table(self.evidence), _table(self.control)
        return {
            "n": len(self.evidence),
            **{
                name: {
                    column: found.to_json()
                    for column, found in zip(
                        _COLUMNS, bootstrap_means(table, seed=self.seed), strict=True
                    )
                }
                for name, table in (
                    ("evidence", named),
                    ("control", others),
                    ("difference", named - others),
                )
            },
        }

    def mean_ranks(self) -> Interval:
        """Ranks that evidence is worth beyond other memories; raises where none was tried."""
        difference = _table(self.evidence) - _table(self.control)
        return bootstrap_means(difference, seed=self.seed)[_COLUMNS.index("ranks")]


_COLUMNS = ("rank_fell", "score_fell", "ranks", "score")
_LEAST = 1e-6
"""A score that moved by less did not move: it is a sum of 32-bit floats."""


def measure(
    bench: Bench,
    outcomes: Sequence[Outcome],
    n: int,
    *,
    seed: int,
    progress: StepCallback | None = None,
) -> Faithfulness:
    """Take the evidence that a rationale names out of the store, and ask again.

    Up to ``n`` results whose rationale names other memories are drawn from all answers that
    are in order of rank. Each is asked for in a store made anew without that evidence, and in
    one without as many other memories of its space, drawn at random: what is true of any
    memory is no credit to a reason.

    Source: DeYoung et al., ERASER, ACL 2020, arXiv:1911.03429 (comprehensiveness).
    """
    rng = np.random.default_rng(seed)
    queries = {query.id: query for query in bench.dataset.queries}
    told = [
        (outcome, doc_id)
        for outcome in outcomes
        if outcome.strategy != "TIMELINE"
        for doc_id in outcome.ranking
        if doc_id in outcome.evidence
    ]
    drawn = sorted(rng.choice(len(told), size=min(n, len(told)), replace=False)) if told else []
    spaces: dict[str, list[str]] = {}
    for memory in bench.dataset.memories:
        spaces.setdefault(memory.space, []).append(memory.id)
    evidence, control = [], []
    for done, at in enumerate(drawn, 1):
        outcome, doc_id = told[at]
        query, named = queries[outcome.query_id], outcome.evidence[doc_id]
        others = [one for one in spaces[query.space] if one != doc_id and one not in named]
        size = min(len(named), len(others))
        picked = [others[i] for i in sorted(rng.choice(len(others), size=size, replace=False))]
        evidence.append(_fall(bench, query, outcome, doc_id, named))
        control.append(_fall(bench, query, outcome, doc_id, picked))
        if progress:
            progress("rationales", done, len(drawn))
    return Faithfulness(tuple(evidence), tuple(control), seed)


def _fall(
    bench: Bench, query: Query, outcome: Outcome, doc_id: str, dropped: Sequence[str]
) -> Fall:
    at = outcome.ranking.index(doc_id)
    above = sum(one in dropped for one in outcome.ranking[:at])

    def ask() -> Fall:
        with bench.without(query.space, dropped) as home:
            found = home.explain(query.text, doc_id, bench.asked(query))
        return Fall(
            query_id=query.id,
            doc_id=doc_id,
            dropped=tuple(dropped),
            ranks=found.rank - (at + 1 - above),
            score=outcome.scores[at] - sum(part.amount for part in found.contributions),
        )

    return bench.kept.once(Fall, "rationales", json.dumps([query.id, doc_id, *dropped]), ask)


def _table(falls: Sequence[Fall]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Give each fall as a row of :data:`_COLUMNS`."""
    return np.array([[f.ranks > 0, f.score > _LEAST, f.ranks, f.score] for f in falls], np.float64)
