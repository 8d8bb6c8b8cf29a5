"""Reporting: what was measured in, the page of ``--report`` out; for ``eval`` and ``bench``."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import click

report_option = click.option(
    "--report",
    "report_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.html",
    help="write a page with plots, to read and keep (default: not)",
)


def see_that_it_can_be_drawn() -> None:
    """End the command before the hour, not after it, where there is nothing to draw with."""
    from family_recall.reports import evaluation

    try:
        evaluation.check()
    except ImportError as error:
        raise click.ClickException(str(error)) from None


def write_page(file: Path, page: str) -> None:
    """Write it, and say on stderr how large it is."""
    file.write_text(page, encoding="utf-8", newline="\n")
    click.echo(f"{file}: {len(page.encode()) / 1000:,.0f} kB", err=True)


def local_now() -> dt.datetime:
    """Give the moment, as the clock on the wall shows it."""
    return dt.datetime.now().astimezone()
