"""Do something to every household of a catalogue: ``fleet reembed``, ``fleet eval`` and others."""

from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from family_recall.apps.cli.command import DocumentedGroup, check_output, command, key_in
from family_recall.apps.cli.evaluation import rerank_option, seed_option
from family_recall.apps.cli.evaluation_tables import print_report
from family_recall.apps.cli.maintenance import restored_output
from family_recall.apps.cli.options import FILE, FOLDER, models_option, option
from family_recall.apps.cli.output import Output, bar, counted, on_interrupt, one_line
from family_recall.apps.cli.serve import TOKEN_VARIABLE, read_token

if TYPE_CHECKING:
    from collections.abc import Callable

    from family_recall.apps.fleet import FleetRun, Options
    from family_recall.apps.fleet.mapping import Engine

RESULTS, QUESTIONS = "households", "questions"
"""Folders of a ledger with Parquet tables."""
_SHOWN = 20  # failures, on the terminal; the table has all of them


@click.group(cls=DocumentedGroup)
def fleet() -> None:
    """Do something to every household of a catalogue, on this machine or a Ray cluster.

    CATALOGUE is a folder with files that end in .db, such a place in an object store
    (s3://bucket/homes), or a .jsonl file with "id" and "place" of each household. A household that
    fails is reported, and keeps no other from being done. With the ledger of a run that was
    interrupted, or in which some failed, only the rest is done.

    Needs the extra [fleet], but with --workers 0.

    Examples:
      family-recall fleet doctor ./homes --ledger ./checked
      family-recall fleet reembed s3://bucket/homes --models ./new-models --ledger ./reembedded
    """


_address_option = option(
    "--address", "ADDRESS", "the Ray cluster, or auto", absent="Ray on this machine"
)
_keys_option = option(
    "--keys", "DIR", "keys of encrypted households, ID.key each", absent="not encrypted"
)


