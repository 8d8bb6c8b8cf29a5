"""Import files, and manage sources: ``import`` and ``sources``."""

from __future__ import annotations

import contextlib
import csv
import functools
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import family_recall as fr
from family_recall.apps.cli.command import (
    command,
    household_command,
    household_group,
    key,
    open_household,
)
from family_recall.apps.cli.erasure import receipt_lines
from family_recall.apps.cli.options import option
from family_recall.apps.cli.output import Output, counted, on_interrupt, one_line, step_bars
from family_recall.apps.cli.people import as_seen_by_option
from family_recall.apps.cli.settings import required_db_option, space_option
from family_recall.errors import (
    DatasetError,
    FamilyRecallError,
    InvalidMemoryError,
    ModelError,
    UnknownMemoryError,
)
from family_recall.types import DEFAULT_SPACE
from family_recall.types.briefing import shortened
from family_recall.types.browsing import FORMATS
from family_recall.types.json_lines import is_export, open_regular, read_jsonl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from family_recall.api.maintenance import Archive
    from family_recall.types import Imported, SourceCount
    from family_recall.types.aliases import StepCallback


SHORT_NAMES = {"id": "doc_id", "speaker": "author", "session": "session_id", "space": "space_id"}
OUTCOMES = ("created", "updated", "unchanged", "duplicate")
_SOURCE_OUTCOMES = ("created", "updated", "unchanged", "withdrawn")
_N_NAMES, _N_EXAMPLES = 8, 3
_EXAMPLE_CHARS = 90
_TABLES = {".csv", ".tsv"}
_JSON_LINES = {".jsonl", ".ndjson", ".json"}


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
    "--person",
    "ID",
    "who imports, and is the author where the file names none; they replace and withdraw only what "
    "they may correct",
    name="person_id",
    absent="the owner of the file, who may do everything",
)
@option(
    "--columns",
    "FIELD=HEADER,...",
    "columns of a table, such as text=Note,occurred_at=When; several are one text, as "
    'text=Item,text=Place, or a template puts them into words, as "text={Item} is in {Place}"',
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
@click.option(
    "--strict",
    is_flag=True,
    help="store nothing of a file with a part that is not understood (default: leave out the part)",
)
@click.option("--dry-run", is_flag=True, help="store nothing; show what would be")
@option(
    "--limits",
    "N",
    "allow a file N times the size, lines, nesting and time that are usual",
    type=float,
    default=1.0,
)
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
    person_id: str | None,
    batch_size: int,
    **options: Any,
) -> Output:
    """Store what files of other programs say, or many memories from JSON Lines.

    WhatsApp chats (.txt, .zip), calendars (.ics), contacts (.vcf), Markdown files or a folder of
    them, tables (.csv) and mailboxes (.mbox). Each is a source: importing it again, also after an
    interrupt, stores what is new, updates what changed, and withdraws what it no longer has. A
    part that is not understood is listed as not read, with its place, and the exit code is 1.
    See also: family-recall sources.

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
    is_household = len(files) == 1 and is_export(files[0])
    if person_id is not None and (is_household or options["add_spaces"]):
        raise click.UsageError(
            "a whole household, and new spaces, are for the owner of the file; leave out --person"
        )
    if is_household:
        return _import_household(db, files[0], options["dry_run"])
    author_ids = _authors(authors)
    headers = _columns(columns or "")
    source, dry_run, limits = (options[name] for name in ("source", "dry_run", "limits"))
    is_source = bool(source or headers)
    memory_files = [file for file in files if _has_memories(file, file_format, is_source=is_source)]
    source_files = [file for file in files if file not in memory_files]
    if source is not None and len(files) > 1:
        raise click.UsageError("--source names one file's source; import the files one by one")
    _check_names(source_files)
    with open_household(db) as home:
        spaces = _Spaces(home, person_id, add=options.pop("add_spaces"))
        outputs = []
        if memory_files and dry_run:
            outputs.append(_check_memories(spaces, memory_files, space_id, limits))
        elif memory_files:
            outputs.append(
                _import_memories(spaces, memory_files, space_id, options["limits"], batch_size)
            )
        if source_files:
            options |= {"file_format": file_format, "authors": author_ids, "columns": headers}
            outputs.append(_import_sources(spaces, source_files, space_id, options))
    for space in spaces.added:
        click.echo(f"added space {one_line(space)}; family-recall grant lets people in", err=True)
    record = {key: value for output in outputs for key, value in output.record.items()}
    if len(outputs) == 2 and not dry_run:
        for outcome in OUTCOMES:
            record[outcome] = sum(output.record.get(outcome, 0) for output in outputs)
    return Output(
        record,
        [line for output in outputs for line in output.lines],
        failed=any(output.failed for output in outputs),
    )


def _check_names(files: Sequence[Path]) -> None:
    """Raise for files with the same name, which would be one source."""
    names = Counter(file.resolve().name for file in files)
    if repeated := [name for name, n in names.items() if n > 1 and name != "_chat.txt"]:
        raise click.UsageError(
            f"several files are called {repeated[0]!r}, and would be one source; import them one "
            "by one, each with its own --source"
        )


class _Spaces:
    """The household's spaces that a person may enter, and the ones that were added."""

    def __init__(self, home: fr.FamilyRecall, person_id: str | None, *, add: bool) -> None:
        self.home = home
        self.person_id = person_id
        self.add = add
        self._known = {space.space_id for space in home.spaces.all(person_id)}
        self.added: list[str] = []

    def require(self, space_id: str, where: str = "") -> None:
        """Add an unknown space if ``add`` is set; else raise an error."""
        if space_id in self._known:
            return
        if not self.add:
            raise DatasetError(
                f"{where}expected a space of this household, got {space_id!r}; add it with "
                "family-recall spaces add, or all of them with --add-spaces"
            )
        self.home.spaces.add(fr.Space(space_id, "shared"))
        self._known.add(space_id)
        self.added.append(space_id)


