"""Plots of how good, how honest and how fast the answers of an evaluation were."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from family_recall.apps.evaluation.alternatives import Ablation, BudgetResult
from family_recall.apps.evaluation.measures import Interval, bootstrap_means
from family_recall.apps.evaluation.outcomes import DEEPEST_K, Outcome, values
from family_recall.apps.reports.plots import (
    ROW,
    Plot,
    budget_line,
    colour,
    intervals,
    log_axis,
    name_rows,
    note,
    plot,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_BARS = 20
"""Bars of a histogram of confidences."""
MAX_SHARES = 12
_MIN_VISIBLE_SHARE = 0.005
_DOTTED = (0, (2, 3))

Measures = Mapping[str, int | Interval]


def recall_by_k(outcomes: Sequence[Outcome], seed: int) -> Plot:
    """Draw recall@k for k from 1 to 10, with its 95 % interval as a band."""
    depths = range(1, DEEPEST_K + 1)
    means = bootstrap_means(values(outcomes, [f"recall@{k}" for k in depths]), seed=seed)

    def draw(axes: Axes) -> None:
        _line_with_band(axes, list(depths), means, "accent")
        axes.set(xlabel="k, results looked at", ylim=(0, 1.02), xticks=list(depths))

    description = ", ".join(
        f"{mean.value:.2f} at {k}" for k, mean in zip(depths, means, strict=True)
    )
    return plot("Recall@k, the share of the gold found", f"Recall: {description}.", draw)


def by_segment(title: str, rows: Mapping[str, Measures], measure: str, colour_name: str) -> Plot:
    """Draw one measure of each segment with its interval."""
    means = {name: _interval(row, measure) for name, row in rows.items()}

    def draw(axes: Axes) -> None:
        intervals(axes, list(means.values()), [colour_name] * len(means))
        name_rows(axes, [f"{wrapped(name)}\n{row['n']} asked" for name, row in rows.items()])
        axes.set_xlim(-0.02, 1.02)

    description = "; ".join(
        f"{name} {mean.value:.2f} ({mean.low:.2f} to {mean.high:.2f})"
        for name, mean in means.items()
    )
    return plot(title, description, draw, height=36 + 1.5 * ROW * len(means))


def reliability(calibration: Mapping[str, Any]) -> Plot:
    """Draw how often the first result was right against the confidence that was promised."""
    bins = [row for row in calibration["bins"] if row["n"]]

    def draw(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=colour("soft"), linewidth=1, linestyle=_DOTTED)
        for row in bins:
            x, y = row["confidence"], row["right"]
            axes.plot(
                [x, x], wilson(y, row["n"]), color=colour("accent"), linewidth=1.5, alpha=0.45
            )
            axes.plot([x], [y], "o", color=colour("accent"), markersize=6)
            side, align = (7, "left") if x < 0.9 else (-7, "right")
            note(axes, f"{row['n']}", x, y, (side, -3.5), ha=align, color=colour("soft"))
        axes.set(xlim=(0, 1.02), ylim=(0, 1.03), xlabel="promised", ylabel="came true")
        axes.set_aspect("equal")

    description = "; ".join(
        f"{row['n']} at {row['confidence']:.2f}: {row['right']:.2f} right" for row in bins
    )
    title = f"Promised and came true: ECE {calibration['ece']:.3f}"
    return plot(title, f"{description}. On the diagonal a promise is kept.", draw, height=320)


def risk_coverage(calibration: Mapping[str, Any], outcomes: Sequence[Outcome]) -> Plot:
    """Draw how many answers would be wrong, were only the surest told; and where ``ok`` ends."""
    coverage, risk = np.array(calibration["curve"]).T
    coverage_ok = calibration["status"]["ok"] / len(outcomes)
    wrong = 1.0 - (calibration["status"]["ok_right"] or 0.0)

    def draw(axes: Axes) -> None:
        axes.step(coverage, risk, where="pre", color=colour("accent"), linewidth=1.5)
        axes.set(xlim=(0, 1.02), ylim=(0, 1.03), xlabel="told", ylabel="wrong among them")
        if coverage_ok:
            axes.plot([coverage_ok], [wrong], "o", color=colour("ink"), markersize=6)
            note(axes, "ok", coverage_ok, wrong, (7, -3.5))

    description = (
        f"{coverage_ok:.0%} are told as ok, {wrong:.0%} of them wrong; of all answers "
        f"{risk[-1]:.0%} are. "
        "The lower the line, the better confidence tells right from wrong."
    )
    return plot("What telling fewer answers is worth", description, draw, height=280)


def confidences(outcomes: Sequence[Outcome]) -> Plot:
    """Draw how sure answers were, by whether the first result was right."""
    groups = {
        "good": [o.confidence for o in outcomes if o.first_is_right],
        "fair": [o.confidence for o in outcomes if o.gold and not o.first_is_right],
        "soft": [o.confidence for o in outcomes if not o.gold],
    }
    meanings = {"good": "first is right", "fair": "it is not", "soft": "nothing answers"}
    groups = {name: group for name, group in groups.items() if group}

    def draw(axes: Axes) -> None:
        axes.hist(
            list(groups.values()),
            bins=list(np.linspace(0.0, 1.0, N_BARS + 1)),
            stacked=True,
            color=[colour(name) for name in groups],
            rwidth=0.86,
        )
        axes.set(xlim=(0, 1), xlabel="confidence", ylabel="questions")
        _count_upwards(axes)

    description = "; ".join(
        f"{meanings[name]}: {len(group)} questions, half of them above {np.median(group):.2f}"
        for name, group in groups.items()
    )
    key = {name: meanings[name] for name in groups}
    return plot("How sure the answers were", description, draw, height=250, key=key)


def latency(outcomes: Sequence[Outcome], quantiles: Mapping[str, float], budget_ms: float) -> Plot:
    """Draw how long answers took, with percentiles and the budget."""
    times = [outcome.used_time_ms for outcome in outcomes]

    def draw(axes: Axes) -> None:
        axes.hist(times, bins=min(30, max(8, len(times) // 3)), color=colour("accent"), rwidth=0.9)
        top = axes.get_ylim()[1]
        for level, (name, ms) in zip((1.2, 1.11, 1.02), quantiles.items(), strict=True):
            axes.plot([ms, ms], [0, top * level], color=colour("ink"), linewidth=1)
            note(axes, f"{name} {ms:,.0f}", ms, top * level, (-3, -6), ha="right")
        axes.set(xlabel="milliseconds", ylabel="questions", ylim=(0, top * 1.24))
        axes.set_xlim(left=max(0.0, min(times) - 0.35 * (max(times) - min(times)) - 1.0))
        budget_line(axes, budget_ms, max(times))
        _count_upwards(axes)

    description = ", ".join(f"{name} {ms:.1f} ms" for name, ms in quantiles.items())
    return plot("How long answers took", f"{len(times)} questions: {description}.", draw)


def answered_within(outcomes: Sequence[Outcome], budget_ms: float) -> Plot:
    """Draw the share of questions that were answered within some time, and the budget."""
    times = sorted(outcome.used_time_ms for outcome in outcomes)
    shares = [n / len(times) for n in range(1, len(times) + 1)]

    def draw(axes: Axes) -> None:
        axes.step([times[0], *times], [0.0, *shares], where="post", color=colour("accent"))
        axes.set(xlabel="milliseconds", ylim=(0, 1.02))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        budget_line(axes, budget_ms, times[-1])

    tenths = (f"{share:.0%} within {np.quantile(times, share):.1f} ms" for share in (0.1, 0.5, 0.9))
    return plot("Questions answered within", ", ".join(tenths), draw)


def budgets(rows: Sequence[BudgetResult]) -> tuple[Plot, Plot]:
    """Draw what a budget buys, and how much of it was used, both over its logarithm."""
    rows = sorted(rows, key=lambda row: row.budget_ms)
    budgets_ms = [row.budget_ms for row in rows]
    ndcg = [_interval(row.measures, "ndcg@10") for row in rows]
    hits = [_interval(row.measures, "hit@10").value for row in rows]

    def quality(axes: Axes) -> None:
        _line_with_band(axes, budgets_ms, ndcg, "accent", markersize=5)
        axes.plot(budgets_ms, hits, "o-", color=colour("second"), markersize=5)
        log_axis(axes, "x", budgets_ms, _number)
        bottom = max(0.0, min(mean.low for mean in ndcg) - 0.1)
        axes.set(xlabel="budget, ms", ylim=(bottom, 1.02))

    def time(axes: Axes) -> None:
        for end, name in (("p50", "accent"), ("p95", "second")):
            used_ms = [row.used_ms[end] for row in rows]
            axes.plot(budgets_ms, used_ms, "o-", color=colour(name), markersize=5)
        axes.plot(budgets_ms, budgets_ms, color=colour("bad"), linewidth=1.5)
        log_axis(axes, "x", budgets_ms, _number)
        log_axis(axes, "y", budgets_ms, _number)
        axes.set(xlabel="budget, ms", ylabel="used, ms")

    bought = "; ".join(
        f"{ms:g} ms: nDCG@10 {mean.value:.3f}" for ms, mean in zip(budgets_ms, ndcg, strict=True)
    )
    used = "; ".join(f"{row.budget_ms:g} ms: p95 {row.used_ms['p95']:.1f}" for row in rows)
    return (
        plot("What a budget buys", bought, quality, key={"accent": "ndcg@10", "second": "hit@10"}),
        plot(
            "What was used of it",
            used,
            time,
            key={"accent": "p50", "second": "p95", "bad": "the budget"},
        ),
    )


def ablation(result: Ablation, measure: str = "ndcg@10") -> Plot:
    """Draw what is lost without each part; left of the line the part is worth having."""
    rows = sorted(result.rows, key=lambda row: row.against_full.overall.difference[measure].value)
    changes = [row.against_full.overall.difference[measure] for row in rows]

    def draw(axes: Axes) -> None:
        axes.axvline(0.0, color=colour("ink"), linewidth=1)
        colours = ["soft" if change.low <= 0.0 <= change.high else "accent" for change in changes]
        intervals(axes, changes, colours)
        name_rows(axes, [wrapped(row.without) for row in rows])
        axes.locator_params(axis="x", nbins=5)
        axes.set_xlabel("without it, minus the whole")

    description = "; ".join(
        f"without {row.without} {change.value:+.3f} ({change.low:+.3f} to {change.high:+.3f})"
        for row, change in zip(rows, changes, strict=True)
    )
    key = {"accent": "more than chance", "soft": "may be chance"}
    title = f"What is lost without it, {measure}"
    return plot(title, description, draw, height=62 + ROW * len(rows), key=key)


def shares(share_of: Mapping[str, float]) -> Plot:
    """Draw what the scores of first results are made of, the largest shares first."""
    visible = [pair for pair in share_of.items() if pair[1] >= _MIN_VISIBLE_SHARE]
    largest = dict(visible[:MAX_SHARES])

    def draw(axes: Axes) -> None:
        axes.barh(range(len(largest)), list(largest.values()), height=0.6, color=colour("accent"))
        name_rows(axes, [wrapped(name) for name in largest])
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")

    description = ", ".join(f"{name} {share:.0%}" for name, share in largest.items())
    height = 40 + 0.8 * ROW * len(largest)
    return plot("Mean share of a first result's score", description, draw, height=height)


def wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % interval of a share observed in ``n`` cases.

    Source: Wilson, JASA 22(158), 1927, doi:10.1080/01621459.1927.10502953.

    Nine of ten:

    >>> [round(end, 3) for end in wilson(0.9, 10)]
    [0.596, 0.982]
    """
    middle = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))


def _line_with_band(
    axes: Axes, x: Sequence[float], means: Sequence[Interval], name: str, markersize: float = 4
) -> None:
    low, high = [mean.low for mean in means], [mean.high for mean in means]
    axes.fill_between(x, low, high, color=colour(name), alpha=0.18, linewidth=0)
    heights = [mean.value for mean in means]
    axes.plot(x, heights, "o-", color=colour(name), markersize=markersize)


def _count_upwards(axes: Axes) -> None:
    """Put whole numbers at the upright axis, and no grid at the other."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 -- an extra

    axes.grid(visible=False, axis="x")
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))


def _interval(row: Measures, name: str) -> Interval:
    value = row[name]
    if not isinstance(value, Interval):
        raise TypeError(f"{name} is a count, not a mean")
    return value


def _number(value: float) -> str:
    return f"{value:,g}"