def _shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what every map takes."""
    decorators = (
        click.argument("catalogue"),
        option(
            "--ledger",
            "DIR",
            "what is done, and the results; a run that is there is continued",
            type=FOLDER,
            absent="fleet-STEP, here",
        ),
        option(
            "--workers",
            "N",
            "households at once; 0 does one after another in this process, without Ray",
            type=click.IntRange(0),
            absent="as many as there are processors",
        ),
        _address_option,
        option(
            "--memory-mib",
            "N",
            "what one household may allocate, beside the models",
            type=click.IntRange(64),
            absent="no limit",
        ),
        models_option,
        _keys_option,
    )
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


@command("eval", group=fleet)
@_shared
@option("--profile", "NAME", "weights to rank with", default="default")
@option("--budget-ms", "MS", "time allowed for each question", default=60_000.0)
@rerank_option
@seed_option
@option("--save", "FILE.json", "write the report with every question", name="saved", absent="not")
def evaluate(
    catalogue: str,
    profile: str,
    budget_ms: float,
    allow_cross_encoder: bool,
    seed: int,
    saved: Path | None,
    **shared: Any,
) -> Output:
    """Measure recall over every dataset of CATALOGUE, and report on all of them together.

    A dataset is a folder with memories.jsonl and queries.jsonl. The report is the one that a single
    process would make of them, in the order of their ids.

    Examples:
      family-recall fleet eval ./invented --ledger ./evaluated --save report.json
      family-recall fleet eval ./invented --ledger ./evaluated --workers 0 --json
    """
    check_output(saved)
    done, options = _run(
        "eval", catalogue, shared, profile=profile, budget_ms=budget_ms, rerank=allow_cross_encoder
    )
    from family_recall.apps import fleet as fleets  # noqa: PLC0415 -- brings numpy

    if not any(row["error"] is None for row in done.rows):
        return _output("eval", done)
    report = fleets.report(catalogue, done.rows, options, seed=seed)
    if saved is not None:
        report.save(saved)
    _warn(done)
    return Output(
        report.to_json() | _counts(done),
        draw=lambda out: print_report(out, report),
        failed=bool(done.failures),
    )


@command(group=fleet)
@_shared
@click.option(
    "--drop-others",
    is_flag=True,
    help="delete other transformers' vectors once none is missing (default: keep them)",
)
def reembed(catalogue: str, drop_others: bool, **shared: Any) -> Output:
    """Make the vectors of every household with a model, where they are missing.

    Examples:
      family-recall fleet reembed ./homes --models ./new-models --ledger ./reembedded
      family-recall fleet reembed ./homes --ledger ./reembedded --workers 4 --memory-mib 1024
    """
    return _output("reembed", _run("reembed", catalogue, shared, drop_others=drop_others)[0])


@command(group=fleet)
@_shared
def doctor(catalogue: str, **shared: Any) -> Output:
    """Read every file from end to end, and compare what derives from the texts with them.

    Nothing is repaired: family-recall doctor --repair does that, file by file.

    Examples:
      family-recall fleet doctor ./homes --ledger ./checked
      family-recall fleet doctor s3://bucket/homes --ledger ./checked --json
    """
    return _output("doctor", _run("doctor", catalogue, shared)[0])


@command(group=fleet)
@_shared
@click.argument("to", metavar="PLACE")
@option(
    "--keep-days",
    "NUMBER",
    "delete backups older than this; never the newest",
    type=click.FloatRange(0),
    absent="keep all",
)
@click.option(
    "--after-forgetting",
    is_flag=True,
    help="delete backups that hold what was forgotten since (default: keep them)",
)
def backup(
    catalogue: str, to: str, keep_days: float | None, after_forgetting: bool, **shared: Any
) -> Output:
    """Copy every household, check the copy, and put it beside its earlier ones in PLACE.

    PLACE is a folder or a URL, and a backup PLACE/ID/MOMENT.db. It is encrypted if its household
    is, and its key is not with it.

    Examples:
      family-recall fleet backup ./homes s3://copies/homes --ledger ./backup-2026-03-01
      family-recall fleet backup ./homes ./copies --keep-days 30 --ledger ./backup-2026-03-02
    """
    about = {"to": to, "keep_days": keep_days, "after_forgetting": after_forgetting}
    return _output("backup", _run("backup", catalogue, shared, **about)[0])


@command(group=fleet)
@click.argument("place")
@click.argument("household_id", metavar="ID")
@click.argument("file", type=FILE, metavar="FILE")
@option("--at", "MOMENT", "the last backup up to this moment, ISO 8601", absent="the last one")
@option("--household-key", "FILE", "the household's key", name="key_file", absent="none")
def restore(
    place: str, household_id: str, file: Path, at: str | None, key_file: Path | None
) -> Output:
    """Put a household's last backup up to a moment into FILE, and keep what was there beside it.

    PLACE is where fleet backup wrote. No program may have FILE open.

    Examples:
      family-recall fleet restore s3://copies/homes jones jones.db
      family-recall fleet restore ./copies jones jones.db --at 2026-03-01T18:00+00:00
    """
    from family_recall.apps.fleet import backups  # noqa: PLC0415 -- brings numpy

    moment, restored = backups.restore(
        place, household_id, file, at=_moment(at), key=key_in(key_file)
    )
    return restored_output(restored, backup_of=moment.isoformat())


@command(group=fleet)
@_shared
def migrate(catalogue: str, **shared: Any) -> Output:
    """Bring what earlier versions derived in every household's file up to date.

    Examples:
      family-recall fleet migrate ./homes --ledger ./migrated
      family-recall fleet migrate s3://bucket/homes --ledger ./migrated --workers 8
    """
    return _output("migrate", _run("migrate", catalogue, shared)[0])


@command(group=fleet)
@_shared
@option(
    "--questions",
    "N",
    "questions to make from each household's memories",
    type=click.IntRange(1, 1000),
    default=20,
)
@option("--budget-ms", "MS", "time allowed for each question", default=60.0)
@rerank_option
def bench(
    catalogue: str, questions: int, budget_ms: float, allow_cross_encoder: bool, **shared: Any
) -> Output:
    """Measure how long recalls of each household take, on a copy, asked by its first person.

    With several workers the households are measured beside one another.

    Examples:
      family-recall fleet bench ./homes --ledger ./measured --workers 1
      family-recall fleet bench ./homes --ledger ./measured --questions 100 --json
    """
    about = {"questions": questions, "budget_ms": budget_ms, "rerank": allow_cross_encoder}
    return _output("bench", _run("bench", catalogue, shared, **about)[0])


@command(group=fleet, prints_json=False)
@click.argument("catalogue")
@option(
    "--shards", "N", "replicas, each with households of its own", type=click.IntRange(1), default=1
)
@option(
    "--open-files",
    "N",
    "households that a shard has open at most",
    type=click.IntRange(1),
    default=100,
)
@option(
    "--waiting",
    "N",
    "requests that may wait for a shard; further ones are refused",
    type=click.IntRange(1),
    default=32,
)
@option(
    "--backup-every-s",
    "NUMBER",
    "seconds between two copies of an open household into its URL; what was remembered since is "
    "lost with its machine",
    type=click.FloatRange(1),
    default=60.0,
)
@option("--port", "N", "the port on 127.0.0.1", default=8765)
@option(
    "--token-file",
    "FILE",
    "holds the token that requests must carry",
    absent=f"${TOKEN_VARIABLE}, or a new token, printed",
)
@_address_option
@models_option
@_keys_option
def serve(
    catalogue: str,
    port: int,
    token_file: Path | None,
    address: str | None,
    folder: Path | None,
    keys: Path | None,
    **about: Any,
) -> None:
    """Answer for every household of CATALOGUE over HTTP, until Ctrl-C.

    POST /ID/TOOL with {"arguments": {…}, "ctx": {"person_id": …, "time_budget_ms": …}} and the
    header "Authorization: Bearer TOKEN"; tools are recall, timeline, explain, remember, correct,
    relate and forget. The caller answers for who asks. 503 means: not begun, ask again later.

    Examples:
      family-recall fleet serve ./homes --shards 2 --open-files 50
      family-recall fleet serve s3://bucket/homes --address auto --token-file ./token
    """
    from family_recall.apps import fleet as fleets  # noqa: PLC0415 -- brings numpy
    from family_recall.apps.fleet import ray_engine, serving  # noqa: PLC0415 -- see above
    from family_recall.apps.web.localhost import check_token, new_token  # noqa: PLC0415 -- brings asyncio

    given_token = read_token(token_file)
    token = given_token or new_token()
    check_token(token)
    entries = fleets.read_catalogue(catalogue)
    settings = serving.Serving(**about)
    try:
        ray_engine.connect(address, workers=settings.shards)
    except ImportError as error:
        raise click.ClickException(str(error)) from None
    with (
        on_interrupt(lambda: "households are closed"),
        serving.running(
            entries, fleets.Options(models=folder, keys=keys), settings, token=token, port=port
        ),
    ):
        click.echo(f"{counted(len(entries), 'household')} on http://127.0.0.1:{port}")
        if given_token is None:
            click.echo(f"token {token}", err=True)
        threading.Event().wait()


def _run(
    step: str, catalogue: str, shared: dict[str, Any], **about: Any
) -> tuple[FleetRun, Options]:
    """Run a step over a catalogue, and write the results as Parquet."""
    from family_recall.apps import fleet as fleets  # noqa: PLC0415 -- brings numpy
    from family_recall.apps.fleet import ray_engine, steps  # noqa: PLC0415 -- see above

    workers, memory_mib = shared["workers"], shared["memory_mib"]
    ledger = shared["ledger"] or Path(f"fleet-{step}")
    options = fleets.Options(models=shared["folder"], keys=shared["keys"], **about)
    entries = fleets.read_catalogue(catalogue, datasets=step == "eval")

    def progress_so_far(_: str, n_done: int, __: int) -> str:
        return f"{n_done:,} of {len(entries):,} households; the same command continues from there"

    with bar(step, progress_so_far) as progress:
        if workers == 0:
            engine: Engine = fleets.in_process
        else:
            try:
                ray_engine.connect(shared["address"], workers=workers)
            except ImportError as error:
                raise click.ClickException(str(error)) from None
            engine = ray_engine.on_ray(workers=workers, memory_mib=memory_mib)
        done = fleets.run(
            catalogue,
            entries,
            step,
            options,
            ledger=ledger,
            engine=engine,
            now=dt.datetime.now(dt.UTC).isoformat(),
            memory_mib=memory_mib,
            progress=progress,
        )
        if workers != 0:
            rows = [steps.without_outcomes(row) for row in done.rows]
            ray_engine.write_parquet(rows, ledger / RESULTS)
            if questions := steps.questions(done.rows):
                ray_engine.write_parquet(questions, ledger / QUESTIONS)
    return done, options


def _output(step: str, done: FleetRun) -> Output:
    """Return how many households were done, and which were not."""
    _warn(done)
    rows = [row for row in done.rows if row["error"] is None]
    lines = [f"{step}: {counted(len(rows), 'household')} of {len(done.rows):,}"]
    if done.done_before == len(done.rows):
        lines[0] += ", all by an earlier run: to do it again, name another --ledger"
    elif done.done_before:
        lines[0] += f", {done.done_before:,} of them by an earlier run"
    lines += [
        f"{name:<10} {sum(row.get(name, 0) for row in rows):,}"
        for name in ("memories", "made", "bytes", "pending", "deleted")
        if any(name in row for row in rows)
    ]
    return Output(_counts(done), lines, failed=bool(done.failures))


def _warn(done: FleetRun) -> None:
    """Name the households that failed."""
    for row in done.failures[:_SHOWN]:
        click.echo(one_line(f"FAILED {row['household']}: {row['error']}"), err=True)
    if len(done.failures) > _SHOWN:
        click.echo(f"and {len(done.failures) - _SHOWN:,} more; --json lists them all", err=True)


def _counts(done: FleetRun) -> dict[str, Any]:
    return {
        "households": len(done.rows),
        "done_before": done.done_before,
        "failed": [{name: row[name] for name in ("household", "error")} for row in done.failures],
    }


def _moment(text: str | None) -> dt.datetime | None:
    if text is None:
        return None
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"expected an ISO 8601 moment such as 2026-03-01T18:00+00:00, got {text!r}",
            param_hint="--at",
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