def _import_sources(
    spaces: _Spaces, files: Sequence[Path], space_id: str, options: Mapping[str, Any]
) -> Output:
    dry_run, is_strict = options["dry_run"], options["strict"]
    if not dry_run:
        spaces.require(space_id)
    imports: list[Imported] = []
    refused: list[DatasetError] = []
    last: tuple[str, int, int] | None = None

    def progress_so_far() -> str:
        said = f"{len(imports)} of {counted(len(files), 'file')} done"
        if last is not None and last[0] == "storing" and last[1] < last[2]:
            said += f", and {last[1]:,} of {last[2]:,} memories of the next"
        return f"{said}; the same command goes on"

    def step(name: str, *amount: Any) -> None:
        nonlocal last
        last = amount
        _show_step(show, name, *amount)

    with on_interrupt(progress_so_far), step_bars() as show:
        try:
            for file in files:
                last = None
                try:
                    imported = spaces.home.sources.import_file(
                        file,
                        space_id=space_id,
                        person_id=spaces.person_id,
                        embed="later",
                        progress=functools.partial(step, file.name),
                        **options,
                    )
                    imports.append(imported)
                except DatasetError as error:
                    if is_strict or len(files) == 1:
                        raise
                    refused.append(error)
        except FamilyRecallError as error:
            if imports and not dry_run:
                _embed(spaces, imports, show)
                error.also(f"{counted(len(imports), 'file')} before it stored")
            raise
        _embed(spaces, imports, show)
    return _imported(imports, refused, dry_run=dry_run)


def _embed(spaces: _Spaces, imports: Sequence[Imported], show: StepCallback) -> None:
    """Make missing vectors, also those of an interrupted import; none after a dry run."""
    if not imports or imports[0].dry_run:
        return
    n = sum(imported.created + imported.updated for imported in imports)
    with contextlib.suppress(ModelError):
        spaces.home.flush(progress=lambda n_done: show("embedding", n_done, max(n_done, n)))


def _imported(
    imports: Sequence[Imported], refused: Sequence[DatasetError], *, dry_run: bool
) -> Output:
    """Return what became of some files; the exit code is 1 if anything of them was not read."""
    counts = {name: sum(getattr(each, name) for each in imports) for name in _SOURCE_OUTCOMES}
    records = [imported.to_json() for imported in imports]
    lines = [line for imported in imports for line in _import_lines(imported)]
    lines += [f"refused: {error}" for error in refused]
    unread = any(omission.problem for imported in imports for omission in imported.left_out)
    return Output(
        {"dry_run": dry_run, **counts, "files": records, "refused": [*map(str, refused)]},
        lines,
        failed=unread or bool(refused),
    )


