"""What the commands share: examples under ``--help``, errors in one line, ``--json``."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import family_recall as fr
from family_recall.errors import FamilyRecallError, NotAStoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

DEFAULT_SPACE = "shared:household"
PIPE_WIDTH = 120
"""Columns of a table that goes into a pipe; a terminal has its own width."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class WithExamples(click.Command):
    """A command whose help ends in lines to copy."""

    def __init__(self, *args: Any, examples: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, each on a line of its own, however long."""
        del ctx
        formatter.write("\nexamples:\n")
        formatter.write("".join(f"  {line}\n" for line in self.examples))


class GroupWithExamples(WithExamples, click.Group):
    """A group that lists its commands in the order a household meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names as they were added."""
        del ctx
        return list(self.commands)


class ErrorsInOneLine(GroupWithExamples):
    """A group that turns the library's errors into one line on stderr and exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a bug keeps its traceback, an expected error does not."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (FamilyRecallError, OSError) as error:
            raise click.ClickException(one_line(str(error))) from error


def moment(value: str) -> dt.datetime:
    """Read an ISO 8601 day or moment; one without an offset is meant in the household's zone."""
    try:
        return dt.datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is no ISO day or moment such as 2026-03-01T18:30"
        ) from None


db_argument = click.argument("db", type=click.Path(dir_okay=False, path_type=Path), metavar="DB")
json_option = click.option("--json", "as_json", is_flag=True, help="print JSON with stable keys")


def existing(db: Path) -> fr.FamilyRecall:
    """Open a household that is there; ``init`` alone makes one."""
    if not db.exists():
        raise NotAStoreError(f"{db}: no such file; make one with: family-recall init {db}")
    return fr.FamilyRecall.open(db, create=False, key=key())


def key() -> str | bytes | None:
    """Give the key that --key-file names; None where it was not given."""
    return key_in(click.get_current_context().find_root().params.get("key_file"))


def key_in(file: Path | None) -> str | bytes | None:
    """Give the key in a file; None for none."""
    if file is None:
        return None
    from family_recall.stores.keys import read_key_file  # noqa: PLC0415 -- brings SQLite

    return read_key_file(file)


def console(*, stderr: bool = False) -> Console:
    """Give a console: colour on a terminal unless NO_COLOR is set, plain text in a pipe."""
    from rich.console import Console  # noqa: PLC0415 -- a third of a second, and help needs none

    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal:
        made.width = PIPE_WIDTH
    return made


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Give ``show(step, done, total)``: a bar with rate and time left, on stderr.

    Nothing is written unless stderr is a terminal.
    """
    from rich import progress  # noqa: PLC0415 -- see console
    from rich.text import Text  # noqa: PLC0415 -- see console

    class Rate(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "")

    out = console(stderr=True)
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        Rate(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(
        *columns, console=out, transient=True, disable=not out.is_terminal
    ) as bar:
        tasks: dict[str, progress.TaskID] = {}

        def show(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bar.add_task(step, total=total)
            bar.update(tasks[step], completed=done)

        yield show


def print_json(record: object) -> None:
    """Print a record on stdout, indented, letters as they are."""
    click.echo(json.dumps(record, ensure_ascii=False, indent=2))


def plain(text: str) -> str:
    """Give a text that cannot steer a terminal: control characters become a visible mark."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """Give a text on one line, safe for a terminal."""
    return plain(" ".join(text.split()))
