"""Sources: what somebody brought is theirs, and nothing of another's is counted, named or moved."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Grant, Person, Space
from family_recall.errors import FamilyRecallError, NotTheirsError, UnknownMemoryError
from tests.conftest import HOME, Wall, move_in, open_home

WORLDS = int(os.environ.get("FAMILY_RECALL_WORLDS", "25"))
"""Households drawn. A long run sets this, and another seed."""
SEED = int(os.environ.get("FAMILY_RECALL_SEED", "0"))

ANAS, BENS, SHARED, PARENTS = "private:ana", "private:ben", "shared:home", "shared:parents"
SOURCES, KEYS = ("csv:t", "calendar.family"), "abc"
TEXTS = ("Dentist for Mia", "Zoo with Grandma", "Choir on Tuesday")


@dataclass(frozen=True)
class Call:
    """One call of sources: its name, what it is about, where, and for whom."""

    name: str
    source: str
    rows: tuple[tuple[str, str], ...]
    space_id: str
    person_id: str | None

    def run(self, home: FamilyRecall, folder: Path) -> str:
        """Make the call, and write out what it says."""
        who: dict[str, Any] = {"person_id": self.person_id}
        where, key = {**who, "space_id": self.space_id}, self.rows[0][0]
        path = folder / "t.csv"
        lines = "".join(f"{key},{text}\n" for key, text in self.rows)
        path.write_text(f"id,note\n{lines}", "utf-8")
        try:
            if self.name == "import":
                outcome = home.sources.import_file(path, **where, source=self.source, embed="later")
                return repr(outcome).replace(str(folder), "")
            if self.name == "write":
                return repr(home.sources.write(self.source, *self.rows[0], embed="later", **where))
            if self.name == "withdraw":
                return repr(home.sources.withdraw(self.source, key, **where))
            if self.name == "withdraw all":
                return repr(home.sources.withdraw(self.source, **where))
            if self.name == "forget":
                return repr(home.sources.forget(self.source, **where).counts)
            # Without a person the list is the owner's of the file, who sees all of it.
            listed = [] if self.person_id is None else home.sources.all(**who)
            return repr((listed, home.sources.keys(self.source, **where)))
        except FamilyRecallError as error:
            return f"{type(error).__name__}: {error}".replace(str(folder), "")


def calls(
    names: Sequence[str], places: Sequence[tuple[str, str | None]]
) -> st.SearchStrategy[Call]:
    """Draw calls of some names, in some spaces for some people."""
    row = st.tuples(st.sampled_from(KEYS), st.sampled_from(TEXTS))
    rows = st.lists(row, min_size=1, max_size=3, unique_by=lambda row: row[0]).map(tuple)
    return st.builds(
        lambda name, source, rows, place: Call(name, source, rows, *place),
        st.sampled_from(names), st.sampled_from(SOURCES), rows, st.sampled_from(places),
    )  # fmt: skip


ANAS_OWN = calls(
    ("import", "write"), [(ANAS, None), (ANAS, "ana"), (PARENTS, "ana"), (PARENTS, None)]
)
COMMON = calls(("import", "write"), [(SHARED, None), (SHARED, "ben"), (BENS, "ben")])
BENS_CALLS = calls(
    ("import", "write", "withdraw", "withdraw all", "forget", "list"),
    [(BENS, "ben"), (SHARED, "ben"), (BENS, None), (SHARED, None), (ANAS, "ben"), (PARENTS, "ben")],
)


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a household of two, to be copied."""
    path = tmp_path_factory.mktemp("blank") / "family.db"
    with open_home(path, encoder=None) as home:
        for person_id, name in (("ana", "Ana"), ("ben", "Ben")):
            home.people.add(Person(person_id, name))
        for space_id, people in (
            (SHARED, "ana ben"),
            (PARENTS, "ana"),
            (ANAS, "ana"),
            (BENS, "ben"),
        ):
            kind = "private" if space_id.startswith("private:") else "shared"
            home.spaces.add(Space(space_id, kind))  # type: ignore[arg-type]  # one of the three
            for person_id in people.split():
                role = "owner" if kind == "private" else "adult"
                home.spaces.grant(Grant(person_id, space_id, role))
    return path


def anas(home: FamilyRecall) -> str:
    """Write out all that is stored in Ana's own spaces, earlier versions too."""
    details = [
        home.memories.get(doc_id, person_id="ana", space_id=space_id)
        for space_id in (ANAS, PARENTS)
        for source in SOURCES
        for key in home.sources.keys(source, person_id="ana", space_id=space_id)
        for doc_id in [f"{source}/{key}"]
    ]
    counts = [count for count in home.sources.all("ana") if count.space_id in {ANAS, PARENTS}]
    return repr((counts, [(detail.current, detail.earlier) for detail in details]))


