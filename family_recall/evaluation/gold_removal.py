"""Ask answerable questions again where their answer was never stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from family_recall.evaluation.outcomes import Outcome
from family_recall.evaluation.report import abstention

if TYPE_CHECKING:
    from family_recall.evaluation.datasets import Query
    from family_recall.evaluation.testbed import Testbed
    from family_recall.types.progress import StepCallback


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


def separation(with_gold: Sequence[Outcome], without: Sequence[Outcome]) -> dict[str, Any]:
    """Measure how well confidence separates a question with its answer from the same without.

    As :func:`family_recall.evaluation.report.abstention` over both halves, with ``n`` of each
    and ``lower``, the share of questions whose confidence fell, an unchanged one counting half.
    Questions that never had gold do not count.
    """
    removed = {outcome.query_id: outcome for outcome in without}
    pairs = [(o, removed[o.query_id]) for o in with_gold if o.query_id in removed]
    if not pairs:
        return {"n": 0}
    falls = [
        (after.confidence < before.confidence) + 0.5 * (after.confidence == before.confidence)
        for before, after in pairs
    ]
    both = [outcome for pair in pairs for outcome in pair]
    return {"n": len(pairs), "lower": sum(falls) / len(falls), **abstention(both)}
