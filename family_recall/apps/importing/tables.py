"""CSV tables: each row is a draft."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Iterator, Mapping, Sequence

from family_recall.apps.importing.dates import is_plausible, moments_of
from family_recall.apps.importing.drafts import (
    ContentKeys,
    Draft,
    LeftOut,
    Reading,
    ReadSettings,
    visible,
)
from family_recall.errors import DatasetError
from family_recall.types.briefing import shortened
from family_recall.types.json_lines import shown
from family_recall.types.memory import MEMORY_FIELDS

NO_TEXT, NO_DATE = "rows without a text", "impossible dates of rows"
ID = "id"
"""The column with a row's own id."""

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
"""Known headers of each field, the likeliest first."""

_FIELDS = (set(MEMORY_FIELDS) | {ID}) - {"doc_id", "space_id", "source"}
_MOMENTS = tuple(name for name, spec in MEMORY_FIELDS.items() if spec.type == "moment")


def read_table(text: str, name: str, settings: ReadSettings) -> Reading:
    """Read a CSV table with a header, separated by commas, semicolons or tabs.

    A row's key is its id, or a digest of its cells where no column has ids.
    """
    settings.limits.check_lines(text, name)
    table = list(rows(text, name))
    _, header = table[0] if table else (1, [])
    columns = _columns(header, name, settings.columns)
    cells = [
        (
            f"{name}:{line_no}",
            {name: visible(row[i]).strip() for name, i in columns.items() if i < len(row)},
        )
        for line_no, row in table[1:]
    ]
    moments = {}
    for field in columns:
        if field in _MOMENTS:
            texts = [(row[field], where) for where, row in cells if row.get(field)]
            moments[field] = iter(moments_of(texts, settings))
    return Reading.of(_drafts(cells, moments), settings)


def rows(text: str, name: str, delimiter: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) for each row that is not empty, the header first.

    The default delimiter is the comma, semicolon or tab that the header has most often.
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


def _columns(header: Sequence[str], name: str, chosen: Mapping[str, str]) -> dict[str, int]:
    """Return the index of each field's column; ``chosen`` are headers by field."""
    headers = [visible(cell).strip() for cell in header]
    plain = [cell.casefold() for cell in headers]
    header_list = shortened(", ".join(repr(cell) for cell in headers if cell), 500) or "nothing"
    columns: dict[str, int] = {}
    for field, column in chosen.items():
        if field not in _FIELDS:
            raise DatasetError(
                f"expected a field of a memory before the =, such as text=Note, got {field!r}; "
                f"there are {', '.join(sorted(_FIELDS))}"
            )
        if column.casefold() not in plain:
            raise DatasetError(
                f"{name}:1: no column {column!r} for {field}; the headers are {header_list}"
            )
        columns[field] = plain.index(column.casefold())
    for field, words in _COLUMNS.items():
        index = next((plain.index(word) for word in words.split() if word in plain), None)
        if field not in columns and index is not None and index not in columns.values():
            columns[field] = index
    if "text" not in columns:
        raise DatasetError(
            f"{name}:1: no column is the text; say which with --columns text=HEADER; the headers "
            f"are {header_list}"
        )
    return columns


def _drafts(
    cells: Sequence[tuple[str, dict[str, str]]], moments: Mapping[str, Iterator[dt.datetime]]
) -> Iterator[Draft | LeftOut]:
    """Yield the draft of each row; ``moments`` has those of a column's filled cells, in order."""
    keys = ContentKeys()
    for where, row in cells:
        row_moments = {field: next(column) for field, column in moments.items() if row.get(field)}
        if not row.get("text"):
            yield LeftOut(where, NO_TEXT)
            continue
        fields: dict[str, object] = {}
        for field, cell in row.items():
            if field in row_moments and not is_plausible(row_moments[field]):
                yield LeftOut(where, NO_DATE)
            elif field in row_moments:
                fields[field] = row_moments[field]
            elif cell and field not in {"text", "author", ID}:
                fields[field] = parse_cell(field, cell, where)
        author = row.get("author", "")
        key = row.get(ID) or keys.key(*(f"{f}={c}" for f, c in sorted(row.items())))
        yield Draft(key, where, row["text"], (author,) if author else (), fields)


def parse_cell(name: str, cell: str, where: str) -> object:
    """Return a cell as its field's value; lists are split at semicolons."""
    spec = MEMORY_FIELDS.get(name)
    if spec is not None and spec.type == "texts":
        return [part.strip() for part in cell.split(";") if part.strip()]
    if spec is not None and spec.type == "number":
        try:
            return float(cell)
        except ValueError:
            raise DatasetError(
                f"{where}: expected {name} to be a number, got {shown(cell)}"
            ) from None
    return cell
