"""What commands print: JSON with stable keys for programs, plain lines or tables for people."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.console import Console
    from rich.table import Table

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
