"""Who sees what: ``grant``, ``revoke``, ``guardian`` and ``hide``."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import click

import family_recall as fr
from family_recall import types
from family_recall.cli.base import WithExamples, existing, json_option, moment
from family_recall.cli.household import show
from family_recall.cli.settings import db_option


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall grant alice shared:garden --db family.db",
        "family-recall grant sitter shared:household --role guest --expires 2026-03-01",
    ),
)
@db_option
@click.argument("person_id", metavar="PERSON")
@click.argument("space_id", metavar="SPACE")
@click.option(
    "--role",
    type=click.Choice(types.ROLES),
    default="adult",
    help="sets what they may see there (default: adult)",
)
@click.option(
    "--expires",
    "--until",
    "expires",
    type=moment,
    metavar="WHEN",
    help="ISO day or moment it ends (default: never)",
)
@json_option
def grant(
    db: Path, person_id: str, space_id: str, role: str, expires: dt.datetime | None, as_json: bool
) -> None:
    """Let a person into a space; granting again replaces the role."""
    with existing(db) as home:
        home.spaces.grant(fr.Grant(person_id, space_id, role, expires))
        show(home, db, as_json=as_json)


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall revoke sitter shared:household --db family.db",
        "family-recall spaces",
    ),
)
@db_option
@click.argument("person_id", metavar="PERSON")
@click.argument("space_id", metavar="SPACE")
@json_option
def revoke(db: Path, person_id: str, space_id: str, as_json: bool) -> None:
    """Take a person's way into a space away, from the next question on."""
    with existing(db) as home:
        if not home.spaces.revoke(person_id, space_id):
            raise click.ClickException(f"{person_id} has no grant for {space_id}")
        show(home, db, as_json=as_json)


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall guardian alice mia --db family.db",
        'family-recall add "Mia sees Dr. Roy on Monday" --guardians-of mia',
    ),
)
@db_option
@click.argument("person_id", metavar="PERSON")
@click.argument("child_id", metavar="CHILD")
@click.option("--remove", is_flag=True, help="make them a guardian no longer")
@json_option
def guardian(db: Path, person_id: str, child_id: str, remove: bool, as_json: bool) -> None:
    """Make a person a child's guardian.

    A memory told for a child's guardians is seen by nobody else: not by the child, nor by an
    owner who is none of them.
    """
    with existing(db) as home:
        if not remove:
            home.people.add_guardian(person_id, child_id)
        elif not home.people.remove_guardian(person_id, child_id):
            raise click.ClickException(f"{person_id} is no guardian of {child_id}")
        show(home, db, as_json=as_json)


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall hide shared:household guest author source url --db family.db",
        "family-recall hide shared:household guest",
    ),
)
@db_option
@click.argument("space_id", metavar="SPACE")
@click.argument("role", type=click.Choice(types.ROLES), metavar="ROLE")
@click.argument("fields", nargs=-1, type=click.Choice(types.HIDEABLE), metavar="[FIELD]...")
@json_option
def hide(db: Path, space_id: str, role: str, fields: tuple[str, ...], as_json: bool) -> None:
    """Keep a role from some fields of a space's memories; without fields, from none.

    The role gets a copy of its own of what it may see, told without them: whoever hides the author
    finds nothing by an author's name either. That takes about as long as storing it anew.
    """
    with existing(db) as home:
        home.spaces.hide(fr.Hidden(space_id, role, fields))
        show(home, db, as_json=as_json)
