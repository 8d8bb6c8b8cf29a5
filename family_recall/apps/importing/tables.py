"""CSV tables: each row is a draft."""

from __future__ import annotations

import csv
import dataclasses
import datetime as dt
import itertools
import re
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
NO_ROW, NO_CELL = "rows that are not understood", "cells that are not understood"
PARTLY = "rows without a cell of the template"
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

_PLACE = re.compile(r"\{([^{}]*)\}")
_FIELDS = (set(MEMORY_FIELDS) | {ID}) - {"doc_id", "space_id", "source"}
_MOMENTS = tuple(name for name, spec in MEMORY_FIELDS.items() if spec.type == "moment")


def read_table(text: str, name: str, settings: ReadSettings) -> Reading:
    """Read a CSV table with a header, separated by commas, semicolons or tabs.

    A row's key is its id, or a digest of its cells where no column has ids. A text of several
    columns is the first cell, a colon, and the others.
    """
    settings.limits.check_lines(text, name)
    table: list[tuple[int, list[str]]] = []
    items: list[Draft | LeftOut] = []
    for item in rows(text, name):
        if isinstance(item, LeftOut):
            items.append(item)
        else:
            table.append(item)
    header = [visible(cell).strip() for cell in table.pop(0)[1]] if table else []
    columns, template = _columns(header, name, settings.columns)
    used = {at for of_field in columns.values() for at in of_field}
    for at, column in enumerate(header):
        filled = [line_no for line_no, row in table if at < len(row) and row[at].strip()]
        if at not in used and filled:
            where = f"{name}:{filled[0]}"
            items.append(LeftOut(where, f"cells of the column {column[:60]!r}", n=len(filled)))
    cells: list[tuple[str, dict[str, str]]] = []
    for line_no, row in table:
        where, padded = f"{name}:{line_no}", [visible(cell).strip() for cell in row]
        padded += [""] * (len(header) - len(row))
        fields = {field: padded[at] for field, (at, *_) in columns.items() if at < len(row)}
        words = [padded[at] for at in columns["text"]]
        first, *others = [*filter(None, words)] or [""]
        fields["text"] = f"{first}: {', '.join(others)}" if others else first
        if template and all(words):
            fields["text"] = "".join(itertools.chain(*zip(template, [*words, ""], strict=True)))
        elif template and first:
            items.append(LeftOut(where, PARTLY))
        cells.append((where, fields))
    moments = {}
    for field in columns:
        if field in _MOMENTS:
            texts = [(row[field], where) for where, row in cells if row.get(field)]
            moments[field] = iter(moments_of(texts, settings))
    return Reading.of(itertools.chain(items, _drafts(cells, moments)), settings)


def rows(
    text: str, name: str, delimiter: str | None = None
) -> Iterator[tuple[int, list[str]] | LeftOut]:
    """Yield (line number, cells) for each row that is not empty, the header first.

    The default delimiter is the comma, semicolon or tab that the header has most often. After a
    row that is not understood the next line begins another one.
    """
    csv.field_size_limit(MAX_CELL_CHARS)
    lines = [f"{line}\n" for line in text.split("\n")]
    first = next((line for line in lines if line.strip()), "")
    delimiter = delimiter or max(",;\t", key=first.count)
    width = end = 0
    while (start := end) < len(lines):
        rest = (lines[at] for at in range(start, len(lines)))
        reader = csv.reader(rest, delimiter=delimiter, strict=True)
        try:
            for row in reader:
                line_no, end = end + 1, start + reader.line_num
                width = width or (len(row) if any(cell.strip() for cell in row) else 0)
                # Cells may lack at the end; with a quote in the others it is another one's end.
                is_torn = len(row) < width and any('"' in cell for cell in row)
                if len(row) > width or is_torn:
                    problem = (
                        f"expected {width} cells, got {len(row)}; quote what holds a {delimiter!r}"
                    )
                    yield LeftOut(f"{name}:{line_no}", NO_ROW, problem)
                elif any(cell.strip() for cell in row):
                    yield line_no, row
        except csv.Error as error:
            end += 1
            problem = f"expected CSV, got {error}; correct the row"
            if not width:  # without a header no cell is understood
                raise DatasetError(f"{name}:{end}: {problem}") from None
            yield LeftOut(f"{name}:{end}", NO_ROW, problem)


def _columns(
    headers: Sequence[str], name: str, chosen: Mapping[str, str | Sequence[str]]
) -> tuple[dict[str, list[int]], list[str]]:
    """Return the indices of each field's columns, and what a template has around those of the text.

    ``chosen`` are headers by field.
    """
    plain = [cell.casefold() for cell in headers]
    header_list = shortened(", ".join(repr(cell) for cell in headers if cell), 500) or "nothing"
    columns: dict[str, list[int]] = {}
    template: list[str] = []
    for field, of_field in chosen.items():
        if field not in _FIELDS:
            raise DatasetError(
                f"expected a field of a memory before the =, such as text=Note, got {field!r}; "
                f"there are {', '.join(sorted(_FIELDS))}"
            )
        names = [of_field] if isinstance(of_field, str) else [*of_field]
        if field == "text" and len(names) == 1 and (parts := _PLACE.split(names[0]))[1:]:
            template, names = parts[::2], parts[1::2]
        if field != "text" and len(names) != 1:
            raise DatasetError(f"expected one column for {field}, got {', '.join(names)}; name one")
        for column in names:
            if column.casefold() not in plain:
                raise DatasetError(
                    f"{name}:1: no column {column!r} for {field}; the headers are {header_list}"
                )
        columns[field] = [plain.index(column.casefold()) for column in names]
    used = {at for of_field in columns.values() for at in of_field}
    for field, words in _COLUMNS.items():
        index = next((plain.index(word) for word in words.split() if word in plain), None)
        if field not in columns and index is not None and index not in used:
            columns[field] = [index]
            used.add(index)
    if not columns.get("text"):
        raise DatasetError(
            f"{name}:1: no column is the text; say which with --columns text=HEADER, or several, "
            f"text=HEADER,text=HEADER; the headers are {header_list}"
        )
    return columns, template


def _drafts(
    cells: Sequence[tuple[str, dict[str, str]]],
    moments: Mapping[str, Iterator[dt.datetime | LeftOut]],
) -> Iterator[Draft | LeftOut]:
    """Yield the draft of each row; ``moments`` has those of a column's filled cells, in order."""
    keys = ContentKeys()
    for where, row in cells:
        row_moments = {field: next(column) for field, column in moments.items() if row.get(field)}
        if not row["text"]:
            yield LeftOut(where, NO_TEXT)
            continue
        author = row.get("author", "")
        key = row.get(ID) or keys.key(*(f"{f}={c}" for f, c in sorted(row.items())))
        fields: dict[str, object] = {}
        for field, cell in row.items():
            moment = row_moments.get(field)
            if isinstance(moment, LeftOut):
                yield dataclasses.replace(moment, key=key)
            elif moment is not None and not is_plausible(moment):
                yield LeftOut(where, NO_DATE)
            elif moment is not None:
                fields[field] = moment
            elif cell and field not in {"text", "author", ID}:
                try:
                    fields[field] = parse_cell(field, cell, where)
                except DatasetError as error:
                    yield LeftOut.because(error, where.rpartition(":")[0], NO_CELL, key)
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
