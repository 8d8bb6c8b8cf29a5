"""The page of an evaluation: how good, how honest and how fast the answers were."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from family_recall.apps.evaluation.alternatives import Ablation, BudgetResult
from family_recall.apps.evaluation.comparison import COMPARED
from family_recall.apps.evaluation.measures import Interval
from family_recall.apps.evaluation.outcomes import DEEPEST_K, MEASURES, Outcome, values
from family_recall.apps.evaluation.report import EvaluationReport
from family_recall.apps.reports.plots import (
    ROW,
    STYLE,
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
from family_recall.apps.reports.templating import render_report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_WORST = 12
"""Questions that a page lists because they went worst."""
MAX_SHARES = 12

Measures = Mapping[str, int | Interval]


def quality_page(
    report: EvaluationReport,
    *,
    machine: Mapping[str, str],
    made_at: dt.datetime,
    texts: Mapping[str, str] | None = None,
) -> str:
    """Return what an experiment measured as a page to read in any browser, and to save.

    Args:
        report: With its outcomes.
        machine: What it ran on, see :func:`family_recall.apps.evaluation.timing.describe`.
        made_at: When it was measured.
        texts: The questions' words by id, to show beside the worst; without it the page holds
            no word of the dataset but its ids and categories.

    Raises:
        ImportError: If matplotlib is not installed; the message says how to get it.
    """
    with_gold = [outcome for outcome in report.outcomes if outcome.gold]
    budgets = [row for row in report.budgets if row.measures["n"]]
    return render_report(
        "quality.jinja",
        style=STYLE,
        report=report,
        with_gold=with_gold,
        budgets=budgets,
        measures=tuple(MEASURES),
        compared={name: f"Δ {name}" for name in COMPARED},
        shares=list(report.shares.items())[:MAX_SHARES],
        worst=[(outcome, gold_ranks(outcome)) for outcome in worst(report.outcomes)],
        texts=texts or {},
        settings={name.replace("_", " "): _setting(v) for name, v in report.config.items()},
        machine=machine,
        made_at=made_at,
        plots=_plots(report, with_gold, budgets),
    )


def _plots(
    report: EvaluationReport, with_gold: Sequence[Outcome], budgets: Sequence[BudgetResult]
) -> dict[str, list[Plot]]:
    """Draw the plots of each section for which there is something to draw."""
    lengths = report.segments.get("length")
    plots = {
        "confidence": [
            reliability(report.calibration),
            risk_coverage(report.calibration, report.outcomes),
        ],
        "time": [answered_within(report.outcomes, float(report.config["budget_ms"]))],
        "scores": [],
    }
    if with_gold:
        plots["categories"] = [segments("nDCG@10 by category", report.by_category)]
    if budgets:
        plots["budgets"] = [bought(budgets)]
    if report.ablation is not None and report.ablation.rows:
        plots["parts"] = [ablation(report.ablation)]
    if lengths:
        # "6-10 words" comes before "11-20 words".
        rows = {name: lengths[name] for name in sorted(lengths, key=_first_number)}
        plots["scores"] = [segments("nDCG@10 by length of the question", rows)]
    return plots


def segments(title: str, rows: Mapping[str, Measures]) -> Plot:
    """Draw nDCG@10 of each segment with its interval."""
    means = {name: _ndcg(row) for name, row in rows.items()}

    def draw(axes: Axes) -> None:
        intervals(axes, list(means.values()), ["accent"] * len(means))
        name_rows(axes, [f"{wrapped(name)}\n{row['n']} asked" for name, row in rows.items()])
        axes.set_xlim(-0.02, 1.02)

    description = "; ".join(
        f"{name} {mean.value:.2f} ({mean.low:.2f} to {mean.high:.2f})"
        for name, mean in means.items()
    )
    return plot(title, description, draw, height=36 + 1.5 * ROW * len(means))


def ablation(result: Ablation) -> Plot:
    """Draw what is lost without each part; left of the line the part is worth having."""
    changes = {row.without: row.against_full.overall.difference["ndcg@10"] for row in result.rows}
    changes = dict(sorted(changes.items(), key=lambda pair: pair[1].value))

    def draw(axes: Axes) -> None:
        axes.axvline(0.0, color=colour("ink"), linewidth=1)
        colours = ["soft" if c.low <= 0.0 <= c.high else "accent" for c in changes.values()]
        intervals(axes, list(changes.values()), colours)
        name_rows(axes, [wrapped(name) for name in changes])
        axes.locator_params(axis="x", nbins=5)
        axes.set_xlabel("without it, minus the whole")

    description = "; ".join(
        f"without {name} {change.value:+.3f} ({change.low:+.3f} to {change.high:+.3f})"
        for name, change in changes.items()
    )
    key = {"accent": "more than chance", "soft": "may be chance"}
    height = 62 + ROW * len(changes)
    return plot("What is lost without it, ndcg@10", description, draw, height=height, key=key)


def reliability(calibration: Mapping[str, Any]) -> Plot:
    """Draw how often the first result was right against the confidence that was promised."""
    bins = [row for row in calibration["bins"] if row["n"]]

    def draw(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=colour("soft"), linewidth=1, linestyle=(0, (2, 3)))
        for row in bins:
            x, y = row["confidence"], row["right"]
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
    coverage, risk = zip(*calibration["curve"], strict=True)
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


def answered_within(outcomes: Sequence[Outcome], budget_ms: float) -> Plot:
    """Draw the share of questions that were answered within some time, and the budget."""
    times = sorted(outcome.used_time_ms for outcome in outcomes)
    shares = [n / len(times) for n in range(len(times) + 1)]

    def draw(axes: Axes) -> None:
        axes.step([times[0], *times], shares, where="post", color=colour("accent"))
        axes.set(xlabel="milliseconds", ylim=(0, 1.02))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        budget_line(axes, budget_ms, times[-1])

    tenths = (f"{share:.0%} within {np.quantile(times, share):.1f} ms" for share in (0.1, 0.5, 0.9))
    return plot("Questions answered within", ", ".join(tenths), draw)


def bought(budgets: Sequence[BudgetResult]) -> Plot:
    """Draw what a budget buys, over its logarithm."""
    mean_of = {row.budget_ms: _ndcg(row.measures) for row in budgets}
    mean_of = dict(sorted(mean_of.items()))

    def draw(axes: Axes) -> None:
        low, high = [m.low for m in mean_of.values()], [m.high for m in mean_of.values()]
        axes.fill_between(list(mean_of), low, high, color=colour("accent"), alpha=0.18, linewidth=0)
        heights = [mean.value for mean in mean_of.values()]
        axes.plot(list(mean_of), heights, "o-", color=colour("accent"), markersize=5)
        log_axis(axes, "x", list(mean_of), lambda ms: f"{ms:,g}")
        axes.set(xlabel="budget, ms", ylim=(max(0.0, min(low) - 0.1), 1.02))

    description = "; ".join(f"{ms:g} ms: nDCG@10 {m.value:.3f}" for ms, m in mean_of.items())
    return plot("What a budget buys: nDCG@10", description, draw)


def worst(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the questions that went worst: lowest nDCG@10 first, the surest of those first.

    A question that nothing answers went wrong if its status was ``ok``.
    """

    def quality(outcome: Outcome) -> float:
        if not outcome.gold:
            return 0.0 if outcome.status == "ok" else 1.0
        return float(values([outcome], [f"ndcg@{DEEPEST_K}"])[0, 0])

    wrong = [outcome for outcome in outcomes if quality(outcome) < 1.0]
    return sorted(wrong, key=lambda o: (quality(o), -o.confidence, o.query_id))[:MAX_WORST]


def gold_ranks(outcome: Outcome) -> str:
    """Return in words at which ranks the memories that answer are."""
    if not outcome.gold:
        return "nothing answers"
    ranks = [str(at) for at, doc in enumerate(outcome.ranking, 1) if doc in outcome.gold]
    n_missed = len(outcome.gold) - len(ranks)
    return ", ".join([*ranks, *([f"{n_missed} missed"] if n_missed else [])])


def _ndcg(row: Measures) -> Interval:
    value = row["ndcg@10"]
    assert isinstance(value, Interval)  # noqa: S101 -- there are questions with gold
    return value


def _first_number(name: str) -> int:
    return int(re.split(r"\D", name, maxsplit=1)[0] or 0)


def _setting(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "all", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
