"""Who lives here and who sees what: people, spaces, grants, guardians, and what roles miss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import family_recall as fr
from family_recall import types
from family_recall.cli.base import (
    DEFAULT_SPACE,
    GroupWithExamples,
    WithExamples,
    console,
    db_argument,
    existing,
    json_option,
    key,
    moment,
    one_line,
    print_json,
)

if TYPE_CHECKING:
    import datetime as dt
    from pathlib import Path


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall init family.db --person alice --person bob=Robert",
        "family-recall init family.db --person alice --timezone Europe/Lisbon",
    ),
)
@db_argument
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
            home.add_space(fr.Space(space_id, "shared"))
        for spec in people:
            person_id, _, name = spec.partition("=")
            _move_in(home, fr.Person(person_id, name or person_id.title()))
            granted = home.grants()
            for space_id in shared:
                if (person_id, space_id) not in {(g.person_id, g.space_id) for g in granted}:
                    is_first = space_id not in {g.space_id for g in granted}
                    role = "owner" if is_first else "adult"
                    home.grant(fr.Grant(person_id, space_id, role))
        _show(home, db, as_json=as_json)


@click.group(
    cls=GroupWithExamples,
    examples=(
        "family-recall person add family.db alice --alias Mum",
        "family-recall person list family.db",
    ),
)
def person() -> None:
    """Add and list the people of a household."""


@person.command(
    "add",
    cls=WithExamples,
    examples=(
        "family-recall person add family.db alice --name Alice --alias Mum",
        "family-recall grant family.db alice shared:household --role adult",
    ),
)
@db_argument
@click.argument("person_id", metavar="ID")
@click.option("--name", metavar="NAME", help="as the family says it (default: the ID, capitalised)")
@click.option(
    "--alias", "aliases", multiple=True, metavar="NAME", help="another name they go by; repeat"
)
@json_option
def person_add(
    db: Path, person_id: str, name: str | None, aliases: tuple[str, ...], as_json: bool
) -> None:
    """Add a person with a private space of their own, or change their names."""
    with existing(db) as home:
        _move_in(home, fr.Person(person_id, name or person_id.title(), aliases))
        _show(home, db, as_json=as_json)


@person.command(
    "list",
    cls=WithExamples,
    examples=("family-recall person list family.db", "family-recall person list family.db --json"),
)
@db_argument
@json_option
def person_list(db: Path, as_json: bool) -> None:
    """List the people, the spaces, and who sees what."""
    with existing(db) as home:
        _show(home, db, as_json=as_json)


@click.group(
    cls=GroupWithExamples,
    examples=(
        "family-recall space add family.db shared:garden",
        "family-recall space list family.db",
    ),
)
def space() -> None:
    """Add and list the spaces of a household."""


@space.command(
    "add",
    cls=WithExamples,
    examples=(
        "family-recall space add family.db shared:garden --name Garden",
        "family-recall grant family.db alice shared:garden --role owner",
    ),
)
@db_argument
@click.argument("space_id", metavar="ID")
@click.option(
    "--kind",
    type=click.Choice(["shared", "private", "household"]),
    help="who it is for; everybody who lives here may enter a household one "
    "(default: private for an ID that starts with private:, else shared)",
)
@click.option("--name", metavar="NAME", help="as the family says it (default: none)")
@json_option
def space_add(db: Path, space_id: str, kind: str | None, name: str | None, as_json: bool) -> None:
    """Add a space, which nobody sees before a grant."""
    meant: Any = kind or ("private" if space_id.startswith("private:") else "shared")
    with existing(db) as home:
        home.add_space(fr.Space(space_id, meant, name))
        _show(home, db, as_json=as_json)


@space.command(
    "list",
    cls=WithExamples,
    examples=("family-recall space list family.db", "family-recall space list family.db --json"),
)
@db_argument
@json_option
def space_list(db: Path, as_json: bool) -> None:
    """List the spaces, the people, and who sees what."""
    with existing(db) as home:
        _show(home, db, as_json=as_json)


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall grant family.db alice shared:garden",
        "family-recall grant family.db sitter shared:household --role guest --expires 2026-03-01",
    ),
)
@db_argument
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
        home.grant(fr.Grant(person_id, space_id, role, expires))
        _show(home, db, as_json=as_json)


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall revoke family.db sitter shared:household",
        "family-recall person list family.db",
    ),
)
@db_argument
@click.argument("person_id", metavar="PERSON")
@click.argument("space_id", metavar="SPACE")
@json_option
def revoke(db: Path, person_id: str, space_id: str, as_json: bool) -> None:
    """Take a person's way into a space away, from the next question on."""
    with existing(db) as home:
        if not home.revoke(person_id, space_id):
            raise click.ClickException(f"{person_id} has no grant for {space_id}")
        _show(home, db, as_json=as_json)


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall guardian family.db alice mia",
        'family-recall add family.db "Mia sees Dr. Roy on Monday" --guardians-of mia',
    ),
)
@db_argument
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
            home.add_guardian(person_id, child_id)
        elif not home.remove_guardian(person_id, child_id):
            raise click.ClickException(f"{person_id} is no guardian of {child_id}")
        _show(home, db, as_json=as_json)


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall hide family.db shared:household guest author source url",
        "family-recall hide family.db shared:household guest",
    ),
)
@db_argument
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
        home.hide(fr.Hidden(space_id, role, fields))
        _show(home, db, as_json=as_json)


