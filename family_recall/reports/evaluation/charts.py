"""Charts: parts of a report in, plots of how good answers were out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from family_recall.evaluation.ablation import Ablation
from family_recall.evaluation.budgets import BudgetResult
from family_recall.evaluation.intervals import Interval, bootstrap_means
from family_recall.evaluation.outcomes import DEEPEST_K, Outcome, values
from family_recall.reports.evaluation.drawing import colour, log_axis, plot, readable
from family_recall.reports.markup import Markup

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_BARS = 20
"""Bars of a histogram of confidences."""

_SEEN = 0.005
"""A share below this is no bar that could be seen."""

ROW = 24.0
"""Units that a row of a chart with names is high."""


def recall_by_k(outcomes: Sequence[Outcome], seed: int) -> Markup:
    """Draw recall@k for k from 1 to 10, with its 95 % interval as a band."""
    depths = range(1, DEEPEST_K + 1)
    found = bootstrap_means(values(outcomes, [f"recall@{k}" for k in depths]), seed=seed)

    def draw(axes: Axes) -> None:
        blue = colour("accent")
        low, high = [one.low for one in found], [one.high for one in found]
        axes.fill_between(list(depths), low, high, color=blue, alpha=0.18, linewidth=0)
        axes.plot(depths, [one.value for one in found], "o-", color=blue, markersize=4)
        axes.set(xlabel="k, results looked at", ylim=(0, 1.02), xticks=list(depths))

    said = ", ".join(f"{one.value:.2f} at {k}" for k, one in zip(depths, found, strict=True))
    return plot("Recall@k, the share of the gold found", f"Recall: {said}.", draw)


def by_segment(
    title: str, rows: Mapping[str, Mapping[str, int | Interval]], measure: str, named: str
) -> Markup:
    """Draw one measure of each segment with its interval; ``named`` is the colour."""
    found = {name: _interval(row, measure) for name, row in rows.items()}

    def draw(axes: Axes) -> None:
        _dots(axes, list(range(len(found))), list(found.values()), [colour(named)] * len(found))
        _names(axes, [f"{readable(name)}\n{row['n']} asked" for name, row in rows.items()])
        axes.set_xlim(-0.02, 1.02)

    said = "; ".join(
        f"{name} {one.value:.2f} ({one.low:.2f} to {one.high:.2f})" for name, one in found.items()
    )
    return plot(title, said, draw, height=36 + 1.5 * ROW * len(found))


def reliability(calibration: Mapping[str, Any]) -> Markup:
    """Draw how often the first result was right where confidence promised so much."""
    bins = [row for row in calibration["bins"] if row["n"]]

    def draw(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=colour("soft"), linewidth=1, linestyle=(0, (2, 3)))
        for row in bins:
            low, high = wilson(row["right"], row["n"])
            x = row["confidence"]
            axes.plot([x, x], [low, high], color=colour("accent"), linewidth=1.5, alpha=0.45)
            axes.plot([x], [row["right"]], "o", color=colour("accent"), markersize=6)
            beside = (7, -3.5) if x < 0.9 else (-7, -3.5)
            axes.annotate(
                f"{row['n']}", (x, row["right"]), xytext=beside, textcoords="offset points",
                fontsize=9.5, ha="left" if x < 0.9 else "right", color=colour("soft"),
            )  # fmt: skip
        axes.set(xlim=(0, 1.02), ylim=(0, 1.03), xlabel="promised", ylabel="came true")
        axes.set_aspect("equal")

    said = "; ".join(
        f"{row['n']} at {row['confidence']:.2f}: {row['right']:.2f} right" for row in bins
    )
    return plot(
        f"Promised and came true: ECE {calibration['ece']:.3f}",
        f"{said}. On the diagonal a promise is kept.",
        draw,
        height=320,
    )


def confidences(outcomes: Sequence[Outcome]) -> Markup:
    """Draw how sure answers were, by what came of it."""
    groups = {
        "good": ("first is right", [o.confidence for o in outcomes if o.first_is_right]),
        "fair": (
            "it is not",
            [o.confidence for o in outcomes if o.gold and not o.first_is_right],
        ),
        "soft": ("nothing answers", [o.confidence for o in outcomes if not o.gold]),
    }
    told = {named: group for named, group in groups.items() if group[1]}

    def draw(axes: Axes) -> None:
        axes.hist(
            [list(found) for _, found in told.values()],
            bins=list(np.linspace(0.0, 1.0, N_BARS + 1)),
            stacked=True,
            color=[colour(named) for named in told],
            rwidth=0.86,
        )
        axes.set(xlim=(0, 1), xlabel="confidence", ylabel="questions")
        axes.grid(visible=False, axis="x")
        _whole(axes)

    said = "; ".join(
        f"{of}: {len(found)} questions, half of them above {np.median(found):.2f}"
        for of, found in told.values()
    )
    key = {named: of for named, (of, _) in told.items()}
    return plot("How sure the answers were", said, draw, height=250, key=key)


def latency(outcomes: Sequence[Outcome], quantiles: Mapping[str, float]) -> Markup:
    """Draw how long answers took, with percentiles."""
    times = [outcome.used_time_ms for outcome in outcomes]

    def draw(axes: Axes) -> None:
        axes.hist(times, bins=min(30, max(8, len(times) // 3)), color=colour("accent"), rwidth=0.9)
        top = axes.get_ylim()[1]
        for level, (name, ms) in zip((1.2, 1.11, 1.02), quantiles.items(), strict=True):
            axes.plot([ms, ms], [0, top * level], color=colour("bad"), linewidth=1)
            axes.annotate(
                f"{name} {ms:,.0f}", (ms, top * level), xytext=(-3, -6),
                textcoords="offset points", ha="right", fontsize=9.5,
            )  # fmt: skip
        axes.set(xlabel="milliseconds", ylabel="questions", ylim=(0, top * 1.24))
        axes.set_xlim(left=max(0.0, min(times) - 0.35 * (max(times) - min(times)) - 1.0))
        axes.grid(visible=False, axis="x")
        _whole(axes)

    said = ", ".join(f"{name} {ms:.1f} ms" for name, ms in quantiles.items())
    return plot("How long answers took", f"{len(times)} questions: {said}.", draw)


def answered_within(outcomes: Sequence[Outcome]) -> Markup:
    """Draw the share of questions that were answered within some time."""
    times = sorted(outcome.used_time_ms for outcome in outcomes)
    part = [at / len(times) for at in range(1, len(times) + 1)]

    def draw(axes: Axes) -> None:
        axes.step([times[0], *times], [0.0, *part], where="post", color=colour("accent"))
        axes.set(xlabel="milliseconds", ylim=(0, 1.02))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")

    tenths = (f"{share:.0%} within {np.quantile(times, share):.1f} ms" for share in (0.1, 0.5, 0.9))
    return plot("Questions answered within", ", ".join(tenths), draw)


def budgets(rows: Sequence[BudgetResult]) -> list[Markup]:
    """Draw what a budget buys, and how much of it was used, both over a logarithm of it."""
    within = sorted(rows, key=lambda row: row.budget_ms)
    asked = [row.budget_ms for row in within]

    def quality(axes: Axes) -> None:
        for measure, named in (("ndcg@10", "accent"), ("hit@10", "session")):
            found = [_interval(row.measures, measure) for row in within]
            low, high = [one.low for one in found], [one.high for one in found]
            axes.plot(asked, [one.value for one in found], "o-", color=colour(named), markersize=5)
            if measure == "ndcg@10":
                axes.fill_between(asked, low, high, color=colour(named), alpha=0.18, linewidth=0)
        log_axis(axes, "x", asked, _milliseconds)
        bottom = min(_interval(row.measures, "ndcg@10").low for row in within)
        axes.set(xlabel="budget, ms", ylim=(max(0.0, bottom - 0.1), 1.02))

    def time(axes: Axes) -> None:
        for end, named in (("p50", "accent"), ("p95", "bad")):
            used = [row.used_ms[end] for row in within]
            axes.plot(asked, used, "o-", color=colour(named), markersize=5)
        axes.plot(asked, asked, color=colour("soft"), linewidth=1, linestyle=(0, (2, 3)))
        log_axis(axes, "x", asked, _milliseconds)
        log_axis(axes, "y", asked, _milliseconds)
        axes.set(xlabel="budget, ms", ylabel="used, ms")

    bought = "; ".join(
        f"{row.budget_ms:g} ms: nDCG@10 {_interval(row.measures, 'ndcg@10').value:.3f}"
        for row in within
    )
    used = "; ".join(f"{row.budget_ms:g} ms: p95 {row.used_ms['p95']:.1f}" for row in within)
    return [
        plot("What a budget buys", bought, quality, key={"accent": "ndcg@10", "session": "hit@10"}),
        plot("What was used of it", used, time, key={"accent": "p50", "bad": "p95"}),
    ]


def ablation(found: Ablation, measure: str = "ndcg@10") -> Markup:
    """Draw what is lost without each part; left of the line the part is worth having."""
    rows = sorted(found.rows, key=lambda row: row.against_full.overall.difference[measure].value)
    changes = [row.against_full.overall.difference[measure] for row in rows]

    def draw(axes: Axes) -> None:
        sure = [colour("soft" if one.low <= 0.0 <= one.high else "accent") for one in changes]
        axes.axvline(0.0, color=colour("ink"), linewidth=1)
        _dots(axes, list(range(len(rows))), changes, sure)
        _names(axes, [readable(row.without) for row in rows])
        axes.locator_params(axis="x", nbins=5)
        axes.set_xlabel("without it, less the whole")

    said = "; ".join(
        f"without {row.without} {one.value:+.3f} ({one.low:+.3f} to {one.high:+.3f})"
        for row, one in zip(rows, changes, strict=True)
    )
    return plot(
        f"What is lost without it, {measure}",
        said,
        draw,
        height=62 + ROW * len(rows),
        key={"accent": "more than chance", "soft": "undecided"},
    )


def shares(found: Mapping[str, float], n: int = 12) -> Markup:
    """Draw what first results' scores are made of, the largest shares first."""
    largest = [(name, share) for name, share in found.items() if share >= _SEEN][:n]

    def draw(axes: Axes) -> None:
        axes.barh(
            range(len(largest)), [share for _, share in largest], height=0.6, color=colour("accent")
        )
        _names(axes, [readable(name) for name, _ in largest])
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")

    said = ", ".join(f"{name} {share:.0%}" for name, share in largest)
    return plot(
        "Mean share of a first result's score", said, draw, height=40 + 0.8 * ROW * len(largest)
    )


def wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Give the 95 % interval of a share seen in n of them.

    Source: Wilson, JASA 22(158), 1927, doi:10.1080/01621459.1927.10502953.

    Nine of ten:

    >>> [round(end, 3) for end in wilson(0.9, 10)]
    [0.596, 0.982]
    """
    middle = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))


def _dots(
    axes: Axes, rows: Sequence[float], found: Sequence[Interval], colours: Sequence[str]
) -> None:
    for row, one, named in zip(rows, found, colours, strict=True):
        axes.plot([one.low, one.high], [row, row], color=named, linewidth=2.5, alpha=0.45)
        axes.plot([one.value], [row], "o", color=named, markersize=6)


def _names(axes: Axes, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), labels, linespacing=1.15)
    axes.set_ylim(len(labels) - 0.45, -0.55)
    axes.grid(visible=False, axis="y")


def _whole(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 -- an extra

    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))


def _interval(row: Mapping[str, int | Interval], name: str) -> Interval:
    found = row[name]
    if not isinstance(found, Interval):
        raise TypeError(f"{name} is a count, not a mean")
    return found


def _milliseconds(value: float) -> str:
    return f"{value:,g}"
