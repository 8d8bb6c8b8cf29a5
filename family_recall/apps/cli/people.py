"""People, spaces and grants of a household."""

from __future__ import annotations

import contextlib
import datetime as dt
from pathlib import Path
from typing import Any, cast, get_args

import click

import family_recall as fr
from family_recall import types
from family_recall.apps.cli.command import command, household_command, household_group, key
from family_recall.apps.cli.erasure import plan_lines, receipt_output, refuse_many
from family_recall.apps.cli.options import option
from family_recall.apps.cli.output import Output, counted
from family_recall.apps.cli.settings import required_db_option
from family_recall.errors import ModelError
from family_recall.types import DEFAULT_SPACE
from family_recall.types.erasure import About, Said

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
@option(
    *("--space", "ID", "a shared space that all of them see"),
    name="spaces", multiple=True, absent=DEFAULT_SPACE,
)  # fmt: skip
@option("--timezone", "ZONE", "for moments without one", absent="UTC")
@option("--country", "CC", "for holidays", absent="US")
@option("--hemisphere", ["north", "south"], "for seasons", absent="north")
def init(db: Path, people: tuple[str, ...], spaces: tuple[str, ...], **where: Any) -> Output:
    """Create a household: one file, its people, and the spaces they share.

    Each person gets a private space of their own, private:ID, and enters the shared ones as an
    adult; the first person owns those. In a household that exists, only what is new is added.

    Examples:
      family-recall init --person alice --person bob=Robert --db family.db
      family-recall init --person alice --timezone Europe/Lisbon
    """
    with fr.FamilyRecall.open(db, key=key(), **where) as home:
        shared = spaces or (DEFAULT_SPACE,)
        kinds = {space.space_id: space.kind for space in home.spaces.all()}
        for space_id in shared:
            if kinds.get(space_id) == "private":
                raise click.UsageError(f"{space_id!r} is a private space; name a shared one")
        for space_id in {*shared} - {*kinds}:
            home.spaces.add(fr.Space(space_id, "shared"))
        granted = {(grant.person_id, grant.space_id) for grant in home.spaces.grants()}
        for spec in people:
            person = _person(spec)
            _add_person(home, person)
            for space_id in shared:
                if (person.person_id, space_id) not in granted:
                    is_first = space_id not in {space for _, space in granted}
                    role = "owner" if is_first else "adult"
                    home.spaces.grant(fr.Grant(person.person_id, space_id, role))
                    granted.add((person.person_id, space_id))
        return household_output(home)


@household_group
@as_seen_by_option
def people(home: fr.FamilyRecall, person_id: str | None) -> Output:
    """List the people, the names they go by, and the spaces they may enter.

    For a person: those who may enter a space that they may enter, too.

    Examples:
      family-recall people --db family.db
      family-recall people add alice --alias Mum
    """
    return people_output(home, person_id)


@household_command("add", group=people)
@click.argument("spec", metavar="ID[=NAME]")
@option("--name", "NAME", "as the family says it", absent="the ID, capitalised")
@option("--alias", "NAME", "another name they go by", name="aliases", multiple=True)
def people_add(
    home: fr.FamilyRecall, spec: str, name: str | None, aliases: tuple[str, ...]
) -> Output:
    """Add a person with a private space, or change their names.

    Examples:
      family-recall people add alice=Alice --alias Mum --db family.db
      family-recall grant alice shared:household --role adult
    """
    person = _person(spec, name, aliases)
    before = household_output(home)
    _add_person(home, person)
    output = changed_output(home, before)
    shared = [space.space_id for space in home.spaces.all() if space.kind == "shared"]
    granted = {(grant.person_id, grant.space_id) for grant in home.spaces.grants()}
    if not shared or granted & {(person.person_id, space_id) for space_id in shared}:
        return output
    hint = (
        f"they see nothing shared yet: family-recall grant {person.person_id} {shared[0]}; a child"
        " sees less with --role child"
    )
    return Output(output.record, [*output.lines, hint])