def _move_in(home: fr.FamilyRecall, newcomer: fr.Person) -> None:
    home.add_person(newcomer)
    home.add_space(fr.Space(f"private:{newcomer.person_id}", "private"))
    home.grant(fr.Grant(newcomer.person_id, f"private:{newcomer.person_id}", role="owner"))


def _show(home: fr.FamilyRecall, db: Path, *, as_json: bool) -> None:
    """Print who lives here and who sees what; every command here ends with it."""
    people, spaces, grants = home.people(), home.spaces(), home.grants()
    guardians, hidden = home.guardians(), home.hidden()
    if as_json:
        print_json({
            "path": str(db),
            "people": [
                {"person_id": p.person_id, "name": p.name, "aliases": list(p.aliases)}
                for p in people
            ],
            "spaces": [{"space_id": s.space_id, "kind": s.kind, "name": s.name} for s in spaces],
            "grants": [
                {
                    "person_id": g.person_id,
                    "space_id": g.space_id,
                    "role": g.role,
                    "expires_at": g.expires_at.isoformat() if g.expires_at else None,
                }
                for g in grants
            ],
            "guardians": {child: list(known) for child, known in guardians.items()},
            "hidden": [
                {"space_id": h.space_id, "role": h.role, "fields": list(h.fields)} for h in hidden
            ],
        })  # fmt: skip
        return
    out = console()
    for p in people:
        also = f", also {', '.join(p.aliases)}" if p.aliases else ""
        out.print(one_line(f"person {p.person_id}: {p.name}{also}"), soft_wrap=True)
    for s in spaces:
        seen_by = ", ".join(_guest(g) for g in grants if g.space_id == s.space_id)
        if s.kind == "household":
            seen_by = ", ".join(part for part in (seen_by, "everybody here") if part)
        line = f"{s.kind} space {s.space_id}: seen by {seen_by or 'nobody yet'}"
        out.print(one_line(line), soft_wrap=True)
    for h in hidden:
        line = f"in {h.space_id} a role {h.role} does not see: {', '.join(h.fields)}"
        out.print(one_line(line), soft_wrap=True)
    for child, known in guardians.items():
        out.print(one_line(f"guardians of {child}: {', '.join(known)}"), soft_wrap=True)


def _guest(held: fr.Grant) -> str:
    until = f" until {held.expires_at:%Y-%m-%d}" if held.expires_at else ""
    return f"{held.person_id} ({held.role}{until})"
