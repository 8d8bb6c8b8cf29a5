"""``relate``: two names and what links them in, or nothing; what is related out."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
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
    from collections.abc import Iterator


@click.command(
    cls=WithExamples,
    examples=(
        'family-recall relate Rajesh "married to" Priya --evidence MEMORY_ID --db family.db',
        "family-recall relate --person rajesh --json",
    ),
)
@db_option
@click.argument("triple", nargs=-1, metavar="[SUBJECT RELATION OBJECT]")
@person_option("whose view is listed (default: as configured, or a stranger's)")
@setting(
    "space",
    *("--space", "space_id"),
    help="where it belongs (default: as configured, or shared:household), or what is listed "
    "(default: as configured, or every space the person sees)",
)
@click.option("--confidence", type=float, default=1.0, metavar="SHARE", help="0 to 1 (default: 1)")
@click.option(
    "--evidence", multiple=True, metavar="MEMORY_ID", help="a memory there that says so; repeat"
)
@click.option(
    "--since", type=moment, metavar="WHEN", help="it has held since then (default: always)"
)
@click.option("--until", type=moment, metavar="WHEN", help="it held until then (default: for good)")
@click.option(
    "--band",
    default="green",
    metavar="BAND",
    help="who in the space may see it: green, amber, red or black (default: green)",
)
@click.option(
    "--guardians-of", metavar="ID", help="a child whose guardians alone may see it (default: none)"
)
@click.option("--as-of", type=moment, metavar="WHEN", help="list what was true then (default: now)")
@json_option
def relate(
    db: Path,
    triple: tuple[str, ...],
    person_id: str | None,
    space_id: str | None,
    since: dt.datetime | None,
    until: dt.datetime | None,
    as_of: dt.datetime | None,
    as_json: bool,
    **about: Any,
) -> None:
    """Say what two named things are to each other; without them, list what was told.

    "Rajesh" "married to" "Priya" lets "his wife" mean Priya, and the graph walk from one to the
    other. A band, evidence and the rest are for telling.
    """
    if len(triple) not in {0, 3}:
        raise click.UsageError(
            f"expected SUBJECT RELATION OBJECT, or none of them to list, got {len(triple)} words: "
            "put what has a blank in quotes"
        )
    with existing(db) as home:
        if triple:
            subject, relation, object_ = triple
            told = fr.Relation(
                subject, relation, object_, space_id or DEFAULT_SPACE,
                valid_from=since, valid_until=until, **about,
            )  # fmt: skip
            home.relations.add(told)
            found = [told]
        else:
            found = home.relations.all(
                fr.RecallContext(person_id=person_id, space_id=space_id, as_of=as_of)
            )
    if as_json:
        print_json([_record(one) for one in found])
        return
    for one in found:
        click.echo(one_line("".join(_parts(one))))
    if not found:
        click.echo("nothing is related")


def _parts(one: fr.Relation) -> Iterator[str]:
    yield f"{one.subject} {one.relation} {one.object}, in {one.space_id}"
    if one.confidence < 1.0:
        yield f", {one.confidence:.2f} sure"
    for word, when in (("since", one.valid_from), ("until", one.valid_until)):
        if when is not None:
            yield f", {word} {when:%Y-%m-%d}"
    if one.band != "green":
        yield f", band {one.band}"
    if one.guardians_of:
        yield f", for the guardians of {one.guardians_of}"
    if one.evidence:
        yield f", says {', '.join(one.evidence)}"


def _record(one: fr.Relation) -> dict[str, Any]:
    return {
        "subject": one.subject,
        "relation": one.relation,
        "object": one.object,
        "space_id": one.space_id,
        "band": one.band,
        "confidence": one.confidence,
        "valid_from": one.valid_from.isoformat() if one.valid_from else None,
        "valid_until": one.valid_until.isoformat() if one.valid_until else None,
        "evidence": list(one.evidence),
        "guardians_of": one.guardians_of,
    }
