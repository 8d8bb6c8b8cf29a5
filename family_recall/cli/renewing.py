"""Renewing a household's file: ``migrate``, ``rebuild``, ``reembed`` and ``rekey``."""

from __future__ import annotations

from pathlib import Path

import click

from family_recall.api import files
from family_recall.cli.base import (
    WithExamples,
    existing,
    json_option,
    key,
    key_in,
    models_option,
    one_line,
    print_json,
)
from family_recall.cli.forgetting import memories
from family_recall.cli.progress import progress_bar, telling_where
from family_recall.cli.settings import db_option

_file = click.Path(dir_okay=False, path_type=Path)


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall migrate --db family.db",
        "family-recall migrate --backup family-before.db",
    ),
)
@db_option
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
        files.copy_file(db, backup_file, key=key())
    before, after = files.migrate(db, key=key())
    if as_json:
        print_json({"before": before, "after": after})
    else:
        click.echo(f"schema {before} → {after}" if before != after else f"schema {after} already")


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall rebuild --db family.db",
        "family-recall rebuild --json",
    ),
)
@db_option
@json_option
def rebuild(db: Path, as_json: bool) -> None:
    """Make words, names, edges and vectors anew from the stored texts.

    What doctor finds wrong it mends with less. Words, names and edges change in one step, or not
    at all; vectors follow.
    """
    made = [-1]

    def told() -> str:
        if made[0] < 0:
            return "nothing is changed; run the same command again to do it"
        return (
            f"words, names and edges are made, and {made[0]:,} vectors; "
            "family-recall reembed makes the rest"
        )

    with telling_where(told), existing(db) as home, progress_bar() as show:
        total = home.maintenance.stats()["memories"]

        def progress(done: int) -> None:
            made[0] = done
            show("embedding", done, max(done, total))

        show("words, names, edges", 0, total)
        home.maintenance.rebuild(progress=progress)
        pending = home.maintenance.pending()
    if as_json:
        print_json({"memories": total, "pending": pending})
    else:
        n = max(pending.values(), default=0)
        click.echo(f"made anew from {memories(total)}; {n:,} of them without vectors yet")


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall reembed --models ./other-models --db family.db",
        "family-recall reembed --drop-others",
    ),
)
@db_option
@models_option
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
    made = [0, 0]

    def told() -> str:
        return (
            f"{made[0]:,} of {made[1]:,} vectors are made and kept; the same command again goes on "
            "from there"
        )

    with telling_where(told), existing(db) as home, progress_bar() as show:

        def progress(*at: int) -> None:
            made[:] = at
            show("embedding", *at)

        done = home.maintenance.reembed(folder, drop_others=drop_others, progress=progress)
    if as_json:
        print_json(done.to_json())
        return
    dropped = f", dropped {', '.join(done.dropped)}" if done.dropped else ""
    click.echo(one_line(f"{done.model_id}: {done.made:,} made, {done.pending:,} pending{dropped}"))


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall rekey --new-key-file family.key --db family.db",
        "family-recall --key-file family.key rekey --no-key",
    ),
)
@db_option
@click.option(
    "--new-key-file",
    type=_file,
    metavar="FILE",
    help="the key from now on, as --key-file takes it (default: none)",
)
@click.option("--no-key", is_flag=True, help="take the encryption away (default: leave it)")
@json_option
def rekey(db: Path, new_key_file: Path | None, no_key: bool, as_json: bool) -> None:
    """Encrypt a household's file, change its key, or take the encryption away.

    No program may have it open. Backups keep the key they were made with, and what lay on the
    disk unencrypted may still be found there.
    """
    if (new_key_file is None) != no_key:
        raise click.UsageError("give one of --new-key-file and --no-key")
    files.rekey(db, key=key(), new_key=key_in(new_key_file))
    if as_json:
        print_json({"path": str(db), "encrypted": not no_key})
    else:
        click.echo(one_line(f"{db}: {'not encrypted' if no_key else 'encrypted with the new key'}"))
