"""Store one memory, and correct one: ``add`` and ``correct``."""

from __future__ import annotations

import datetime as dt
import sys
from typing import Any

import click
from click.core import ParameterSource

import family_recall as fr
from family_recall.apps.cli.command import household_command, names_of, similar
from family_recall.apps.cli.options import field_options, option
from family_recall.apps.cli.output import Output
from family_recall.apps.cli.settings import person_option, setting_option, storage_space_option
from family_recall.types import FIXED
from family_recall.types.memory import MEMORY_FIELDS

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
    done = home.correct(doc_id, person_id=person_id, space_id=space_id, **changes)
    short = known.short(doc_id)
    if not done.changed:
        return Output(done.to_json(), [f"unchanged {short}: it already reads so"])
    lines = [f"corrected {short} in {done.space_id}"]
    lines += [f"  {name}: {_cell(was)} → {_cell(now)}" for name, (was, now) in done.changed.items()]
    return Output(done.to_json(), lines)


def _author(home: fr.FamilyRecall, author: str) -> str:
    """Return the id of the person who is called so.

    Raises:
        ClickException: If nobody is.
    """
    names = names_of(home.people.all())
    if author.casefold() in names:
        return names[author.casefold()]
    close = similar(author, names)
    meant = f"Did you mean {close}? " if close else ""
    raise click.ClickException(
        f"nobody here is called {author!r}; nothing was stored. {meant}"
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
