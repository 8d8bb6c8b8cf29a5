"""Forgetting: ``forget``, ``forgotten`` and ``retention``."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import click

from family_recall.cli.base import (
    GroupWithExamples,
    WithExamples,
    db_argument,
    existing,
    json_option,
    moment,
    one_line,
    print_json,
)
from family_recall.types.forgetting import Selection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from family_recall.types.forgetting import ForgetPlan, Receipt

_EXAMPLE_CHARS = 70


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall forget family.db MEMORY_ID --person alice",
        'family-recall forget family.db --query "the surprise party" --person alice --dry-run',
    ),
)
@db_argument
@click.argument("ids", nargs=-1, metavar="[MEMORY_ID]...")
@click.option(
    "--person",
    "person_id",
    metavar="ID",
    required=True,
    help="who wants it: what they said, what lies in their private space or in one they own "
    "(default: none)",
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
    help="keep it aside in the file so long, to be brought back (default: gone at once)",
)
@click.option(
    "--undo", metavar="RECEIPT_ID", help="bring back what was kept aside (default: nothing)"
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
    undo: str | None,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Forget memories, so that no byte of them is left in the file.

    Several ways to choose mean what meets all of them. More than one memory, chosen by anything
    but ids, needs the token of a dry run, or --yes. Backups and exports are not touched.
    """
    if undo is not None:
        with existing(db) as home:
            n = home.undo_forget(undo, person_id=person_id)
        _say({"undone": undo, "memories": n}, f"brought back: {_memories(n)}", as_json=as_json)
        return
    selection = Selection(doc_ids=ids, **chosen)
    with existing(db) as home:
        if selection.query is not None:
            home.warmup()
        by_id_alone = selection.criteria == ("doc_ids",)
        if dry_run or (token is None and not by_id_alone):
            plan = home.forget(selection, person_id=person_id, dry_run=True)
            if dry_run or (len(plan.doc_ids) > 1 and not yes):
                _show_plan(plan, as_json=as_json)
                if not dry_run:
                    raise click.ClickException(
                        f"nothing was forgotten; to forget these, add --token {plan.token}"
                    )
                return
            token = plan.token
        kept = None if undo_for is None else dt.timedelta(days=undo_for)
        receipt = home.forget(selection, person_id=person_id, token=token, undo_for=kept)
        proven = home.verify_forgotten(receipt)
    if as_json:
        print_json({"receipt": receipt.to_json(), "verification": proven.to_json()})
        return
    for line in _told(receipt):
        click.echo(one_line(line))
    if receipt.undo_until is None:
        left = "no byte of it is left" if proven.forgotten else "bytes of it are left: try again"
        click.echo(f"{left} ({proven.bytes_read:,} bytes read)")


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall forgotten family.db",
        "family-recall forgotten family.db --verify --json",
    ),
)
@db_argument
@click.option("--verify", is_flag=True, help="look for each in the rows and the bytes of the file")
@json_option
def forgotten(db: Path, verify: bool, as_json: bool) -> None:
    """List what was forgotten, in numbers and without a word of it."""
    with existing(db) as home:
        receipts = home.receipts()
        proven = [home.verify_forgotten(receipt) for receipt in receipts] if verify else []
    if as_json:
        records = [receipt.to_json() for receipt in receipts]
        for record, found in zip(records, proven, strict=False):
            record["verification"] = found.to_json()
        print_json(records)
        return
    for at, receipt in enumerate(receipts):
        for line in _told(receipt):
            click.echo(one_line(line))
        if verify:
            found = proven[at]
            said = "nothing of it found" if found.forgotten else f"found: {found.to_json()}"
            click.echo(one_line(f"  {said} in {found.bytes_read:,} bytes"))


@click.group(
    cls=GroupWithExamples,
    examples=(
        "family-recall retention set family.db casual 90",
        "family-recall retention apply family.db --dry-run",
    ),
)
def retention() -> None:
    """Set and apply how long memories of a category are kept.

    Rules are followed by ``apply`` and whenever the household is opened.
    """


