"""Care: ``doctor``, ``backup``, ``restore``, ``export``, ``migrate``, ``reembed`` and ``rekey``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import family_recall as fr
from family_recall.cli.base import (
    WithExamples,
    db_argument,
    existing,
    json_option,
    key,
    key_in,
    one_line,
    print_json,
    progress_bar,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_file = click.Path(dir_okay=False, path_type=Path)
_models_option = click.option(
    "--models",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="the models folder (default: FAMILY_RECALL_MODELS, or your own models and the shipped)",
)
_force_option = click.option(
    "--force", is_flag=True, help="write over FILE if it is there (default: refuse)"
)


@click.command(
    cls=WithExamples,
    examples=("family-recall doctor family.db", "family-recall doctor family.db --repair --json"),
)
@click.argument("db", type=_file, metavar="[DB]", required=False)
@_models_option
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
    from family_recall.doctor import examine  # noqa: PLC0415 -- brings numpy and SQLite

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
        "family-recall backup family.db family-2026-03-01.db",
        "family-recall backup family.db yesterday.db --force",
    ),
)
@db_argument
@click.argument("file", type=_file, metavar="FILE")
@_force_option
@json_option
def backup(db: Path, file: Path, force: bool, as_json: bool) -> None:
    """Copy a household that may be in use into FILE, and check the copy.

    FILE is whole or not there. It is encrypted if the household is.
    """
    with existing(db) as home, progress_bar() as show:
        made = home.backup(file, overwrite=force, progress=_steps(show, "copying"))
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
        "family-recall restore family.db family-2026-03-01.db",
        "family-recall restore family.db family-2026-03-01.db --json",
    ),
)
@db_argument
@click.argument("backup_file", type=_file, metavar="BACKUP")
@json_option
def restore(db: Path, backup_file: Path, as_json: bool) -> None:
    """Put BACKUP in the household's place, and keep the file that was there beside it.

    BACKUP is checked first. No program may have the household open.
    """
    with progress_bar() as show:
        done = fr.FamilyRecall.restore(db, backup_file, key=key(), progress=_steps(show, "copying"))
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
        "family-recall export family.db family.jsonl",
        "family-recall import new.db family.jsonl",
    ),
)
@db_argument
@click.argument("file", type=_file, metavar="FILE")
@click.option(
    "--judgements", is_flag=True, help="with what people thought of results (default: without)"
)
@_force_option
@json_option
def export(db: Path, file: Path, judgements: bool, force: bool, as_json: bool) -> None:
    """Write all that a household knows to FILE, as JSON Lines in plain text.

    People, spaces, who may enter them, memories with the versions they replaced, names and how
    they relate. Import into a new household makes the same of it, but for vectors, which are made
    again. FILE is not encrypted, even if the household is.
    """
    with existing(db) as home, progress_bar() as show:
        made = home.export_to(
            file, judgements=judgements, overwrite=force, progress=_steps(show, "writing")
        )
    if as_json:
        print_json(made.to_json())
    else:
        told = ", ".join(f"{n:,} {table}" for table, n in made.records.items() if n)
        click.echo(one_line(f"{made.path}: {told or 'nothing'}"))


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall migrate family.db",
        "family-recall migrate family.db --backup family-before.db",
    ),
)
@db_argument
@click.option(
    "--backup",
    "backup_file",
    type=_file,
    metavar="FILE",
    help="keep the file as it was there (default: none is kept)",
)
@json_option
def migrate(db: Path, backup_file: Path | None, as_json: bool) -> None:
    """Bring a household's file to this version, as opening it does; say from where to where.

    An interrupted migration leaves the file as it was. Older versions of this program cannot
    open it afterwards.
    """
    if backup_file is not None:
        fr.FamilyRecall.copy_as_it_is(db, backup_file, key=key())
    before, after = fr.FamilyRecall.migrate(db, key=key())
    if as_json:
        print_json({"before": before, "after": after})
    else:
        click.echo(f"schema {before} → {after}" if before != after else f"schema {after} already")


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall reembed family.db --models ./other-models",
        "family-recall reembed family.db --drop-others",
    ),
)
@db_argument
@_models_option
@click.option(
    "--drop-others",
    is_flag=True,
    help="take other transformers' vectors away once none is missing (default: keep them)",
)
@json_option
def reembed(db: Path, folder: Path | None, drop_others: bool, as_json: bool) -> None:
    """Make every memory's vectors with another model, while others use the household.

    They are served from the vectors they have. An interrupted run goes on where it stopped.
    """
    with existing(db) as home, progress_bar() as show:
        done = home.reembed(folder, drop_others=drop_others, progress=_steps(show, "embedding"))
    if as_json:
        print_json(done.to_json())
        return
    dropped = f", dropped {', '.join(done.dropped)}" if done.dropped else ""
    click.echo(one_line(f"{done.model_id}: {done.made:,} made, {done.pending:,} pending{dropped}"))


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall rekey family.db --new-key-file family.key",
        "family-recall --key-file family.key rekey family.db --no-key",
    ),
)
@db_argument
@click.option(
    "--new-key-file",
    type=_file,
    metavar="FILE",
    help="the key from now on, as --key-file takes it (default: none)",
)
@click.option("--no-key", is_flag=True, help="take the encryption away (default: leave it)")
def rekey(db: Path, new_key_file: Path | None, no_key: bool) -> None:
    """Encrypt a household's file, change its key, or take the encryption away.

    No program may have it open. Backups keep the key they were made with, and what lay on the
    disk unencrypted may still be found there.
    """
    if (new_key_file is None) != no_key:
        raise click.UsageError("give one of --new-key-file and --no-key")
    fr.FamilyRecall.rekey(db, key=key(), new_key=key_in(new_key_file))
    click.echo(one_line(f"{db}: {'not encrypted' if no_key else 'encrypted with the new key'}"))


def _steps(show: Callable[[str, int, int], None], name: str) -> Callable[[int, int], Any]:
    return lambda done, total: show(name, done, total)
