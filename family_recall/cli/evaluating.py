"""Looking at the library itself: ``eval`` and ``demo``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from family_recall.evaluation import Report


@click.command(
    "eval",
    cls=WithExamples,
    examples=(
        "family-recall eval locomo/dev",
        "family-recall eval locomo/dev --profile annie --limit 100 --json",
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
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    help="ask N questions, spread over the file (default: all)",
)
@click.option("--no-rerank", is_flag=True, help="leave the cross-encoder out (default: in)")
@click.option(
    "--seed", type=int, default=0, metavar="N", help="of the bootstrap intervals (default: 0)"
)
@json_option
def evaluate(folder: Path, no_rerank: bool, as_json: bool, **settings: Any) -> None:
    """Measure recall on a folder with memories.jsonl and queries.jsonl.

    Every question is asked in a fresh household of its own making; means come with 95 %
    intervals, questions nothing answers with how well they were told apart.
    """
    from family_recall import evaluation  # noqa: PLC0415 -- brings numpy

    with progress_bar() as show:
        report = evaluation.evaluate(folder, rerank=not no_rerank, progress=show, **settings)
    if as_json:
        print_json(report.to_json())
    else:
        _print_report(console(), report)


@click.command(cls=WithExamples, examples=("family-recall demo", "family-recall demo > demo.txt"))
def demo() -> None:
    """Ask a small family nine questions, each of which shows one thing."""
    from family_recall.demo import run  # noqa: PLC0415 -- brings numpy

    run(sys.stdout)


def _print_report(out: Console, report: Report) -> None:
    from rich.table import Table  # noqa: PLC0415 -- help needs no tables

    names = [name for name in report.overall if name != "n"]
    table = Table("category", box=None, header_style="bold")
    for name in ("n", *names):
        table.add_column(name, justify="right", no_wrap=True)
    for category, row in report.by_category.items():
        table.add_row(one_line(category), str(row["n"]), *_cells(row, names, "value"))
    overall = report.overall
    table.add_row("overall", str(overall["n"]), *_cells(overall, names, "value"), style="bold")
    table.add_row("  95 % from", "", *_cells(overall, names, "low"), style="dim")
    table.add_row("  95 % to", "", *_cells(overall, names, "high"), style="dim")
    out.print(table)
    if report.abstention is not None:
        found = report.abstention
        auroc = "none" if found["auroc"] is None else f"{found['auroc']:.3f}"
        out.print(f"abstention: AUROC {auroc}, ECE {found['ece']:.3f}")
        for group, counts in found["status"].items():
            said = ", ".join(f"{n} {status}" for status, n in counts.items())
            out.print(f"  {group}: {said}")
    times = ", ".join(f"{name} {ms:.1f} ms" for name, ms in report.latency_ms.items())
    out.print(f"latency: {times}")
    out.print(f"{report.n_queries:,} questions, {report.n_memories:,} memories")


def _cells(row: Mapping[str, Any], names: Sequence[str], end: str) -> list[str]:
    return [f"{getattr(row[name], end):.3f}" for name in names]
