"""Looking without a question: pages, one memory, rooms; none of it is out of the asker's sight."""

from __future__ import annotations

import dataclasses
import datetime as dt
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Filters, Grant, RecallContext, Relation
from family_recall.errors import InvalidRequestError, UnknownMemoryError, UnknownSpaceError
from family_recall.types import StoredVersion
from tests.conftest import HOME, NOW, Wall, open_home, remember
from tests.promises.households import PEOPLE, SPACES, Asked, World, furnish, view, worlds

PAGES = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
looks = st.builds(
    Asked,
    person_id=st.sampled_from([*PEOPLE, None]),
    space_id=st.sampled_from([None, None, *sorted(SPACES)]),
    question=st.sampled_from(["", "Ana", "cleo", "key"]),
    call=st.just("look"),
    filters=st.fixed_dictionaries(
        {},
        optional={
            "allow_shared": st.booleans(),
            "kinds": st.sampled_from([("fact", "episode"), ("milestone",)]),
            "authors": st.just(("Ana",)),
            "after": st.just(NOW - dt.timedelta(days=5)),
        },
    ),
)


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a file with nothing in it, to be copied."""
    path = tmp_path_factory.mktemp("blank") / "family.db"
    with open_home(path, encoder=None):
        return path


def looked(blank: Path, world: World, asked: Asked, *, all_of_it: bool) -> list[str]:
    """Fill a household, look at everything there is to look at, and write what was shown."""
    wall = Wall()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        shutil.copyfile(blank, path)
        with open_home(path, encoder=None, wall=wall) as home:
            widest = dataclasses.replace(asked, space_id=None, filters={})
            furnish(home, wall, world, None if all_of_it else widest)
            return [*pages(home, asked), *closely(home, asked, world)]


def pages(home: FamilyRecall, asked: Asked) -> list[str]:
    """Leaf through, and name names and rooms."""
    ctx = RecallContext(asked.person_id, asked.space_id, filters=Filters(**asked.filters))
    try:
        whole = home.memories.page(ctx, about=asked.question or None)
        names = home.memories.entities(ctx)
    except UnknownSpaceError as error:
        return [str(error)]
    rooms = [
        dataclasses.replace(room, people=(), hidden=())
        for room in home.spaces.accessible(ctx.person_id)
    ]
    return [repr(whole), repr(names), repr(rooms)]


def closely(home: FamilyRecall, asked: Asked, world: World) -> list[str]:
    """Look at every memory that was ever told, from every space at once."""
    shown = []
    for space_id, doc_id in sorted({(item.space_id, item.doc_id) for item in world.items}):
        try:
            found = home.memories.get(doc_id, RecallContext(asked.person_id), space_id=space_id)
        except UnknownMemoryError as error:
            shown.append(str(error))
        else:
            shown.append(repr(found))
    return shown


@settings(PAGES, max_examples=60)
@given(worlds(), looks)
def test_what_is_hidden_changes_no_page(blank: Path, world: World, asked: Asked) -> None:
    """One household holds everything, one what the asker may see: every page reads the same.

    Texts, counts, months, versions, names, relations, links and refusals, to the letter.
    """
    everything = looked(blank, world, asked, all_of_it=True)

    assert everything == looked(blank, world, asked, all_of_it=False)


@settings(PAGES, max_examples=30)
@given(worlds(), st.sampled_from([*PEOPLE, None]), st.integers(1, 4))
def test_pages_hold_each_memory_once_and_no_other(
    blank: Path, world: World, person: str | None, limit: int
) -> None:
    """All pages together are what a policy written by hand shows, in falling order of time."""
    asked = Asked(person, None, "", "look")
    last = {(item.space_id, item.doc_id): item for item in world.items}
    visible = {key for key, item in last.items() if view(world, asked, item) is not None}
    wall = Wall()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        shutil.copyfile(blank, path)
        with open_home(path, encoder=None, wall=wall) as home:
            furnish(home, wall, world)
            ctx, listed, offset = RecallContext(person), list[StoredVersion](), 0
            while page := home.memories.page(ctx, offset=offset, limit=limit).memories:
                listed += page
                offset += len(page)
            whole = home.memories.page(ctx)
            n_in_rooms = sum(room.n_memories for room in home.spaces.accessible(person))

    assert sorted((k.memory.space_id, str(k.memory.doc_id)) for k in listed) == sorted(visible)
    moments = [kept.moment for kept in listed]
    assert moments == sorted(moments, reverse=True)
    assert whole.total == sum(n for _, n in whole.months) == len(visible) == n_in_rooms


def test_days_are_both_included(home: FamilyRecall) -> None:
    """Two stories lie between the first and the tenth of June, the ends counted."""
    ctx = RecallContext("rajesh")
    first, last = dt.date(2025, 6, 1), dt.date(2025, 6, 10)

    def ids(**days: Any) -> list[str | None]:
        return [kept.memory.doc_id for kept in home.memories.page(ctx, **days).memories]

    assert ids(first=first, last=last) == ["grandma", "cake"]
    assert ids(first=first, last=last - dt.timedelta(days=1)) == ["cake"]
    assert ids(last=first - dt.timedelta(days=1)) == ["goa", "dates", "march"]


def test_one_memory_comes_with_all_that_hangs_on_it(home: FamilyRecall, wall: Wall) -> None:
    """Its versions, the names in it, what is known of those, and the turns beside it."""
    wall.tick(hours=1)
    remember(home, "I told Priya we can do April", doc_id="march", author="Rajesh",
             session_id="talk-1", occurred_at="2025-02-01T18:00")  # fmt: skip
    home.relations.add(Relation("Rajesh", "married to", "Priya", HOME))

    found = home.memories.get("march", RecallContext("priya"))

    assert found.current.memory.text == "I told Priya we can do April"
    assert [kept.memory.text for kept in found.earlier] == [
        "I told Priya we can do March for vacation"
    ]
    assert found.earlier[0].replaced_at == found.current.recorded_at
    assert set(found.entities) == {("Rajesh Rao", "author"), ("Priya Rao", "mention")}
    assert found.relations == (Relation("Rajesh Rao", "married to", "Priya Rao", HOME),)
    assert [(kind, kept.memory.doc_id) for kind, kept in found.links] == [("next", "dates")]


def test_a_moment_past_its_truth_is_still_listed(home: FamilyRecall) -> None:
    """What was true for a time only can be found, so that it can be mended."""
    remember(home, "The boiler code is 7", doc_id="code", valid_until="2025-06-01")

    listed = home.memories.page(RecallContext("rajesh"), limit=100).memories

    assert "code" in [kept.memory.doc_id for kept in listed]
    assert home.memories.get("code", RecallContext("rajesh")).current.memory.valid_until is not None


def test_who_looked_is_in_the_log(home: FamilyRecall) -> None:
    """An owner is told who leafed through their space, and what they were shown."""
    home.spaces.grant(Grant("priya", HOME, "owner"))
    home.memories.get("key", RecallContext("rajesh"))
    home.memories.page(RecallContext("mia"), limit=2)

    entries = home.audit.entries("priya")

    assert [(one.call, one.person_id) for one in entries] == [("look", "mia"), ("look", "rajesh")]
    assert entries[1].memories == ((HOME, "key"),)
    assert len(entries[0].memories) == 2


@pytest.mark.parametrize(("offset", "limit"), [(-1, 50), (0, 0), (0, 1001)])
def test_pages_have_bounds(home: FamilyRecall, offset: int, limit: int) -> None:
    """What is no page is refused, with the bounds."""
    with pytest.raises(InvalidRequestError, match="limit from 1 to 1000"):
        home.memories.page(RecallContext("rajesh"), offset=offset, limit=limit)
