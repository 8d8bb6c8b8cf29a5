"""Tables: a CSV or TSV file with a header in, a record for each row out."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from family_recall.errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NUMBERS = ("importance", "valence", "arousal")
MAX_CELL_CHARS = 8 * 1024 * 1024


def read_csv(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give each row under the header as (line it ends on, its filled cells).

    ``labels`` are split at semicolons; ``importance``, ``valence`` and ``arousal`` are numbers.

    Raises:
        DatasetError: If the file cannot be read or has no column ``text``, or a row has too
            many cells or no number where one belongs. The message names file and line.
    """
    csv.field_size_limit(MAX_CELL_CHARS)
    line_no = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
            header = [name.strip() for name in next(rows, [])]
            if "text" not in header or len(set(header)) < len(header):
                raise DatasetError(
                    f"{path}:1: expected a header of different names, 'text' among them, got "
                    f"{', '.join(header) or 'nothing'}"
                )
            for row in rows:
                line_no = rows.line_num
                if len(row) > len(header):
                    raise DatasetError(
                        f"{path}:{line_no}: expected {len(header)} cells, got {len(row)}; "
                        "quote what holds a separator"
                    )
                cells = {name: cell for name, cell in zip(header, row, strict=False) if cell}
                if cells:
                    yield line_no, _typed(cells, f"{path}:{line_no}")
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except UnicodeDecodeError as error:
        raise DatasetError(
            f"{path}: expected UTF-8 after line {line_no}, got {error.reason}; convert the file"
        ) from None
    except csv.Error as error:
        raise DatasetError(f"{path}: expected CSV after line {line_no}, got {error}") from None


def _typed(cells: dict[str, str], where: str) -> dict[str, Any]:
    typed: dict[str, Any] = dict(cells)
    if "labels" in cells:
        typed["labels"] = [part.strip() for part in cells["labels"].split(";") if part.strip()]
    for name in NUMBERS:
        if name in cells:
            try:
                typed[name] = float(cells[name])
            except ValueError:
                raise DatasetError(
                    f"{where}: expected {name} to be a number, got {cells[name]!r}"
                ) from None
    return typed
