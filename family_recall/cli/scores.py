"""Scores: a report or a comparison in, tables on a console out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from family_recall.cli.base import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console
    from rich.table import Table

    from family_recall.evaluation import (
        Ablation,
        BaselineComparison,
        BudgetResult,
        Comparison,
        EvaluationReport,
        Faithfulness,
        Interval,
    )

_BAR = 30
"""Columns of a reliability diagram's bar, from 0 to 1."""


def print_report(out: Console, report: EvaluationReport) -> None:
    """Print a report: measures, what parts are worth, calibration, budgets, latency."""
    names = [name for name in report.overall if name != "n"]
    shown = table("category", "n", *names)
    for category, row in report.by_category.items():
        shown.add_row(one_line(category), str(row["n"]), *_cells(row, names, "value"))
    overall = report.overall
    shown.add_row("overall", str(overall["n"]), *_cells(overall, names, "value"), style="bold")
    shown.add_row("  95 % from", "", *_cells(overall, names, "low"), style="dim")
    shown.add_row("  95 % to", "", *_cells(overall, names, "high"), style="dim")
    out.print(shown)
    rows = report.ablation.rows if report.ablation is not None else ()
    if report.ablation is not None:
        _print_ablation(out, report.ablation)
    if report.baseline is not None:
        _print_baseline(out, report.baseline)
    _print_calibration(out, report.calibration)
    if report.abstention is not None:
        _print_abstention(out, "abstention", report.abstention)
    if report.without_gold is not None and report.without_gold["n"]:
        found = report.without_gold
        out.print(
            f"gold removed: {found['n']:,} questions asked a second time, less sure in "
            f"{found['lower']:.0%}"
        )
        _print_abstention(out, "told apart", found)
    if report.faithfulness is not None:
        _print_faithfulness(out, report.faithfulness)
    if report.budgets:
        _print_budgets(out, report.budgets)
    times = ", ".join(f"{name} {ms:.1f} ms" for name, ms in report.latency_ms.items())
    out.print(f"latency: {times}")
    out.print(f"{report.n_queries:,} questions, {report.n_memories:,} memories")
    hurried = max([report.n_hurried, *(row.n_hurried for row in rows)])
    if hurried:
        out.print(
            f"up to {hurried:,} answers of a run left a stage out for lack of time: "
            "raise --budget-ms to measure it"
        )


def _print_budgets(out: Console, budgets: Sequence[BudgetResult]) -> None:
    """Print what each budget buys: how good, how many pairs were read, how long it took."""
    names = ("ndcg@10", "hit@10")
    ends = ("used p50", "p95", "over p95", "p99")
    shown = table("budget, ms", names[0], "95 %", names[1], "pairs", *ends, "left out")
    for row in budgets:
        judged = bool(row.measures["n"])
        ndcg, low, high = (
            _cells(row.measures, names[:1], end)[0] if judged else ""
            for end in ("value", "low", "high")
        )
        shown.add_row(
            f"{row.budget_ms:g}",
            ndcg,
            f"[{low}, {high}]" if judged else "",
            _cells(row.measures, names[1:], "value")[0] if judged else "",
            f"{row.n_pairs:.1f}",
            *(f"{row.used_ms[name]:.1f}" for name in ("p50", "p95")),
            *(f"{row.overshoot_ms[name]:.1f}" for name in ("p95", "p99")),
            str(row.n_hurried),
        )
    out.print(shown)


def _print_ablation(out: Console, ablation: Ablation) -> None:
    """Print what each part is worth; of a single part by category, too."""
    if not ablation.rows:
        return
    names = list(ablation.rows[0].against_full.overall.difference)
    shown = table("without", *(cell for name in names for cell in (name, "less full, 95 %")))
    full = ablation.full
    means = _cells(full, names, "value")
    shown.add_row("nothing", *(cell for mean in means for cell in (mean, "")), style="bold")
    for row in ablation.rows:
        difference = row.against_full.overall.difference
        cells = zip(_cells(row.measures, names, "value"), names, strict=True)
        shown.add_row(
            row.without,
            *(cell for mean, name in cells for cell in (mean, _change(difference[name]))),
        )
    out.print(shown)
    if len(ablation.rows) == 1:
        (row,) = ablation.rows
        out.print(f"without {row.without}, second, and with it, first:")
        print_comparison(out, row.against_full)


