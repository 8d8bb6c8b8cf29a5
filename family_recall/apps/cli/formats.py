"""An answer for other programs and documents: as JSON, a CSV table or Markdown."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

import click

from family_recall.apps.cli.output import json_text, one_line
from family_recall.types.answer_text import lines_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from family_recall.types import Answer

_COLUMNS = ("rank", "text", "said_by", "occurred_at", "confidence", "space_id", "doc_id")
_SIGNS = re.compile(r"([\\`*_{}\[\]<>#|])")
_FORMULA = ("=", "+", "-", "@")

format_option: Callable[[Any], Any] = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "csv", "md"]),
    default="text",
    help="what to print: text to read, JSON as --json does, CSV with a line for each memory, or"
    " Markdown (default: text)",
)


def formatted(answer: Answer, form: str) -> str:
    """Return an answer as ``json``, ``csv`` or ``md``, ready to be printed."""
    if form == "json":
        return json_text(answer.to_json())
    return _table(answer) if form == "csv" else "\n".join(_markdown(answer))


def _table(answer: Answer) -> str:
    """Return the results as CSV; a text that a spreadsheet would compute is quoted as one."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for result in answer.results:
        cells = [getattr(result, name) for name in _COLUMNS]
        writer.writerow([_cell(cell) for cell in cells])
    return out.getvalue().rstrip("\n")


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return "" if value is None else value
    text = one_line(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _markdown(answer: Answer) -> list[str]:
    """Return the lines that are printed as text, as paragraphs and a list."""
    marks = {"answer": "**{}**\n", "sureness": "*{}*\n", "remark": "{}\n"}
    lines = []
    for line in lines_of(answer):
        text = _SIGNS.sub(r"\\\1", one_line(line.text).strip())
        if line.kind == "other":
            lines.append(f"- {text}" if line.text.startswith("  ") else f"{text}\n")
        else:
            lines.append(marks[line.kind].format(text))
    return lines
