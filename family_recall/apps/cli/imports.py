"""Bring in files of other programs and archives, and list what came from where."""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import family_recall as fr
from family_recall.apps.cli.command import (
    DocumentedGroup,
    command,
    household_command,
    key,
    open_household,
)
from family_recall.apps.cli.erasure import receipt_lines
from family_recall.apps.cli.memory_lines import (
    OUTCOMES,
    Spaces,
    check_lines,
    example,
    import_lines,
    says_itself,
)
from family_recall.apps.cli.options import json_option, option
from family_recall.apps.cli.output import Output, counted, on_interrupt, one_line, step_bars
from family_recall.apps.cli.settings import db_option, require, required_db_option, space_option
from family_recall.errors import FamilyRecallError, ModelError, UnknownMemoryError
from family_recall.types import DEFAULT_SPACE
from family_recall.types.browsing import FORMATS
from family_recall.types.json_lines import is_export

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from family_recall.api.maintenance import Archive
    from family_recall.types import Imported
    from family_recall.types.aliases import StepCallback


_N_NAMES = 8


@command("import")
@required_db_option
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@space_option(
    "where it is stored; of lines, those that name none",
    default_text=DEFAULT_SPACE,
    default=DEFAULT_SPACE,
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["jsonl", *FORMATS]),
    metavar="FORMAT",
    help=f"what the files are: jsonl, {', '.join(FORMATS)} (default: as each shows)",
)
@option(
    "--source",
    "NAME",
    "what the file is stored as, to update and withdraw it by",
    absent="format and file name, such as whatsapp:Family",
)
@option("--author", "NAME=ID", "who an author of the file is", name="authors", multiple=True)
@option(
    "--columns",
    "FIELD=HEADER,...",
    "columns of a table, such as text=Note,occurred_at=When",
    absent="by their headers",
)
@click.option(
    "--day-first/--month-first",
    default=None,
    help="how to read 3/4/2026 (default: as the file shows)",
)
@click.option(
    "--withdraw-most",
    is_flag=True,
    help="also withdraw more than half of what the source said (default: refuse)",
)
@click.option("--dry-run", is_flag=True, help="store nothing; show what would be")
@click.option(
    "--add-spaces", is_flag=True, help="add unknown spaces as shared ones (default: refuse them)"
)
@option(
    "--batch",
    "N",
    "lines of JSON, or of a table of memories, stored at a time",
    name="batch_size",
    type=click.IntRange(1),
    default=256,
)
def import_(
    db: Path,
    files: tuple[Path, ...],
    space_id: str,
    file_format: str | None,
    authors: tuple[str, ...],
    columns: str | None,
    batch_size: int,
    **options: Any,
) -> Output:
    """Store what files of other programs say, or many memories from JSON Lines.

    WhatsApp chats (.txt, .zip), calendars (.ics), contacts (.vcf), Markdown files or a folder of
    them, tables (.csv) and mailboxes (.mbox). Each is a source: importing it again, also after an
    interrupt, stores what is new, updates what changed, and withdraws what it no longer has. A
    file with a line that cannot be read stores nothing. See also: family-recall sources.

    JSON Lines: an object a line with "text" and, if known, "id", "speaker", "occurred_at",
    "session" and "space", or any field of a memory by its own name; and tables with the same names
    in the first row, labels separated by semicolons. They are no source, unless --source or
    --columns is given for a table. Importing them again changes nothing. A line that cannot be read
    ends the import; what comes before it is stored. Moments are ISO 8601.

    An exported household is imported, as a whole or not at all, into one that is empty, which is
    created if need be.

    Examples:
      family-recall import "WhatsApp Chat with Tom.txt" --dry-run --db family.db
      family-recall import family.ics contacts.vcf notes/ --author "Mum=sarah"
      family-recall import diary.csv --columns text=Note,occurred_at=When --space private:alice
    """
    if len(files) == 1 and is_export(files[0]):
        if options["dry_run"]:
            raise click.UsageError("an exported household is imported whole; there is no dry run")
        return _import_household(db, files[0])
    author_ids = _pairs(authors, "--author", "NAME=ID, such as Mum=sarah")
    of_columns = _pairs(
        columns.split(",") if columns else (), "--columns", "FIELD=HEADER, such as text=Note"
    )
    own = [says_itself(file, file_format, options["source"], of_columns) for file in files]
    if options["source"] is not None and len(files) > 1:
        raise click.UsageError("--source names one file's source; import the files one by one")
    names = Counter(
        file.resolve().name for file, is_own in zip(files, own, strict=True) if not is_own
    )
    if twice := [name for name, n in names.items() if n > 1 and name != "_chat.txt"]:
        raise click.UsageError(
            f"several files are called {twice[0]!r}, and would be one source; import them one by "
            "one, each with its own --source"
        )
    with open_household(db) as home:
        spaces = Spaces(home, add=options.pop("add_spaces"))
        lines = [file for file, is_own in zip(files, own, strict=True) if is_own]
        outputs = []
        if lines:
            outputs.append(
                check_lines(spaces, lines, space_id)
                if options["dry_run"]
                else import_lines(spaces, lines, space_id, batch_size)
            )
        others = [file for file, is_own in zip(files, own, strict=True) if not is_own]
        if others:
            options |= {"file_format": file_format, "authors": author_ids, "columns": of_columns}
            outputs.append(_import_sources(spaces, others, space_id, options))
    for space in spaces.added:
        click.echo(f"added space {one_line(space)}; family-recall grant lets people in", err=True)
    record = {key: value for output in outputs for key, value in output.record.items()}
    if len(outputs) == 2 and not options["dry_run"]:
        for outcome in OUTCOMES:
            record[outcome] = sum(output.record.get(outcome, 0) for output in outputs)
    return Output(record, [line for output in outputs for line in output.lines])


