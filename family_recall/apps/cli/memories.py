"""Store and correct memories, and relate people: ``add``, ``correct``, ``relate``, ``unrelate``."""

from __future__ import annotations

import datetime as dt
import sys
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import family_recall as fr
from family_recall.apps.cli.command import closest_name, household_command, names_of
from family_recall.apps.cli.options import field_option, field_options, option
from family_recall.apps.cli.output import Output
from family_recall.apps.cli.settings import person_option, setting_option, storage_space_option
from family_recall.types import DEFAULT_SPACE, FIXED
from family_recall.types.fields import fields_of
from family_recall.types.memory import MEMORY_FIELDS

if TYPE_CHECKING:
    from family_recall.types import ShortIds


ADDED = [spec for name, spec in MEMORY_FIELDS.items() if name not in {"text", "space_id", "author"}]
CORRECTED = [spec for name, spec in MEMORY_FIELDS.items() if name not in {"text", *FIXED}]


@household_command()
@click.argument("text")
@storage_space_option
@setting_option(
    "person",
    *("--author", "author"),
    help=f"{MEMORY_FIELDS['author'].help} (default: the person configured, or nobody)",
)
@click.option(
    "--heard", is_flag=True, help="the author is a name as it was heard, of nobody who lives here"
)
@field_options(ADDED)
def add(home: fr.FamilyRecall, text: str, heard: bool, **fields: Any) -> Output:
    """Store one memory; the text "-" is read from standard input.

    --at is a day or moment, or words such as yesterday. With --fact-key it is a fact, unless --kind
    says otherwise: a later one of the same key replaces it in answers.

    Examples:
      family-recall add "Grandma lands on Sunday at 6:40" --author alice --db family.db
      family-recall add "Alarm code 4711" --fact-key alarm_code --fact-value 4711
    """
    context = click.get_current_context()
    if fields["fact_key"] and context.get_parameter_source("kind") is ParameterSource.DEFAULT:
        fields["kind"] = "fact"
    fields["occurred_at"] = fields["occurred_at"] or dt.datetime.now(dt.UTC)
    if fields["author"] and not heard:
        fields["author"] = _author(home, fields["author"])
    stored = home.remember(fr.Memory(text=_text(text), **fields))
    short = home.memories.ids(fields["author"] if not heard else None).short(stored.doc_id)
    return Output(
        {"doc_id": stored.doc_id, "outcome": stored.outcome}, [f"{stored.outcome} {short}"]
    )


@household_command()
@click.argument("doc_id", metavar="MEMORY_ID")
@click.argument("text", required=False)
@person_option(
    "who corrects: what they said, what is in their private space or in one they own", needed=True
)
@option(
    "--space",
    "ID",
    "its space, if several have a memory of that id",
    name="space_id",
    absent="the only one that has",
)
@field_options(CORRECTED, absent="unchanged")
def correct(
    home: fr.FamilyRecall, doc_id: str, person_id: str, space_id: str | None, **options: Any
) -> Output:
    """Correct a memory's text or other fields; the text "-" is read from standard input.

    The earlier version is kept. An empty text, such as --title "", removes an optional field. Only
    an owner of the space may change the author.

    Examples:
      family-recall correct MEMORY_ID "Grandma lands at 7:40" --person alice --db family.db
      family-recall correct MEMORY_ID --kind fact --importance 0.9 --person alice
    """
    changes = {name: value for name, value in options.items() if value not in {None, ()}}
    if not changes:
        raise click.UsageError("expected a new TEXT or an option that says what changes, got none")
    for name, value in changes.items():
        if name == "text":
            changes[name] = _text(value)
        elif value == "" and MEMORY_FIELDS[name].default is None:
            changes[name] = None
    known = home.memories.ids(person_id)
    doc_id = known.find(doc_id)
    corrected = home.correct(doc_id, person_id=person_id, space_id=space_id, **changes)
    short = known.short(doc_id)
    if not corrected.changed:
        return Output(corrected.to_json(), [f"unchanged {short}: it already reads so"])
    lines = [f"corrected {short} in {corrected.space_id}"]
    for name, (before, after) in corrected.changed.items():
        lines.append(f"  {name}: {_cell(before)} → {_cell(after)}")
    return Output(corrected.to_json(), lines)


def _author(home: fr.FamilyRecall, author: str) -> str:
    """Return the id of the person with that name."""
    names = names_of(home.people.all())
    if author.casefold() in names:
        return names[author.casefold()]
    close = closest_name(author, names)
    hint = f"Did you mean {close}? " if close else ""
    raise click.ClickException(
        f"nobody here is called {author!r}; nothing was stored. {hint}"
        "To store the name as it was heard: --heard"
    )


def _text(argument: str) -> str:
    return sys.stdin.read().strip() if argument == "-" else argument


def _cell(value: object) -> str:
    if value is None or value == ():
        return "(none)"
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return ", ".join(value) if isinstance(value, tuple) else str(value)


