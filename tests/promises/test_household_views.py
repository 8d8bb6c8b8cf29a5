"""People, spaces and relations, as a person sees them: what is closed leaves no trace."""

from __future__ import annotations

import datetime as dt
import tempfile
import threading
from contextlib import AbstractContextManager
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Grant, Hidden, Person, RecallContext, Relation, Space
from family_recall.errors import InvalidRequestError, UnknownPersonError
from family_recall.store.file.connections import Connections
from family_recall.types import BANDS, ROLES
from tests.conftest import NO_MODELS

PEOPLE = ("ann", "ben", "cas")
SPACES = {
    "private:ann": "private",
    "shared:a": "shared",
    "shared:b": "shared",
    "house": "household",
}
PAST, FUTURE = (dt.datetime(year, 1, 1, tzinfo=dt.UTC) for year in (2001, 2901))
OPEN = {"owner": BANDS, "adult": BANDS[:3]}
"""Bands of the roles that open more than the first."""

grants = st.lists(
    st.builds(
        Grant,
        st.sampled_from(PEOPLE),
        st.sampled_from(list(SPACES)),
        st.sampled_from(ROLES),
        st.sampled_from((None, PAST, FUTURE)),
    ),
    max_size=8,
    unique_by=lambda grant: (grant.person_id, grant.space_id),
)
relations = st.lists(
    st.tuples(st.sampled_from(list(SPACES)), st.sampled_from(BANDS)), max_size=6, unique=True
)


def roles_of(person_id: str, held: list[Grant]) -> dict[str, str]:
    """Return a person's role in each space they may enter now, from the grants alone."""
    roles = {
        one.space_id: one.role
        for one in held
        if one.person_id == person_id and one.expires_at != PAST
    }
    return {"house": "guest", **roles}


@given(held=grants, told=relations)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_person_sees_what_they_may_enter(held: list[Grant], told: list[tuple[str, str]]) -> None:
    """Spaces by valid grants, people by spaces in common, relations by band as well.

    The oracle reads the grants themselves, and no table.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        FamilyRecall.open(Path(folder) / "f.db", models=NO_MODELS) as home,
    ):
        for name in PEOPLE:
            home.people.add(Person(name, name.title()))
        for space_id, kind in SPACES.items():
            home.spaces.add(Space(space_id, kind))  # type: ignore[arg-type]  # one of the three
        for one in held:
            home.spaces.grant(one)
        for space_id, band in told:
            home.relations.add(Relation(f"one in {space_id}", band, "another", space_id, band))

        entered = {name: roles_of(name, held) for name in PEOPLE}
        for name in PEOPLE:
            assert {one.space_id for one in home.spaces.all(name)} == set(entered[name])
            assert {one.person_id for one in home.people.all(name)} == {
                other
                for other in PEOPLE
                if other == name or set(entered[other]) & set(entered[name])
            }
            seen = {
                (one.space_id, one.band)
                for one in home.relations.all(RecallContext(person_id=name))
            }
            assert seen == {
                (space_id, band)
                for space_id, band in told
                if band in OPEN.get(entered[name].get(space_id, ""), BANDS[:1])
                and space_id in entered[name]
            }
        assert len(home.people.all()) == len(PEOPLE)
        assert len(home.spaces.all()) == len(SPACES)


def test_a_role_with_hidden_fields_sees_its_own_copy_once(tmp_path: Path) -> None:
    """A relation is listed once for those who see the space, and once for its redacted view."""
    with FamilyRecall.open(tmp_path / "f.db", models=NO_MODELS) as home:
        home.spaces.add(Space("shared:a", "shared"))
        for name, role in (("ann", "owner"), ("ben", "guest")):
            home.people.add(Person(name, name.title()))
            home.spaces.grant(Grant(name, "shared:a", role))
        home.relations.add(Relation("Tom", "neighbour of", "Eve", "shared:a"))
        home.spaces.hide(Hidden("shared:a", "guest", ("author",)))

        for name in ("ann", "ben"):
            (one,) = home.relations.all(RecallContext(person_id=name))
            assert (one.subject, one.relation, one.object) == ("Tom", "neighbour of", "Eve")


def test_unknown_people_and_limits_below_one_are_refused(tmp_path: Path) -> None:
    """Lists refuse what recall refuses."""
    with FamilyRecall.open(tmp_path / "f.db", models=NO_MODELS) as home:
        for call in (home.people.all, home.spaces.all):
            with pytest.raises(UnknownPersonError):
                call("zoe")
        with pytest.raises(UnknownPersonError):
            home.relations.all(RecallContext(person_id="zoe"))
        with pytest.raises(InvalidRequestError, match="limit must be 1 or more"):
            home.relations.all(limit=0)


def test_each_of_them_is_read_at_one_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is granted meanwhile is in all of a list, or in none of it."""
    n_views: list[None] = []
    reading = Connections.reading

    def counted(self: Connections) -> AbstractContextManager[apsw.Connection]:
        # The audit log is kept on a thread of its own.
        n_views.extend([None] * (threading.current_thread() is threading.main_thread()))
        return reading(self)

    with FamilyRecall.open(tmp_path / "f.db", models=NO_MODELS) as home:
        home.spaces.add(Space("shared:a", "shared"))
        for name in PEOPLE:
            home.people.add(Person(name, name.title()))
            home.spaces.grant(Grant(name, "shared:a", "adult"))
        monkeypatch.setattr(Connections, "reading", counted)
        for call in (home.people.all, home.spaces.all, home.spaces.accessible):
            n_views.clear()
            assert call("ann")
            assert len(n_views) == 1
