"""Store memories from files: ``import`` of JSON Lines, CSV and exported households."""

from __future__ import annotations

import contextlib
import csv
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import family_recall as fr
from family_recall.cli.command import command, key, open_household
from family_recall.cli.options import FILE, option
from family_recall.cli.output import Output, counted, one_line
from family_recall.cli.progress import on_interrupt, step_bars
from family_recall.cli.settings import DEFAULT_SPACE, required_db_option, space_option
from family_recall.errors import DatasetError, InvalidMemoryError, ModelError
from family_recall.types.field_specs import MEMORY_FIELDS
from family_recall.types.json_lines import is_export, read_jsonl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from family_recall.maintenance.archive import Archive

SHORT_NAMES = {"id": "doc_id", "speaker": "author", "session": "session_id", "space": "space_id"}
OUTCOMES = ("created", "updated", "unchanged", "duplicate")
MAX_CELL_CHARS = 8 * 1024 * 1024


@command("import")
@required_db_option
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=FILE)
@space_option("for lines that name none", default_text=DEFAULT_SPACE, default=DEFAULT_SPACE)
@click.option(
    "--add-spaces", is_flag=True, help="add unknown spaces as shared ones (default: refuse them)"
)
@option(
    "--batch",
    "N",
    "memories stored at a time",
    name="batch_size",
    type=click.IntRange(1),
    default=256,
)
def import_(
    db: Path, files: tuple[Path, ...], space_id: str, add_spaces: bool, batch_size: int
) -> Output:
    """Store many memories from JSON Lines or CSV files.

    JSON Lines: an object a line with "text" and, if known, "id", "speaker", "occurred_at",
    "session" and "space", or any field of a memory by its own name. CSV (or TSV): the same
    names in the first row, labels separated by semicolons. Moments are ISO 8601.

    An exported household is imported, as a whole or not at all, into one that is empty, which is
    created if need be.

    Importing a file again changes nothing, so an interrupted import continues where it stopped. A
    line that cannot be read ends the import; what comes before it is stored.

    Examples:
      family-recall import memories.jsonl --db family.db
      family-recall import diary.csv --space private:alice
    """
    if len(files) == 1 and is_export(files[0]):
        return _import_household(db, files[0])
    counts = dict.fromkeys(OUTCOMES, 0)
    batch: list[fr.Memory] = []
    total = sum(_n_lines(path) for path in files)

    def progress_so_far() -> str:
        return (
            f"{sum(counts.values()):,} of {total:,} lines or more are stored; the same command "
            "continues from there, and stores nothing twice"
        )

    with on_interrupt(progress_so_far), open_household(db) as home, step_bars() as show:
        spaces = _Spaces(home, add=add_spaces)
        try:
            for where, fields in itertools.chain.from_iterable(map(_memories, files)):
                batch.append(spaces.memory(fields, space_id, where))
                if len(batch) == batch_size:
                    _store(home, batch, counts)
                    show("storing", sum(counts.values()), total)
            _store(home, batch, counts)
            with contextlib.suppress(ModelError):  # vectors that an interrupted import left out
                home.flush(progress=lambda done: show("embedding", done, max(done, total)))
        except DatasetError as error:
            _store(home, batch, counts)
            before = counted(sum(counts.values()), "memory", "memories")
            raise DatasetError(f"{error}; {before} before it stored") from error
    for space in spaces.added:
        click.echo(f"added space {one_line(space)}; family-recall grant lets people in", err=True)
    parts = [f"{n:,} {outcome}" for outcome, n in counts.items() if n]
    return Output(counts, [", ".join(parts) or "0 created"])


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


class _Spaces:
    """The spaces of the household, read once."""

    def __init__(self, home: fr.FamilyRecall, *, add: bool) -> None:
        self._home = home
        self._add = add
        self._known = {space.space_id for space in home.spaces.all()}
        self.added: list[str] = []

    def memory(self, fields: Mapping[str, Any], default: str, where: str) -> fr.Memory:
        """Return a memory in a known space; ``where`` (file:line) opens the error it may raise."""
        try:
            memory = fr.Memory.from_json({"space_id": default, **fields})
        except (InvalidMemoryError, TypeError) as error:
            raise DatasetError(f"{where}: {error}") from None
        if memory.space_id not in self._known:
            if not self._add:
                raise DatasetError(
                    f"{where}: expected a space of this household, got {memory.space_id!r}; add it "
                    "with family-recall spaces add, or all of them with --add-spaces"
                )
            self._home.spaces.add(fr.Space(memory.space_id, "shared"))
            self._known.add(memory.space_id)
            self.added.append(memory.space_id)
        return memory


def _memories(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (file:line, fields of a memory) for every line; null fields are left out."""
    lines = read_csv(path) if path.suffix.lower() in {".csv", ".tsv"} else read_jsonl(path)
    for line_no, record in lines:
        fields: dict[str, Any] = {}
        for name, value in record.items():
            field = SHORT_NAMES.get(name, name)
            if field in fields:
                raise DatasetError(f"{path}:{line_no}: {name!r} gives {field!r} twice; keep one")
            if value is not None:
                fields[field] = value
        yield f"{path}:{line_no}", fields


def _store(home: fr.FamilyRecall, batch: list[fr.Memory], counts: dict[str, int]) -> None:
    """Store a batch, count the outcomes, and empty it."""
    for stored in home.remember_many(batch):
        counts[stored.outcome] += 1
    batch.clear()


def _n_lines(path: Path) -> int:
    """Count lines for the progress bar; a file that cannot be read is reported later."""
    try:
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return 0


def read_csv(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each row under the header of a CSV or TSV file as (line it ends on, filled cells).

    Lists such as ``labels`` are split at semicolons; numbers such as ``importance`` are read.

    Raises:
        DatasetError: If the file cannot be read or has no column ``text``, or a row has too
            many cells or no number where one belongs. The message names file and line.
    """
    csv.field_size_limit(MAX_CELL_CHARS)
    line_no = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
            header = _header(rows, path)
            for row in rows:
                line_no = rows.line_num
                if len(row) > len(header):
                    raise DatasetError(
                        f"{path}:{line_no}: expected {len(header)} cells, got {len(row)}; "
                        "quote what holds a separator"
                    )
                cells = {name: cell for name, cell in zip(header, row, strict=False) if cell}
                if cells:
                    where = f"{path}:{line_no}"
                    yield line_no, {name: _typed(name, cell, where) for name, cell in cells.items()}
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except UnicodeDecodeError as error:
        raise DatasetError(
            f"{path}: expected UTF-8 after line {line_no}, got {error.reason}; convert the file"
        ) from None
    except csv.Error as error:
        raise DatasetError(f"{path}: expected CSV after line {line_no}, got {error}") from None


def _header(rows: Iterator[Sequence[str]], path: Path) -> list[str]:
    header = [name.strip() for name in next(rows, [])]
    if "text" not in header or len(set(header)) < len(header):
        raise DatasetError(
            f"{path}:1: expected a header of different names, 'text' among them, got "
            f"{', '.join(header) or 'nothing'}"
        )
    return header


def _typed(name: str, cell: str, where: str) -> Any:
    spec = MEMORY_FIELDS.get(name)
    if spec is not None and spec.type == "texts":
        return [part.strip() for part in cell.split(";") if part.strip()]
    if spec is not None and spec.type == "number":
        try:
            return float(cell)
        except ValueError:
            raise DatasetError(f"{where}: expected {name} to be a number, got {cell!r}") from None
    return cell