def _show_step(show: StepCallback, name: str, step: str, done: int, total: int) -> None:
    show(f"{step} {one_line(name)}", done, total)


def _import_lines(imported: Imported) -> Iterator[str]:
    source, space_id = imported.source, imported.space_id
    yield f"{imported.path}: {imported.file_format}, as {source!r} in {space_id}"
    outcomes = {name: getattr(imported, name) for name in _SOURCE_OUTCOMES}
    counts = ", ".join(f"{n:,} {name}" for name, n in outcomes.items() if n) or "no memories in it"
    yield f"  nothing was stored; this would be: {counts}" if imported.dry_run else f"  {counts}"
    for omission in imported.left_out:
        kind, problem = (
            ("not read", f": {omission.problem}") if omission.problem else ("left out", "")
        )
        yield f"  {kind}: {omission.reason} ({omission.n:,}, first at {omission.first}{problem})"
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
            yield f"  {_example(memory)}"


def _authors(texts: Iterable[str]) -> dict[str, str]:
    """Return the people by their names in the file."""
    people: dict[str, str] = {}
    for text in texts:
        name, equals, person = (part.strip() for part in text.rpartition("="))
        problem = f"expected NAME=ID, such as Mum=sarah, got {text!r}"
        if people.setdefault(name, person) != person:
            problem = f"expected one person for {name}, got {people[name]!r} and {person!r}"
            equals = ""
        if not (name and equals and person):
            raise click.BadParameter(problem, param_hint="--author")
    return people


def _columns(text: str) -> dict[str, list[str]]:
    """Return the headers by field; only the text may have several."""
    headers: dict[str, list[str]] = {}
    for part in re.split(r",(?=\s*\w+\s*=)", text) if text else ():
        field, equals, header = (word.strip() for word in part.partition("="))
        if not (field and equals and header):
            problem = f"expected FIELD=HEADER, such as text=Note, got {part!r}"
            raise click.BadParameter(problem, param_hint="--columns")
        if field in headers and field != "text":
            problem = f"expected {field} once, got {headers[field][0]!r} and {header!r}"
            raise click.BadParameter(problem, param_hint="--columns")
        headers.setdefault(field, []).append(header)
    return headers


def _import_household(db: Path, file: Path, dry_run: bool) -> Output:
    if dry_run:
        raise click.UsageError("an exported household is imported whole; there is no dry run")
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


def _import_memories(
    spaces: _Spaces, files: Sequence[Path], space_id: str, limits: float, batch_size: int
) -> Output:
    """Store the memories of JSON Lines and of tables with the same fields."""
    home = spaces.home
    counts = dict.fromkeys(OUTCOMES, 0)
    batch: list[fr.Memory] = []
    total = sum(map(_n_lines, files))

    def store() -> int:
        """Store and empty the batch; return the number of lines stored so far."""
        for stored in home.remember_many(batch, person_id=spaces.person_id):
            counts[stored.outcome] += 1
        batch.clear()
        return sum(counts.values())

    def progress_so_far() -> str:
        return (
            f"{sum(counts.values()):,} of {total:,} lines or more are stored; the same command "
            "continues from there, and stores nothing twice"
        )

    with on_interrupt(progress_so_far), step_bars() as show:
        try:
            for where, memory in _memories(files, space_id, limits):
                spaces.require(memory.space_id, f"{where}: ")
                batch.append(memory)
                if len(batch) == batch_size:
                    show("storing", store(), total)
            store()
            with contextlib.suppress(ModelError):  # also the vectors of an interrupted import
                home.flush(progress=lambda done: show("embedding", done, max(done, total)))
        except DatasetError as error:
            error.also(f"{counted(store(), 'memory')} before it stored")
            raise
        except FamilyRecallError as error:  # of a batch
            error.also(f"{counted(sum(counts.values()), 'memory')} of the file stored")
            raise
    parts = [f"{n:,} {outcome}" for outcome, n in counts.items() if n]
    return Output(counts, [", ".join(parts) or "0 created"])


