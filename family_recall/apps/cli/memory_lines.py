"""Files whose lines are memories: JSON Lines, and tables headed by a memory's own field names."""

from __future__ import annotations

import contextlib
import csv
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import family_recall as fr
from family_recall.apps.cli.output import Output, counted, on_interrupt, step_bars
from family_recall.errors import DatasetError, InvalidMemoryError, ModelError
from family_recall.types.briefing import shortened
from family_recall.types.json_lines import read_jsonl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SHORT_NAMES = {"id": "doc_id", "speaker": "author", "session": "session_id", "space": "space_id"}
OUTCOMES = ("created", "updated", "unchanged", "duplicate")
N_EXAMPLES = 3
_EXAMPLE_CHARS = 90
_TABLES = {".csv", ".tsv"}
_JSON_LINES = {".jsonl", ".ndjson", ".json"}


def import_lines(spaces: Spaces, files: Sequence[Path], space_id: str, batch_size: int) -> Output:
    """Store the memories of files that name everything about them themselves."""
    home = spaces.home
    counts = dict.fromkeys(OUTCOMES, 0)
    batch: list[fr.Memory] = []
    total = sum(_n_lines(path) for path in files)

    def progress_so_far() -> str:
        return (
            f"{sum(counts.values()):,} of {total:,} lines or more are stored; the same command "
            "continues from there, and stores nothing twice"
        )

    with on_interrupt(progress_so_far), step_bars() as show:
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
    parts = [f"{n:,} {outcome}" for outcome, n in counts.items() if n]
    return Output(counts, [", ".join(parts) or "0 created"])


def check_lines(spaces: Spaces, files: Sequence[Path], space_id: str) -> Output:
    """Read the same files and store nothing."""
    lines = itertools.chain.from_iterable(map(_memories, files))
    memories = [spaces.memory(fields, space_id, where, store=False) for where, fields in lines]
    examples = memories[:N_EXAMPLES]
    shown = [f"would read {counted(len(memories), 'memory', 'memories')}; nothing was stored"]
    record = {"dry_run": True, "read": len(memories), "files": []}
    return Output(record, [*shown, *(f"  {example(memory)}" for memory in examples)])


class Spaces:
    """The spaces of the household, read once."""

    def __init__(self, home: fr.FamilyRecall, *, add: bool) -> None:
        self.home = home
        self._add = add
        self._known = {space.space_id for space in home.spaces.all()}
        self.added: list[str] = []

    def memory(
        self, fields: Mapping[str, Any], default: str, where: str, *, store: bool = True
    ) -> fr.Memory:
        """Return a memory in a known space; ``where`` (file:line) opens the error it may raise."""
        try:
            memory = fr.Memory.from_json({"space_id": default, **fields})
        except (InvalidMemoryError, TypeError) as error:
            raise DatasetError(f"{where}: {error}") from None
        if store or not self._add:
            self.require(memory.space_id, f"{where}: ")
        return memory

    def require(self, space_id: str, where: str = "") -> None:
        """Add a space that is not there, or raise an error, as was asked for."""
        if space_id in self._known:
            return
        if not self._add:
            raise DatasetError(
                f"{where}expected a space of this household, got {space_id!r}; add it with "
                "family-recall spaces add, or all of them with --add-spaces"
            )
        self.home.spaces.add(fr.Space(space_id, "shared"))
        self._known.add(space_id)
        self.added.append(space_id)


def says_itself(
    file: Path, file_format: str | None, source: str | None, columns: Mapping[str, str]
) -> bool:
    """Whether a file's lines are memories that name everything about them themselves."""
    if file_format is not None:
        return file_format == "jsonl"
    if file.suffix.lower() in _TABLES:
        return source is None and not columns and _names_its_columns(file)
    return file.suffix.lower() in _JSON_LINES or _head(file).lstrip("\ufeff \r\n").startswith("{")


def _names_its_columns(file: Path) -> bool:
    """Whether a table's header has the name of a memory's text, or the table has no header."""
    first_line = _head(file).partition("\n")[0]
    header = next(csv.reader([first_line], delimiter=_delimiter(file)), [])
    return not header or "text" in (name.strip() for name in header)


def _head(file: Path) -> str:
    """Return how a file begins; nothing of one that cannot be read, which is reported later."""
    try:
        with file.open("rb") as opened:
            return opened.read(4096).decode("utf-8-sig", "ignore")
    except (OSError, ValueError):
        return ""


def example(memory: fr.Memory) -> str:
    """Return a memory on one line, cut."""
    at = f"{memory.occurred_at:%Y-%m-%d %H:%M} " if memory.occurred_at else ""
    author = f"{memory.author}: " if memory.author else ""
    return shortened(f"{at}{author}{' '.join(memory.text.split())}", _EXAMPLE_CHARS)


def _memories(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (file:line, fields of a memory) for every line; null fields are left out."""
    lines = read_csv(path) if path.suffix.lower() in _TABLES else read_jsonl(path)
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
    """Yield each row under the header of a CSV or TSV file as (line, filled cells).

    Lists such as ``labels`` are split at semicolons; numbers such as ``importance`` are read.

    Raises:
        DatasetError: If the file cannot be read or has no column ``text``, or a row has too
            many cells or no number where one belongs. The message names file and line.
    """
    from family_recall.apps.importing import tables  # noqa: PLC0415 -- help needs no formats
    from family_recall.apps.importing.drafts import text_of  # noqa: PLC0415 -- see above

    rows = tables.rows(text_of(path), str(path), _delimiter(path))
    header = [name.strip() for name in next(rows, (1, []))[1]]
    if "text" not in header or len(set(header)) < len(header):
        raise DatasetError(
            f"{path}:1: expected a header of different names, 'text' among them, got "
            f"{', '.join(header) or 'nothing'}"
        )
    for line_no, row in rows:
        cells = {name: cell for name, cell in zip(header, row, strict=False) if cell}
        where = f"{path}:{line_no}"
        yield line_no, {name: tables.typed(name, cell, where) for name, cell in cells.items()}


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","
