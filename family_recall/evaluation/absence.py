"""Absence: answered questions in; the same asked where their answer was never stored out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from family_recall.evaluation.outcomes import Outcome
from family_recall.evaluation.report import abstention

if TYPE_CHECKING:
    from collections.abc import Sequence

    from family_recall.evaluation.bench import Bench
    from family_recall.evaluation.datasets import Query
    from family_recall.types.progress import StepCallback


def ask_without_gold(bench: Bench, progress: StepCallback | None = None) -> list[Outcome]:
    """Ask each question that has gold in a store made anew without it.

    One store a question, filled from nothing, so this takes about as long as storing the
    question's space. The moment of asking stays that of the whole dataset. A memory that says
    the same as the gold, and is not gold itself, stays where it is.
    """

    def ask(query: Query) -> Outcome:
        with bench.without(query.space, query.gold) as home:
            answer = home.recall(query.text, bench.asked(query))
        return Outcome.of(query, answer, gold=())

    queries = [query for query in bench.dataset.queries if query.gold]
    outcomes = []
    for done, query in enumerate(queries, 1):
        outcomes.append(bench.once("without gold", query, ask))
        if progress:
            progress("without gold", done, len(queries))
    return outcomes


def told_apart(there: Sequence[Outcome], gone: Sequence[Outcome]) -> dict[str, Any]:
    """Say how well confidence tells a question with its answer from the same without.

    As :func:`family_recall.evaluation.report.abstention` over both halves, with ``n`` of each
    and ``lower``, the share of questions whose confidence fell, one that stayed counting half.
    Questions that never had gold take no part.
    """
    missing = {outcome.query_id: outcome for outcome in gone}
    pairs = [(o, missing[o.query_id]) for o in there if o.query_id in missing]
    if not pairs:
        return {"n": 0}
    falls = [
        1.0
        if after.confidence < before.confidence
        else 0.5 * (after.confidence == before.confidence)
        for before, after in pairs
    ]
    both = [outcome for pair in pairs for outcome in pair]
    return {"n": len(pairs), "lower": sum(falls) / len(falls), **abstention(both)}
