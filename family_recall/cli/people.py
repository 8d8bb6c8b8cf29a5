"""Create a household and its people: ``init``, ``people`` and ``guardian``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import family_recall as fr
from family_recall.cli.command import (
    DocumentedGroup,
    command,
    household_command,
    key,
    open_household,
)
from family_recall.cli.household import Household, household_output
from family_recall.cli.options import json_option, option
from family_recall.cli.output import Output
from family_recall.cli.settings import DEFAULT_SPACE, db_option, require, required_db_option

as_seen_by_option = option(
    "--person",
    "ID",
    "only what this person may know",
    name="person_id",
    absent="everything, as for the owner of the file",
)


@command()
@required_db_option
@option("--person", "ID[=NAME]", "somebody who lives here", name="people", multiple=True)
@click.option(
    "--space",
    "spaces",
    multiple=True,
    metavar="ID",
    help=f"a shared space that all of them see; repeat (default: {DEFAULT_SPACE})",
)
@option("--timezone", "ZONE", "for moments without one", absent="UTC")
@option("--country", "CC", "for holidays", absent="US")
@click.option(
    "--hemisphere", type=click.Choice(["north", "south"]), help="for seasons (default: north)"
)
def init(db: Path, people: tuple[str, ...], spaces: tuple[str, ...], **where: Any) -> Output:
    """Create a household: one file, its people, and the spaces they share.

    Each person gets a private space, private:ID, and enters the shared ones as an adult; the first
    person owns those. In a household that exists, only what is new is added.

    Examples:
      family-recall init --person alice --person bob=Robert --db family.db
      family-recall init --person alice --timezone Europe/Lisbon
    """
    with fr.FamilyRecall.open(db, key=key(), **where) as home:
        shared = spaces or (DEFAULT_SPACE,)
        for space_id in shared:
            home.spaces.add(fr.Space(space_id, "shared"))
        granted = {(grant.person_id, grant.space_id) for grant in home.spaces.grants()}
        for spec in people:
            person_id, _, name = spec.partition("=")
            _move_in(home, fr.Person(person_id, name or person_id.title()))
            for space_id in shared:
                if (person_id, space_id) not in granted:
                    is_first = space_id not in {space for _, space in granted}
                    role = "owner" if is_first else "adult"
                    home.spaces.grant(fr.Grant(person_id, space_id, role))
                    granted.add((person_id, space_id))
        return household_output(home)


@click.group(cls=DocumentedGroup, invoke_without_command=True)
@db_option
@as_seen_by_option
@json_option
@click.pass_context
def people(ctx: click.Context, db: Path | None, person_id: str | None, as_json: bool) -> None:
    """List the people, the names they go by, and the spaces they may enter.

    For a person: those who may enter a space that they may enter, too.

    Examples:
      family-recall people --db family.db
      family-recall people add alice --alias Mum
    """
    if ctx.invoked_subcommand is None:
        with open_household(require(ctx, db)) as home:
            Household.seen_by(home, person_id).people_output().print(as_json=as_json)


@household_command("add", group=people)
@click.argument("person_id", metavar="ID")
@option("--name", "NAME", "as the family says it", absent="the ID, capitalised")
@option("--alias", "NAME", "another name they go by", name="aliases", multiple=True)
def people_add(
    home: fr.FamilyRecall, person_id: str, name: str | None, aliases: tuple[str, ...]
) -> Output:
    """Add a person with a private space, or change their names.

    Examples:
      family-recall people add alice --name Alice --alias Mum --db family.db
      family-recall grant alice shared:household --role adult
    """
    _move_in(home, fr.Person(person_id, name or person_id.title(), aliases))
    return household_output(home)


@household_command()
@click.argument("person_id", metavar="PERSON")
@click.argument("child_id", metavar="CHILD")
@click.option("--remove", is_flag=True, help="end the guardianship")
def guardian(home: fr.FamilyRecall, person_id: str, child_id: str, remove: bool) -> Output:
    """Make a person a child's guardian.

    A memory for a child's guardians is seen by nobody else: not by the child, nor by an owner who
    is not a guardian.

    Examples:
      family-recall guardian alice mia --db family.db
      family-recall add "Mia sees Dr. Roy on Monday" --guardians-of mia
    """
    if not remove:
        home.people.add_guardian(person_id, child_id)
    elif not home.people.remove_guardian(person_id, child_id):
        raise click.ClickException(f"{person_id} is not a guardian of {child_id}")
    return household_output(home)


def _move_in(home: fr.FamilyRecall, person: fr.Person) -> None:
    home.people.add(person)
    home.spaces.add(fr.Space(f"private:{person.person_id}", "private"))
    home.spaces.grant(fr.Grant(person.person_id, f"private:{person.person_id}", role="owner"))
