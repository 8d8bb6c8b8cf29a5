"""Browsing: pages, single memories and accessible spaces show only what a person may see."""

from __future__ import annotations

import dataclasses
import datetime as dt
import shutil
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Filters, RecallContext
from family_recall.errors import UnknownMemoryError, UnknownSpaceError
from family_recall.types import StoredVersion
from tests.conftest import NOW, Wall, open_home
from tests.promises.households import PEOPLE, SPACES, Asked, World, furnish, view, worlds

PAGES = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
requests = st.builds(
    Asked,
    person_id=st.sampled_from([*PEOPLE, None]),
    space_id=st.sampled_from([None, None, *sorted(SPACES)]),
    question=st.sampled_from(["", "Ana", "cleo", "key"]),
    call=st.just("look"),
    ctx=st.fixed_dictionaries({}, optional={"aloud": st.booleans()}),
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


def browsed(blank: Path, world: World, asked: Asked, *, all_of_it: bool) -> list[str]:
    """Fill a household, browse everything in it, and write what was shown."""
    wall = Wall()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        shutil.copyfile(blank, path)
        with open_home(path, encoder=None, wall=wall) as home:
            widest = dataclasses.replace(asked, space_id=None, filters={})
            furnish(home, wall, world, None if all_of_it else widest)
            return [*listings(home, asked), *details(home, asked, world)]


def listings(home: FamilyRecall, asked: Asked) -> list[str]:
    """List a page, the entities and the accessible spaces."""
    ctx = RecallContext(
        asked.person_id, asked.space_id, filters=Filters(**asked.filters), **asked.ctx
    )
    try:
        page = home.memories.page(ctx, about=asked.question or None)
        entities = home.memories.entities(ctx)
        relations = home.relations.all(ctx)
    except UnknownSpaceError as error:
        return [str(error)]
    spaces = [
        msgspec.structs.replace(space, people=(), hidden=())
        for space in home.spaces.accessible(ctx.person_id)
    ]
    if ctx.aloud:  # how much is private is no listing of what may be heard
        spaces = [space for space in spaces if space.space.kind != "private"]
    return [repr(page), repr(entities), repr(relations), repr(spaces)]


def details(home: FamilyRecall, asked: Asked, world: World) -> list[str]:
    """Open every memory that was ever stored, wherever it is."""
    shown = []
    for space_id, doc_id in sorted({(item.space_id, item.doc_id) for item in world.items}):
        try:
            ctx = RecallContext(asked.person_id, **asked.ctx)
            detail = home.memories.get(doc_id, ctx, space_id=space_id)
        except UnknownMemoryError as error:
            shown.append(str(error))
        else:
            shown.append(repr(detail))
    return shown


@settings(PAGES, max_examples=60)
@given(worlds(), requests)
def test_what_is_hidden_changes_no_page(blank: Path, world: World, asked: Asked) -> None:
    """One household holds everything, one only what the person may see: all pages are the same.

    Texts, counts, months, versions, names, relations, links and refusals, to the letter.
    """
    assert browsed(blank, world, asked, all_of_it=True) == browsed(
        blank, world, asked, all_of_it=False
    )


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
            n_accessible = sum(space.n_memories for space in home.spaces.accessible(person))

    assert sorted(
        (version.memory.space_id, str(version.memory.doc_id)) for version in listed
    ) == sorted(visible)
    moments = [version.moment for version in listed]
    assert moments == sorted(moments, reverse=True)
    assert whole.total == sum(n for _, n in whole.months) == len(visible) == n_accessible
