"""Ask again where memories were never stored: the gold of a question, or a rationale's evidence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from family_recall.apps.evaluation.datasets import Query
from family_recall.apps.evaluation.measures import Interval, bootstrap_means
from family_recall.apps.evaluation.outcomes import Outcome, plain
from family_recall.apps.evaluation.testbed import Testbed
from family_recall.types.aliases import StepCallback


@dataclass(frozen=True, slots=True)
class Fall:
    """What became of one result when memories were removed from the store.

    ``ranks`` it fell, above 0 for further down, not counting the places that the removed
    memories left free; ``score`` it lost, above 0 for less.
    """

    query_id: str
    doc_id: str
    dropped: tuple[str, ...]
    ranks: int
    score: float


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """Falls without the evidence a rationale names, and without as many other memories."""

    evidence: tuple[Fall, ...]
    control: tuple[Fall, ...]
    seed: int

    def to_json(self) -> dict[str, Any]:
        """Return how often and how far results fell.

        For ``evidence``, ``control`` and, pair by pair, their ``difference``: the share whose
        rank fell, the share whose score fell, the mean ranks and the mean score, each with its
        95 % interval. With ``n`` 0 there are none.
        """
        if not self.evidence:
            return {"n": 0}
        tables = {"evidence": _table(self.evidence), "control": _table(self.control)}
        tables["difference"] = tables["evidence"] - tables["control"]
        return {
            "n": len(self.evidence),
            **{name: plain(self._means(table)) for name, table in tables.items()},
        }

    def mean_ranks(self) -> Interval:
        """Return the ranks that evidence is worth beyond other memories.

        Raises:
            ValueError: If there is no fall.
        """
        return self._means(_table(self.evidence) - _table(self.control))["ranks"]

    def _means(self, table: npt.NDArray[np.float64]) -> dict[str, Interval]:
        return dict(zip(_COLUMNS, bootstrap_means(table, seed=self.seed), strict=True))


_COLUMNS = ("rank_fell", "score_fell", "ranks", "score")
_LEAST = 1e-6
"""A score that moved by less did not move: it is a sum of 32-bit floats."""


def ask_without_gold(testbed: Testbed, progress: StepCallback | None = None) -> list[Outcome]:
    """Ask each question that has gold in a store that was filled without it.

    One store a question, filled from nothing, so this takes about as long as storing the
    question's space. The moment of asking stays that of the whole dataset. A memory that says
    the same as the gold, and is not gold itself, stays where it is.
    """

    def ask(query: Query) -> Outcome:
        with testbed.household_without(query.space, query.gold) as home:
            answer = home.recall(query.text, testbed.context_of(query))
        return Outcome.of(query, answer, gold=())

    queries = [query for query in testbed.dataset.queries if query.gold]
    outcomes = []
    for done, query in enumerate(queries, 1):
        outcomes.append(testbed.once("without gold", query, ask))
        if progress:
            progress("without gold", done, len(queries))
    return outcomes


def measure_faithfulness(
    testbed: Testbed,
    outcomes: Sequence[Outcome],
    n: int,
    *,
    seed: int,
    progress: StepCallback | None = None,
) -> Faithfulness:
    """Remove the evidence that a rationale names from the store, and ask again.

    Up to ``n`` results whose rationale names other memories are drawn from all answers that
    are in order of rank. Each is asked for in a store filled without that evidence, and in one
    without as many other memories of its space, drawn at random: what is true of any memory is
    no credit to a reason.

    Source: DeYoung et al., ERASER, ACL 2020, arXiv:1911.03429 (comprehensiveness).
    """
    rng = np.random.default_rng(seed)
    queries = {query.id: query for query in testbed.dataset.queries}
    results = [
        (outcome, doc_id)
        for outcome in outcomes
        if outcome.strategy != "TIMELINE"
        for doc_id in outcome.ranking
        if doc_id in outcome.evidence
    ]
    size = min(n, len(results))
    drawn = sorted(rng.choice(len(results), size=size, replace=False)) if results else []
    spaces: dict[str, list[str]] = {}
    for memory in testbed.dataset.memories:
        spaces.setdefault(memory.space, []).append(memory.id)
    evidence, control = [], []
    for done, at in enumerate(drawn, 1):
        outcome, doc_id = results[at]
        query, named = queries[outcome.query_id], outcome.evidence[doc_id]
        others = [other for other in spaces[query.space] if other not in {doc_id, *named}]
        size = min(len(named), len(others))
        picked = [others[i] for i in sorted(rng.choice(len(others), size=size, replace=False))]
        evidence.append(_fall(testbed, query, outcome, doc_id, named))
        control.append(_fall(testbed, query, outcome, doc_id, picked))
        if progress:
            progress("rationales", done, len(drawn))
    return Faithfulness(tuple(evidence), tuple(control), seed)


def _fall(
    testbed: Testbed, query: Query, outcome: Outcome, doc_id: str, dropped: Sequence[str]
) -> Fall:
    at = outcome.ranking.index(doc_id)
    above = sum(other in dropped for other in outcome.ranking[:at])

    def ask() -> Fall:
        with testbed.household_without(query.space, dropped) as home:
            explanation = home.explain(query.text, doc_id, testbed.context_of(query))
        return Fall(
            query_id=query.id,
            doc_id=doc_id,
            dropped=tuple(dropped),
            ranks=explanation.rank - (at + 1 - above),
            score=outcome.scores[at] - sum(part.amount for part in explanation.contributions),
        )

    key = json.dumps([query.id, doc_id, *dropped])
    return testbed.checkpoint.once(_read_fall, "rationales", key, ask)


def _read_fall(record: Mapping[str, Any]) -> Fall:
    return Fall(**{**record, "dropped": tuple(record["dropped"])})


def _table(falls: Sequence[Fall]) -> npt.NDArray[np.float64]:
    """Return each fall as a row of :data:`_COLUMNS`."""
    return np.array([[f.ranks > 0, f.score > _LEAST, f.ranks, f.score] for f in falls], np.float64)
