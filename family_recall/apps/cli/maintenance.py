"""Care of a household's file: ``stats``, ``doctor``, ``backup``, ``rebuild`` and others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import family_recall as fr
from family_recall.apps.cli.command import check_output, command, household_command, key, key_in
from family_recall.apps.cli.options import FILE, models_option, option
from family_recall.apps.cli.output import Output, bar, counted, one_line, step_bars
from family_recall.apps.cli.settings import required_db_option, setting_option

if TYPE_CHECKING:
    from family_recall.api.files import Restored

_force_option = click.option(
    "--force",
    is_flag=True,
    help="replace FILE if it exists; never a household (default: refuse)",
)


@household_command()
@click.option("--redact", is_flag=True, help="leave out paths, ids, names and places")
def stats(home: fr.FamilyRecall, redact: bool) -> Output:
    """Show what a household holds: memories by space, people, vectors, models, bytes.

    Examples:
      family-recall stats --db family.db
      family-recall stats --redact --json
    """
    counts = home.maintenance.stats(redacted=redact)
    lines = []
    for name, value in counts.items():
        if isinstance(value, dict):
            lines.append(f"{name}:")
            lines += [f"  {part!s:<24} {_cell(n)}" for part, n in value.items()]
        else:
            lines.append(f"{name:<26} {_cell(value)}")
    return Output(counts, lines)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


@command()
@setting_option(
    "db", help="a household to check, too (default: FAMILY_RECALL_DB, as configured, or none)"
)
@models_option
@click.option("--repair", is_flag=True, help="repair what can be repaired (default: only report)")
def doctor(db: Path | None, folder: Path | None, repair: bool) -> Output:
    """Check this installation, its models and a household's file.

    A household is created in a temporary folder, and something is stored and recalled. Unfinished
    files that killed commands left, in this folder or beside the household, are removed and named.
    The file is read from end to end: pages, words, counts, vectors, entities and edges are compared
    with the texts. Each fault comes with a line that says how to fix it. --repair rebuilds what
    derives from the texts; where pages are damaged it rewrites the file from the texts, and keeps
    the old one.

    The exit code is 1 if anything is wrong.

    Examples:
      family-recall doctor --db family.db
      family-recall doctor --repair --json
    """
    from family_recall.apps.cli.doctor import examine  # noqa: PLC0415 -- brings numpy and SQLite

    with step_bars() as show:
        report = examine(
            db, key=key(), models=folder, repair=repair, announce=lambda step: show(step, 0, 1)
        )
    lines = list(report.repaired)
    for check in report.checks:
        lines.append(f"{'ok' if check.ok else 'WRONG'} {check.name}: {check.found}")
        if check.fix:
            lines.append(f"  fix: {check.fix}")
    n_wrong = sum(not check.ok for check in report.checks)
    sound = "everything is sound" if db is None else f"everything is sound, {db} too"
    lines.append(f"{counted(n_wrong, 'fault')} found, see above" if n_wrong else sound)
    return Output(report.to_json(), lines, failed=not report.ok)


@household_command()
@click.argument("file", type=FILE, metavar="FILE")
@_force_option
def backup(home: fr.FamilyRecall, file: Path, force: bool) -> Output:
    """Copy a household that may be in use into FILE, and check the copy.

    FILE is whole or not there. It is encrypted if the household is.

    Examples:
      family-recall backup family-2026-03-01.db --db family.db
      family-recall backup yesterday.db --force
    """
    check_output(file, overwrite=force, over_copies=True)
    with bar("copying") as progress:
        copy = home.maintenance.backup(file, overwrite=force, progress=progress)
    record = {"path": str(copy.path), "bytes": copy.n_bytes, "schema": copy.schema}
    n = counted(copy.memories, "memory")
    return Output(
        {**record, "memories": copy.memories},
        [f"{copy.path}: {n}, {copy.n_bytes:,} bytes, checked"],
    )


@command()
@required_db_option
@click.argument("backup_file", type=FILE, metavar="BACKUP")
def restore(db: Path, backup_file: Path) -> Output:
    """Put BACKUP in the household's place, and keep the file that was there beside it.

    BACKUP is checked first. No program may have the household open.

    Examples:
      family-recall restore family-2026-03-01.db --db family.db
      family-recall restore family-2026-03-01.db --json
    """
    from family_recall.api import files  # noqa: PLC0415 -- brings numpy and SQLite

    with bar("copying") as progress:
        return restored_output(files.restore(db, backup_file, key=key(), progress=progress))


def restored_output(restored: Restored, backup_of: str | None = None) -> Output:
    """Return a restored household's memories and its previous file.

    ``backup_of`` is the moment of a fleet's backup.
    """
    as_of = "" if backup_of is None else f", as of {backup_of}"
    lines = [f"{restored.path}: {counted(restored.memories, 'memory')}{as_of}"]
    if restored.kept is not None:
        lines.append(f"the file before is {restored.kept}")
    record = {
        "path": str(restored.path),
        "kept": None if restored.kept is None else str(restored.kept),
        "memories": restored.memories,
    }
    return Output(record if backup_of is None else {**record, "backup_of": backup_of}, lines)


@household_command()
@click.argument("file", type=FILE, metavar="FILE")
@click.option("--feedback", is_flag=True, help="with feedback on results (default: without)")
@click.option(
    "--log",
    is_flag=True,
    help="with who recalled what, and the receipts of what was forgotten with their key: with it, "
    "forgotten words can be guessed and tested (default: without)",
)
@click.option(
    "--skip-damaged",
    is_flag=True,
    help="leave out, and list, memories that are damaged (default: write nothing then)",
)
@_force_option
def export(
    home: fr.FamilyRecall, file: Path, feedback: bool, log: bool, skip_damaged: bool, force: bool
) -> Output:
    """Write a whole household to FILE, as JSON Lines in plain text.

    People, spaces, grants, memories with their earlier versions, entities and relations. Importing
    it into a new household restores all of that; vectors are made again. FILE is not encrypted,
    even if the household is.

    Examples:
      family-recall export family.jsonl --db family.db
      family-recall import family.jsonl --db new.db
    """
    check_output(file, overwrite=force)
    with bar("writing") as progress:
        archive = home.maintenance.export_to(
            file,
            feedback=feedback,
            log=log,
            overwrite=force,
            skip_damaged=skip_damaged,
            progress=progress,
        )
    for damaged in archive.left_out:
        click.echo(one_line(f"left out, damaged: {damaged}"), err=True)
    counts = ", ".join(f"{n:,} {table}" for table, n in archive.records.items() if n)
    return Output(archive.to_json(), [f"{archive.path}: {counts or 'nothing'}"])


@command()
@required_db_option
@option(
    "--backup",
    "FILE",
    "where to keep a copy of the file as it was",
    name="backup_file",
    absent="no copy",
)
def migrate(db: Path, backup_file: Path | None) -> Output:
    """Bring what an earlier version derived in a file up to date, as opening it does.

    A file of another schema is refused: export it with the version that wrote it, and import that.

    Examples:
      family-recall migrate --db family.db
      family-recall migrate --backup family-before.db
    """
    from family_recall.api import files  # noqa: PLC0415 -- brings numpy and SQLite

    if backup_file is not None:
        check_output(backup_file, overwrite=False)
        files.copy_file(db, backup_file, key=key())
    before, after = files.migrate(db, key=key())
    line = f"schema {before} → {after}" if before != after else f"schema {after} already"
    return Output({"before": before, "after": after}, [line])


@household_command()
def rebuild(home: fr.FamilyRecall) -> Output:
    """Rebuild words, entities, edges and vectors from the stored texts.

    doctor --repair fixes faults with less. Words, entities and edges change in one step, or not at
    all; vectors follow.

    Examples:
      family-recall rebuild --db family.db
      family-recall rebuild --json
    """

    def progress_so_far(step: str, n_done: int, _: int) -> str:
        if step != "embedding":
            return "nothing is changed; run the same command again to do it"
        return (
            f"words, entities and edges are rebuilt, and {n_done:,} vectors; "
            "family-recall reembed makes the rest"
        )

    with step_bars(progress_so_far) as show:
        total = home.maintenance.stats()["memories"]
        show("words, entities, edges", 0, total)
        home.maintenance.rebuild(progress=lambda n: show("embedding", n, max(n, total)))
        pending = home.maintenance.pending()
    n = max(pending.values(), default=0)
    return Output(
        {"memories": total, "pending": pending},
        [f"rebuilt from {counted(total, 'memory')}; {n:,} still without vectors"],
    )


@household_command()
@models_option
@click.option(
    "--drop-others",
    is_flag=True,
    help="delete other transformers' vectors once none is missing (default: keep them)",
)
def reembed(home: fr.FamilyRecall, folder: Path | None, drop_others: bool) -> Output:
    """Make every memory's vectors with another model, while others use the household.

    Their questions are answered with the vectors there are. An interrupted run continues where it
    stopped.

    Examples:
      family-recall reembed --models ./other-models --db family.db
      family-recall reembed --drop-others
    """

    def progress_so_far(_: str, n_done: int, total: int) -> str:
        return f"{n_done:,} of {total:,} vectors are stored; the same command continues from there"

    with bar("embedding", progress_so_far) as progress:
        result = home.maintenance.reembed(folder, drop_others=drop_others, progress=progress)
    dropped = f", dropped {', '.join(result.dropped)}" if result.dropped else ""
    line = f"{result.model_id}: {result.made:,} made, {result.pending:,} pending{dropped}"
    return Output(result.to_json(), [line])


@command()
@required_db_option
@option("--new-key-file", "FILE", "the key from now on, as --key-file takes it", absent="none")
@click.option("--no-key", is_flag=True, help="remove the encryption (default: keep it)")
def rekey(db: Path, new_key_file: Path | None, no_key: bool) -> Output:
    """Encrypt a household's file, change its key, or remove the encryption.

    No program may have it open. Backups keep the key they were made with, and what was on the
    disk unencrypted may still be found there.

    Examples:
      family-recall rekey --new-key-file family.key --db family.db
      family-recall --key-file family.key rekey --no-key
    """
    from family_recall.api import files  # noqa: PLC0415 -- brings numpy and SQLite

    if (new_key_file is None) != no_key:
        raise click.UsageError("give one of --new-key-file and --no-key")
    files.rekey(db, key=key(), new_key=key_in(new_key_file))
    state = "not encrypted" if no_key else "encrypted with the new key"
    return Output({"path": str(db), "encrypted": not no_key}, [f"{db}: {state}"])
