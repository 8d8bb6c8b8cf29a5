"""Try it with an invented family: ``demo``."""

from __future__ import annotations

import sys

import click

import family_recall as fr
from family_recall.apps.cli.command import command
from family_recall.apps.cli.options import option
from family_recall.apps.cli.serve import show
from family_recall.apps.cli.settings import SERVER_BUDGET_MS


@command(prints_json=False)
@option("--ask", "QUESTION", "ask it this instead", name="question", absent="nine questions")
@option("--person", "ID", "who asks or browses: rajesh, priya, arjun, mira …", default="priya")
@click.option("--explain", is_flag=True, help="show how each answer was found and ranked")
@click.option(
    "--browse", "in_browser", is_flag=True, help="open the family's memory in the browser"
)
def demo(question: str | None, person: str, explain: bool, in_browser: bool) -> None:
    """Ask a small invented family nine questions, each of which shows one thing.

    The family lives in a temporary file, on a day of its own: change what you like, it is gone
    afterwards.

    Examples:
      family-recall demo
      family-recall demo --ask "What is Mira allergic to?" --person priya
      family-recall demo --browse
    """
    from family_recall.apps import demo as family  # noqa: PLC0415 -- brings numpy

    if in_browser:
        with family.furnished() as path:
            ctx = fr.RecallContext(person, time_budget_ms=SERVER_BUDGET_MS, now=family.NOW)
            show(path, ctx)
    elif question is not None:
        family.ask_own(question, person, sys.stdout)
    else:
        family.run(sys.stdout, explain=explain)
