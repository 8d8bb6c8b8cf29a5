"""Print evaluations, comparisons and timings as tables on a console."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from family_recall.apps.cli.output import one_line, print_line, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from family_recall.apps.evaluation import (
        Ablation,
        BaselineComparison,
        BudgetResult,
        Comparison,
        EvaluationReport,
        Interval,
    )
    from family_recall.apps.evaluation.timing import Timing

_ENDS = ("value", "low", "high")
_BAR = 30
"""Columns of a reliability diagram's bar, from 0 to 1."""


def print_report(out: Console, report: EvaluationReport) -> None:
    """Print a report: measures, what parts are worth, calibration, budgets, latency."""
    names = [name for name in report.overall if name != "n"]
    rows = table("category", "n", *names)
    for category, row in report.by_category.items():
        rows.add_row(one_line(category), str(row["n"]), *_cells(row, names, "value"))
    overall = report.overall
    rows.add_row("overall", str(overall["n"]), *_cells(overall, names, "value"), style="bold")
    rows.add_row("  95 % from", "", *_cells(overall, names, "low"), style="dim")
    rows.add_row("  95 % to", "", *_cells(overall, names, "high"), style="dim")
    out.print(rows)
    _print_firsts(out, report.firsts)
    if report.ablation is not None:
        _print_ablation(out, report.ablation)
    if report.baseline is not None:
        _print_baseline(out, report.baseline)
    _print_calibration(out, report.calibration)
    if report.abstention is not None:
        _print_abstention(out, "abstention", report.abstention)
    if report.without_gold is not None and report.without_gold["n"]:
        _print_without_gold(out, report.without_gold)
    if report.faithfulness is not None:
        _print_faithfulness(out, report.faithfulness)
    if report.budgets:
        _print_budgets(out, report.budgets)
    _print_latency(out, report)


def _print_firsts(out: Console, firsts: Mapping[str, Mapping[str, int]]) -> None:
    """Print by category how often the first result is right or stale, and what the status said."""
    rows = table("category", "n", "first right", "stale", "ok", "ok and right", "weak", "no_match")
    names = ("stale", "ok", "ok_right", "weak", "no_match")
    total = Counter[str]()
    for row in firsts.values():
        total.update(row)
    for category, row in (*firsts.items(), ("overall", total)):
        right = f"{row['right'] / row['with_gold']:.3f}" if row["with_gold"] else "-"
        rows.add_row(
            one_line(category),
            str(row["n"]),
            right,
            *(str(row[name]) for name in names),
            style="bold" if row is total else "",
        )
    out.print(rows)


def _print_latency(out: Console, report: EvaluationReport) -> None:
    times = ", ".join(f"{name} {ms:.1f} ms" for name, ms in report.latency_ms.items())
    out.print(f"latency: {times}")
    out.print(f"{report.n_queries:,} questions, {report.n_memories:,} memories")
    ablated = report.ablation.rows if report.ablation is not None else ()
    hurried = max([report.n_hurried, *(row.n_hurried for row in ablated)])
    if hurried:
        out.print(
            f"up to {hurried:,} answers of a run left a stage out for lack of time: "
            "raise --budget-ms to measure it"
        )


def _print_budgets(out: Console, budgets: Sequence[BudgetResult]) -> None:
    """Print what each budget buys: how good, how many pairs were read, how long it took."""
    ndcg, hit = "ndcg@10", "hit@10"
    rows = table(
        *("budget, ms", ndcg, "95 %", hit, "pairs"),
        *("used p50", "p95", "over p95", "p99", "left out"),
    )
    for row in budgets:
        scores = ["", "", ""]
        if row.measures["n"]:
            value, low, high = (_cells(row.measures, [ndcg], end)[0] for end in _ENDS)
            scores = [value, f"[{low}, {high}]", *_cells(row.measures, [hit], "value")]
        rows.add_row(
            f"{row.budget_ms:g}",
            *scores,
            f"{row.n_pairs:.1f}",
            *(f"{row.used_ms[name]:.1f}" for name in ("p50", "p95")),
            *(f"{row.overshoot_ms[name]:.1f}" for name in ("p95", "p99")),
            str(row.n_hurried),
        )
    out.print(rows)


def _print_ablation(out: Console, ablation: Ablation) -> None:
    """Print what each part is worth; of a single part by category, too."""
    if not ablation.rows:
        return
    names = list(ablation.rows[0].against_full.overall.difference)
    rows = table("without", *(cell for name in names for cell in (name, "less full, 95 %")))
    means = _cells(ablation.full, names, "value")
    rows.add_row("nothing", *(cell for mean in means for cell in (mean, "")), style="bold")
    for row in ablation.rows:
        difference = row.against_full.overall.difference
        cells = zip(_cells(row.measures, names, "value"), names, strict=True)
        rows.add_row(
            row.without,
            *(cell for mean, name in cells for cell in (mean, _change(difference[name]))),
        )
    out.print(rows)
    if len(ablation.rows) == 1:
        (row,) = ablation.rows
        out.print(f"without {row.without}, second, and with it, first:")
        print_comparison(out, row.against_full)


