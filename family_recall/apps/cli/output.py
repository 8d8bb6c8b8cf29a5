"""What commands print: JSON for programs, lines, tables and documents for people, progress bars."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

import click

from family_recall.apps.cli.options import option
from family_recall.types.answer_text import lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import Console
    from rich.table import Table

    from family_recall.types import Answer
    from family_recall.types.aliases import ProgressCallback, StepCallback


Styled: TypeAlias = tuple[str, str]
"""A line, and the style of it that a terminal shows."""
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
        styled: Lines with a style each, printed in their place.
        draw: Called with a console instead, for tables and whole documents.
        failed: Whether the exit code is 1.
    """

    record: Any
    lines: Iterable[str] = ()
    styled: Iterable[Styled] | None = None
    draw: Callable[[Console], None] | None = None
    failed: bool = False

    def print(self, *, as_json: bool) -> None:
        """Print on stdout what was asked for; the other form is not even made."""
        if as_json:
            click.echo(json_text(self.record))
        elif self.draw is not None:
            self.draw(console())
        elif self.styled is not None:
            print_lines(console(), self.styled)
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
    print_lines(out, [(text, style)])


def print_lines(out: Console, lines: Iterable[Styled]) -> None:
    """Print texts in their styles, each on one line of a console, however long."""
    for text, style in lines:
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

format_option: Callable[[Any], Any] = option(
    "--format",
    ["text", "json", "csv", "md"],
    "what to print: text to read, JSON as --json does, CSV with a line for each memory, or "
    "Markdown",
    name="form",
    default="text",
)


def answer_output(answer: Answer, form: str, lines: Iterable[Styled]) -> Output:
    """Return an answer as ``--format`` says; ``lines`` are it as text."""
    if form == "text":
        return Output(answer.to_json(), styled=lines)
    return Output(answer.to_json(), draw=lambda _: click.echo(formatted(answer, form)))


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
def step_bars(
    stopped: Callable[[str, int, int], str] | None = None, *, in_bytes: bool = False
) -> Iterator[StepCallback]:
    """Yield a callback that draws a bar for each step, with rate and time left, on stderr.

    Nothing is written unless stderr is a terminal. ``stopped`` makes of the last step, and of how
    much of it was done, the one line that a Ctrl-C prints.
    """
    from rich import progress  # noqa: PLC0415 -- see console

    out = console(stderr=True)
    at: tuple[str, int, int] = ("start", 0, 0)
    tasks: dict[str, progress.TaskID] = {}
    amounts: tuple[progress.ProgressColumn, ...] = (
        (progress.DownloadColumn(), progress.TransferSpeedColumn())
        if in_bytes
        else (progress.MofNCompleteColumn(), progress.TextColumn("{task.fields[rate]}"))
    )
    with progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        *amounts,
        progress.TimeRemainingColumn(),
        console=out,
        transient=True,
        disable=not out.is_terminal,
    ) as bars:

        def show(step: str, done: int, total: int) -> None:
            nonlocal at
            at = step, done, total
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total, rate="")
            speed = bars.tasks[tasks[step]].speed
            rate = f"{speed:,.0f}/s" if speed else ""
            if speed and speed < 1.0:
                rate = f"{speed * 60.0:,.0f}/min"
            bars.update(tasks[step], completed=done, total=total, rate=rate)

        try:
            yield show
        except KeyboardInterrupt:
            if stopped is None:
                raise
            raise Interrupted(stopped(*at)) from None


@contextlib.contextmanager
def bar(
    step: str, stopped: Callable[[str, int, int], str] | None = None
) -> Iterator[ProgressCallback]:
    """Yield a callback that draws the bar of one step; see :func:`step_bars`."""
    with step_bars(stopped) as show:
        yield lambda done, total: show(step, done, total)
