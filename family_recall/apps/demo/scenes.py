"""The scenes of the demo: nine questions, and the one thing each of them shows."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from family_recall.apps.demo.household import HOME, NOW
from family_recall.types import RecallContext

AMPLE_MS = 2_000.0
"""Enough time for every stage on a slow machine, so that answers repeat."""
SHORT_MS = 2.0


@dataclass(frozen=True, slots=True)
class Scene:
    """One question, who asks it where, and what to look for in the answer."""

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
        """Return the context of the question; the demo's clock is fixed."""
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
