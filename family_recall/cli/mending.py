"""Mending: ``correct`` and ``unrelate``."""

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
from family_recall.cli.settings import db_option, person_option, setting

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    cls=WithExamples,
    examples=(
        'family-recall correct MEMORY_ID "Grandma lands at 7:40" --person alice --db family.db',
        "family-recall correct MEMORY_ID --kind fact --importance 0.9 --person alice",
    ),
)
@db_option
@click.argument("doc_id", metavar="MEMORY_ID")
@click.argument("text", required=False)
@person_option(
    "who wants it: what they said, what lies in their private space or in one they own "
    "(default: as configured)",
    needed=True,
)
@click.option(
    "--space",
    "space_id",
    metavar="ID",
    help="where it is, if several spaces have that id (default: where it is)",
)
@click.option(
    "--title", metavar="TEXT", help="a heading; an empty one takes it away (default: as it is)"
)
@click.option(
    "--summary",
    metavar="TEXT",
    help="a shorter telling; an empty one takes it away (default: as it is)",
)
@click.option(
    "--author",
    metavar="ID",
    help="who said it, for an owner of the space alone to say (default: as it is)",
)
@click.option(
    "--at", "occurred_at", type=moment, metavar="WHEN", help="when it happened (default: as it is)"
)
@click.option("--kind", metavar="KIND", help="one that add takes (default: as it is)")
@click.option("--category", metavar="NAME", help="one that add takes (default: as it is)")
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="WORD",
    help="all of them; repeat (default: as they are)",
)
@click.option("--importance", type=float, metavar="SHARE", help="0 to 1 (default: as it is)")
@click.option(
    "--band",
    metavar="BAND",
    help="who in the space may see it, one that add takes (default: as it is)",
)
@json_option
def correct(
    db: Path,
    doc_id: str,
    person_id: str,
    space_id: str | None,
    as_json: bool,
    **changes: Any,
) -> None:
    """Correct a memory: its text, or whatever else is given; "-" is read from standard input.

    What it said before is kept as an earlier version. What is not given stays as it is.
    """
    given = {name: value for name, value in changes.items() if value not in {None, ()}}
    if not given:
        raise click.UsageError("expected a new TEXT or an option that says what changes, got none")
    if given.get("text") == "-":
        given["text"] = sys.stdin.read().strip()
    for name in ("title", "summary", "author"):
        if name in given:
            given[name] = given[name] or None
    with existing(db) as home:
        done = home.correct(doc_id, person_id=person_id, space_id=space_id, **given)
    if as_json:
        print_json(done.to_json())
        return
    if not done.changed:
        click.echo(one_line(f"unchanged {done.doc_id}: it reads so already"))
        return
    click.echo(one_line(f"corrected {done.doc_id} in {done.space_id}"))
    for name, (was, now) in done.changed.items():
        click.echo(f"  {one_line(f'{name}: {_shown(was)} → {_shown(now)}')}")


@click.command(
    cls=WithExamples,
    examples=(
        'family-recall unrelate Rajesh "married to" Priya --person alice --db family.db',
        "family-recall relate --person alice",
    ),
)
@db_option
@click.argument("subject")
@click.argument("relation")
@click.argument("object_", metavar="OBJECT")
@person_option(
    "who wants it: an owner of the space, or whoever said all that it rests on "
    "(default: as configured)",
    needed=True,
)
@setting(
    "space",
    *("--space", "space_id"),
    default=DEFAULT_SPACE,
    help=f"where it was told (default: as configured, or {DEFAULT_SPACE})",
)
@click.option(
    "--since",
    "valid_from",
    type=moment,
    metavar="WHEN",
    help="since when it was told to hold (default: always)",
)
@click.option("--band", default="green", metavar="BAND", help="its band (default: green)")
@click.option("--guardians-of", metavar="ID", help="the child it is for (default: none)")
@json_option
def unrelate(
    db: Path,
    subject: str,
    relation: str,
    object_: str,
    person_id: str,
    space_id: str,
    valid_from: dt.datetime | None,
    band: str,
    guardians_of: str | None,
    as_json: bool,
) -> None:
    """Take back what two named things were told to be to each other, as relate lists it.

    The memories that it rests on stay.
    """
    told = fr.Relation(
        subject, relation, object_, space_id,
        band=band, valid_from=valid_from, guardians_of=guardians_of,
    )  # fmt: skip
    with existing(db) as home:
        gone = home.relations.remove(told, person_id=person_id)
    if not gone:
        raise click.ClickException(
            f"nobody told that {subject} {relation} {object_} in {space_id}, as said here; what "
            "was told, and since when, lists: family-recall relate"
        )
    if as_json:
        print_json({"unrelated": [subject, relation, object_], "space_id": space_id})
    else:
        click.echo(one_line(f"taken back: {subject} {relation} {object_}, in {space_id}"))


def _shown(value: object) -> str:
    if value is None or value == ():
        return "(none)"
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return ", ".join(value) if isinstance(value, tuple) else str(value)
