"""``bench``: a household, the user's own or an invented one, in; what a recall takes here out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import family_recall as fr
from family_recall.cli.base import WithExamples, console, json_option, key, one_line, print_json
from family_recall.cli.progress import progress_bar, steps, telling_where
from family_recall.cli.reporting import (
    local_now,
    report_option,
    see_that_it_can_be_drawn,
    write_page,
)
from family_recall.cli.settings import (
    budget_option,
    needed,
    person_option,
    profile_option,
    setting,
    space_option,
)
from family_recall.errors import DatasetError, NotAStoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from family_recall.evaluation.timing import Timing


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall bench --db family.db --person alice",
        "family-recall bench --invented 10000 --budget-ms 20 --json",
        "family-recall bench --invented 10000 --report bench.html",
    ),
)
@setting("db", help="time a copy of this household (default: FAMILY_RECALL_DB, or as configured)")
@click.option(
    "--invented",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="time a household of N invented memories instead (default: not)",
)
@person_option()
@space_option
@budget_option
@profile_option
@click.option("--no-rerank", is_flag=True, help="leave the cross-encoder out (default: in)")
@click.option(
    "--questions",
    "n",
    type=click.IntRange(1, 1000),
    default=100,
    metavar="N",
    help="questions to make from memories (default: 100)",
)
@click.option(
    "--ask",
    "asked_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="questions of your own, one a line (default: made from memories)",
)
@click.option("--seed", type=int, default=0, metavar="N", help="of what is made up (default: 0)")
@report_option
@json_option
def bench(
    db: Path | None,
    invented: int | None,
    person_id: str | None,
    space_id: str | None,
    time_budget_ms: float,
    profile: str,
    no_rerank: bool,
    n: int,
    asked_file: Path | None,
    seed: int,
    report_file: Path | None,
    as_json: bool,
) -> None:
    """Measure what a recall takes on this device: wall and processor time, stage by stage.

    The household's file is only read: a copy of it, encrypted as it is, is asked and deleted. No
    question is written to the log.
    """
    if invented is not None and asked_file is not None:
        raise click.UsageError("--ask is for a household of your own; leave --invented out")
    if report_file is not None:
        see_that_it_can_be_drawn()
    questions = None if asked_file is None else _questions(asked_file)
    ctx = fr.RecallContext(
        person_id=person_id,
        space_id=space_id,
        time_budget_ms=time_budget_ms,
        profile=profile,
        allow_cross_encoder=not no_rerank,
    )
    with telling_where(lambda: "nothing is kept; run it again, or with fewer --questions"):
        if invented is not None:
            name, found = f"{invented:,} invented memories", _time_invented(invented, ctx, n, seed)
        else:
            db = needed(click.get_current_context(), db)
            name, found = db.name, _time_own(db, ctx, questions, n, seed)
    if report_file is not None:
        from family_recall.reports import evaluation as pages  # noqa: PLC0415 -- matplotlib is slow to load

        write_page(report_file, pages.timing_page(found, name=name, made_at=local_now()))
    if as_json:
        print_json(found.to_json())
    else:
        _print(console(), name, found)


def _time_own(
    db: Path, ctx: fr.RecallContext, questions: list[str] | None, n: int, seed: int
) -> Timing:
    from family_recall.evaluation import timing  # noqa: PLC0415 -- brings numpy

    if not db.exists():
        raise NotAStoreError(f"{db}: no such file; name another, or add --invented 1000")
    with progress_bar() as show:
        return timing.time_household(
            db, ctx, questions, n=n, seed=seed, key=key(), progress=steps(show, "asking")
        )


def _time_invented(n_memories: int, ctx: fr.RecallContext, n: int, seed: int) -> Timing:
    from family_recall.evaluation import timing  # noqa: PLC0415 -- brings numpy

    with progress_bar() as show:
        return timing.time_synthetic(
            n_memories, ctx, n=n, seed=seed,
            making=steps(show, "remembering"), progress=steps(show, "asking"),
        )  # fmt: skip


def _questions(file: Path) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"{file}: expected questions, one a line in UTF-8; it cannot be read ({error})"
        ) from None
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise DatasetError(f"{file}: expected questions, one a line, got none")
    return found


def _print(out: Console, name: str, found: Timing) -> None:
    from family_recall.cli.scores import table  # noqa: PLC0415 -- only where it is shown

    out.print(
        f"{one_line(name)}: {found.memories:,} memories, {found.visible:,} of them in sight, "
        f"{found.questions:,} questions of {found.budget_ms:g} ms",
        soft_wrap=True,
    )
    shown = table("milliseconds", "n", "p50", "p95", "p99")
    shown.add_row("recall", f"{found.questions:,}", *_cells(found.total["ms"]), style="bold")
    shown.add_row("processor", f"{found.questions:,}", *_cells(found.total["cpu_ms"]))
    shown.add_row("past the budget", f"{found.questions:,}", *_cells(found.over_ms))
    for stage, took in found.stages.items():
        shown.add_row(f"  {stage}", f"{took['n']:,.0f}", *_cells(took), style="dim")
    out.print(shown)
    for stage, said in found.left_out.items():
        out.print(one_line(f"left out {said['n']:,}: {stage}, {said['why']}"), soft_wrap=True)
    out.print(
        f"opened in {found.open_ms:.1f} ms, first answer {found.first_ms:.1f} ms, "
        f"models ready {found.warm_ms:,.0f} ms later"
    )
    on = ", ".join(f"{name} {what}" for name, what in found.machine.items())
    out.print(f"on {one_line(on)}", soft_wrap=True)


def _cells(took: Mapping[str, float]) -> list[str]:
    return [f"{took[name]:.2f}" for name in ("p50", "p95", "p99")]
