"""Progress bars on a terminal, and what is said when somebody stops a long command."""

from __future__ import annotations

import contextlib
from typing import IO, TYPE_CHECKING, Any

import click

from family_recall.apps.cli.output import console, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    from family_recall.types.progress import ProgressCallback, StepCallback


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
def step_bars() -> Iterator[StepCallback]:
    """Yield a callback that draws a bar for each step, with rate and time left, on stderr.

    Nothing is written unless stderr is a terminal.
    """
    from rich import progress  # noqa: PLC0415 -- see console
    from rich.text import Text  # noqa: PLC0415 -- see console

    class Rate(progress.ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(rate(task.speed))

    with _bars(progress.MofNCompleteColumn(), Rate()) as show:
        yield show


def rate(per_s: float | None) -> str:
    """Return a rate in the unit in which it is a number of one or more; empty where unknown.

    >>> rate(12.0), rate(0.5), rate(None)
    ('12/s', '30/min', '')
    """
    if not per_s:
        return ""
    return f"{per_s:,.0f}/s" if per_s >= 1.0 else f"{per_s * 60.0:,.0f}/min"


@contextlib.contextmanager
def bar(step: str) -> Iterator[ProgressCallback]:
    """Yield a callback that draws the bar of one step; see :func:`step_bars`."""
    with step_bars() as show:
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