def _check_memories(spaces: _Spaces, files: Sequence[Path], space_id: str, limits: float) -> Output:
    """Read the files of :func:`_import_memories` without storing anything."""
    examples, n = [], 0
    for where, memory in _memories(files, space_id, limits):
        if not spaces.add:
            spaces.require(memory.space_id, f"{where}: ")
        if n < _N_EXAMPLES:
            examples.append(f"  {_example(memory)}")
        n += 1
    would = f"would read {counted(n, 'memory')}; nothing was stored"
    return Output({"dry_run": True, "read": n, "files": []}, [would, *examples])


def _has_memories(file: Path, file_format: str | None, *, is_source: bool) -> bool:
    """Whether a file holds memories field by field: JSON Lines, or a table with a column ``text``.

    A table with a source or columns of its own does not (``is_source``).
    """
    if file_format is not None:
        return file_format == "jsonl"
    head = _head(file)
    if file.suffix.lower() not in _TABLES:
        return file.suffix.lower() in _JSON_LINES or head.lstrip("\ufeff \r\n").startswith("{")
    header = next(csv.reader(head.splitlines()[:1], delimiter=_delimiter(file)), [])
    return not is_source and (not header or "text" in (name.strip() for name in header))


def _head(file: Path) -> str:
    """Return the beginning of a file; of an unreadable one nothing, which is reported later."""
    try:
        with open_regular(file) as opened:
            return opened.read(4096).decode("utf-8-sig", "ignore")
    except (OSError, ValueError):
        return ""


def _example(memory: fr.Memory) -> str:
    at = f"{memory.occurred_at:%Y-%m-%d %H:%M} " if memory.occurred_at else ""
    author = f"{memory.author}: " if memory.author else ""
    return shortened(f"{at}{author}{' '.join(memory.text.split())}", _EXAMPLE_CHARS)


def _memories(
    files: Sequence[Path], space_id: str, limits: float
) -> Iterator[tuple[str, fr.Memory]]:
    """Yield (file:line, memory) for every line; ``space_id`` is the default space."""
    for path in files:
        for line_no, record in (
            read_csv(path, limits) if path.suffix.lower() in _TABLES else read_jsonl(path)
        ):
            where = f"{path}:{line_no}"
            fields: dict[str, Any] = {}
            for name, value in record.items():
                field = SHORT_NAMES.get(name, name)
                if field in fields:
                    raise DatasetError(f"{where}: {name!r} gives {field!r} twice; keep one")
                if value is not None:
                    fields[field] = value
            try:
                memory = fr.Memory.from_json({"space_id": space_id, **fields})
            except (InvalidMemoryError, TypeError) as error:
                raise DatasetError(f"{where}: {error}") from None
            yield where, memory


def _n_lines(path: Path) -> int:
    """Count lines for the progress bar; an unreadable file is reported later."""
    try:
        with open_regular(path) as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return 0


