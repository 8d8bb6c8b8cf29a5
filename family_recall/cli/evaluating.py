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
)
from family_recall.cli.progress import progress_bar, telling_where
from family_recall.cli.reporting import (
    local_now,
    report_option,
    see_that_it_can_be_drawn,
    write_page,
)
from family_recall.cli.scores import print_comparison, print_report

if TYPE_CHECKING:
    from collections.abc import Callable

_F = TypeVar("_F", bound="Callable[..., Any]")


def _written(flag: str, name: str, what: str, *, metavar: str) -> Callable[[_F], _F]:
    """Give an option that names a file to write."""
    path = click.Path(dir_okay=False, path_type=Path)
    return click.option(flag, name, type=path, metavar=metavar, help=f"write {what} (default: not)")


@click.command(
    "eval",
    cls=WithExamples,
    examples=(
        "family-recall eval locomo/dev --limit 100 --ablate all --checkpoint locomo-kept",
        "family-recall eval locomo/dev --baseline bm25 --save default.json --run default.run",
        "family-recall eval locomo/dev --limit 100 --budgets 5,20,60,300 --report locomo.html",
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
    "late_interaction, rerank, diversify, identifiers, deduplicate, time, routing, context), features "
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
@click.option(
    "--checkpoint",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="keep each answer in FOLDER as it is given, and go on from there (default: not)",
)
@_written("--run", "run_file", "the rankings as a TREC run", metavar="FILE")
@_written("--qrels", "qrels_file", "the gold as TREC qrels", metavar="FILE")
@_written("--save", "saved_file", "the report with every question, to compare", metavar="FILE.json")
@report_option
@click.option(
    "--report-texts",
    is_flag=True,
    help="with --report: show the words of the worst questions, where the data is your own "
    "(default: their ids)",
)
@json_option
def evaluate(
    folder: Path,
    no_rerank: bool,
    ablate: str,
    budgets: str,
    checkpoint: Path | None,
    run_file: Path | None,
    qrels_file: Path | None,
    saved_file: Path | None,
    report_file: Path | None,
    report_texts: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Measure recall on a folder with memories.jsonl and queries.jsonl.

    Every question is asked in a fresh household of its own making; means come with 95 %
    intervals, questions nothing answers with how well they were told apart. What is left out
    (--ablate) is compared with the full configuration question by question. One that was stopped
    goes on where it was, and gives the same report, with --checkpoint.
    """
    from family_recall import evaluation  # noqa: PLC0415 -- brings numpy

    _check_extra()

    parts = [name for part in ablate.split(",") if (name := part.strip())]
    budgets_ms = [_milliseconds(part) for part in budgets.split(",") if part.strip()]
    if report_texts and report_file is None:
        raise click.UsageError("--report-texts needs --report")
    if report_file is not None:
        see_that_it_can_be_drawn()
    at = ["", 0, 0]

    def told() -> str:
        step, done, total = at
        kept = (
            "nothing of it is kept: --checkpoint FOLDER would keep it, --limit N ask less"
            if checkpoint is None
            else f"kept in {checkpoint}; the same command goes on from there"
        )
        return f"{step or 'start'}: {done:,} of {total:,}; {kept}"

    with telling_where(told), progress_bar() as show:

        def progress(*where: Any) -> None:
            at[:] = where
            show(*where)

        report = evaluation.evaluate(
            folder,
            rerank=not no_rerank,
            ablate=parts,
            budgets_ms=budgets_ms,
            checkpoint=checkpoint,
            progress=progress,
            **settings,
        )
    if run_file is not None:
        evaluation.write_run(run_file, report.outcomes)
    if qrels_file is not None:
        evaluation.write_qrels(qrels_file, report.outcomes)
    if saved_file is not None:
        record = report.to_json(outcomes=True)
        saved_file.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
    if report_file is not None:
        from family_recall.evaluation import machine  # noqa: PLC0415 -- as above
        from family_recall.reports import evaluation as pages  # noqa: PLC0415 -- as above

        queries = evaluation.load_dataset(folder).queries if report_texts else ()
        page = pages.quality_page(
            report,
            machine=machine.describe(),
            made_at=local_now(),
            texts={query.id: query.text for query in queries},
        )
        write_page(report_file, page)
    if as_json:
        print_json(report.to_json())
    else:
        print_report(console(), report)


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
    95 % interval; where that holds 0, which is better is undecided.
    """
    from family_recall import evaluation  # noqa: PLC0415 -- brings numpy

    _check_extra()

    compared = evaluation.compare(*evaluation.load_pair(first, second, qrels), seed=seed)
    if as_json:
        print_json(evaluation.plain(compared))
        return
    out = console()
    print_comparison(out, compared)
    out.print(evaluation.sentence(compared.overall, one_line(first.name), one_line(second.name)))
    if compared.n_left_out:
        out.print(f"{compared.n_left_out:,} questions stand in one of the two only")


@click.command(cls=WithExamples, examples=("family-recall demo", "family-recall demo > demo.txt"))
def demo() -> None:
    """Ask a small family nine questions, each of which shows one thing."""
    from family_recall.demo import run  # noqa: PLC0415 -- brings numpy

    run(sys.stdout)


def _check_extra() -> None:
    """End the command before the hour, not after it, where there is nothing to measure with."""
    from family_recall.evaluation import check_extra  # noqa: PLC0415 -- brings numpy

    try:
        check_extra()
    except ImportError as error:
        raise click.ClickException(str(error)) from None


def _milliseconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(
            f"expected milliseconds such as 5,10,20, got {text.strip()!r}", param_hint="--budgets"
        ) from None