@household_command("remove", group=people)
@click.argument("person_id", metavar="ID")
@option(
    "--said",
    get_args(Said),
    "what becomes of what they said: keep it in their name, have nobody as its author, or forget "
    "it",
    required=True,
    absent="none, one has to be chosen",
)
@option(
    "--about",
    get_args(About),
    "what becomes of what others said that mentions them",
    default="keep",
)
@click.option("--dry-run", is_flag=True, help="show what would go, with the token to confirm it")
@option("--token", "TOKEN", "a dry run's: remove exactly what it showed", absent="none")
@click.option("--yes", is_flag=True, help="remove them without a token")
def people_remove(
    home: fr.FamilyRecall, person_id: str, dry_run: bool, token: str | None, yes: bool, **what: Any
) -> Output:
    """Remove a person, and keep or forget what they said.

    Their private space goes in any case, unless somebody else may enter it. More than one memory
    that goes with them needs the token of a dry run, or --yes. It cannot be undone: make a backup
    before.

    Examples:
      family-recall people remove sitter --said keep --db family.db
      family-recall people remove sitter --said forget --about forget --dry-run
    """
    plan = home.people.remove(person_id, **what, dry_run=True)
    if dry_run:
        return _removal_output(plan)
    if token is None and not yes:
        message = f"nobody was removed; to remove {person_id}"
        refuse_many(_removal_output(plan), plan.forgotten, message)
    receipt = home.people.remove(person_id, **what, token=token or plan.forgotten.token)
    with contextlib.suppress(ModelError):  # vectors of memories that have another author now
        home.flush()
    n_said, n_mentioning = counted(plan.n_said, "memory"), counted(plan.n_mentioning, "memory")
    lines = [f"removed {person_id}"]
    if plan.n_said:
        lines.append(f"  {n_said} they said stay")
    if plan.n_mentioning:
        lines.append(
            f"  their name stays in {n_mentioning}; --about forget would have forgotten it"
        )
    output = receipt_output(home, receipt)
    lines += output.lines if any(receipt.counts.values()) else ["  no memory was forgotten"]
    return Output(output.record, lines)


def _removal_output(plan: fr.RemovalPlan) -> Output:
    n_said, n_mentioning = counted(plan.n_said, "memory"), counted(plan.n_mentioning, "memory")
    lines = [f"would remove {plan.person_id}"]
    lines += [f"  and the space {space_id}" for space_id in plan.spaces]
    if plan.n_said:
        lines.append(f"  {n_said} they said would stay")
    if plan.n_mentioning:
        lines.append(
            f"  {n_mentioning} that would stay mention them; --about forget forgets them too"
        )
    lines += plan_lines(plan.forgotten) if plan.forgotten.doc_ids else ["would forget no memory"]
    return Output(plan.to_json(), lines)


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
    before = household_output(home)
    if not remove:
        home.people.add_guardian(person_id, child_id)
    elif not home.people.remove_guardian(person_id, child_id):
        raise click.ClickException(f"{person_id} is not a guardian of {child_id}")
    return changed_output(home, before)


def _person(spec: str, name: str | None = None, aliases: tuple[str, ...] = ()) -> fr.Person:
    """Return the person of ``ID`` or ``ID=NAME``; ``name`` replaces NAME."""
    person_id, _, spec_name = spec.partition("=")
    if not person_id.strip():
        raise click.BadParameter(f"expected an id, such as mia or mia=Mia, got {spec!r}")
    return fr.Person(person_id, name or spec_name or person_id.title(), aliases)


def _add_person(home: fr.FamilyRecall, person: fr.Person) -> None:
    home.people.add(person)
    home.spaces.private(person.person_id)


@household_group
@as_seen_by_option
def spaces(home: fr.FamilyRecall, person_id: str | None) -> Output:
    """List the spaces, who may enter them in which role, and what roles do not see there.

    For a person: the spaces that they may enter themselves.

    Examples:
      family-recall spaces --db family.db
      family-recall spaces add shared:garden
    """
    return spaces_output(home, person_id)


@household_command("add", group=spaces)
@click.argument("space_id", metavar="ID")
@option(
    "--kind",
    ["shared", "private", "household"],
    "who it is for; everybody who lives here may enter a household one",
    absent="private for an ID that starts with private:, else shared",
)
@option("--name", "NAME", "as the family says it", absent="none")
def spaces_add(home: fr.FamilyRecall, space_id: str, kind: str | None, name: str | None) -> Output:
    """Add a space, which nobody sees before a grant.

    Examples:
      family-recall spaces add shared:garden --name Garden --db family.db
      family-recall grant alice shared:garden --role owner
    """
    default = "private" if space_id.startswith("private:") else "shared"
    before = household_output(home)
    home.spaces.add(fr.Space(space_id, cast("Any", kind or default), name))
    return changed_output(home, before)


@household_command()
@click.argument("person_id", metavar="PERSON")
@click.argument("space_id", metavar="SPACE")
@option("--role", types.ROLES, "what they are there, which decides what they see", default="adult")
@option("--expires, --until", "WHEN", "ISO day or moment it ends", name="expires", absent="never")
def grant(
    home: fr.FamilyRecall, person_id: str, space_id: str, role: str, expires: dt.datetime | None
) -> Output:
    """Grant a person a role in a space; granting again replaces the role.

    Examples:
      family-recall grant alice shared:garden --db family.db
      family-recall grant sitter shared:household --role guest --expires 2026-03-01
    """
    before = household_output(home)
    home.spaces.grant(fr.Grant(person_id, space_id, role, expires))
    return changed_output(home, before)