def _print_baseline(out: Console, baseline: BaselineComparison) -> None:
    """Print what everything together is worth beyond a baseline."""
    out.print(f"{baseline.name}, first, and all of this, second:")
    print_comparison(out, baseline.comparison)
    gain = baseline.gain()
    out.print(f"ndcg@10 of {baseline.name} {'is 0' if gain is None else f'and {gain:+.0%}'}")


def print_comparison(out: Console, compared: Comparison) -> None:
    """Print two runs beside each other, by category."""
    names = list(compared.overall.difference)
    shown = table("category", "n", names[0], "", *(f"{name}, 95 %" for name in names))
    for name, row in (*compared.by_category.items(), ("overall", compared.overall)):
        shown.add_row(
            one_line(name),
            str(row.n),
            f"{row.first[names[0]]:.3f}",
            f"{row.second[names[0]]:.3f}",
            *(_change(row.difference[measure]) for measure in names),
            style="bold" if name == "overall" else "",
        )
    out.print(shown)
    asked = compared.overall.n
    out.print(f"{compared.n_changed:,} of {asked:,} rankings differ")


def _print_calibration(out: Console, calibration: Mapping[str, Any]) -> None:
    """Print a reliability diagram: # up to the share right, | where confidence promised."""
    shown = table("confidence", "n", "promised", "right", "")
    for row in calibration["bins"]:
        if row["n"]:
            shown.add_row(
                f"{row['low']:.1f} to {row['high']:.1f}",
                str(row["n"]),
                f"{row['confidence']:.3f}",
                f"{row['right']:.3f}",
                _bar(row["right"], row["confidence"]),
            )
    shown.columns[-1].justify = "left"
    out.print(shown)
    out.print(f"first result right: ECE {calibration['ece']:.3f}")


def _print_abstention(out: Console, title: str, found: Mapping[str, Any]) -> None:
    auroc = "none" if found["auroc"] is None else f"{found['auroc']:.3f}"
    out.print(f"{title}: AUROC {auroc}, ECE {found['ece']:.3f}")
    for group, counts in found["status"].items():
        said = ", ".join(f"{n} {status}" for status, n in counts.items())
        out.print(f"  {group}: {said}")


def _print_faithfulness(out: Console, faithfulness: Faithfulness) -> None:
    found = faithfulness.to_json()
    if not found["n"]:
        out.print("rationales: none names other memories")
        return
    for title, name in (("without its evidence", "evidence"), ("without others", "control")):
        row = found[name]
        out.print(
            f"rationales {title}: rank fell in {row['rank_fell']['value']:.0%} of {found['n']}, "
            f"by {row['ranks']['value']:+.2f} ranks and {row['score']['value']:+.3f} of score"
        )
    out.print(f"  the evidence is worth {_change(faithfulness.mean_ranks())} ranks more")


def table(first: str, *names: str) -> Table:
    """Give an empty table: one column of words, and some of numbers."""
    from rich.table import Table  # noqa: PLC0415 -- help needs no tables

    shown = Table(box=None, header_style="bold", pad_edge=False)
    shown.add_column(first, no_wrap=True)
    for name in names:
        shown.add_column(name, justify="right", no_wrap=True)
    return shown


def _cells(row: Mapping[str, Any], names: Sequence[str], end: str) -> list[str]:
    return [f"{getattr(row[name], end):.3f}" for name in names]


def _change(interval: Interval) -> str:
    return f"{interval.value:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"


def _bar(right: float, promised: float) -> str:
    bar = list("#" * round(right * _BAR) + " " * (_BAR - round(right * _BAR)) + " ")
    bar[round(promised * _BAR)] = "|"
    return "".join(bar).rstrip()