@retention.command(
    "set",
    cls=WithExamples,
    examples=(
        "family-recall retention set family.db casual 90",
        "family-recall retention set family.db casual forever",
    ),
)
@db_argument
@click.argument("category")
@click.argument("days", metavar="DAYS|forever")
@json_option
def retention_set(db: Path, category: str, days: str, as_json: bool) -> None:
    """Keep a category so many days after it happened and was recorded, or for good."""
    if days != "forever":
        try:
            float(days)
        except ValueError:
            raise click.BadParameter(f"{days!r} is neither a number of days nor forever") from None
    with existing(db) as home:
        home.set_retention(category, None if days == "forever" else float(days))
        _show_rules(home.retention(), as_json=as_json)


@retention.command(
    "list",
    cls=WithExamples,
    examples=(
        "family-recall retention list family.db",
        "family-recall retention list family.db --json",
    ),
)
@db_argument
@json_option
def retention_list(db: Path, as_json: bool) -> None:
    """List the categories that are not kept for good."""
    with existing(db) as home:
        _show_rules(home.retention(), as_json=as_json)


@retention.command(
    "apply",
    cls=WithExamples,
    examples=(
        "family-recall retention apply family.db",
        "family-recall retention apply family.db --dry-run",
    ),
)
@db_argument
@click.option("--now", type=moment, metavar="WHEN", help="reckoned from (default: now)")
@click.option("--dry-run", is_flag=True, help="show what would go")
@json_option
def retention_apply(db: Path, now: dt.datetime | None, dry_run: bool, as_json: bool) -> None:
    """Forget what the rules keep no longer."""
    with existing(db) as home:
        if dry_run:
            _show_plan(home.apply_retention(now, dry_run=True), as_json=as_json)
            return
        receipt = home.apply_retention(now)
    if as_json:
        print_json({"receipt": None if receipt is None else receipt.to_json()})
        return
    for line in ("nothing was due",) if receipt is None else _told(receipt):
        click.echo(one_line(line))


def _show_plan(plan: ForgetPlan, *, as_json: bool) -> None:
    if as_json:
        print_json(plan.to_json())
        return
    click.echo(f"would forget {_memories(len(plan.doc_ids))} ({plan.n_versions} versions)")
    for space_id, n in plan.by_space.items():
        click.echo(one_line(f"  {space_id}: {n}"))
    for example in plan.examples:
        who = f"{example.author}: " if example.author else ""
        text = f"{who}{example.text}"
        short = text if len(text) <= _EXAMPLE_CHARS else f"{text[: _EXAMPLE_CHARS - 1]}…"
        click.echo(one_line(f"  {example.doc_id}  {short}"))
    if plan.neighbours:
        click.echo(f"{_memories(plan.neighbours)} would lose it as the turn before")
    if plan.held_back:
        click.echo(f"{_memories(plan.held_back)} more may be forgotten only by others")
    click.echo(f"token: {plan.token}")


def _show_rules(rules: list[Any], *, as_json: bool) -> None:
    if as_json:
        print_json({rule.category: rule.keep_days for rule in rules})
        return
    for rule in rules:
        click.echo(f"{rule.category}: {rule.keep_days:g} days")
    if not rules:
        click.echo("everything is kept for good")


def _told(receipt: Receipt) -> Iterator[str]:
    who = receipt.person_id or "the household"
    n = _memories(receipt.counts["memories"])
    yield f"{receipt.receipt_id}: {n} forgotten by {who}, {receipt.at}"
    counts = ", ".join(f"{table} {n}" for table, n in receipt.counts.items() if table != "memories")
    yield f"  chosen by {', '.join(receipt.chosen_by)}; rows: {counts}"
    if receipt.undo_until is not None:
        yield f"  kept aside until {receipt.undo_until}: --undo {receipt.receipt_id} brings it back"


def _memories(n: int) -> str:
    return "1 memory" if n == 1 else f"{n:,} memories"


def _say(record: dict[str, object], line: str, *, as_json: bool) -> None:
    if as_json:
        print_json(record)
    else:
        click.echo(one_line(line))
