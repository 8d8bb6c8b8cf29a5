"""Ask the same questions within several time budgets, to see how good answers each pays for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from family_recall.evaluation.intervals import Interval
from family_recall.evaluation.outcomes import measured
from family_recall.evaluation.timing import quantiles

if TYPE_CHECKING:
    from family_recall.evaluation.testbed import Testbed
    from family_recall.types.progress import StepCallback


@dataclass(frozen=True, slots=True)
class BudgetResult:
    """What a budget of milliseconds buys.

    ``n_pairs`` is the mean number of pairs the cross-encoder read for a question; ``overshoot_ms``
    what answers took past the budget; ``n_hurried`` how many skipped a stage for lack of time.
    """

    budget_ms: float
    measures: Mapping[str, int | Interval]
    n_pairs: float
    used_ms: Mapping[str, float]
    overshoot_ms: Mapping[str, float]
    n_hurried: int


def ask_within(
    testbed: Testbed,
    budgets_ms: Sequence[float],
    *,
    seed: int,
    progress: StepCallback | None = None,
) -> tuple[BudgetResult, ...]:
    """Ask every question once more within each budget; the store is not filled again.

    Each budget is asked in a newly opened household, so that no question is cached from the
    budget before; the measured costs of stages are kept.
    """
    results = []
    for number, budget_ms in enumerate(budgets_ms):
        context = dataclasses.replace(testbed.context, time_budget_ms=budget_ms)
        outcomes = dataclasses.replace(testbed, context=context).ask(
            f"within {budget_ms!r} ms", None, progress, "budgets", number, len(budgets_ms)
        )
        used = [outcome.used_time_ms for outcome in outcomes]
        results.append(
            BudgetResult(
                budget_ms,
                measured([outcome for outcome in outcomes if outcome.gold], seed),
                float(np.mean([outcome.n_pairs for outcome in outcomes])),
                quantiles(used),
                quantiles([max(ms - budget_ms, 0.0) for ms in used]),
                sum(outcome.hurried for outcome in outcomes),
            )
        )
    return tuple(results)
