"""Who lives here and where things belong: ``init``, ``people`` and ``spaces``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import family_recall as fr
from family_recall.cli.base import (
    DEFAULT_SPACE,
    GroupWithExamples,
    WithExamples,
    existing,
    json_option,
    key,
    one_line,
    print_json,
)
from family_recall.cli.household import Household, show
from family_recall.cli.settings import db_option, maybe_db_option, needed

as_seen_by = click.option(
    "--person",
    "person_id",
    metavar="ID",
    help="only what this person may know (default: everything, for whoever holds the file)",
)


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall init --person alice --person bob=Robert --db family.db",
        "family-recall init --person alice --timezone Europe/Lisbon",
    ),
)
@db_option
@click.option(
    "--person", "people", multiple=True, metavar="ID[=NAME]", help="somebody who lives here; repeat"
)
@click.option(
    "--space",
    "spaces",
    multiple=True,
    metavar="ID",
    help=f"a shared space that all of them see; repeat (default: {DEFAULT_SPACE})",
)
@click.option("--timezone", metavar="ZONE", help="for moments without one (default: UTC)")
@click.option("--country", metavar="CC", help="for holidays (default: US)")
@click.option(
    "--hemisphere", type=click.Choice(["north", "south"]), help="for seasons (default: north)"
)
@json_option
def init(
    db: Path, people: tuple[str, ...], spaces: tuple[str, ...], as_json: bool, **where: Any
) -> None:
    """Make a household: one file, its people, and the spaces they share.

    Everybody gets a private space of their own, private:ID, and an adult's way into the shared
    ones; whoever is named first owns those. In a household that is there already, adds what is
    new.
    """
    with fr.FamilyRecall.open(db, key=key(), **where) as home:
        shared = spaces or (DEFAULT_SPACE,)
        for space_id in shared:
            home.spaces.add(fr.Space(space_id, "shared"))
        granted = {(one.person_id, one.space_id) for one in home.spaces.grants()}
        for spec in people:
            person_id, _, name = spec.partition("=")
            _move_in(home, fr.Person(person_id, name or person_id.title()))
            for space_id in shared:
                if (person_id, space_id) not in granted:
                    is_first = space_id not in {space for _, space in granted}
                    home.spaces.grant(
                        fr.Grant(person_id, space_id, "owner" if is_first else "adult")
                    )
                    granted.add((person_id, space_id))
        show(home, db, as_json=as_json)


@click.group(
    cls=GroupWithExamples,
    invoke_without_command=True,
    examples=(
        "family-recall people --db family.db",
        "family-recall people add alice --alias Mum",
    ),
)
@maybe_db_option
@as_seen_by
@json_option
@click.pass_context
def people(ctx: click.Context, db: Path | None, person_id: str | None, as_json: bool) -> None:
    """List the people, the names they go by, and the spaces they may enter.

    For a person: those who may enter a space that they may enter, too.
    """
    if ctx.invoked_subcommand is not None:
        return
    with existing(needed(ctx, db)) as home:
        seen = Household.seen_by(home, person_id)
    if as_json:
        print_json({"people": seen.people_told()})
        return
    for line in seen.people_lines():
        click.echo(one_line(line))


@people.command(
    "add",
    cls=WithExamples,
    examples=(
        "family-recall people add alice --name Alice --alias Mum --db family.db",
        "family-recall grant alice shared:household --role adult",
    ),
)
@db_option
@click.argument("person_id", metavar="ID")
@click.option("--name", metavar="NAME", help="as the family says it (default: the ID, capitalised)")
@click.option(
    "--alias", "aliases", multiple=True, metavar="NAME", help="another name they go by; repeat"
)
@json_option
def people_add(
    db: Path, person_id: str, name: str | None, aliases: tuple[str, ...], as_json: bool
) -> None:
    """Add a person with a private space of their own, or change their names."""
    with existing(db) as home:
        _move_in(home, fr.Person(person_id, name or person_id.title(), aliases))
        show(home, db, as_json=as_json)


@click.group(
    cls=GroupWithExamples,
    invoke_without_command=True,
    examples=(
        "family-recall spaces --db family.db",
        "family-recall spaces add shared:garden",
    ),
)
@maybe_db_option
@as_seen_by
@json_option
@click.pass_context
def spaces(ctx: click.Context, db: Path | None, person_id: str | None, as_json: bool) -> None:
    """List the spaces, who may enter them in which role, and what roles do not see there.

    For a person: the spaces that they may enter themselves.
    """
    if ctx.invoked_subcommand is not None:
        return
    with existing(needed(ctx, db)) as home:
        seen = Household.seen_by(home, person_id)
    if as_json:
        print_json({"spaces": seen.spaces_told()})
        return
    for line in seen.spaces_lines():
        click.echo(one_line(line))


@spaces.command(
    "add",
    cls=WithExamples,
    examples=(
        "family-recall spaces add shared:garden --name Garden --db family.db",
        "family-recall grant alice shared:garden --role owner",
    ),
)
@db_option
@click.argument("space_id", metavar="ID")
@click.option(
    "--kind",
    type=click.Choice(["shared", "private", "household"]),
    help="who it is for; everybody who lives here may enter a household one "
    "(default: private for an ID that starts with private:, else shared)",
)
@click.option("--name", metavar="NAME", help="as the family says it (default: none)")
@json_option
def spaces_add(db: Path, space_id: str, kind: str | None, name: str | None, as_json: bool) -> None:
    """Add a space, which nobody sees before a grant."""
    meant: Any = kind or ("private" if space_id.startswith("private:") else "shared")
    with existing(db) as home:
        home.spaces.add(fr.Space(space_id, meant, name))
        show(home, db, as_json=as_json)


def _move_in(home: fr.FamilyRecall, newcomer: fr.Person) -> None:
    home.people.add(newcomer)
    home.spaces.add(fr.Space(f"private:{newcomer.person_id}", "private"))
    home.spaces.grant(fr.Grant(newcomer.person_id, f"private:{newcomer.person_id}", role="owner"))