def _import_sources(
    spaces: Spaces, files: Sequence[Path], space_id: str, options: Mapping[str, Any]
) -> Output:
    """Import each file as a source of its own."""
    if not options["dry_run"]:
        spaces.require(space_id)
    done: list[Imported] = []

    def progress_so_far() -> str:
        return f"{len(done)} of {counted(len(files), 'file')} done; the same command goes on"

    with on_interrupt(progress_so_far), step_bars() as show:
        try:
            for file in files:
                steps = functools.partial(_show_step, show, file.name)
                imported = spaces.home.sources.import_file(
                    file, space_id=space_id, embed="later", progress=steps, **options
                )
                done.append(imported)
        except FamilyRecallError as error:
            if not done or options["dry_run"]:
                raise
            _embed(spaces.home, done, show)
            before = counted(len(done), "file")
            raise type(error)(f"{error}; {before} before it stored") from error
        if not options["dry_run"]:
            _embed(spaces.home, done, show)
    counts: dict[str, Any] = {
        name: sum(getattr(imported, name) for imported in done)
        for name in ("created", "updated", "unchanged", "withdrawn")
    }
    record = {"dry_run": options["dry_run"], **counts}
    record["files"] = [imported.to_json() for imported in done]
    return Output(record, [line for imported in done for line in _report(imported)])


def _embed(home: fr.FamilyRecall, done: Sequence[Imported], show: StepCallback) -> None:
    """Make the vectors that are missing, also those that an interrupted import left out."""
    n = sum(imported.created + imported.updated for imported in done)
    with contextlib.suppress(ModelError):
        home.flush(progress=lambda made: show("embedding", made, max(made, n)))


def _show_step(show: StepCallback, name: str, step: str, done: int, total: int) -> None:
    show(f"{step} {one_line(name)}", done, total)


def _report(imported: Imported) -> Iterator[str]:
    """Yield what an import did, in lines."""
    yield (
        f"{imported.path}: {imported.file_format}, as {imported.source!r} in {imported.space_id}"
    )
    counts = [
        f"{n:,} {outcome}"
        for outcome in ("created", "updated", "unchanged", "withdrawn")
        if (n := getattr(imported, outcome))
    ]
    what = ", ".join(counts) or "no memories in it"
    yield f"  nothing was stored; this would be: {what}" if imported.dry_run else f"  {what}"
    for omission in imported.left_out:
        yield f"  left out: {omission.reason} ({omission.n:,}, first at {omission.first})"
    known = {name: person for name, person in imported.authors.items() if person is not None}
    strangers = [name for name, person in imported.authors.items() if person is None]
    if known:
        yield f"  by: {', '.join(f'{name} ({person})' for name, person in known.items())}"
    if strangers:
        more = f" and {len(strangers) - _N_NAMES:,} more" if len(strangers) > _N_NAMES else ""
        yield (
            f"  by, as named there: {', '.join(strangers[:_N_NAMES])}{more}; if one is a person "
            f'of the household: --author "{strangers[0]}=ID"'
        )
    if imported.dry_run:
        for memory in imported.examples:
            yield f"  {example(memory)}"


