"""The demo household: two years of the Nairs of Bengaluru, and nine questions.

Rajesh and Priya live with Arjun (14), Mira (8) and a dog called Biscuit. Priya's mother Kamala is
*Paati* to the children and lives in Chennai. Priya's brother is Vikram, whose wife Leela no memory
mentions by name. All of it is invented.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from family_recall.types import Grant, Memory, Person, RecallContext, Relation, Space

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
"""Relations without evidence."""

STATED = (
    Relation("Rajesh", "plans vacation with", "Priya", HOME, evidence=("march-1", "goa-1")),
    Relation("Leela", "lives in", "Pune", HOME, evidence=("kothrud",)),
)
"""Relations with memories as evidence."""


_LINES = resources.files("family_recall.apps.demo").joinpath("memories.jsonl").read_text("utf-8")
MEMORIES = tuple(Memory.from_json(json.loads(line)) for line in _LINES.splitlines())


def move_in(home: FamilyRecall) -> None:
    """Store the people, spaces, grants, relations and memories."""
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


AMPLE_MS = 2_000.0
"""Enough time for all stages on a slow machine, so that answers repeat."""
SHORT_MS = 2.0


@dataclass(frozen=True, slots=True)
class Scene:
    """A question, its context, and what to look for in the answer."""

    title: str
    look_for: str
    question: str
    person_id: str
    space_id: str | None = HOME
    time_budget_ms: float = AMPLE_MS
    as_of: dt.datetime | None = None
    profile: str = "default"
    with_models: bool = True

    def ctx(self) -> RecallContext:
        """Return the context of the question, at the demo's fixed time."""
        return RecallContext(
            person_id=self.person_id,
            space_id=self.space_id,
            time_budget_ms=self.time_budget_ms,
            top_k=3,
            profile=self.profile,
            now=NOW,
            as_of=self.as_of,
        )


SCENES = (
    Scene(
        "Something said at home",
        "The words match, the people match, and it was only three days ago.",
        "What did I tell Priya about vacation?",
        "rajesh",
    ),
    Scene(
        "Not one word in common",
        "Nobody said heavy, and nobody said puppy: the meaning matches.",
        "How heavy is our puppy?",
        "arjun",
    ),
    Scene(
        "A stretch of time",
        "August 2025 comes first; the August before it does not.",
        "What did we do in August last year?",
        "mira",
    ),
    Scene(
        "As it was then",
        "Asked about February 2025, when the bus still came later, at the gate.",
        "When does the school bus come?",
        "priya",
        as_of=dt.datetime(2025, 2, 1, 8, 0, tzinfo=NOW.tzinfo),
    ),
    Scene(
        "A secret, asked by its owner",
        "Priya finds her own note.",
        "Where is the birthday telescope hidden?",
        "priya",
        space_id="private:priya",
    ),
    Scene(
        "The same secret, asked by somebody else",
        "Rajesh searches every space open to him, and nothing of it shows.",
        "Where is the birthday telescope hidden?",
        "rajesh",
        space_id=None,
    ),
    Scene(
        "Nothing stored answers this",
        "The status says so, instead of presenting the nearest thing as an answer.",
        "Which bank holds the mortgage?",
        "priya",
    ),
    Scene(
        "Two milliseconds",
        "Stages that would take too long are left out, and the trace says which and why.",
        "When will grandma land?",
        "arjun",
        time_budget_ms=SHORT_MS,
    ),
    Scene(
        "No model, and nobody ever said her name",
        "No memory says Leela; a relation stated by one leads to it.",
        "Where does Leela live?",
        "rajesh",
        with_models=False,
    ),
)
