"""Keeping memories: ``add`` and ``stats``."""

from __future__ import annotations

import datetime as dt
import sys
from typing import TYPE_CHECKING, Any

import click

import family_recall as fr
from family_recall.cli.base import (
    DEFAULT_SPACE,
    WithExamples,
    existing,
    json_option,
    moment,
    one_line,
    print_json,
)
from family_recall.cli.settings import db_option, setting

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    cls=WithExamples,
    examples=(
        'family-recall add "Grandma lands on Sunday at 6:40" --author alice --db family.db',
        'family-recall add "Alarm code 4711" --space private:alice --kind fact',
    ),
)
@db_option
@click.argument("text")
@setting(
    "space",
    *("--space", "space_id"),
    default=DEFAULT_SPACE,
    help=f"where it belongs (default: as configured, or {DEFAULT_SPACE})",
)
@setting(
    "person",
    *("--author", "author"),
    help="who said it (default: the person configured, or nobody in particular)",
)
@click.option(
    "--at", "occurred_at", type=moment, metavar="WHEN", help="ISO day or moment (default: now)"
)
@click.option("--id", "doc_id", metavar="ID", help="to change it by later (default: made up)")
@click.option("--title", metavar="TEXT", help="a heading, searched like the text (default: none)")
@click.option(
    "--kind",
    default="episode",
    metavar="KIND",
    help="fact, episode, milestone, chunk, observation, summary or profile (default: episode)",
)
@click.option(
    "--category",
    default="casual",
    metavar="NAME",
    help="sets how fast it fades: identity, family, health, milestone, task, event or casual "
    "(default: casual)",
)
@click.option("--label", "labels", multiple=True, metavar="WORD", help="to filter by; repeat")
@click.option("--session", "session_id", metavar="ID", help="the talk it is from (default: none)")
@click.option(
    "--importance", type=float, default=0.5, metavar="SHARE", help="0 to 1 (default: 0.5)"
)
@click.option(
    "--band",
    default="green",
    metavar="BAND",
    help="who in the space may see it: green, amber, red or black (default: green)",
)
@click.option(
    "--guardians-of", metavar="ID", help="a child whose guardians alone may see it (default: none)"
)
@json_option
def add(db: Path, text: str, as_json: bool, **about: Any) -> None:
    """Remember one thing; the text "-" is read from standard input."""
    said = sys.stdin.read().strip() if text == "-" else text
    about["occurred_at"] = about["occurred_at"] or dt.datetime.now(dt.UTC)
    with existing(db) as home:
        remembered = home.remember(fr.Memory(text=said, **about))
    if as_json:
        print_json({"doc_id": remembered.doc_id, "outcome": remembered.outcome})
    else:
        click.echo(one_line(f"{remembered.outcome} {remembered.doc_id}"))


@click.command(
    cls=WithExamples,
    examples=("family-recall stats --db family.db", "family-recall stats --json"),
)
@db_option
@json_option
def stats(db: Path, as_json: bool) -> None:
    """Say what a household holds: memories by space, people, vectors, models, bytes."""
    with existing(db) as home:
        found = home.maintenance.stats()
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        if isinstance(value, dict):
            click.echo(f"{name}:")
            for key, part in value.items():
                click.echo(f"  {one_line(str(key)):<24} {_shown(part)}")
        else:
            click.echo(f"{name:<26} {_shown(value)}")


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else one_line(str(value))
