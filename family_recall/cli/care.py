"""Care: ``doctor``, ``backup``, ``restore`` and ``export``."""

from __future__ import annotations

from pathlib import Path

import click

from family_recall.api import files
from family_recall.cli.base import (
    WithExamples,
    existing,
    json_option,
    key,
    models_option,
    one_line,
    print_json,
)
from family_recall.cli.progress import progress_bar, steps
from family_recall.cli.settings import db_option, setting

_file = click.Path(dir_okay=False, path_type=Path)
_force_option = click.option(
    "--force", is_flag=True, help="write over FILE if it is there (default: refuse)"
)


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall doctor --db family.db",
        "family-recall doctor --repair --json",
    ),
)
@setting(
    "db",
    help="a household to check, too (default: FAMILY_RECALL_DB, as configured, or none)",
)
@models_option
@click.option("--repair", is_flag=True, help="mend what can be mended (default: only say)")
@json_option
@click.pass_context
def doctor(
    ctx: click.Context, db: Path | None, folder: Path | None, repair: bool, as_json: bool
) -> None:
    """Check this installation, its models and a household's file.

    A household is made in a temporary folder, told something and asked for it. The file is read
    from end to end: pages, words, counts, vectors, names and edges, all against the texts. For
    each thing that is wrong a line says what mends it. --repair makes anew what is made from the
    texts; where pages are damaged it rewrites the file from the texts, and keeps the old one.

    The exit code is 1 if anything is wrong.
    """
    from family_recall.cli.doctor import examine  # noqa: PLC0415 -- brings numpy and SQLite

    with progress_bar() as show:
        looked: list[str] = []

        def tell(what: str) -> None:
            looked.append(what)
            show(what, 0, 1)

        report = examine(db, key=key(), models=folder, repair=repair, progress=tell)
    if as_json:
        print_json(report.to_json())
    else:
        for done in report.repaired:
            click.echo(one_line(done))
        for check in report.checks:
            click.echo(one_line(f"{'ok' if check.ok else 'WRONG'} {check.name}: {check.found}"))
            if not check.ok and check.mend:
                click.echo(f"  mend: {one_line(check.mend)}")
    if not report.ok:
        ctx.exit(1)


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall backup family-2026-03-01.db --db family.db",
        "family-recall backup yesterday.db --force",
    ),
)
@db_option
@click.argument("file", type=_file, metavar="FILE")
@_force_option
@json_option
def backup(db: Path, file: Path, force: bool, as_json: bool) -> None:
    """Copy a household that may be in use into FILE, and check the copy.

    FILE is whole or not there. It is encrypted if the household is.
    """
    with existing(db) as home, progress_bar() as show:
        made = home.maintenance.backup(file, overwrite=force, progress=steps(show, "copying"))
    if as_json:
        print_json({"path": str(made.path), "bytes": made.n_bytes, "schema": made.schema,
                    "memories": made.memories})  # fmt: skip
    else:
        click.echo(
            one_line(f"{made.path}: {made.memories:,} memories, {made.n_bytes:,} bytes, sound")
        )


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall restore family-2026-03-01.db --db family.db",
        "family-recall restore family-2026-03-01.db --json",
    ),
)
@db_option
@click.argument("backup_file", type=_file, metavar="BACKUP")
@json_option
def restore(db: Path, backup_file: Path, as_json: bool) -> None:
    """Put BACKUP in the household's place, and keep the file that was there beside it.

    BACKUP is checked first. No program may have the household open.
    """
    with progress_bar() as show:
        done = files.restore(db, backup_file, key=key(), progress=steps(show, "copying"))
    if as_json:
        kept = None if done.kept is None else str(done.kept)
        print_json({"path": str(done.path), "kept": kept, "memories": done.memories})
        return
    click.echo(one_line(f"{done.path}: {done.memories:,} memories"))
    if done.kept is not None:
        click.echo(one_line(f"the file before is {done.kept}"))


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall export family.jsonl --db family.db",
        "family-recall import family.jsonl --db new.db",
    ),
)
@db_option
@click.argument("file", type=_file, metavar="FILE")
@click.option(
    "--judgements", is_flag=True, help="with what people thought of results (default: without)"
)
@click.option(
    "--log",
    is_flag=True,
    help="with who recalled what, and the receipts of what was forgotten with their key: with it, "
    "forgotten words can be guessed at and tried (default: without)",
)
@click.option(
    "--skip-damaged",
    is_flag=True,
    help="leave out, and name, memories that are damaged in the file (default: write nothing then)",
)
@_force_option
@json_option
def export(
    db: Path,
    file: Path,
    judgements: bool,
    log: bool,
    skip_damaged: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write all that a household knows to FILE, as JSON Lines in plain text.

    People, spaces, who may enter them, memories with the versions they replaced, names and how
    they relate. Import into a new household makes the same of it, but for vectors, which are made
    again. FILE is not encrypted, even if the household is.
    """
    with existing(db) as home, progress_bar() as show:
        made = home.maintenance.export_to(
            file,
            judgements=judgements,
            log=log,
            overwrite=force,
            skip_damaged=skip_damaged,
            progress=steps(show, "writing"),
        )
    if as_json:
        print_json(made.to_json())
    else:
        told = ", ".join(f"{n:,} {table}" for table, n in made.records.items() if n)
        click.echo(one_line(f"{made.path}: {told or 'nothing'}"))
        for left_out in made.left_out:
            click.echo(one_line(f"left out, damaged: {left_out}"), err=True)
