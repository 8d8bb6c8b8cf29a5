"""Output of commands: JSON, lines, tables and documents, and progress bars."""

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
from family_recall.errors import CONTROL
from family_recall.types.answer_text import lines_of
from family_recall.types.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import Console
    from rich.table import Table

    from family_recall.types import Answer
    from family_recall.types.aliases import ProgressCallback, StepCallback


Styled: TypeAlias = tuple[str, str]
"""A line and its style on a terminal."""
PIPE_WIDTH = 120
"""Characters a line of a table in a pipe."""


@dataclass(frozen=True, slots=True)
class Output:
    """The result of a command.

    Args:
        record: Printed with ``--json``.
        lines: Printed without it.
        draw: Draws styled lines, tables or a document on a console instead.
        failed: Whether the exit code is 1.
    """

    record: Any
    lines: Iterable[str] = ()
    draw: Callable[[Console], None] | None = None
    failed: bool = False

    def print(self, *, as_json: bool) -> None:
        """Print JSON or text on stdout."""
        if as_json:
            click.echo(json_text(self.record))
        elif self.draw is not None:
            self.draw(console())
        else:
            for line in self.lines:
                click.echo(one_line(line))


def console(*, stderr: bool = False) -> Console:
    """Return a console; a pipe, or NO_COLOR, gets plain text."""
    from rich.console import Console  # noqa: PLC0415 -- a third of a second, and help needs none

    # With NO_COLOR set, rich leaves out colours but keeps bold.
    styles: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    result = Console(stderr=stderr, highlight=False, markup=False, emoji=False, color_system=styles)
    if not result.is_terminal:
        result.width = PIPE_WIDTH
    return result


def print_line(out: Console, text: str, style: str = "") -> None:
    """Print a text on one line of a console."""
    print_lines(out, [(text, style)])


def print_lines(out: Console, lines: Iterable[Styled]) -> None:
    """Print styled texts, each on one line of a console."""
    for text, style in lines:
        out.print(one_line(text), style=style or None, soft_wrap=True)


def table(first: str, *names: str, numbers: bool = True, **attrs: Any) -> Table:
    """Return an empty table without borders; ``numbers`` aligns all but the first column right."""
    from rich.table import Table  # noqa: PLC0415 -- help needs no tables

    result = Table(box=None, pad_edge=False, **{"header_style": "bold", **attrs})
    result.add_column(first, no_wrap=numbers)
    for name in names:
        result.add_column(name, justify="right" if numbers else "left", no_wrap=numbers)
    return result


def json_text(record: Any) -> str:
    """Return a record as JSON with control characters escaped."""
    text = json.dumps(record, ensure_ascii=False, indent=2)
    return CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(text: str) -> str:
    """Return a text on one line, with a visible mark for characters that could steer a terminal."""
    return printable(" ".join(text.splitlines()))


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 memory`` or ``1,200 memories``."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


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
    """Return an answer in the format of ``--format``; ``lines`` are its text."""
    if form == "text":
        return Output(answer.to_json(), draw=lambda out: print_lines(out, lines))
    return Output(answer.to_json(), draw=lambda _: click.echo(formatted(answer, form)))


def formatted(answer: Answer, form: str) -> str:
    """Return an answer as ``json``, ``csv`` or ``md``."""
    if form == "json":
        return json_text(answer.to_json())
    return _csv(answer) if form == "csv" else "\n".join(_markdown(answer))


def _csv(answer: Answer) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for result in answer.results:
        writer.writerow([_cell(getattr(result, name)) for name in _COLUMNS])
    return out.getvalue().rstrip("\n")


def _cell(value: object) -> object:
    """Return a CSV cell; an apostrophe keeps a spreadsheet from computing a text."""
    if not isinstance(value, str):
        return "" if value is None else value
    text = one_line(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _markdown(answer: Answer) -> list[str]:
    """Return the lines of the text format as paragraphs and a list."""
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
    """Ctrl-C; the message says what is done and how to go on. Exit code 130."""

    exit_code = 130

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message on one line of stderr."""
        click.echo(f"Interrupted: {one_line(self.message)}", file=file, err=file is None)


@contextlib.contextmanager
def on_interrupt(message: Callable[[], str]) -> Iterator[None]:
    """Raise :class:`Interrupted` on a Ctrl-C inside the block."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(message()) from None


@contextlib.contextmanager
def step_bars(
    stopped: Callable[[str, int, int], str] | None = None, *, in_bytes: bool = False
) -> Iterator[StepCallback]:
    """Yield a callback that draws a progress bar for each step, if stderr is a terminal.

    ``stopped`` returns the message of a Ctrl-C, given the last step, its amount done and its total.
    """
    from rich import progress  # noqa: PLC0415 -- see console

    out = console(stderr=True)
    last: tuple[str, int, int] = ("start", 0, 0)
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
            nonlocal last
            last = step, done, total
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
            raise Interrupted(stopped(*last)) from None


@contextlib.contextmanager
def bar(
    step: str, stopped: Callable[[str, int, int], str] | None = None
) -> Iterator[ProgressCallback]:
    """Yield a callback that draws one progress bar; see :func:`step_bars`."""
    with step_bars(stopped) as show:
        yield lambda done, total: show(step, done, total)
