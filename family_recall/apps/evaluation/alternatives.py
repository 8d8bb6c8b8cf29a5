"""Ask the same questions in other configurations: without a part, by a baseline, within a budget.

The store is not filled again for any of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from family_recall.api.explanations import find_profile
from family_recall.apps.evaluation.comparison import Comparison, compare
from family_recall.apps.evaluation.measures import Interval
from family_recall.apps.evaluation.outcomes import Outcome, measured
from family_recall.apps.evaluation.testbed import Testbed
from family_recall.apps.evaluation.timing import quantiles
from family_recall.config import RecallConfig
from family_recall.errors import InvalidRequestError
from family_recall.types.aliases import StepCallback
from family_recall.types.stages import optional_stages

CONTEXT = "context"
"""The column of what was said before a memory: the third of ``RecallConfig.column_weights``."""

BASELINES = ("bm25",)
PartKind = Literal["stage", "feature"]


class Variation(NamedTuple):
    """One part to leave out, and the configuration without it."""

    name: str
    kind: PartKind
    config: RecallConfig


class AblationRow(msgspec.Struct, frozen=True):
    """The measures without one part.

    ``against_full`` has the full configuration first: a negative difference is what the part is
    worth. ``n_hurried`` answers skipped a stage for lack of time as well, and measure that too.
    """

    without: str
    kind: PartKind
    measures: dict[str, int | Interval]
    against_full: Comparison
    n_hurried: int = 0


class Ablation(msgspec.Struct, frozen=True):
    """The measures of the full configuration, and those without each part."""

    full: dict[str, int | Interval]
    rows: tuple[AblationRow, ...]


class BaselineComparison(msgspec.Struct, frozen=True):
    """How the full configuration, second, compares with a baseline, first.

    ``gain`` is the difference as a share of the baseline, by measure; None where that is 0.
    """

    name: str
    gain: dict[str, float | None]
    comparison: Comparison


class BudgetResult(msgspec.Struct, frozen=True):
    """What a budget of milliseconds buys.

    ``n_pairs`` is the mean number of pairs the cross-encoder read for a question; ``overshoot_ms``
    what answers took past the budget; ``n_hurried`` how many skipped a stage for lack of time.
    """

    budget_ms: float
    measures: dict[str, int | Interval]
    n_pairs: float
    used_ms: dict[str, float]
    overshoot_ms: dict[str, float]
    n_hurried: int


def variations(names: Sequence[str], profile: str, config: RecallConfig) -> tuple[Variation, ...]:
    """Return the configurations that each leave out one part.

    A source left out returns nothing, but what the others return is still scored by its words or
    vectors; a feature left out weighs 0. ``time`` reads no time from a question, ``routing``
    treats every question as broad, ``context`` ignores what was said before a memory.

    Args:
        names: Stages, features of the profile, or ``all``, ``stages``, ``features``.
        profile: The profile whose features are left out.
        config: The full configuration.

    Raises:
        InvalidRequestError: If a name is neither, or there is no such profile.
    """
    weights = {**find_profile(profile).weights, **config.weights}
    parts: dict[str, tuple[PartKind, dict[str, Any]]] = {
        stage: ("stage", {"leave_out": config.leave_out | {stage}}) for stage in optional_stages()
    }
    parts[CONTEXT] = "stage", {"column_weights": (*config.column_weights[:2], 0.0)}
    parts |= {
        name: ("feature", {"weights": MappingProxyType({**config.weights, name: 0.0})})
        for name, weight in weights.items()
        if weight
    }
    groups = {
        "all": list(parts),
        "stages": [name for name, (kind, _) in parts.items() if kind == "stage"],
        "features": [name for name, (kind, _) in parts.items() if kind == "feature"],
    }
    chosen: dict[str, None] = {}
    for name in names:
        if name not in groups and name not in parts:
            raise InvalidRequestError(
                f"cannot leave out {name!r}: expected all, stages, features, or one of "
                f"{', '.join(parts)}"
            )
        chosen |= dict.fromkeys(groups.get(name, (name,)))
    return tuple(
        Variation(name, parts[name][0], dataclasses.replace(config, **parts[name][1]))
        for name in chosen
    )


def only(name: str, profile: str, config: RecallConfig) -> RecallConfig:
    """Return the configuration of a baseline.

    ``bm25`` is Okapi BM25 (k1 = 1.2, b = 0.75) over the text of a memory, its author and its
    day, with Porter's stems, without stop words, and with the statistics of what the asker sees.

    Raises:
        InvalidRequestError: If there is no such baseline or profile.
    """
    if name not in BASELINES:
        raise InvalidRequestError(f"baseline must be among {', '.join(BASELINES)}, got {name!r}")
    weights = dict.fromkeys(find_profile(profile).weights, 0.0)
    return dataclasses.replace(
        config,
        leave_out=frozenset(optional_stages()) - {"lexical"},
        weights=MappingProxyType({**weights, "bm25": 1.0}),
        column_weights=(1.0, 1.0, 0.0),
    )


def ablate(
    testbed: Testbed,
    full: Sequence[Outcome],
    names: Sequence[str],
    *,
    seed: int,
    progress: StepCallback | None = None,
) -> Ablation:
    """Ask every question once more without each part.

    Raises:
        InvalidRequestError: As :func:`variations`.
    """
    rows = []
    for part in variations(names, testbed.context.profile, testbed.config):
        without = dataclasses.replace(testbed, config=part.config)
        outcomes = without.ask(f"without {part.name}", progress)
        row = AblationRow(
            part.name,
            part.kind,
            measured(outcomes, seed),
            compare(full, outcomes, seed=seed),
            sum(outcome.hurried for outcome in outcomes),
        )
        rows.append(row)
    return Ablation(measured(full, seed), tuple(rows))


def compare_with_baseline(
    testbed: Testbed,
    full: Sequence[Outcome],
    name: str,
    *,
    seed: int,
    progress: StepCallback | None = None,
) -> BaselineComparison:
    """Ask every question once more of the baseline.

    Raises:
        InvalidRequestError: As :func:`only`.
    """
    config = only(name, testbed.context.profile, testbed.config)
    outcomes = dataclasses.replace(testbed, config=config).ask(f"baseline {name}", progress)
    comparison = compare(outcomes, full, seed=seed)
    first, second = comparison.overall.first, comparison.overall.second
    gain = {key: second[key] / mean - 1.0 if mean else None for key, mean in first.items()}
    return BaselineComparison(name, gain, comparison)


def ask_within(
    testbed: Testbed,
    budgets_ms: Sequence[float],
    *,
    seed: int,
    progress: StepCallback | None = None,
) -> tuple[BudgetResult, ...]:
    """Ask every question once more within each budget.

    Each budget is asked in a newly opened household, so that no question is cached from the
    budget before; the measured costs of stages are kept.
    """
    results = []
    for budget_ms in budgets_ms:
        context = dataclasses.replace(testbed.context, time_budget_ms=budget_ms)
        within = dataclasses.replace(testbed, context=context)
        outcomes = within.ask(f"within {budget_ms!r} ms", progress)
        used = [outcome.used_time_ms for outcome in outcomes]
        result = BudgetResult(
            budget_ms,
            measured(outcomes, seed),
            float(np.mean([outcome.n_pairs for outcome in outcomes])),
            quantiles(used),
            quantiles([max(ms - budget_ms, 0.0) for ms in used]),
            sum(outcome.hurried for outcome in outcomes),
        )
        results.append(result)
    return tuple(results)