def _pairs(texts: Iterable[str], flag: str, form: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.rpartition("="))
        if flag == "--columns":
            name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise click.BadParameter(f"expected {form}, got {text!r}", param_hint=flag)
        pairs[name] = value
    return pairs


def _import_household(db: Path, file: Path) -> Output:
    """Read an exported household into one that is new or empty."""
    archive: Archive | None = None

    def progress_so_far() -> str:
        if archive is None:
            return "nothing of it is stored; run the same command again"
        return "all of it is stored; family-recall reembed makes the vectors that are missing"

    with (
        on_interrupt(progress_so_far),
        fr.FamilyRecall.open(db, key=key()) as home,
        step_bars() as show,
    ):
        archive = home.maintenance.import_from(
            file, progress=lambda done, total: show("reading", done, total)
        )
        n = archive.records.get("memory", 0)
        try:
            home.flush(progress=lambda done: show("embedding", done, n))
        except ModelError as error:
            click.echo(one_line(f"searchable by words only: {error}"), err=True)
    parts = [f"{n:,} {table}" for table, n in archive.records.items() if n]
    return Output(archive.to_json(), [", ".join(parts)])


@click.group(cls=DocumentedGroup, invoke_without_command=True)
@db_option
@json_option
@click.pass_context
def sources(ctx: click.Context, db: Path | None, as_json: bool) -> None:
    """List the sources of memories, such as imported files, and how many each has.

    Examples:
      family-recall sources --db family.db
      family-recall sources withdraw "whatsapp:Tom"
    """
    if ctx.invoked_subcommand is None:
        with open_household(require(ctx, db)) as home:
            _counts(home).print(as_json=as_json)


@household_command("withdraw", group=sources)
@click.argument("source", metavar="SOURCE")
def sources_withdraw(home: fr.FamilyRecall, source: str) -> Output:
    """End all that a source says: nothing recalls it, and the history has it.

    Importing the file again brings it back.

    Examples:
      family-recall sources withdraw "whatsapp:Tom" --db family.db
      family-recall sources
    """
    n = len(home.sources.keys(source))
    if not home.sources.withdraw(source):
        raise UnknownMemoryError(_unknown(home, source))
    return Output(
        {"source": source, "withdrawn": n}, [f"withdrawn: {counted(n, 'memory', 'memories')}"]
    )


@household_command("forget", group=sources)
@click.argument("source", metavar="SOURCE")
@click.option("--yes", is_flag=True, help="forget it (default: show how much it is)")
def sources_forget(home: fr.FamilyRecall, source: str, yes: bool) -> Output:
    """Forget all that a source ever said, so that no byte of it is left in the file.

    The file that was imported stays where it is.

    Examples:
      family-recall sources forget "whatsapp:Tom" --yes --db family.db
      family-recall forgotten --verify
    """
    counts = {count.source: count for count in home.sources.all()}
    if source not in counts:
        raise UnknownMemoryError(_unknown(home, source))
    if not yes:
        n = counts[source].n_memories + counts[source].n_withdrawn
        raise click.ClickException(
            f"nothing was forgotten; to forget {counted(n, 'memory', 'memories')} of {source!r}, "
            "with their history, add --yes"
        )
    receipt = home.sources.forget(source)
    return Output(receipt.to_json(), receipt_lines(receipt))


def _counts(home: fr.FamilyRecall) -> Output:
    counts = home.sources.all()
    lines = [
        f"{count.source}: {counted(count.n_memories, 'memory', 'memories')}"
        + (f", {count.n_withdrawn:,} withdrawn" if count.n_withdrawn else "")
        for count in counts
    ]
    record = [
        {"source": c.source, "memories": c.n_memories, "withdrawn": c.n_withdrawn} for c in counts
    ]
    return Output(record, lines or ["no memory has a source"])


def _unknown(home: fr.FamilyRecall, source: str) -> str:
    known = ", ".join(repr(count.source) for count in home.sources.all()[:8]) or "none"
    return f"there is nothing to withdraw or forget of a source {source!r}; there are {known}"
