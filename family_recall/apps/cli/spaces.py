"""Decide where memories belong and who sees them: ``spaces``, ``grant``, ``revoke``, ``hide``."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any, cast

import click

import family_recall as fr
from family_recall import types
from family_recall.apps.cli.command import DocumentedGroup, household_command, open_household
from family_recall.apps.cli.household import Household, changed_output
from family_recall.apps.cli.options import json_option, option
from family_recall.apps.cli.output import Output
from family_recall.apps.cli.people import as_seen_by_option
from family_recall.apps.cli.settings import db_option, require


@click.group(cls=DocumentedGroup, invoke_without_command=True)
@db_option
@as_seen_by_option
@json_option
@click.pass_context
def spaces(ctx: click.Context, db: Path | None, person_id: str | None, as_json: bool) -> None:
    """List the spaces, who may enter them in which role, and what roles do not see there.

    For a person: the spaces that they may enter themselves.

    Examples:
      family-recall spaces --db family.db
      family-recall spaces add shared:garden
    """
    if ctx.invoked_subcommand is None:
        with open_household(require(ctx, db)) as home:
            Household.seen_by(home, person_id).spaces_output().print(as_json=as_json)


@household_command("add", group=spaces)
@click.argument("space_id", metavar="ID")
@click.option(
    "--kind",
    type=click.Choice(["shared", "private", "household"]),
    help="who it is for; everybody who lives here may enter a household one "
    "(default: private for an ID that starts with private:, else shared)",
)
@option("--name", "NAME", "as the family says it", absent="none")
def spaces_add(home: fr.FamilyRecall, space_id: str, kind: str | None, name: str | None) -> Output:
    """Add a space, which nobody sees before a grant.

    Examples:
      family-recall spaces add shared:garden --name Garden --db family.db
      family-recall grant alice shared:garden --role owner
    """
    by_id = "private" if space_id.startswith("private:") else "shared"
    space = fr.Space(space_id, cast("Any", kind or by_id), name)
    return changed_output(home, lambda: home.spaces.add(space))


@household_command()
@click.argument("person_id", metavar="PERSON")
@click.argument("space_id", metavar="SPACE")
@click.option(
    "--role",
    type=click.Choice(types.ROLES),
    default="adult",
    help="what they are there, which decides what they see (default: adult)",
)
@option("--expires, --until", "WHEN", "ISO day or moment it ends", name="expires", absent="never")
def grant(
    home: fr.FamilyRecall, person_id: str, space_id: str, role: str, expires: dt.datetime | None
) -> Output:
    """Grant a person a role in a space; granting again replaces the role.

    Examples:
      family-recall grant alice shared:garden --db family.db
      family-recall grant sitter shared:household --role guest --expires 2026-03-01
    """
    granted = fr.Grant(person_id, space_id, role, expires)
    return changed_output(home, lambda: home.spaces.grant(granted))


@household_command()
@click.argument("person_id", metavar="PERSON")
@click.argument("space_id", metavar="SPACE")
def revoke(home: fr.FamilyRecall, person_id: str, space_id: str) -> Output:
    """End a person's grant for a space, from the next question on.

    Examples:
      family-recall revoke sitter shared:household --db family.db
      family-recall spaces
    """

    def end() -> None:
        if not home.spaces.revoke(person_id, space_id):
            raise click.ClickException(f"{person_id} has no grant for {space_id}")

    return changed_output(home, end)


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
    hidden = fr.Hidden(space_id, role, fields)
    return changed_output(home, lambda: home.spaces.hide(hidden))
