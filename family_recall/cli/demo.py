"""Try it with an invented family: ``demo``."""

from __future__ import annotations

import sys

import click

from family_recall.cli.command import command
from family_recall.cli.options import option
from family_recall.cli.serve import browse
from family_recall.cli.settings import SERVER_BUDGET_MS


@command(prints_json=False)
@option("--ask", "QUESTION", "ask it this instead", name="question", absent="nine questions")
@option("--person", "ID", "who asks or browses: rajesh, priya, arjun, mira …", default="priya")
@click.option("--explain", is_flag=True, help="show how each answer was found and ranked")
@click.option(
    "--browse", "in_browser", is_flag=True, help="open the family's memory in the browser"
)
@click.pass_context
def demo(
    ctx: click.Context, question: str | None, person: str, explain: bool, in_browser: bool
) -> None:
    """Ask a small invented family nine questions, each of which shows one thing.

    The family lives in a temporary file: change what you like, it is gone afterwards.

    Examples:
      family-recall demo
      family-recall demo --ask "What is Mira allergic to?" --person priya
      family-recall demo --browse
    """
    from family_recall import demo as family  # noqa: PLC0415 -- brings numpy

    if in_browser:
        with family.furnished() as path:
            about = {"read_only": False, "time_budget_ms": SERVER_BUDGET_MS, "port": 0}
            ctx.invoke(browse, db=path, person_id=person, no_open=False, **about)
    elif question is not None:
        family.ask_own(question, person, sys.stdout)
    else:
        family.run(sys.stdout, explain=explain)
