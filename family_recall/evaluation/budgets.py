"""Budgets: a dataset and some budgets in; how good the answers are that each pays for, out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from family_recall.evaluation.outcomes import measured, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from family_recall.evaluation.bench import Bench
    from family_recall.evaluation.intervals import Interval
    from family_recall.types.progress import StepCallback


@dataclass(frozen=True, slots=True)
class Within:
    """What a budget of milliseconds buys.

    ``n_pairs`` is the mean number of pairs the cross-encoder read for a question; ``overshoot_ms``
    what answers took past the budget; ``n_hurried`` how many left a stage out for lack of time.
    """

    budget_ms: float
    measures: Mapping[str, int | Interval]
    n_pairs: float
    used_ms: Mapping[str, float]
    overshoot_ms: Mapping[str, float]
    n_hurried: int

    def to_json(self) -> dict[str, Any]:
        """Give it as numbers and objects."""
        return {
            "budget_ms": self.budget_ms,
            "measures": plain(self.measures),
            "n_pairs": self.n_pairs,
            "used_ms": dict(self.used_ms),
            "overshoot_ms": dict(self.overshoot_ms),
            "n_hurried": self.n_hurried,
        }


def ask_within(
    bench: Bench, budgets_ms: Sequence[float], *, seed: int, progress: StepCallback | None = None
) -> tuple[Within, ...]:
    """Ask every question once more within each budget; the store is not filled again.

    Each budget is asked in a household opened anew, so that no question is remembered from the
    budget before; what stages cost is.
    """
    rows, n = [], len(bench.dataset.queries)
    for number, budget_ms in enumerate(budgets_ms):
        context = dataclasses.replace(bench.context, time_budget_ms=budget_ms)
        hurried = dataclasses.replace(bench, context=context)

        def tick(done: int, before: int = number * n) -> None:
            if progress:
                progress("budgets", before + done, len(budgets_ms) * n)

        outcomes = hurried.ask(f"within {budget_ms!r} ms", progress=tick)
        used = np.array([outcome.used_time_ms for outcome in outcomes])
        rows.append(
            Within(
                budget_ms,
                measured([outcome for outcome in outcomes if outcome.gold], seed),
                float(np.mean([outcome.n_pairs for outcome in outcomes])),
                _quantiles(used),
                _quantiles(np.maximum(used - budget_ms, 0.0)),
                sum(outcome.hurried for outcome in outcomes),
            )
        )
    return tuple(rows)


def _quantiles(values: Any) -> dict[str, float]:
    return {f"p{q}": round(float(np.percentile(values, q)), 3) for q in (50, 95, 99)}
