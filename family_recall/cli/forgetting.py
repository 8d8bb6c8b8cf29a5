"""Forgetting: ``forget``, ``undo`` and ``forgotten``."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import click

from family_recall.cli.base import (
    WithExamples,
    existing,
    json_option,
    moment,
    one_line,
    print_json,
)
from family_recall.cli.settings import db_option, person_option
from family_recall.types.erasure import Selection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from family_recall.types.erasure import ForgetPlan, Receipt

_EXAMPLE_CHARS = 70


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall forget MEMORY_ID --person alice --db family.db",
        'family-recall forget --query "the surprise party" --person alice --dry-run',
    ),
)
@db_option
@click.argument("ids", nargs=-1, metavar="[MEMORY_ID]...")
@person_option(
    "who wants it: what they said, what lies in their private space or in one they own "
    "(default: as configured)",
    needed=True,
)
@click.option(
    "--query", metavar="TEXT", help="what this question finds, where that is sure (default: any)"
)
@click.option("--about", metavar="ID", help="what names this person (default: any)")
@click.option("--by", metavar="ID", help="what this person said or wrote (default: any)")
@click.option("--space", "space_id", metavar="ID", help="what lies in this space (default: any)")
@click.option(
    "--session", "session_id", metavar="ID", help="what belongs to this talk (default: any)"
)
@click.option(
    "--after",
    type=moment,
    metavar="WHEN",
    help="what occurred at or after this moment (default: any)",
)
@click.option(
    "--before", type=moment, metavar="WHEN", help="what occurred before this moment (default: any)"
)
@click.option(
    "--recorded-after",
    type=moment,
    metavar="WHEN",
    help="what was recorded since then (default: any)",
)
@click.option(
    "--recorded-before", type=moment, metavar="WHEN", help="what was recorded before (default: any)"
)
@click.option("--dry-run", is_flag=True, help="show what would go, with the token to confirm it")
@click.option(
    "--token", metavar="TOKEN", help="a dry run's: forget exactly what it showed (default: none)"
)
@click.option("--yes", is_flag=True, help="forget whatever is meant, without a token")
@click.option(
    "--undo-for",
    type=click.FloatRange(min=0, min_open=True),
    metavar="DAYS",
    help="keep it aside in the file so long, for undo (default: gone at once)",
)
@json_option
def forget(
    db: Path,
    ids: tuple[str, ...],
    person_id: str,
    dry_run: bool,
    token: str | None,
    yes: bool,
    undo_for: float | None,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Forget memories, so that no byte of them is left in the file.

    Several ways to choose mean what meets all of them. More than one memory, chosen by anything
    but ids, needs the token of a dry run, or --yes. Backups and exports are not touched.
    """
    selection = Selection(doc_ids=ids, **chosen)
    with existing(db) as home:
        if selection.query is not None:
            home.warmup()
        by_id_alone = selection.criteria == ("doc_ids",)
        if dry_run or (token is None and not by_id_alone):
            plan = home.forget(selection, person_id=person_id, dry_run=True)
            if dry_run or (len(plan.doc_ids) > 1 and not yes):
                show_plan(plan, as_json=as_json)
                if not dry_run:
                    raise click.ClickException(
                        f"nothing was forgotten; to forget these, add --token {plan.token}"
                    )
                return
            token = plan.token
        kept = None if undo_for is None else dt.timedelta(days=undo_for)
        receipt = home.forget(selection, person_id=person_id, token=token, undo_for=kept)
        proven = home.erasure.verify(receipt)
    if as_json:
        print_json({"receipt": receipt.to_json(), "verification": proven.to_json()})
        return
    for line in told(receipt):
        click.echo(one_line(line))
    if receipt.undo_until is None:
        left = "no byte of it is left" if proven.forgotten else "bytes of it are left: try again"
        click.echo(f"{left} ({proven.bytes_read:,} bytes read)")


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall undo RECEIPT_ID --person alice --db family.db",
        "family-recall forgotten",
    ),
)
@db_option
@click.argument("receipt_id")
@person_option("who had it forgotten (default: as configured)", needed=True)
@json_option
def undo(db: Path, receipt_id: str, person_id: str, as_json: bool) -> None:
    """Bring back what was forgotten with --undo-for, while it is kept aside.

    Vectors are made anew; judgements of it stay gone.
    """
    with existing(db) as home:
        n = home.erasure.undo(receipt_id, person_id=person_id)
    if as_json:
        print_json({"undone": receipt_id, "memories": n})
    else:
        click.echo(one_line(f"brought back: {memories(n)}"))


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall forgotten --db family.db",
        "family-recall forgotten --verify --json",
    ),
)
@db_option
@click.option("--verify", is_flag=True, help="look for each in the rows and the bytes of the file")
@json_option
def forgotten(db: Path, verify: bool, as_json: bool) -> None:
    """List what was forgotten, in numbers and without a word of it."""
    with existing(db) as home:
        receipts = home.erasure.receipts()
        proven = [home.erasure.verify(receipt) for receipt in receipts] if verify else []
    if as_json:
        records = [receipt.to_json() for receipt in receipts]
        for record, found in zip(records, proven, strict=False):
            record["verification"] = found.to_json()
        print_json(records)
        return
    for at, receipt in enumerate(receipts):
        for line in told(receipt):
            click.echo(one_line(line))
        if verify:
            found = proven[at]
            said = "nothing of it found" if found.forgotten else f"found: {found.to_json()}"
            click.echo(one_line(f"  {said} in {found.bytes_read:,} bytes"))


def show_plan(plan: ForgetPlan, *, as_json: bool) -> None:
    """Print what would go, with the token that confirms it."""
    if as_json:
        print_json(plan.to_json())
        return
    click.echo(f"would forget {memories(len(plan.doc_ids))} ({plan.n_versions} versions)")
    for space_id, n in plan.by_space.items():
        click.echo(one_line(f"  {space_id}: {n}"))
    for example in plan.examples:
        who = f"{example.author}: " if example.author else ""
        text = f"{who}{example.text}"
        short = text if len(text) <= _EXAMPLE_CHARS else f"{text[: _EXAMPLE_CHARS - 1]}…"
        click.echo(one_line(f"  {example.doc_id}  {short}"))
    if plan.neighbours:
        click.echo(f"{memories(plan.neighbours)} would lose it as the turn before")
    if plan.held_back:
        click.echo(f"{memories(plan.held_back)} more may be forgotten only by others")
    click.echo(f"token: {plan.token}")


def told(receipt: Receipt) -> Iterator[str]:
    """Tell of what was forgotten, in numbers."""
    who = receipt.person_id or "the household"
    n = memories(receipt.counts["memories"])
    yield f"{receipt.receipt_id}: {n} forgotten by {who}, {receipt.at}"
    counts = ", ".join(f"{table} {n}" for table, n in receipt.counts.items() if table != "memories")
    yield f"  chosen by {', '.join(receipt.chosen_by)}; rows: {counts}"
    if receipt.undo_until is not None:
        yield f"  kept aside until {receipt.undo_until}: family-recall undo {receipt.receipt_id}"


def memories(n: int) -> str:
    """Count memories in words."""
    return "1 memory" if n == 1 else f"{n:,} memories"
