"""Measure the library itself: ``eval``, ``compare``, ``bench`` and ``demo``."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import family_recall as fr
from family_recall.apps.cli.command import check_output, command, key
from family_recall.apps.cli.evaluation_tables import print_comparison, print_report, print_timing
from family_recall.apps.cli.options import FILE, FOLDER, field_option, option
from family_recall.apps.cli.output import Output, bar, on_interrupt, one_line, step_bars
from family_recall.apps.cli.settings import (
    budget_option,
    person_option,
    profile_option,
    require,
    setting_option,
    space_option,
)
from family_recall.errors import DatasetError, NotAStoreError
from family_recall.types.request import CONTEXT_FIELDS
from family_recall.types.stages import optional_stages

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from family_recall.apps.evaluation import Comparison, EvaluationReport
    from family_recall.apps.evaluation.timing import Timing

rerank_option = field_option(CONTEXT_FIELDS["allow_cross_encoder"])
seed_option = option("--seed", "N", "of random numbers", default=0)


def _check_drawable(_: click.Context, __: click.Parameter, value: Path | None) -> Path | None:
    """End the command before the measurement, not after it, if plots cannot be drawn."""
    if value is not None:
        from family_recall.apps.reports import plots  # noqa: PLC0415 -- help needs no pages

        try:
            plots.check()
        except ImportError as error:
            raise click.ClickException(str(error)) from None
    return value


report_option = option(
    "--report",
    "FILE.html",
    "write a page with plots, to read and keep",
    name="report_file",
    callback=_check_drawable,
    absent="not",
)


def _writes(flag: str, name: str, what: str, metavar: str = "FILE") -> Callable[[Any], Any]:
    """Return an option that names a file to write."""
    return option(flag, metavar, f"write {what}", name=name, absent="not")


def _check_extra() -> None:
    """End the command before the measurement if the packages it needs are missing."""
    from family_recall.apps.evaluation import check_extra  # noqa: PLC0415 -- brings numpy

    try:
        check_extra()
    except ImportError as error:
        raise click.ClickException(str(error)) from None


@command("eval")
@click.argument("folder", type=FOLDER, metavar="DIR")
@option("--profile", "NAME", "weights to rank with", default="default")
@option("--budget-ms", "MS", "time allowed for each question", default=1000.0)
@option(
    "--budgets",
    "LIST",
    "ask once more within each of these, comma-separated milliseconds",
    default="",
    absent="none",
)
@option(
    "--limit", "N", "ask N questions, spread over the file", type=click.IntRange(1), absent="all"
)
@rerank_option
@option(
    "--ablate",
    "LIST",
    "ask once more without each of these, comma-separated: stages "
    f"({', '.join(optional_stages())}, context), features of the profile, or all, stages, features",
    default="",
    absent="none",
)
@click.option(
    "--baseline",
    type=click.Choice(["bm25"]),
    help="ask once more with nothing but BM25 over text, speaker and day (default: not)",
)
@click.option(
    "--remove-gold",
    is_flag=True,
    help="ask once more where the answer was never stored: a store for each question, so use "
    "--limit (default: not)",
)
@option(
    "--rationales",
    "N",
    "remove the evidence of N rationales from the store, and measure how far their results fall",
    name="n_rationales",
    type=click.IntRange(0),
    default=0,
)
@seed_option
@option(
    "--checkpoint",
    "DIR",
    "save each answer in DIR, and continue from those saved there",
    absent="not",
)
@_writes("--run", "run_file", "the rankings as a TREC run")
@_writes("--qrels", "qrels_file", "the gold as TREC qrels")
@_writes("--save", "saved_file", "the report with every question, to compare", "FILE.json")
@report_option
@click.option(
    "--report-texts",
    is_flag=True,
    help="with --report: show the words of the worst questions, where the data is your own "
    "(default: their ids)",
)
def evaluate(
    folder: Path,
    allow_cross_encoder: bool,
    ablate: str,
    budgets: str,
    checkpoint: Path | None,
    run_file: Path | None,
    qrels_file: Path | None,
    saved_file: Path | None,
    report_file: Path | None,
    report_texts: bool,
    **settings: Any,
) -> Output:
    """Measure recall on a folder with memories.jsonl and queries.jsonl.

    Every question is asked in a new household; means come with 95 % intervals, and questions that
    nothing answers with how well they were recognised. What is left out (--ablate) is compared
    with the full configuration question by question. With --checkpoint, an interrupted evaluation
    continues where it was, and gives the same report.

    Examples:
      family-recall eval locomo/dev --limit 100 --ablate all --checkpoint locomo-answers
      family-recall eval locomo/dev --baseline bm25 --save default.json --run default.run
      family-recall eval locomo/dev --limit 100 --budgets 5,20,60,300 --report locomo.html
    """
    _check_extra()
    from family_recall.apps import evaluation  # noqa: PLC0415 -- brings numpy
    from family_recall.apps.evaluation.checkpoint import DATASET_FILES  # noqa: PLC0415 -- brings numpy

    if report_texts and report_file is None:
        raise click.UsageError("--report-texts needs --report")
    dataset = [folder / name for name in DATASET_FILES]
    check_output(run_file, qrels_file, saved_file, report_file, inputs=dataset)

    def progress_so_far(step: str, done: int, total: int) -> str:
        rest = (
            "nothing of it is saved: --checkpoint DIR would save it, --limit N ask less"
            if checkpoint is None
            else f"saved in {checkpoint}; the same command continues from there"
        )
        return f"{step}: {done:,} of {total:,}; {rest}"

    with step_bars(progress_so_far) as progress:
        report = evaluation.evaluate(
            folder,
            rerank=allow_cross_encoder,
            ablate=_listed(ablate),
            budgets_ms=[_milliseconds(part) for part in _listed(budgets)],
            checkpoint=checkpoint,
            progress=progress,
            **settings,
        )
    if run_file is not None:
        evaluation.write_run(run_file, report.outcomes)
    if qrels_file is not None:
        evaluation.write_qrels(qrels_file, report.outcomes)
    if saved_file is not None:
        report.save(saved_file)
    if report_file is not None:
        _write_page(report_file, _quality_page(report, folder if report_texts else None))
    return Output(report.to_json(), draw=lambda out: print_report(out, report))


@command()
@click.argument("first", type=FILE)
@click.argument("second", type=FILE)
@option("--qrels", "FILE", "the gold of two runs", absent="that of the report")
@seed_option
def compare(first: Path, second: Path, qrels: Path | None, seed: int) -> Output:
    """Compare SECOND with FIRST, question by question.

    Each is a report of eval --save, or a TREC run. A paired bootstrap gives the difference its
    95 % interval; where that holds 0, neither is shown to be better.

    Examples:
      family-recall compare default.json annie.json
      family-recall compare default.run other.run --qrels gold.qrels
    """
    _check_extra()
    from family_recall.apps import evaluation  # noqa: PLC0415 -- brings numpy

    comparison = evaluation.compare(*evaluation.load_pair(first, second, qrels), seed=seed)
    verdict = evaluation.sentence(comparison.overall, one_line(first.name), one_line(second.name))
    return Output(
        evaluation.plain(comparison), draw=lambda out: _print_pair(out, comparison, verdict)
    )


@command()
@setting_option(
    "db", help="measure a copy of this household (default: FAMILY_RECALL_DB, or as configured)"
)
@option(
    "--invented",
    "N",
    "measure a household of N invented memories instead",
    type=click.IntRange(1, 1000000),
    absent="not",
)
@person_option()
@space_option()
@budget_option()
@profile_option
@rerank_option
@option(
    "--questions",
    "N",
    "questions to make from memories",
    name="n",
    type=click.IntRange(1, 1000),
    default=100,
)
@option(
    "--ask",
    "FILE",
    "questions of your own, one a line",
    name="questions_file",
    absent="made from memories",
)
@seed_option
@report_option
def bench(
    db: Path | None,
    invented: int | None,
    n: int,
    questions_file: Path | None,
    seed: int,
    report_file: Path | None,
    **context: Any,
) -> Output:
    """Measure how long a recall takes on this device: wall and processor time, stage by stage.

    The household's file is only read: a copy of it, encrypted as it is, is asked and deleted. No
    question is written to the log.

    Examples:
      family-recall bench --db family.db --person alice
      family-recall bench --invented 10000 --budget-ms 20 --json
      family-recall bench --invented 10000 --report bench.html
    """
    if invented is not None and questions_file is not None:
        raise click.UsageError("--ask is for a household of your own; leave --invented out")
    check_output(report_file, inputs=[questions_file])
    questions = None if questions_file is None else _questions(questions_file)
    ctx = fr.RecallContext(**context)
    with on_interrupt(lambda: "nothing is saved; run it again, or with fewer --questions"):
        if invented is not None:
            name, timing = f"{invented:,} invented memories", _time_invented(invented, ctx, n, seed)
        else:
            db = require(click.get_current_context(), db)
            name, timing = db.name, _time_own(db, ctx, questions, n, seed)
    if report_file is not None:
        from family_recall.apps.reports.timing import timing_page  # noqa: PLC0415 -- see above

        _write_page(report_file, timing_page(timing, name=name, made_at=_local_now()))
    return Output(timing.to_json(), draw=lambda out: print_timing(out, name, timing))


def _print_pair(out: Console, comparison: Comparison, verdict: str) -> None:
    print_comparison(out, comparison)
    out.print(verdict)
    if comparison.n_left_out:
        out.print(f"{comparison.n_left_out:,} questions are in only one of the two")


def _quality_page(report: EvaluationReport, texts_folder: Path | None) -> str:
    from family_recall.apps.evaluation import load_dataset, timing  # noqa: PLC0415 -- brings numpy
    from family_recall.apps.reports.quality import quality_page  # noqa: PLC0415 -- brings numpy

    queries = () if texts_folder is None else load_dataset(texts_folder).queries
    return quality_page(
        report,
        machine=timing.describe(),
        made_at=_local_now(),
        texts={query.id: query.text for query in queries},
    )


def _write_page(file: Path, page: str) -> None:
    from family_recall.api.files import write_text  # noqa: PLC0415 -- brings SQLite

    write_text(file, page)
    click.echo(f"{file}: {len(page.encode()) / 1000:,.0f} kB", err=True)


def _local_now() -> dt.datetime:
    return dt.datetime.now().astimezone()


def _time_own(
    db: Path, ctx: fr.RecallContext, questions: list[str] | None, n: int, seed: int
) -> Timing:
    from family_recall.apps.evaluation import timing  # noqa: PLC0415 -- brings numpy

    if not db.exists():
        raise NotAStoreError(f"{db}: no such file; name another, or add --invented 1000")
    with bar("asking") as progress:
        return timing.time_household(
            db, ctx, questions, n=n, seed=seed, key=key(), progress=progress
        )


def _time_invented(n_memories: int, ctx: fr.RecallContext, n: int, seed: int) -> Timing:
    from family_recall.apps.evaluation import timing  # noqa: PLC0415 -- brings numpy

    with step_bars() as show:
        return timing.time_synthetic(
            n_memories,
            ctx,
            n=n,
            seed=seed,
            making=lambda done, total: show("storing", done, total),
            progress=lambda done, total: show("asking", done, total),
        )


def _questions(file: Path) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"{file}: expected questions, one a line in UTF-8; it cannot be read ({error})"
        ) from None
    questions = [line.strip() for line in lines if line.strip()]
    if not questions:
        raise DatasetError(f"{file}: expected questions, one a line, got none")
    return questions


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _milliseconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(
            f"expected milliseconds such as 5,10,20, got {text!r}", param_hint="--budgets"
        ) from None