def read_csv(path: Path, limits: float) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, fields) for each row of a CSV or TSV file with a header."""
    from family_recall.apps.importing import tables  # noqa: PLC0415 -- help needs no formats
    from family_recall.apps.importing.drafts import problem_of, text_of  # noqa: PLC0415
    from family_recall.apps.importing.limits import LIMITS  # noqa: PLC0415 -- see above

    text = text_of(path, LIMITS.times(limits))
    header: list[str] = []
    rows = tables.rows(text, str(path), _delimiter(path))
    if isinstance(first := next(rows, None), tuple):
        header = [name.strip() for name in first[1]]
    if "text" not in header or len(set(header)) < len(header):
        raise DatasetError(
            f"{path}:1: expected a header of different names, 'text' among them, got "
            f"{', '.join(header) or 'nothing'}"
        )
    for item in rows:
        if not isinstance(item, tuple):
            raise DatasetError(f"{item.where}: {item.problem}")
        line_no, row = item
        cells = {name: cell for name, cell in zip(header, row, strict=False) if cell}
        where = f"{path}:{line_no}"
        if problem := problem_of("".join(row)):
            raise DatasetError(f"{where}: {problem}")
        yield line_no, {name: tables.parse_cell(name, cell, where) for name, cell in cells.items()}


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


_acting_option = option(
    "--person",
    "ID",
    "only what this person may correct or forget",
    name="person_id",
    absent="all of it, as the owner of the file",
)
_source_space_option = option(
    *("--space", "ID", "only there"), name="space_id", absent="the only one it is in"
)


@household_group
@as_seen_by_option
def sources(home: fr.FamilyRecall, person_id: str | None) -> Output:
    """List the sources of memories, such as imported files, and how many each has.

    For a person: what they see of them.

    Examples:
      family-recall sources --db family.db
      family-recall sources withdraw "whatsapp:Tom"
    """
    records, lines = [], []
    counts = home.sources.all(person_id)
    spaces = Counter(count.source for count in counts)
    for count in counts:
        n, n_withdrawn = count.n_memories, count.n_withdrawn
        records.append({"source": count.source, "space": count.space_id,
                        "memories": n, "withdrawn": n_withdrawn})  # fmt: skip
        withdrawn = f", {n_withdrawn:,} withdrawn" if n_withdrawn else ""
        where = f" in {count.space_id}" if spaces[count.source] > 1 else ""
        lines.append(f"{count.source}{where}: {counted(n, 'memory')}{withdrawn}")
    return Output(records, lines or ["no memory has a source"])


@household_command("withdraw", group=sources)
@click.argument("source", metavar="SOURCE")
@_source_space_option
@_acting_option
def sources_withdraw(
    home: fr.FamilyRecall, source: str, space_id: str | None, person_id: str | None
) -> Output:
    """End all that a source says: nothing recalls it, and the history has it.

    Importing the file again brings it back.

    Examples:
      family-recall sources withdraw "whatsapp:Tom" --db family.db
      family-recall sources
    """
    counts = _counts_of(home, source, space_id, person_id)
    n = len(home.sources.keys(source, space_id=space_id, person_id=person_id))
    if not counts or not home.sources.withdraw(source, space_id=space_id, person_id=person_id):
        raise UnknownMemoryError(_unknown(home, source, person_id))
    if person_id is not None:
        n -= len(home.sources.keys(source, space_id=space_id, person_id=person_id))
    return Output({"source": source, "withdrawn": n}, [f"withdrawn: {counted(n, 'memory')}"])


@household_command("forget", group=sources)
@click.argument("source", metavar="SOURCE")
@_source_space_option
@_acting_option
@click.option("--yes", is_flag=True, help="forget it (default: show how much it is)")
def sources_forget(
    home: fr.FamilyRecall, source: str, space_id: str | None, person_id: str | None, yes: bool
) -> Output:
    """Forget all that a source ever said, so that no byte of it is left in the file.

    The file that was imported stays where it is.

    Examples:
      family-recall sources forget "whatsapp:Tom" --yes --db family.db
      family-recall forgotten --verify
    """
    counts = _counts_of(home, source, space_id, person_id)
    if not counts:
        raise UnknownMemoryError(_unknown(home, source, person_id))
    if not yes:
        n = sum(count.n_memories + count.n_withdrawn for count in counts)
        raise click.ClickException(
            f"nothing was forgotten; to forget {counted(n, 'memory')} of {source!r}, "
            "with their history, add --yes"
        )
    receipt = home.sources.forget(source, space_id=space_id, person_id=person_id)
    return Output(receipt.to_json(), receipt_lines(receipt))


def _counts_of(
    home: fr.FamilyRecall, source: str, space_id: str | None, person_id: str | None
) -> list[SourceCount]:
    """Count a source in the one space that it is in, or that is named."""
    counts = [
        count
        for count in home.sources.all(person_id)
        if count.source == source and space_id in {None, count.space_id}
    ]
    if len(counts) > 1 and person_id is None:
        spaces = " and ".join(count.space_id for count in counts)
        raise click.UsageError(
            f"{source!r} is in {spaces}; choose one with --space, or say who you are with --person"
        )
    return counts


def _unknown(home: fr.FamilyRecall, source: str, person_id: str | None) -> str:
    names = dict.fromkeys(count.source for count in home.sources.all(person_id))
    known = ", ".join(map(repr, [*names][:8])) or "none"
    return f"there is nothing to withdraw or forget of a source {source!r}; there are {known}"
