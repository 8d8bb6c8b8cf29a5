"""List, withdraw and forget what was imported or followed: ``sources``."""

from __future__ import annotations

from pathlib import Path

import click

import family_recall as fr
from family_recall.apps.cli.command import DocumentedGroup, household_command, open_household
from family_recall.apps.cli.erasure import receipt_lines
from family_recall.apps.cli.options import json_option
from family_recall.apps.cli.output import Output, counted
from family_recall.apps.cli.settings import db_option, require
from family_recall.errors import UnknownMemoryError


@click.group(cls=DocumentedGroup, invoke_without_command=True)
@db_option
@json_option
@click.pass_context
def sources(ctx: click.Context, db: Path | None, as_json: bool) -> None:
    """List the sources of memories, such as imported files, and how many each has.

    Examples:
      family-recall sources --db family.db
      family-recall sources withdraw "whatsapp:Tom"
    """
    if ctx.invoked_subcommand is None:
        with open_household(require(ctx, db)) as home:
            _counts(home).print(as_json=as_json)


@household_command("withdraw", group=sources)
@click.argument("source", metavar="SOURCE")
def sources_withdraw(home: fr.FamilyRecall, source: str) -> Output:
    """End all that a source says: nothing recalls it, and the history has it.

    Importing the file again brings it back.

    Examples:
      family-recall sources withdraw "whatsapp:Tom" --db family.db
      family-recall sources
    """
    n = len(home.sources.keys(source))
    if not home.sources.withdraw(source):
        raise UnknownMemoryError(_unknown(home, source))
    return Output(
        {"source": source, "withdrawn": n}, [f"withdrawn: {counted(n, 'memory', 'memories')}"]
    )


@household_command("forget", group=sources)
@click.argument("source", metavar="SOURCE")
@click.option("--yes", is_flag=True, help="forget it (default: show how much it is)")
def sources_forget(home: fr.FamilyRecall, source: str, yes: bool) -> Output:
    """Forget all that a source ever said, so that no byte of it is left in the file.

    The file that was imported stays where it is.

    Examples:
      family-recall sources forget "whatsapp:Tom" --yes --db family.db
      family-recall forgotten --verify
    """
    counts = {count.source: count for count in home.sources.all()}
    if source not in counts:
        raise UnknownMemoryError(_unknown(home, source))
    if not yes:
        n = counts[source].n_memories + counts[source].n_withdrawn
        raise click.ClickException(
            f"nothing was forgotten; to forget {counted(n, 'memory', 'memories')} of {source!r}, "
            "with their history, add --yes"
        )
    receipt = home.sources.forget(source)
    return Output(receipt.to_json(), receipt_lines(receipt))


def _counts(home: fr.FamilyRecall) -> Output:
    counts = home.sources.all()
    lines = [
        f"{count.source}: {counted(count.n_memories, 'memory', 'memories')}"
        + (f", {count.n_withdrawn:,} withdrawn" if count.n_withdrawn else "")
        for count in counts
    ]
    record = [
        {"source": c.source, "memories": c.n_memories, "withdrawn": c.n_withdrawn} for c in counts
    ]
    return Output(record, lines or ["no memory has a source"])


def _unknown(home: fr.FamilyRecall, source: str) -> str:
    known = ", ".join(repr(count.source) for count in home.sources.all()[:8]) or "none"
    return f"there is nothing to withdraw or forget of a source {source!r}; there are {known}"
