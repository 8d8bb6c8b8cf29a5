"""The household of the demo: two years with the Nairs of Bengaluru.

Rajesh and Priya live with Arjun (14), Mira (8) and a dog called Biscuit. Priya's mother Kamala is
*Paati* to the children and lives in Chennai. Priya's brother is Vikram, whose wife Leela no memory
mentions by name. All of it is invented.
"""

from __future__ import annotations

import datetime as dt
import json
from importlib import resources
from typing import TYPE_CHECKING

from family_recall.types import Grant, Memory, Person, Relation, Space

if TYPE_CHECKING:
    from family_recall.api import FamilyRecall

TIMEZONE = "Asia/Kolkata"
NOW = dt.datetime(2026, 1, 10, 18, 0, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30)))
HOME = "shared:household"

PEOPLE = (
    Person("rajesh", "Rajesh", ("Raj", "Papa")),
    Person("priya", "Priya", ("Amma",)),
    Person("arjun", "Arjun", ("Ajju",)),
    Person("mira", "Mira", ("Mimi",)),
    Person("kamala", "Kamala", ("Paati", "Grandma")),
    Person("vikram", "Vikram", ("Vicky",)),
)
ROLES = {"rajesh": "adult", "priya": "adult", "arjun": "child", "mira": "child"}

SPACES = (
    Space(HOME, "shared", "The Nairs"),
    *(Space(f"private:{person_id}", "private") for person_id in ROLES),
)
GRANTS = (
    *(Grant(person_id, HOME, role) for person_id, role in ROLES.items()),
    *(Grant(person_id, f"private:{person_id}", "owner") for person_id in ROLES),
)

KINSHIP = (
    Relation("Rajesh", "married to", "Priya", HOME),
    Relation("Arjun", "child of", "Rajesh", HOME),
    Relation("Arjun", "child of", "Priya", HOME),
    Relation("Mira", "child of", "Rajesh", HOME),
    Relation("Mira", "child of", "Priya", HOME),
    Relation("Kamala", "mother of", "Priya", HOME),
    Relation("Vikram", "brother of", "Priya", HOME),
    Relation("Leela", "married to", "Vikram", HOME),
)
"""Relations that are stored without evidence."""

STATED = (
    Relation("Rajesh", "plans vacation with", "Priya", HOME, evidence=("march-1", "goa-1")),
    Relation("Leela", "lives in", "Pune", HOME, evidence=("kothrud",)),
)
"""Relations that memories are the evidence of."""


def read_memories() -> tuple[Memory, ...]:
    """Read ``memories.jsonl``, one memory a line."""
    text = resources.files("family_recall.apps.demo").joinpath("memories.jsonl").read_text("utf-8")
    return tuple(Memory.from_json(json.loads(line)) for line in text.splitlines())


MEMORIES = read_memories()


def move_in(home: FamilyRecall) -> None:
    """Store the whole household: people, spaces, grants, relations and memories."""
    for person in PEOPLE:
        home.people.add(person)
    for space in SPACES:
        home.spaces.add(space)
    for grant in GRANTS:
        home.spaces.grant(grant)
    for relation in KINSHIP:
        home.relations.add(relation)
    home.remember_many(MEMORIES)
    for relation in STATED:
        home.relations.add(relation)