@household_command()
@click.argument("person_id", metavar="PERSON")
@click.argument("space_id", metavar="SPACE")
def revoke(home: fr.FamilyRecall, person_id: str, space_id: str) -> Output:
    """End a person's grant for a space, from the next question on.

    Examples:
      family-recall revoke sitter shared:household --db family.db
      family-recall spaces
    """
    before = household_output(home)
    if not home.spaces.revoke(person_id, space_id):
        raise click.ClickException(f"{person_id} has no grant for {space_id}")
    return changed_output(home, before)


@household_command()
@click.argument("space_id", metavar="SPACE")
@click.argument("role", type=click.Choice(types.ROLES), metavar="ROLE")
@click.argument("fields", nargs=-1, type=click.Choice(types.HIDEABLE), metavar="[FIELD]...")
def hide(home: fr.FamilyRecall, space_id: str, role: str, fields: tuple[str, ...]) -> Output:
    """Hide fields of a space's memories from a role; without fields, hide none.

    The role gets a redacted copy of what it may see, so that nothing can be found by a hidden
    field either. Making it takes about as long as storing those memories again.

    Examples:
      family-recall hide shared:household guest author source url --db family.db
      family-recall hide shared:household guest
    """
    before = household_output(home)
    home.spaces.hide(fr.Hidden(space_id, role, fields))
    return changed_output(home, before)


def people_output(home: fr.FamilyRecall, person_id: str | None = None) -> Output:
    """Return the people that a person may know, or all, with their spaces and guardians."""
    spaces = {space.space_id for space in home.spaces.all(person_id)}
    people = home.people.all(person_id)
    guardians = {
        child: ids
        for child, ids in home.people.guardians().items()
        if person_id is None or person_id in (child, *ids)
    }
    records, lines = [], []
    for person in people:
        grants = [
            grant
            for grant in home.spaces.grants()
            if grant.person_id == person.person_id and grant.space_id in spaces
        ]
        record = person.to_json() | {
            "spaces": {grant.space_id: grant.role for grant in grants},
            "guardians": list(guardians.get(person.person_id, ())),
        }
        records.append(record)
        also = f", also {', '.join(person.aliases)}" if person.aliases else ""
        where = ", ".join(f"{grant.space_id} ({_role(grant)})" for grant in grants)
        lines.append(f"{person.person_id}: {person.name}{also}; in {where or 'no space'}")
    known = {person.person_id for person in people}
    for child, ids in guardians.items():
        if person_id is None or child in known:
            lines.append(f"guardians of {child}: {', '.join(ids)}")
    return Output({"people": records}, lines)


def spaces_output(home: fr.FamilyRecall, person_id: str | None = None) -> Output:
    """Return the spaces that a person may enter, or all, with grants and hidden fields."""
    records, lines, hidden_lines = [], [], []
    for space in home.spaces.all(person_id):
        grants = [grant for grant in home.spaces.grants() if grant.space_id == space.space_id]
        hidden = [rule for rule in home.spaces.hidden() if rule.space_id == space.space_id]
        record = {
            "space_id": space.space_id,
            "kind": space.kind,
            "name": space.name,
            "everybody": space.kind == "household",
            "grants": [
                {
                    "person_id": grant.person_id,
                    "role": grant.role,
                    "expires_at": grant.expires_at.isoformat() if grant.expires_at else None,
                }
                for grant in grants
            ],
            "hidden": {rule.role: list(rule.fields) for rule in hidden},
        }
        records.append(record)
        readers = [f"{grant.person_id} ({_role(grant)})" for grant in grants]
        if space.kind == "household":
            readers.append("everybody here")
        name = f" {space.name}" if space.name else ""
        seen_by = ", ".join(readers) or "nobody yet"
        lines.append(f"{space.kind} space {space.space_id}{name}: seen by {seen_by}")
        for rule in hidden:
            fields = ", ".join(rule.fields)
            hidden_lines.append(f"in {space.space_id} the role {rule.role} does not see: {fields}")
    return Output({"spaces": records}, [*lines, *hidden_lines])


def household_output(home: fr.FamilyRecall) -> Output:
    """Return all people and spaces."""
    people, spaces = people_output(home), spaces_output(home)
    record = {"path": str(click.get_current_context().params["db"])}
    return Output({**record, **people.record, **spaces.record}, [*people.lines, *spaces.lines])


def changed_output(home: fr.FamilyRecall, before: Output) -> Output:
    """Return all people and spaces; as text only the lines that changed."""
    output = household_output(home)
    changed = [line for line in output.lines if line not in before.lines]
    return Output(output.record, changed or ["nothing changed: it was so already"])


def _role(grant: fr.Grant) -> str:
    until = f" until {grant.expires_at:%Y-%m-%d}" if grant.expires_at else ""
    return f"{grant.role}{until}"
