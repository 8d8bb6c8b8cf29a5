"""What the commands share: examples under ``--help``, errors in one line, ``--json``."""

from __future__ import annotations

import datetime as dt
import difflib
import json
import os
import re
import shlex
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import click

import family_recall as fr
from family_recall.cli.settings import SETTINGS, in_effect
from family_recall.errors import FamilyRecallError, NotAStoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        except KeyboardInterrupt:
            raise Interrupted("stopped; what was acknowledged before is kept") from None


class CommandOrQuestion(ErrorsInOneLine):
    """A group that recalls what is no command: a first argument that reads as a question.

    One does that has a blank in it, ends in a question mark, or comes after ``--``. Any other is
    a misspelt command, and nothing is recalled.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let ``recall`` take what comes after ``--``, the first of it as the question."""
        _, left, _ = self.make_parser(ctx).parse_args(list(args))
        at = len(args) - len(left)
        if left and args[:at][-1:] == ["--"]:
            args = [*args[: at - 1], "recall", *left[1:], "--", left[0]]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or ``recall`` for a question."""
        said = args[0]
        if said not in self.commands and not ctx.resilient_parsing and not said.startswith("-"):
            if not is_question(said):
                raise click.UsageError(self._unknown(said), ctx)
            args = ["recall", *args]
        return super().resolve_command(ctx, args)

    def _unknown(self, said: str) -> str:
        close = difflib.get_close_matches(said.lower(), self.commands, n=3)
        meant = f" Did you mean {' or '.join(close)}?" if close else ""
        return (
            f"there is no command {said!r}.{meant} To ask it as a question: "
            f"family-recall -- {plain(shlex.quote(said))}"
        )


def is_question(said: str) -> bool:
    """Whether a first argument that is no command can only be meant as a question."""
    return len(said.split()) > 1 or said.rstrip().endswith(("?", "\N{FULLWIDTH QUESTION MARK}"))


class Interrupted(click.ClickException):
    """Somebody pressed Ctrl-C: what is done, and how to go on. The exit code is 130."""

    exit_code = 130

    def show(self, file: IO[Any] | None = None) -> None:
        """Say it on stderr, on one line."""
        click.echo(f"Interrupted: {one_line(self.message)}", file=file, err=file is None)


def moment(value: str) -> dt.datetime:
    """Read an ISO 8601 day or moment; one without an offset is meant in the household's zone."""
    try:
        return dt.datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is no ISO day or moment such as 2026-03-01T18:30"
        ) from None


models_option = click.option(
    "--models",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="the models folder (default: FAMILY_RECALL_MODELS, or your own models and the shipped)",
)
json_option = click.option("--json", "as_json", is_flag=True, help="print JSON with stable keys")


def existing(db: Path) -> fr.FamilyRecall:
    """Open a household that is there; ``init`` alone makes one."""
    if not db.exists():
        raise NotAStoreError(f"{db}: no such file; make one with: family-recall init --db {db}")
    return fr.FamilyRecall.open(db, create=False, key=key())


def key() -> str | bytes | None:
    """Give the key in the file that is in effect; None where there is none."""
    file = in_effect(click.get_current_context(), SETTINGS["key_file"]).value
    return key_in(None if file is None else Path(file))


def key_in(file: Path | None) -> str | bytes | None:
    """Give the key in a file; None for none."""
    if file is None:
        return None
    from family_recall.stores.file.encryption import read_key_file  # noqa: PLC0415 -- brings SQLite

    return read_key_file(file)


def console(*, stderr: bool = False) -> Console:
    """Give a console: styled on a terminal unless NO_COLOR is set, plain text in a pipe."""
    from rich.console import Console  # noqa: PLC0415 -- a third of a second, and help needs none

    # Told of NO_COLOR, rich leaves colours out and bold in.
    styles: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False, color_system=styles)
    if not made.is_terminal:
        made.width = PIPE_WIDTH
    return made


def print_json(record: object) -> None:
    """Print a record on stdout, indented, letters as they are."""
    click.echo(json.dumps(record, ensure_ascii=False, indent=2))


def plain(text: str) -> str:
    """Give a text that cannot steer a terminal: control characters become a visible mark."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """Give a text on one line, safe for a terminal."""
    return plain(" ".join(text.split()))
