"""What commands print: JSON for programs, lines, tables and documents for people, progress bars."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Literal

import click

from family_recall.types.answer_text import lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import Console
    from rich.progress import ProgressColumn, Task
    from rich.table import Table
    from rich.text import Text

    from family_recall.types import Answer
    from family_recall.types.aliases import ProgressCallback, StepCallback


PIPE_WIDTH = 120
"""Columns of a table that goes into a pipe; a terminal has its own width."""

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


@dataclass(frozen=True, slots=True)
class Output:
    """The result of a command.

    Args:
        record: Printed with ``--json``.
        lines: Printed without it, each on one line.
        draw: Called with a console instead of printing lines, for styles and tables.
        failed: Whether the exit code is 1.
    """

    record: Any
    lines: Iterable[str] = ()
    draw: Callable[[Console], None] | None = None
    failed: bool = False

    def print(self, *, as_json: bool) -> None:
        """Print on stdout what was asked for; the other form is not even made."""
        if as_json:
            click.echo(json_text(self.record))
        elif self.draw is not None:
            self.draw(console())
        else:
            for line in self.lines:
                click.echo(one_line(line))


def console(*, stderr: bool = False) -> Console:
    """Return a console: styled on a terminal unless NO_COLOR is set, plain text in a pipe."""
    from rich.console import Console  # noqa: PLC0415 -- a third of a second, and help needs none

    # With NO_COLOR set, rich leaves out colours but keeps bold.
    styles: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False, color_system=styles)
    if not made.is_terminal:
        made.width = PIPE_WIDTH
    return made


def print_line(out: Console, text: str, style: str = "") -> None:
    """Print a text on one line of a console, however long."""
    out.print(one_line(text), style=style or None, soft_wrap=True)


def table(first: str, *names: str, numbers: bool = True, **about: Any) -> Table:
    """Return an empty table without borders; columns after the first hold numbers, or words."""
    from rich.table import Table  # noqa: PLC0415 -- help needs no tables

    made = Table(box=None, pad_edge=False, **{"header_style": "bold", **about})
    made.add_column(first, no_wrap=numbers)
    for name in names:
        made.add_column(name, justify="right" if numbers else "left", no_wrap=numbers)
    return made


def json_text(record: Any) -> str:
    """Return a record as JSON that cannot steer a terminal: control characters are escaped."""
    text = json.dumps(record, ensure_ascii=False, indent=2)
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def plain(text: str) -> str:
    """Return a text that cannot steer a terminal: control characters become a visible mark."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """Return a text on one line, safe for a terminal."""
    return plain(" ".join(text.splitlines()))


def counted(n: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun, such as ``1 memory`` or ``1,200 memories``."""
    return f"{n:,} {singular if n == 1 else plural or f'{singular}s'}"


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


class Interrupted(click.ClickException):
    """The user pressed Ctrl-C; the message says what is done and how to go on. Exit code 130."""

    exit_code = 130

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message on one line of stderr."""
        click.echo(f"Interrupted: {one_line(self.message)}", file=file, err=file is None)


@contextlib.contextmanager
def on_interrupt(message: Callable[[], str]) -> Iterator[None]:
    """Turn a Ctrl-C inside the block into one line that says what is done and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(message()) from None


@contextlib.contextmanager
def step_bars(stopped: Callable[[str, int, int], str] | None = None) -> Iterator[StepCallback]:
    """Yield a callback that draws a bar for each step, with rate and time left, on stderr.

    Nothing is written unless stderr is a terminal. ``stopped`` makes of the last step, and of how
    much of it was done, the one line that a Ctrl-C prints.
    """
    at: tuple[str, int, int] = ("start", 0, 0)
    from rich import progress  # noqa: PLC0415 -- see console
    from rich.text import Text  # noqa: PLC0415 -- see console

    class Rate(progress.ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(rate(task.speed))

    with _bars(progress.MofNCompleteColumn(), Rate()) as show:

        def note(*step: Any) -> None:
            nonlocal at
            at = step
            show(*step)

        try:
            yield note
        except KeyboardInterrupt:
            if stopped is None:
                raise
            raise Interrupted(stopped(*at)) from None


def rate(per_s: float | None) -> str:
    """Return a rate in the unit in which it is a number of one or more; empty where unknown.

    >>> rate(12.0), rate(0.5), rate(None)
    ('12/s', '30/min', '')
    """
    if not per_s:
        return ""
    return f"{per_s:,.0f}/s" if per_s >= 1.0 else f"{per_s * 60.0:,.0f}/min"


@contextlib.contextmanager
def bar(
    step: str, stopped: Callable[[str, int, int], str] | None = None
) -> Iterator[ProgressCallback]:
    """Yield a callback that draws the bar of one step; see :func:`step_bars`."""
    with step_bars(stopped) as show:
        yield lambda done, total: show(step, done, total)


@contextlib.contextmanager
def byte_bars() -> Iterator[StepCallback]:
    """Yield a callback that draws a bar for each file, with bytes, rate and time left."""
    from rich import progress  # noqa: PLC0415 -- see console

    with _bars(progress.DownloadColumn(), progress.TransferSpeedColumn()) as show:
        yield show


@contextlib.contextmanager
def _bars(*columns: ProgressColumn) -> Iterator[StepCallback]:
    from rich import progress  # noqa: PLC0415 -- see console

    out = console(stderr=True)
    shown: list[ProgressColumn] = [
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        *columns,
        progress.TimeRemainingColumn(),
    ]
    with progress.Progress(
        *shown, console=out, transient=True, disable=not out.is_terminal
    ) as bars:
        tasks: dict[str, progress.TaskID] = {}

        def show(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done, total=total)

        yield show
