"""Ask again where memories were never stored: the gold of a question, or a rationale's evidence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from family_recall.apps.evaluation.datasets import Query
from family_recall.apps.evaluation.measures import bootstrap_means
from family_recall.apps.evaluation.outcomes import Outcome
from family_recall.apps.evaluation.testbed import Testbed
from family_recall.types.aliases import StepCallback

_COLUMNS = ("rank_fell", "score_fell", "ranks", "score")
_LEAST = 1e-6
"""A score that moved by less did not move: it is a sum of 32-bit floats."""


class Fall(msgspec.Struct, frozen=True):
    """What became of one result when memories were removed from the store.

    ``ranks`` it fell, above 0 for further down, not counting the places that the removed
    memories left free; ``score`` it lost, above 0 for less.
    """

    query_id: str
    doc_id: str
    dropped: tuple[str, ...]
    ranks: int
    score: float


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
    return testbed.ask_each("without gold", queries, ask, progress)


def draw_falls(
    testbed: Testbed,
    outcomes: Sequence[Outcome],
    n: int,
    *,
    seed: int,
    progress: StepCallback | None = None,
) -> list[tuple[Fall, Fall]]:
    """Remove the evidence that a rationale names from the store, and ask again.

    Up to ``n`` results whose rationale names other memories are drawn from all answers that
    are in order of rank. Each is asked for in a store filled without that evidence, and in one
    without as many other memories of its space, drawn at random: what is true of any memory is
    no credit to a reason.

    Returns:
        For each result, its fall without the evidence, and the one without other memories.
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
    falls = []
    for done, at in enumerate(drawn, 1):
        outcome, doc_id = results[at]
        query, named = queries[outcome.query_id], outcome.evidence[doc_id]
        others = [
            memory.id
            for memory in testbed.dataset.memories
            if memory.space == query.space and memory.id not in {doc_id, *named}
        ]
        size = min(len(named), len(others))
        picked = tuple(others[i] for i in sorted(rng.choice(len(others), size=size, replace=False)))
        without_evidence = _fall(testbed, query, outcome, doc_id, named)
        falls.append((without_evidence, _fall(testbed, query, outcome, doc_id, picked)))
        if progress:
            progress("rationales", done, len(drawn))
    return falls


def faithfulness(falls: Sequence[tuple[Fall, Fall]], *, seed: int) -> dict[str, Any]:
    """Measure whether results fall further without the evidence of their rationale.

    Returns:
        ``n``, and for ``evidence``, ``control`` and, pair by pair, their ``difference``: the share
        whose rank fell, the share whose score fell, the mean ranks and the mean score, each with
        its 95 % interval. With ``n`` 0 there are none.

    Source: DeYoung et al., ERASER, ACL 2020, arXiv:1911.03429 (comprehensiveness).
    """
    if not falls:
        return {"n": 0}
    evidence, control = (
        np.array([[f.ranks > 0, f.score > _LEAST, f.ranks, f.score] for f in column], np.float64)
        for column in zip(*falls, strict=True)
    )
    tables = {"evidence": evidence, "control": control, "difference": evidence - control}
    means = {
        name: dict(zip(_COLUMNS, bootstrap_means(table, seed=seed), strict=True))
        for name, table in tables.items()
    }
    return {"n": len(falls), **means}


def _fall(
    testbed: Testbed, query: Query, outcome: Outcome, doc_id: str, dropped: tuple[str, ...]
) -> Fall:
    at = outcome.ranking.index(doc_id)
    above = sum(other in dropped for other in outcome.ranking[:at])

    def ask() -> Fall:
        with testbed.household_without(query.space, dropped) as home:
            explanation = home.explain(query.text, doc_id, testbed.context_of(query))
        return Fall(
            query_id=query.id,
            doc_id=doc_id,
            dropped=dropped,
            ranks=explanation.rank - (at + 1 - above),
            score=outcome.scores[at] - sum(part.amount for part in explanation.contributions),
        )

    key = json.dumps([query.id, doc_id, *dropped])
    return testbed.checkpoint.once(Fall, "rationales", key, ask)
