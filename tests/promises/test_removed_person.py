"""Removing a person: what is left is as if they had never been a person of the household."""

from __future__ import annotations

import dataclasses
import datetime as dt
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hypothesis import event, given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Grant, Memory, Person, Relation, Space
from tests.conftest import HOME, NOW, TINY_STATIC, Wall, open_home, recall, written
from tests.promises.test_forgetting import contents

TOM = Person("tq-771", "Tommaso Quillfeather", ("Tommolino",))
AUTHORS = {
    "others": ("rajesh", "Priya", "Fahim Khan", None),
    "his": (TOM.person_id, "Tommaso", "Tommolino", TOM.name),
}
WORDS = (
    "marzipan vacation quicksilver Priya Fahim key landlord umbrella xylophone INV-47110".split()
)
HIS_NAMES = ("Tommaso", "Tommaso Quillfeather", "Tommolino")
QUESTIONS = (
    "what did Tommaso say about the vacation?",
    "what did Priya say about marzipan",
    "invoice INV-47110",
    "who has an umbrella and a xylophone?",
    "Tommolino key",
)
Fate = Literal["keep", "nobody", "forget"]


@dataclass(frozen=True)
class Told:
    """A memory stored, or stored again under the same id; ``names_him`` in its text."""

    slot: int
    author: str | None
    words: tuple[str, ...]
    names_him: str | None
    session_id: str | None
    private: bool

    @property
    def is_his(self) -> bool:
        """Whether Tom said it."""
        return self.author in AUTHORS["his"]


@dataclass(frozen=True)
class Related:
    """A relation stored without evidence."""

    subject: str
    object: str


@st.composite
def told(draw: st.DrawFn) -> Told:
    """Draw a memory: the versions of one are all by Tom or none, and all name him or none."""
    slot = draw(st.integers(0, 7))
    return Told(
        slot,
        draw(st.sampled_from(AUTHORS["his" if slot % 2 else "others"])),
        draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(tuple)),
        draw(st.sampled_from(HIS_NAMES)) if slot % 4 > 1 else None,
        draw(st.sampled_from(["monday", "monday", "tuesday", None])),
        slot >= 6,
    )


histories = st.lists(
    st.one_of(
        told(),
        told(),
        told(),
        st.builds(
            Related,
            st.sampled_from(["Priya", "Fahim", *HIS_NAMES]),
            st.sampled_from(["Goa", "Fahim Khan", *HIS_NAMES]),
        ),
    ),
    min_size=2,
    max_size=14,
)


def household(path: Path, wall: Wall) -> FamilyRecall:
    """Open a household of Rajesh's, which remembers something."""
    home = open_home(path, wall=wall, static=TINY_STATIC)
    home.people.add(Person("rajesh", "Rajesh Rao", ("Raj",)))
    for space in (Space(HOME, "shared"), Space("private:rajesh", "private")):
        home.spaces.add(space)
        home.spaces.grant(Grant("rajesh", space.space_id, "owner"))
        home.remember(
            Memory("the puppy sleeps", space.space_id, doc_id="first", session_id="monday")
        )
    return home


def live(home: FamilyRecall, wall: Wall, history: Sequence[Told | Related | None]) -> None:
    """Apply a history to a household, a minute a step."""
    for number, step in enumerate(history):
        wall.tick(minutes=1)
        if isinstance(step, Told):
            text = " ".join(filter(None, (*step.words, step.names_him, f"n{number}")))
            space_id = "private:tom" if step.private else HOME
            home.remember(
                Memory(
                    text,
                    space_id,
                    doc_id=f"slot {step.slot}",
                    author=step.author,
                    session_id=step.session_id,
                )
            )
        elif isinstance(step, Related):
            home.relations.add(Relation(step.subject, f"r{number}", step.object, HOME))


def left_of(
    history: Iterable[Told | Related], said: Fate, about: Fate
) -> list[Told | Related | None]:
    """Decide by hand what is left of a history; moments stay, as None."""
    left: list[Told | Related | None] = []
    for step in history:
        if isinstance(step, Related):
            names_him = {step.subject, step.object} & {*HIS_NAMES}
            left.append(None if names_him and about == "forget" else step)
        elif (
            step.private
            or (step.is_his and said == "forget")
            or (step.names_him and about == "forget")
        ):
            left.append(None)
        elif step.is_his and said == "nobody":
            left.append(dataclasses.replace(step, author=None))
        elif step.author == TOM.person_id:
            left.append(dataclasses.replace(step, author=TOM.name))
        else:
            left.append(step)
    return left


def take_in_tom(home: FamilyRecall) -> None:
    """Add Tom, with a private space of his own."""
    home.people.add(TOM)
    home.spaces.add(Space("private:tom", "private"))
    home.spaces.grant(Grant(TOM.person_id, "private:tom", "owner"))
    home.spaces.grant(Grant(TOM.person_id, HOME, "adult"))


@settings(max_examples=30, deadline=None)
@given(
    history=histories,
    said=st.sampled_from(["keep", "nobody", "forget"]),
    about=st.sampled_from(["keep", "forget"]),
)
def test_what_is_left_is_as_if_he_had_never_lived_here(
    history: list[Told | Related], said: Fate, about: Literal["keep", "forget"]
) -> None:
    """Rows and answers are those of a household that Tom never was a person of.

    Where his name is to be nowhere, no byte of it is in any file.
    """
    with tempfile.TemporaryDirectory() as folder:
        stored, never = Path(folder) / "stored" / "a.db", Path(folder) / "never" / "a.db"
        answers = []
        for path in (stored, never):
            path.parent.mkdir()
            wall = Wall()
            with household(path, wall) as home:
                if path == stored:
                    take_in_tom(home)
                    live(home, wall, history)
                    recall(home, "the key", TOM.person_id)
                    plan = home.people.remove(TOM.person_id, said=said, about=about, dry_run=True)
                    event(f"{len(plan.forgotten.doc_ids)} forgotten, {plan.n_said} kept")
                    receipt = home.people.remove(
                        TOM.person_id, said=said, about=about, token=plan.forgotten.token
                    )
                    assert home.erasure.verify(receipt).forgotten
                    assert receipt.counts["memories"] == len(plan.forgotten.doc_ids)
                    home.flush()
                    assert all(finding.problem is None for finding in home.maintenance.check())
                else:
                    live(home, wall, left_of(history, said, about))
                answers.append([
                    written(recall(home, question, asker, now=NOW + dt.timedelta(hours=1)))
                    for question in QUESTIONS for asker in ("rajesh", None)
                ])  # fmt: skip
        assert contents(stored) == contents(never)
        assert answers[0] == answers[1]
        if said == about == "forget":
            raw = b"".join(file.read_bytes() for file in stored.parent.iterdir()).lower()
            for name in (TOM.person_id, "private:tom", "tommaso", "quillfeather", "tommolino"):
                assert name.encode() not in raw, name
