"""Retention: ``retention set``, ``list`` and ``apply``."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import click

from family_recall.cli.base import (
    GroupWithExamples,
    WithExamples,
    existing,
    json_option,
    moment,
    one_line,
    print_json,
)
from family_recall.cli.forgetting import show_plan, told
from family_recall.cli.settings import db_option

if TYPE_CHECKING:
    from family_recall.types import RetentionRule


@click.group(
    cls=GroupWithExamples,
    examples=(
        "family-recall retention set casual 90 --db family.db",
        "family-recall retention apply --dry-run",
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
        "family-recall retention set casual 90 --db family.db",
        "family-recall retention set casual forever",
    ),
)
@db_option
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
        home.erasure.set_rule(category, None if days == "forever" else float(days))
        _show_rules(home.erasure.rules(), as_json=as_json)


@retention.command(
    "list",
    cls=WithExamples,
    examples=(
        "family-recall retention list --db family.db",
        "family-recall retention list --json",
    ),
)
@db_option
@json_option
def retention_list(db: Path, as_json: bool) -> None:
    """List the categories that are not kept for good."""
    with existing(db) as home:
        _show_rules(home.erasure.rules(), as_json=as_json)


@retention.command(
    "apply",
    cls=WithExamples,
    examples=(
        "family-recall retention apply --db family.db",
        "family-recall retention apply --dry-run",
    ),
)
@db_option
@click.option("--now", type=moment, metavar="WHEN", help="reckoned from (default: now)")
@click.option("--dry-run", is_flag=True, help="show what would go")
@json_option
def retention_apply(db: Path, now: dt.datetime | None, dry_run: bool, as_json: bool) -> None:
    """Forget what the rules keep no longer."""
    with existing(db) as home:
        if dry_run:
            show_plan(home.erasure.apply_rules(now, dry_run=True), as_json=as_json)
            return
        receipt = home.erasure.apply_rules(now)
    if as_json:
        print_json({"receipt": None if receipt is None else receipt.to_json()})
        return
    for line in ("nothing was due",) if receipt is None else told(receipt):
        click.echo(one_line(line))


def _show_rules(rules: list[RetentionRule], *, as_json: bool) -> None:
    if as_json:
        print_json({rule.category: rule.keep_days for rule in rules})
        return
    for rule in rules:
        click.echo(f"{rule.category}: {rule.keep_days:g} days")
    if not rules:
        click.echo("everything is kept for good")
