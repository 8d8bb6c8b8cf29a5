"""Tables in CSV: each row a draft, its columns told apart by their headers or as is said."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Iterator, Mapping, Sequence

from family_recall.apps.importing.dates import moments_of, plausible
from family_recall.apps.importing.drafts import (
    ContentKeys,
    Draft,
    LeftOut,
    Reading,
    ReadSettings,
    visible,
)
from family_recall.errors import DatasetError
from family_recall.types.memory import MEMORY_FIELDS

NO_TEXT, NO_DATE = "rows without a text", "impossible dates of rows"
ID = "id"
"""The column that holds a row's own id, which is no field of a memory here."""

MAX_CELL_CHARS = 8 * 1024 * 1024
_COLUMNS = {
    "text": "text note notes content body message description entry memo comment",
    "author": "author who from by person speaker",
    "occurred_at": "occurred_at date when datetime timestamp time day created created_at",
    "title": "title subject heading",
    "labels": "labels tags categories",
    "url": "url link",
    ID: "id uid key",
}
"""Headers that are understood without being told, the likeliest first."""

_FIELDS = (set(MEMORY_FIELDS) | {ID}) - {"doc_id", "space_id", "source"}
_MOMENTS = tuple(name for name, spec in MEMORY_FIELDS.items() if spec.type == "moment")


def read_table(text: str, name: str, settings: ReadSettings) -> Reading:
    """Read a CSV table with a header, separated by commas, semicolons or tabs.

    A row's key is its id, if a column has ids; else a digest of what is read of it, so that a row
    that changes is another one.
    """
    table = list(rows(text, name))
    _, header = table[0] if table else (1, [])
    columns = _columns(header, name, settings.columns)
    cells = [
        (
            f"{name}:{line_no}",
            {field: visible(row[at]).strip() for field, at in columns.items() if at < len(row)},
        )
        for line_no, row in table[1:]
    ]
    moments = {}
    for field in columns:
        if field in _MOMENTS:
            texts = [(row[field], where) for where, row in cells if row.get(field)]
            moments[field] = iter(moments_of(texts, settings))
    return Reading.of(_drafts(cells, moments))


def rows(text: str, name: str, delimiter: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table that are not empty, the header first, each with its first line.

    Without a delimiter, it is the one that the header has most often: a comma, semicolon or tab.
    """
    csv.field_size_limit(MAX_CELL_CHARS)
    first = text.lstrip("\n").partition("\n")[0]
    delimiter = delimiter or max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    width = 0
    begin = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                width = width or len(row)
                if len(row) > width:
                    raise DatasetError(
                        f"{name}:{begin}: expected {width} cells, got {len(row)}; quote what holds "
                        f"a {delimiter!r}"
                    )
                yield begin, row
            begin = reader.line_num + 1
    except csv.Error as error:
        raise DatasetError(f"{name}:{begin}: expected CSV, got {error}; correct the row") from None


def _columns(header: Sequence[str], name: str, named: Mapping[str, str]) -> dict[str, int]:
    """Return the number of each field's column."""
    headers = [visible(cell).strip() for cell in header]
    plain = [cell.casefold() for cell in headers]
    listed = ", ".join(repr(cell) for cell in headers if cell) or "nothing"
    columns: dict[str, int] = {}
    for field, column in named.items():
        if field not in _FIELDS:
            raise DatasetError(
                f"expected a field of a memory before the =, such as text=Note, got {field!r}; "
                f"there are {', '.join(sorted(_FIELDS))}"
            )
        if column.casefold() not in plain:
            raise DatasetError(
                f"{name}:1: no column {column!r} for {field}; the headers are {listed}"
            )
        columns[field] = plain.index(column.casefold())
    for field, words in _COLUMNS.items():
        at = next((plain.index(word) for word in words.split() if word in plain), None)
        if field not in columns and at is not None and at not in columns.values():
            columns[field] = at
    if "text" not in columns:
        raise DatasetError(
            f"{name}:1: no column is the text; say which with --columns text=HEADER; the headers "
            f"are {listed}"
        )
    return columns


def _drafts(
    cells: Sequence[tuple[str, dict[str, str]]], moments: Mapping[str, Iterator[dt.datetime]]
) -> Iterator[Draft | LeftOut]:
    """Yield what each row says; ``moments`` are those of a column's filled cells, in order."""
    keys = ContentKeys()
    for where, row in cells:
        read = {field: next(column) for field, column in moments.items() if row.get(field)}
        if not row.get("text"):
            yield LeftOut(where, NO_TEXT)
            continue
        fields: dict[str, object] = {}
        for field, cell in row.items():
            if field in read and not plausible(read[field]):
                yield LeftOut(where, NO_DATE)
            elif field in read:
                fields[field] = read[field]
            elif cell and field not in {"text", "author", ID}:
                fields[field] = typed(field, cell, where)
        author = row.get("author", "")
        key = row.get(ID) or keys.key(*(f"{f}={c}" for f, c in sorted(row.items())))
        yield Draft(key, where, row["text"], (author,) if author else (), fields)


def typed(name: str, cell: str, where: str) -> object:
    """Return a cell as its field has it: lists are split at semicolons, numbers are read."""
    spec = MEMORY_FIELDS.get(name)
    if spec is not None and spec.type == "texts":
        return [part.strip() for part in cell.split(";") if part.strip()]
    if spec is not None and spec.type == "number":
        try:
            return float(cell)
        except ValueError:
            raise DatasetError(f"{where}: expected {name} to be a number, got {cell!r}") from None
    return cell