@household_command()
@click.argument("triple", nargs=-1, metavar="[SUBJECT RELATION OBJECT]")
@person_option("whose view is listed")
@setting_option(
    "space",
    *("--space", "space_id"),
    help="where it belongs (default: as configured, or shared:household), or what is listed "
    "(default: as configured, or every space the person sees)",
)
@option("--confidence", "NUMBER", "0 to 1", default=1.0)
@option("--evidence", "MEMORY_ID", "a memory there that says so", multiple=True)
@option("--since", "WHEN", "when it began to hold", name="valid_from", absent="always")
@option("--until", "WHEN", "when it ceased to hold", name="valid_until", absent="still holds")
@field_option(MEMORY_FIELDS["band"])
@field_option(MEMORY_FIELDS["guardians_of"])
@click.option("--new", is_flag=True, help="names that are like known ones are meant as they are")
@option("--as-of", "WHEN", "list what was true then", absent="now")
def relate(
    home: fr.FamilyRecall,
    triple: tuple[str, ...],
    person_id: str | None,
    space_id: str | None,
    new: bool,
    as_of: dt.datetime | None,
    **fields: Any,
) -> Output:
    """Relate two named things; without them, list the relations.

    "Rajesh" "married to" "Priya" lets "his wife" mean Priya, and lets the graph lead from one to
    the other. Band, evidence and the like belong to a new relation.

    Examples:
      family-recall relate Rajesh "married to" Priya --evidence MEMORY_ID --db family.db
      family-recall relate --person rajesh --json
    """
    if len(triple) not in {0, 3}:
        raise click.UsageError(
            f"expected SUBJECT RELATION OBJECT, or none of them to list, got {len(triple)} words: "
            "put quotes around anything with a space"
        )
    known = home.memories.ids(person_id)
    if triple:
        subject, relation, object_ = triple
        if not new:
            _check_names(home, subject, object_)
        fields["evidence"] = tuple(map(known.find, fields["evidence"]))
        new_relation = fr.Relation(subject, relation, object_, space_id or DEFAULT_SPACE, **fields)
        home.relations.add(new_relation)
        relations = [new_relation]
    else:
        ctx = fr.RecallContext(person_id=person_id, space_id=space_id, as_of=as_of)
        relations = home.relations.all(ctx)
    lines = [_relation_line(relation, known) for relation in relations]
    unset = dict.fromkeys(fields_of(fr.Relation))
    records = [{**unset, **relation.to_json()} for relation in relations]
    return Output(records, lines or ["no relations"])


@household_command()
@click.argument("subject")
@click.argument("relation")
@click.argument("object_", metavar="OBJECT")
@person_option(
    "who removes it: an owner of the space, or the author of all its evidence", needed=True
)
@storage_space_option
@option("--since", "WHEN", "the beginning it was stored with", name="valid_from", absent="always")
@field_option(MEMORY_FIELDS["band"])
@field_option(MEMORY_FIELDS["guardians_of"])
def unrelate(
    home: fr.FamilyRecall, subject: str, relation: str, object_: str, person_id: str, **fields: Any
) -> Output:
    """Remove a relation between two named things, as relate lists it.

    The memories that are its evidence stay.

    Examples:
      family-recall unrelate Rajesh "married to" Priya --person alice --db family.db
      family-recall relate --person alice
    """
    space_id = fields["space_id"]
    removed = fr.Relation(subject, relation, object_, **fields)
    if not home.relations.remove(removed, person_id=person_id):
        raise click.ClickException(
            f"there is no relation {subject} {relation} {object_} in {space_id} with these "
            "options; to list what there is: family-recall relate"
        )
    return Output(
        {"unrelated": [subject, relation, object_], "space_id": space_id},
        [f"removed: {subject} {relation} {object_}, in {space_id}"],
    )


def _check_names(home: fr.FamilyRecall, *names: str) -> None:
    """Raise for an unknown name that is close to a known one."""
    people = home.people.all()
    known = {name: name for name in names_of(people)}
    known |= {person.name.casefold(): person.name for person in people}
    for relation in home.relations.all():
        known |= {end.casefold(): end for end in (relation.subject, relation.object)}
    for name in names:
        close = None if name.casefold() in known else closest_name(name, known)
        if close is not None:
            raise click.ClickException(
                f"nobody and nothing here is called {name!r}; nothing was stored. Did you mean "
                f"{close}? If not: --new"
            )


def _relation_line(relation: fr.Relation, known: ShortIds) -> str:
    line = f"{relation.subject} {relation.relation} {relation.object}, in {relation.space_id}"
    if relation.confidence < 1.0:
        line += f", {relation.confidence:.2f} sure"
    if relation.valid_from is not None:
        line += f", since {relation.valid_from:%Y-%m-%d}"
    if relation.valid_until is not None:
        line += f", until {relation.valid_until:%Y-%m-%d}"
    if relation.band != "green":
        line += f", band {relation.band}"
    if relation.guardians_of:
        line += f", for the guardians of {relation.guardians_of}"
    if relation.evidence:
        line += f", evidence {', '.join(map(known.short, relation.evidence))}"
    return line