@seed(SEED)
@settings(
    max_examples=WORLDS,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
    phases=[Phase.generate] if "FAMILY_RECALL_WORLDS" in os.environ else tuple(Phase),
)
@given(
    st.lists(ANAS_OWN, min_size=1, max_size=3),
    st.lists(COMMON, max_size=3),
    st.lists(BENS_CALLS, min_size=1, max_size=5),
)
def test_what_others_brought_changes_nothing(
    blank: Path, own: list[Call], common: list[Call], asked: list[Call]
) -> None:
    """Ben's calls say the same, to the letter, whether Ana brought something of her own or not.

    And what she brought is what it was after them.
    """
    said = []
    for theirs in (own, []):
        with tempfile.TemporaryDirectory() as name:
            folder, wall = Path(name), Wall()
            shutil.copyfile(blank, folder / "a.db")
            with open_home(folder / "a.db", encoder=None, wall=wall) as home:
                for call in theirs:
                    call.run(home, folder)
                for call in common:
                    wall.tick(minutes=1)
                    call.run(home, folder)
                before = anas(home)
                answers = []
                for call in asked:
                    wall.tick(minutes=1)
                    answers.append(call.run(home, folder))
                assert anas(home) == before
            said.append(answers)
    assert said[0] == said[1]


def test_two_people_import_a_file_of_one_name(home: FamilyRecall, tmp_path: Path) -> None:
    """Each has their own: neither replaces, withdraws or counts the other's."""
    for person_id, n in (("priya", 30), ("rajesh", 1)):
        folder = tmp_path / person_id
        folder.mkdir()
        lines = "".join(f"{at},{person_id}'s secret {at}\n" for at in range(n))
        (folder / "notes.csv").write_text(f"id,note\n{lines}", "utf-8")
        imported = home.sources.import_file(
            folder / "notes.csv", space_id=f"private:{person_id}", embed="later"
        )
        assert (imported.created, imported.updated, imported.withdrawn) == (n, 0, 0)
    assert [(c.space_id, c.n_memories) for c in home.sources.all("rajesh")] == [
        ("private:rajesh", 1)
    ]
    assert home.sources.keys("csv:notes", person_id="rajesh") == ["0"]

    assert home.sources.withdraw("csv:notes", person_id="rajesh")
    assert not home.sources.withdraw("csv:notes", person_id="rajesh")
    assert home.sources.forget("csv:notes", person_id="rajesh").counts["memories"] == 1
    with pytest.raises(UnknownMemoryError) as gone:
        home.sources.forget("csv:notes", person_id="rajesh")
    with pytest.raises(UnknownMemoryError) as never:
        home.sources.forget("csv:never", person_id="rajesh")
    assert str(gone.value).replace("notes", "never") == str(never.value)
    assert len(home.sources.keys("csv:notes", person_id="priya")) == 30


def test_nothing_moves_to_where_more_people_are(home: FamilyRecall) -> None:
    """What is for fewer stays with them, when the same is written for more; not the other way."""
    home.people.add(Person("ben", "Ben"))
    home.spaces.add(Space("shared:parents", "shared"))
    home.spaces.grant(Grant("priya", "shared:parents", "adult"))
    for space_id, outcome in (
        (HOME, "created"), ("shared:parents", "updated"), (HOME, "created"),
        ("private:priya", "updated"), ("shared:parents", "created"),
    ):  # fmt: skip
        assert home.sources.write("calendar", "1", "Party", space_id=space_id).outcome == outcome


def test_a_person_replaces_what_they_may_correct(home: FamilyRecall) -> None:
    """In a shared space another's stays; what is their own moves with them, from private too."""
    write = home.sources.write
    write("list", "1", "Milk", space_id=HOME, person_id="priya")
    with pytest.raises(NotTheirsError):
        write("list", "1", "Beer", space_id=HOME, person_id="rajesh")
    with pytest.raises(NotTheirsError):
        home.sources.forget("list", person_id="rajesh")
    assert not home.sources.withdraw("list", person_id="rajesh")
    write("list", "1", "Beer", space_id="private:rajesh", person_id="rajesh")
    assert home.sources.keys("list", space_id=HOME) == ["1"]
    assert write("list", "2", "Rum", space_id="private:rajesh", person_id="rajesh").outcome
    moved = write("list", "2", "Rum", space_id=HOME, person_id="rajesh")
    assert moved.outcome == "updated"
    assert home.sources.keys("list", space_id="private:rajesh") == ["1"]


def test_an_author_is_somebody_the_importer_knows(path: Path, wall: Wall, tmp_path: Path) -> None:
    """A file that names somebody whom its importer does not know is by a stranger to them."""
    chat = tmp_path / "chat.txt"
    chat.write_text("30/05/2025, 18:05 - Zed: Who fetches Mia?\n", "utf-8")
    with open_home(path, wall=wall) as home:
        move_in(home)
        home.people.add(Person("z-1", "Zed"))
        home.spaces.add(Space("private:zed", "private"))
        home.spaces.grant(Grant("z-1", "private:zed", "owner"))
        into: dict[str, Any] = {
            "space_id": "private:priya", "person_id": "priya", "dry_run": True
        }  # fmt: skip
        assert home.sources.import_file(chat, **into).authors == {"Zed": None}
        home.spaces.grant(Grant("z-1", HOME, "adult"))
        assert home.sources.import_file(chat, **into).authors == {"Zed": "z-1"}
