"""``import``: files of memories in, a household that knows them out."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import family_recall as fr
from family_recall.cli.base import (
    DEFAULT_SPACE,
    WithExamples,
    existing,
    json_option,
    key,
    one_line,
    print_json,
)
from family_recall.cli.progress import progress_bar, steps, telling_where
from family_recall.cli.settings import db_option, setting
from family_recall.cli.tables import read_csv
from family_recall.errors import DatasetError, InvalidMemoryError, ModelError
from family_recall.types.json_lines import is_export, read_jsonl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from family_recall.maintenance.archive import Archive

SHORT_NAMES = {"id": "doc_id", "speaker": "author", "session": "session_id", "space": "space_id"}
OUTCOMES = ("created", "updated", "unchanged", "duplicate")


@click.command(
    "import",
    cls=WithExamples,
    examples=(
        "family-recall import memories.jsonl --db family.db",
        "family-recall import diary.csv --space private:alice",
    ),
)
@db_option
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(dir_okay=False, path_type=Path),
)
@setting(
    "space",
    *("--space", "space_id"),
    default=DEFAULT_SPACE,
    help=f"for lines that name none (default: as configured, or {DEFAULT_SPACE})",
)
@click.option(
    "--add-spaces", is_flag=True, help="add unknown spaces as shared ones (default: refuse them)"
)
@click.option(
    "--batch",
    "batch_size",
    type=click.IntRange(1),
    default=256,
    metavar="N",
    help="memories stored at a time (default: 256)",
)
@json_option
def import_(
    db: Path,
    files: tuple[Path, ...],
    space_id: str,
    add_spaces: bool,
    batch_size: int,
    as_json: bool,
) -> None:
    """Remember many things from JSON Lines or CSV files.

    JSON Lines: an object a line with "text" and, if known, "id", "speaker", "occurred_at",
    "session" and "space", or any field of a memory by its own name. CSV (or TSV): the same
    names in the first row, labels separated by semicolons. Moments are ISO 8601.

    What export wrote goes, as a whole or not at all, into a household that has nothing in it yet,
    which is made if need be.

    Importing a file again changes nothing, so an import that was interrupted goes on where it
    stopped. A line that cannot be read ends the import; what stands before it is kept.
    """
    if len(files) == 1 and is_export(files[0]):
        _load(db, files[0], as_json=as_json)
        return
    counts = dict.fromkeys(OUTCOMES, 0)
    batch: list[fr.Memory] = []
    total = sum(_n_lines(path) for path in files)

    def told() -> str:
        return (
            f"{sum(counts.values()):,} of {total:,} lines or more are kept; the same command again "
            "goes on from there, and keeps nothing twice"
        )

    with telling_where(told), existing(db) as home, progress_bar() as show:
        spaces = _Spaces(home, add=add_spaces)
        try:
            for where, memory in itertools.chain.from_iterable(map(_memories, files)):
                batch.append(spaces.placed(memory, space_id, where))
                if len(batch) == batch_size:
                    batch = _store(home, batch, counts)
                    show("remembering", sum(counts.values()), total)
            batch = _store(home, batch, counts)
            with contextlib.suppress(ModelError):  # what an interrupted import has left without
                home.flush(progress=lambda done: show("embedding", done, max(done, total)))
        except DatasetError as error:
            _store(home, batch, counts)
            n = sum(counts.values())
            raise DatasetError(
                f"{error}; {n:,} {'memory' if n == 1 else 'memories'} before it kept"
            ) from error
    for added in spaces.added:
        click.echo(f"added space {one_line(added)}; family-recall grant lets people in", err=True)
    if as_json:
        print_json(counts)
    else:
        click.echo(", ".join(f"{n:,} {name}" for name, n in counts.items() if n) or "0 created")


def _load(db: Path, file: Path, *, as_json: bool) -> None:
    """Read an export into a household that is new or has nothing in it."""
    read: Archive | None = None

    def told() -> str:
        if read is None:
            return "nothing of it is kept; run the same command again"
        return "all of it is kept; family-recall reembed makes the vectors that are missing"

    with (
        telling_where(told),
        fr.FamilyRecall.open(db, key=key()) as home,
        progress_bar() as show,
    ):
        read = home.maintenance.import_from(file, progress=steps(show, "reading"))
        total = read.records.get("memory", 0)
        try:
            home.flush(progress=lambda done: show("embedding", done, total))
        except ModelError as error:
            click.echo(one_line(f"found by words alone: {error}"), err=True)
    if as_json:
        print_json(read.to_json())
    else:
        click.echo(one_line(", ".join(f"{n:,} {name}" for name, n in read.records.items() if n)))


class _Spaces:
    """The spaces of the household, looked up once."""

    def __init__(self, home: fr.FamilyRecall, *, add: bool) -> None:
        self._home = home
        self._add = add
        self._known = {space.space_id for space in home.spaces.all()}
        self.added: list[str] = []

    def placed(self, record: Mapping[str, Any], default: str, where: str) -> fr.Memory:
        """Give the memory in its space; ``where`` (file:line) opens the error it may raise."""
        try:
            memory = fr.Memory.from_json({"space_id": default, **record})
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
    """Give (file:line, fields of a memory) of every line; a field that is null is left out."""
    lines = read_csv(path) if path.suffix.lower() in {".csv", ".tsv"} else read_jsonl(path)
    for line_no, record in lines:
        fields: dict[str, Any] = {}
        for name, value in record.items():
            field = SHORT_NAMES.get(name, name)
            if field in fields:
                raise DatasetError(f"{path}:{line_no}: {name!r} says {field!r} twice; keep one")
            if value is not None:
                fields[field] = value
        yield f"{path}:{line_no}", fields


def _store(
    home: fr.FamilyRecall, batch: Sequence[fr.Memory], counts: dict[str, int]
) -> list[fr.Memory]:
    """Remember a batch, count what became of it, and give an empty one."""
    for remembered in home.remember_many(batch):
        counts[remembered.outcome] += 1
    return []


def _n_lines(path: Path) -> int:
    """Count lines for the progress bar; a file that cannot be read is told about later."""
    try:
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return 0
