"""Looking at the library itself: ``eval``, ``compare`` and ``demo``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from family_recall.cli.base import (
    WithExamples,
    console,
    json_option,
    one_line,
    print_json,
    progress_bar,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table

    from family_recall.evaluation import (
        Ablation,
        Baseline,
        Comparison,
        Faithfulness,
        Interval,
        Report,
        Within,
    )

_F = TypeVar("_F", bound="Callable[..., Any]")
_BAR = 30
"""Columns of a reliability diagram's bar, from 0 to 1."""


def _written(flag: str, name: str, what: str, *, metavar: str) -> Callable[[_F], _F]:
    """Give an option that names a file to write."""
    path = click.Path(dir_okay=False, path_type=Path)
    return click.option(flag, name, type=path, metavar=metavar, help=f"write {what} (default: not)")


@click.command(
    "eval",
    cls=WithExamples,
    examples=(
        "family-recall eval locomo/dev --limit 100 --ablate all --budgets 5,20,60,300",
        "family-recall eval locomo/dev --baseline bm25 --save default.json --run default.run",
    ),
)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@click.option(
    "--profile", default="default", metavar="NAME", help="weights to rank with (default: default)"
)
@click.option(
    "--budget-ms",
    type=float,
    default=1000.0,
    metavar="MS",
    help="time allowed for each question (default: 1000)",
)
@click.option(
    "--budgets",
    default="",
    metavar="LIST",
    help="ask once more within each of these, comma-separated milliseconds (default: none)",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    help="ask N questions, spread over the file (default: all)",
)
@click.option("--no-rerank", is_flag=True, help="leave the cross-encoder out (default: in)")
@click.option(
    "--ablate",
    default="",
    metavar="LIST",
    help="ask once more without each of these, comma-separated: stages (lexical, vector, graph, "
    "late_interaction, rerank, diversify, identifiers, folding, time, routing, context), features "
    "of the profile, or all, stages, features (default: none)",
)
@click.option(
    "--baseline",
    type=click.Choice(["bm25"]),
    help="ask once more of nothing but BM25 over text, speaker and day (default: not)",
)
@click.option(
    "--remove-gold",
    is_flag=True,
    help="ask once more where the answer was never stored: a store for each question, so use "
    "--limit (default: not)",
)
@click.option(
    "--rationales",
    "n_rationales",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="take the evidence of N rationales out of the store, and see how far their results "
    "fall (default: 0)",
)
@click.option(
    "--seed", type=int, default=0, metavar="N", help="of intervals and draws (default: 0)"
)
@_written("--run", "run_file", "the rankings as a TREC run", metavar="FILE")
@_written("--qrels", "qrels_file", "the gold as TREC qrels", metavar="FILE")
@_written("--save", "saved_file", "the report with every question, to compare", metavar="FILE.json")
@json_option
def evaluate(
    folder: Path,
    no_rerank: bool,
    ablate: str,
    budgets: str,
    run_file: Path | None,
    qrels_file: Path | None,
    saved_file: Path | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Measure recall on a folder with memories.jsonl and queries.jsonl.

    Every question is asked in a fresh household of its own making; means come with 95 %
    intervals, questions nothing answers with how well they were told apart. What is left out
    (--ablate) is compared with the full configuration question by question.
    """
    from family_recall import evaluation  # noqa: PLC0415 -- brings numpy

    parts = [name for part in ablate.split(",") if (name := part.strip())]
    budgets_ms = [_milliseconds(part) for part in budgets.split(",") if part.strip()]
    with progress_bar() as show:
        report = evaluation.evaluate(
            folder,
            rerank=not no_rerank,
            ablate=parts,
            budgets_ms=budgets_ms,
            progress=show,
            **settings,
        )
    if run_file is not None:
        evaluation.write_run(run_file, report.outcomes)
    if qrels_file is not None:
        evaluation.write_qrels(qrels_file, report.outcomes)
    if saved_file is not None:
        record = report.to_json(outcomes=True)
        saved_file.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
    if as_json:
        print_json(report.to_json())
    else:
        _print_report(console(), report)


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall compare default.json annie.json",
        "family-recall compare default.run other.run --qrels gold.qrels",
    ),
)
@click.argument("first", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("second", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--qrels",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="the gold of two runs (default: that of the report)",
)
@click.option("--seed", type=int, default=0, metavar="N", help="of the draws (default: 0)")
@json_option
def compare(first: Path, second: Path, qrels: Path | None, seed: int, as_json: bool) -> None:
    """Say whether SECOND is better than FIRST, question by question.

    Each is a report of eval --save, or a TREC run. A paired bootstrap gives the difference its
    95 % interval; where that holds 0, which is better cannot be told.
    """
    from family_recall import evaluation  # noqa: PLC0415 -- brings numpy

    compared = evaluation.compare(*evaluation.load_pair(first, second, qrels), seed=seed)
    if as_json:
        print_json(compared.to_json())
        return
    out = console()
    _print_comparison(out, compared)
    out.print(evaluation.sentence(compared.overall, one_line(first.name), one_line(second.name)))
    if compared.n_left_out:
        out.print(f"{compared.n_left_out:,} questions stand in one of the two only")


@click.command(cls=WithExamples, examples=("family-recall demo", "family-recall demo > demo.txt"))
def demo() -> None:
    """Ask a small family nine questions, each of which shows one thing."""
    from family_recall.demo import run  # noqa: PLC0415 -- brings numpy

    run(sys.stdout)


def _print_report(out: Console, report: Report) -> None:
    names = [name for name in report.overall if name != "n"]
    table = _table("category", "n", *names)
    for category, row in report.by_category.items():
        table.add_row(one_line(category), str(row["n"]), *_cells(row, names, "value"))
    overall = report.overall
    table.add_row("overall", str(overall["n"]), *_cells(overall, names, "value"), style="bold")
    table.add_row("  95 % from", "", *_cells(overall, names, "low"), style="dim")
    table.add_row("  95 % to", "", *_cells(overall, names, "high"), style="dim")
    out.print(table)
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


def _print_budgets(out: Console, budgets: Sequence[Within]) -> None:
    """Print what each budget buys: how good, how many pairs were read, how long it took."""
    names = ("ndcg@10", "hit@10")
    ends = ("used p50", "p95", "over p95", "p99")
    table = _table("budget, ms", names[0], "95 %", names[1], "pairs", *ends, "left out")
    for row in budgets:
        judged = bool(row.measures["n"])
        ndcg, low, high = (
            _cells(row.measures, names[:1], end)[0] if judged else ""
            for end in ("value", "low", "high")
        )
        table.add_row(
            f"{row.budget_ms:g}",
            ndcg,
            f"[{low}, {high}]" if judged else "",
            _cells(row.measures, names[1:], "value")[0] if judged else "",
            f"{row.n_pairs:.1f}",
            *(f"{row.used_ms[name]:.1f}" for name in ("p50", "p95")),
            *(f"{row.overshoot_ms[name]:.1f}" for name in ("p95", "p99")),
            str(row.n_hurried),
        )
    out.print(table)


def _milliseconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(
            f"expected milliseconds such as 5,10,20, got {text.strip()!r}", param_hint="--budgets"
        ) from None


def _print_ablation(out: Console, ablation: Ablation) -> None:
    """Print what each part is worth; of a single part by category, too."""
    if not ablation.rows:
        return
    names = list(ablation.rows[0].comparison.overall.difference)
    table = _table("without", *(cell for name in names for cell in (name, "less full, 95 %")))
    full = ablation.full
    means = _cells(full, names, "value")
    table.add_row("nothing", *(cell for mean in means for cell in (mean, "")), style="bold")
    for row in ablation.rows:
        difference = row.comparison.overall.difference
        cells = zip(_cells(row.measures, names, "value"), names, strict=True)
        table.add_row(
            row.name, *(cell for mean, name in cells for cell in (mean, _change(difference[name])))
        )
    out.print(table)
    if len(ablation.rows) == 1:
        (row,) = ablation.rows
        out.print(f"without {row.name}, second, and with it, first:")
        _print_comparison(out, row.comparison)


def _print_baseline(out: Console, baseline: Baseline) -> None:
    """Print what everything together is worth beyond a baseline."""
    out.print(f"{baseline.name}, first, and all of this, second:")
    _print_comparison(out, baseline.comparison)
    gain = baseline.gain()
    out.print(f"ndcg@10 of {baseline.name} {'is 0' if gain is None else f'and {gain:+.0%}'}")


def _print_comparison(out: Console, compared: Comparison) -> None:
    names = list(compared.overall.difference)
    table = _table("category", "n", names[0], "", *(f"{name}, 95 %" for name in names))
    for name, row in (*compared.by_category.items(), ("overall", compared.overall)):
        table.add_row(
            one_line(name),
            str(row.n),
            f"{row.first[names[0]]:.3f}",
            f"{row.second[names[0]]:.3f}",
            *(_change(row.difference[measure]) for measure in names),
            style="bold" if name == "overall" else "",
        )
    out.print(table)
    asked = compared.overall.n
    out.print(f"{compared.n_changed:,} of {asked:,} rankings differ")


def _print_calibration(out: Console, calibration: Mapping[str, Any]) -> None:
    """Print a reliability diagram: # up to the share right, | where confidence promised."""
    table = _table("confidence", "n", "promised", "right", "")
    for row in calibration["bins"]:
        if row["n"]:
            table.add_row(
                f"{row['low']:.1f} to {row['high']:.1f}",
                str(row["n"]),
                f"{row['confidence']:.3f}",
                f"{row['right']:.3f}",
                _bar(row["right"], row["confidence"]),
            )
    table.columns[-1].justify = "left"
    out.print(table)
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


def _table(first: str, *names: str) -> Table:
    from rich.table import Table  # noqa: PLC0415 -- help needs no tables

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _cells(row: Mapping[str, Any], names: Sequence[str], end: str) -> list[str]:
    return [f"{getattr(row[name], end):.3f}" for name in names]


def _change(interval: Interval) -> str:
    return f"{interval.value:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"


def _bar(right: float, promised: float) -> str:
    bar = list("#" * round(right * _BAR) + " " * (_BAR - round(right * _BAR)) + " ")
    bar[round(promised * _BAR)] = "|"
    return "".join(bar).rstrip()
