"""Redacted statistics: what a diagnosis needs, and nothing that names anybody."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import family_recall
from family_recall import FamilyRecall, Grant, Memory, Person, Space
from tests.conftest import TinyEncoder, TinyStatic, open_home

_NAMES = st.text("ÄÖÜΩXZЖ中", min_size=3, max_size=8)  # no letters of a word that is a key


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.lists(_NAMES, min_size=2, max_size=4, unique=True),
    st.lists(st.tuples(_NAMES, st.sampled_from(["private", "shared", "household"])), min_size=1),
    st.lists(_NAMES, min_size=1, max_size=6, unique=True),
)
def test_nothing_of_a_household_is_in_redacted_statistics(
    people: list[str], spaces: list[tuple[str, str]], texts: list[str]
) -> None:
    """No id, name, alias, text, author, source, session, model or path of any household."""
    kinds = dict(spaces)
    with tempfile.TemporaryDirectory(prefix="ÄÖΩXZ") as folder:
        path = Path(folder) / "ZXΩÖÄ.db"
        model, static = TinyEncoder("ΩÖX"), TinyStatic("XÖΩ")
        with open_home(path, encoder=model, static=static) as home:
            for person in people:
                home.people.add(Person(person, f"{person}Ω", (f"{person}X",)))
            for space_id, kind in kinds.items():
                home.spaces.add(Space(space_id, kind))  # type: ignore[arg-type]  # one of the three
                home.spaces.grant(Grant(people[0], space_id, "owner"))
                home.remember_many(
                    Memory(text, space_id, author=people[0], source=texts[0], session_id=texts[-1])
                    for text in texts
                )
            home.move(timezone="Asia/Kolkata", country="IN", hemisphere="south")
            stats = home.maintenance.stats(redacted=True)
    text = json.dumps(stats, ensure_ascii=False)

    assert not set(text) & set("ÄÖÜΩXZЖ中")
    assert not {"Asia/Kolkata", "IN", "south"} & set(text.replace('"', " ").split())
    assert (stats["people"], stats["memories"]) == (len(people), len(kinds) * len(texts))
    assert sum(stats["spaces"].values()) == len(kinds)
    assert sum(stats["by_kind"].values()) == stats["memories"]


def test_what_a_diagnosis_needs_is_there(home: FamilyRecall) -> None:
    """Versions, sizes, and counts by kind of space and use of a model."""
    plain, stats = home.maintenance.stats(), home.maintenance.stats(redacted=True)

    assert stats["versions"]["family_recall"] == family_recall.__version__
    assert stats["spaces"] == {"private": 2, "shared": 1}
    assert stats["by_kind"] == {"private": 0, "shared": 7}
    assert stats["vectors"] == {"model": 7, "static_model": 0, "other_models": 0}
    for name in ("bytes", "schema", "memories", "people", "entities", "edges"):
        assert stats[name] == plain[name]