def _print_baseline(out: Console, baseline: BaselineComparison) -> None:
    """Print what everything together is worth beyond a baseline."""
    out.print(f"{baseline.name}, first, and all of this, second:")
    print_comparison(out, baseline.comparison)
    gain = baseline.gain["ndcg@10"]
    out.print(f"ndcg@10 of {baseline.name} {'is 0' if gain is None else f'and {gain:+.0%}'}")


def print_comparison(out: Console, comparison: Comparison) -> None:
    """Print two runs beside each other, by category."""
    names = list(comparison.overall.difference)
    rows = table("category", "n", names[0], "", *(f"{name}, 95 %" for name in names))
    for name, row in (*comparison.by_category.items(), ("overall", comparison.overall)):
        rows.add_row(
            one_line(name),
            str(row.n),
            f"{row.first[names[0]]:.3f}",
            f"{row.second[names[0]]:.3f}",
            *(_change(row.difference[measure]) for measure in names),
            style="bold" if name == "overall" else "",
        )
    out.print(rows)
    out.print(f"{comparison.n_changed:,} of {comparison.overall.n:,} rankings differ")


def _print_calibration(out: Console, calibration: Mapping[str, Any]) -> None:
    """Print a reliability diagram: # up to the share right, | where confidence promised."""
    rows = table("confidence", "n", "promised", "right", "")
    for row in calibration["bins"]:
        if row["n"]:
            rows.add_row(
                f"{row['low']:.1f} to {row['high']:.1f}",
                str(row["n"]),
                f"{row['confidence']:.3f}",
                f"{row['right']:.3f}",
                _bar(row["right"], row["confidence"]),
            )
    rows.columns[-1].justify = "left"
    out.print(rows)
    out.print(f"first result right: ECE {calibration['ece']:.3f}")
    status = {name: "-" if v is None else f"{v:.0%}" for name, v in calibration["status"].items()}
    out.print(
        f"ok: {calibration['status']['ok']} answers, right in {status['ok_right']}, and "
        f"{status['right_ok']} of the right first results; no_match: {status['found_no_match']} of "
        "the questions with an answer among the first ten"
    )


def _print_abstention(out: Console, title: str, abstention: Mapping[str, Any]) -> None:
    auroc = "none" if abstention["auroc"] is None else f"{abstention['auroc']:.3f}"
    out.print(f"{title}: AUROC {auroc}, ECE {abstention['ece']:.3f}")
    for group, counts in abstention["status"].items():
        statuses = ", ".join(f"{n} {status}" for status, n in counts.items())
        out.print(f"  {group}: {statuses}")


def _print_without_gold(out: Console, abstention: Mapping[str, Any]) -> None:
    out.print(
        f"gold removed: {abstention['n']:,} questions asked a second time, less sure in "
        f"{abstention['lower']:.0%}"
    )
    _print_abstention(out, "recognised", abstention)


def _print_faithfulness(out: Console, record: Mapping[str, Any]) -> None:
    if not record["n"]:
        out.print("rationales: none names other memories")
        return
    for title, name in (("without its evidence", "evidence"), ("without others", "control")):
        row = record[name]
        out.print(
            f"rationales {title}: rank fell in {row['rank_fell'].value:.0%} of {record['n']}, "
            f"by {row['ranks'].value:+.2f} ranks and {row['score'].value:+.3f} of score"
        )
    out.print(f"  the evidence is worth {_change(record['difference']['ranks'])} ranks more")


def print_timing(out: Console, name: str, timing: Timing) -> None:
    """Print how long recalls and their stages took."""
    n = f"{timing.questions:,}"
    print_line(
        out,
        f"{name}: {timing.memories:,} memories, {timing.visible:,} of them visible, "
        f"{n} questions of {timing.budget_ms:g} ms",
    )
    rows = table("milliseconds", "n", "p50", "p95", "p99")
    rows.add_row("recall", n, *_quantiles(timing.total["ms"]), style="bold")
    rows.add_row("processor", n, *_quantiles(timing.total["cpu_ms"]))
    rows.add_row("past the budget", n, *_quantiles(timing.over_ms))
    for stage, times in timing.stages.items():
        rows.add_row(f"  {stage}", f"{times['n']:,.0f}", *_quantiles(times), style="dim")
    out.print(rows)
    for stage, skipped in timing.left_out.items():
        print_line(out, f"left out {skipped['n']:,}: {stage}, {skipped['why']}")
    out.print(
        f"opened in {timing.open_ms:.1f} ms, first answer {timing.first_ms:.1f} ms, "
        f"models ready {timing.warm_ms:,.0f} ms later"
    )
    machine = ", ".join(f"{part} {what}" for part, what in timing.machine.items())
    print_line(out, f"on {machine}")


def _quantiles(times: Mapping[str, float]) -> list[str]:
    return [f"{times[name]:.2f}" for name in ("p50", "p95", "p99")]


def _cells(row: Mapping[str, Any], names: Sequence[str], end: str) -> list[str]:
    return [f"{getattr(row[name], end):.3f}" for name in names]


def _change(interval: Interval) -> str:
    return f"{interval.value:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"


def _bar(right: float, promised: float) -> str:
    bar = list("#" * round(right * _BAR) + " " * (_BAR - round(right * _BAR)) + " ")
    bar[round(promised * _BAR)] = "|"
    return "".join(bar).rstrip()
