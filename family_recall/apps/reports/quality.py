"""The page of an evaluation: how good, how honest and how fast the answers were."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence

from family_recall.apps.evaluation.alternatives import BudgetResult
from family_recall.apps.evaluation.comparison import COMPARED
from family_recall.apps.evaluation.outcomes import DEEPEST_K, MEASURES, Outcome, values
from family_recall.apps.evaluation.report import EvaluationReport
from family_recall.apps.reports import charts
from family_recall.apps.reports.plots import STYLE, Plot
from family_recall.apps.reports.templating import render_report

MAX_WORST = 12
"""Questions that a page lists because they went worst."""


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
    categories, lengths = report.by_category, report.segments.get("length")
    budget_ms = float(report.config["budget_ms"])
    plots = {
        "confidence": [
            charts.reliability(report.calibration),
            charts.risk_coverage(report.calibration, report.outcomes),
            charts.confidences(report.outcomes),
        ],
        "time": [
            charts.latency(report.outcomes, report.latency_ms, budget_ms),
            charts.answered_within(report.outcomes, budget_ms),
        ],
        "scores": [charts.shares(report.shares)] if report.shares else [],
    }  # fmt: skip
    if with_gold:
        plots["measures"] = [charts.recall_by_k(with_gold, int(report.config["seed"]))]
    if categories:
        plots["categories"] = [
            charts.by_segment("nDCG@10 by category", categories, "ndcg@10", "accent"),
            charts.by_segment("recall@10 by category", categories, "recall@10", "second"),
        ]
    if budgets:
        plots["budgets"] = [*charts.budgets(budgets)]
    if report.ablation is not None and report.ablation.rows:
        plots["parts"] = [charts.ablation(report.ablation, name) for name in COMPARED[:2]]
    if lengths:
        # "6-10 words" comes before "11-20 words".
        rows = {name: lengths[name] for name in sorted(lengths, key=_first_number)}
        title = "nDCG@10 by length of the question"
        plots["scores"].append(charts.by_segment(title, rows, "ndcg@10", "accent"))
    return plots


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


def _first_number(name: str) -> int:
    return int(re.split(r"\D", name, maxsplit=1)[0] or 0)


def _setting(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "all", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
