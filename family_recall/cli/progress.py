"""Progress: steps done in; a bar on a terminal, and a line where somebody stops it, out."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from family_recall.cli.base import Interrupted, console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.progress import ProgressColumn, Task
    from rich.text import Text


@contextlib.contextmanager
def telling_where(told: Callable[[], str]) -> Iterator[None]:
    """Turn a Ctrl-C within into a line that says what is done and where to go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(told()) from None


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Give ``show(step, done, total)``: a bar with rate and time left, on stderr.

    Nothing is written unless stderr is a terminal.
    """
    from rich import progress  # noqa: PLC0415 -- see console
    from rich.text import Text  # noqa: PLC0415 -- see console

    class Rate(progress.ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "")

    with _bar(progress.MofNCompleteColumn(), Rate()) as show:
        yield show


def steps(show: Callable[[str, int, int], None], name: str) -> Callable[[int, int], None]:
    """Give ``progress(done, total)`` that shows one step."""
    return lambda done, total: show(name, done, total)


@contextlib.contextmanager
def byte_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Give ``show(file, done, total)``: a bar with bytes, rate and time left, on stderr."""
    from rich import progress  # noqa: PLC0415 -- see console

    with _bar(progress.DownloadColumn(), progress.TransferSpeedColumn()) as show:
        yield show


@contextlib.contextmanager
def _bar(*columns: ProgressColumn) -> Iterator[Callable[[str, int, int], None]]:
    from rich import progress  # noqa: PLC0415 -- see console

    out = console(stderr=True)
    shown: Sequence[ProgressColumn] = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        *columns,
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*shown, console=out, transient=True, disable=not out.is_terminal) as bar:
        tasks: dict[str, progress.TaskID] = {}

        def show(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bar.add_task(step, total=total)
            bar.update(tasks[step], completed=done, total=total)

        yield show
