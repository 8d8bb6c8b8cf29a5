"""A server of households: time from arrival, load, and copies that are put back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest

from family_recall.apps.fleet import Options, household_server, places, read_catalogue
from family_recall.apps.fleet.household_server import (
    AllInUseError,
    HouseholdServer,
    Request,
    ShedError,
)
from family_recall.errors import InvalidRequestError
from family_recall.types import RecallContext
from tests.apps.fleet.homes import make_homes, use_tiny_models
from tests.conftest import HOME, NOW, PLENTY_MS, Wall

TEXT = "The boat key is in the red tin"


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    use_tiny_models(monkeypatch)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of three households."""
    return make_homes(tmp_path_factory.mktemp("made"))


@pytest.fixture
def store(made: Path) -> Any:
    """Return an object store in memory that has the three households."""
    store = fsspec.filesystem("memory")
    for file in made.glob("*.db"):
        store.put_file(str(file), f"/served/{file.name}")
    return store


def serve(
    scratch: Path,
    test: Callable[[HouseholdServer, Wall], Awaitable[None]],
    catalogue: str = "memory://served",
    **about: Any,
) -> None:
    """Run a test with a server of a catalogue, and a clock that the test moves."""
    wall, entries = Wall(), {entry.household_id: entry for entry in read_catalogue(catalogue)}

    async def run() -> None:
        server = HouseholdServer(
            entries, Options(), scratch, **{"open_files": 3, "wall_clock": wall, **about}
        )
        await test(server, wall)
        await server.households.close_all()

    asyncio.run(run())


def asked(household_id: str, tool: str = "recall", **ctx: Any) -> Request:
    """Return a request that arrives at the tests' moment."""
    arguments = {"recall": {"question": "Where is the boat key?"}, "remember": {"text": TEXT}}
    known = {"person_id": "priya", "space_id": HOME, "time_budget_ms": PLENTY_MS, "now": NOW, **ctx}
    arrived_s = NOW.timestamp()
    return Request(household_id, tool, arguments.get(tool, {}), RecallContext(**known), arrived_s)


def copies(store: Any, household_id: str) -> bool:
    """Return whether the household in the store holds the text."""
    return TEXT.encode() in store.cat_file(f"/served/{household_id}.db")


@pytest.mark.usefixtures("store")
def test_what_is_remembered_is_recalled(tmp_path: Path) -> None:
    """In its household, and in no other."""

    async def test(server: HouseholdServer, _: Wall) -> None:
        assert (await server.answer(asked("a", "remember")))["outcome"] == "created"
        answers = [await server.answer(asked(name)) for name in "ab"]
        assert [TEXT in str(answer["memories"]) for answer in answers] == [True, False]
        with pytest.raises(KeyError):
            await server.answer(asked("nobody"))
        with pytest.raises(InvalidRequestError, match="no tool 'nosuch'"):
            await server.answer(asked("a", "nosuch"))

    serve(tmp_path, test)


def test_an_id_may_be_longer_than_a_files_name(store: Any, made: Path, tmp_path: Path) -> None:
    """Its copy on this machine has a name of its own, as that of an id in other case has."""
    long_id = f"{'x' * 120}/{'y' * 150}"
    for household_id in (long_id, long_id.upper()):
        store.put_file(str(made / "a.db"), f"/served/{household_id}.db")

    async def test(server: HouseholdServer, _: Wall) -> None:
        await server.answer(asked(long_id, "remember"))
        await server.answer(asked(long_id.upper()))
        copies_here = server.households.ready().values()
        assert len({served.path.name.casefold() for served in copies_here}) == 2

    serve(tmp_path, test)
    assert copies(store, long_id)
    assert not copies(store, long_id.upper())
    store.rm(f"/served/{'x' * 120}", recursive=True)
    store.rm(f"/served/{'X' * 120}", recursive=True)


@pytest.mark.usefixtures("store")
def test_time_counts_from_the_arrival(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left when it begins is what the recall gets; past it nothing is begun."""
    budgets = []

    async def note(_: Any, ctx: RecallContext, *__: Any) -> dict[str, Any]:
        budgets.append(ctx.time_budget_ms)
        return {}

    monkeypatch.setattr(household_server, "adispatch", note)

    async def test(server: HouseholdServer, wall: Wall) -> None:
        wall.tick(milliseconds=700)
        await server.answer(asked("a", time_budget_ms=1000.0))
        wall.tick(milliseconds=300)
        with pytest.raises(ShedError, match="the 1000 ms for this request were over"):
            await server.answer(asked("b", time_budget_ms=1000.0))
        assert len(server.households) == 1

    serve(tmp_path, test)

    assert budgets == [pytest.approx(300.0, abs=0.01)]


@pytest.mark.usefixtures("store")
def test_less_urgent_requests_give_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While others run, a background one is refused, a conversational one not reread."""
    began: asyncio.Queue[tuple[str | None, bool]] = asyncio.Queue()
    release = asyncio.Event()

    async def wait(_: Any, ctx: RecallContext, *__: Any) -> dict[str, Any]:
        began.put_nowait((ctx.service_class, ctx.allow_cross_encoder))
        await release.wait()
        return {}

    monkeypatch.setattr(household_server, "adispatch", wait)

    async def test(server: HouseholdServer, _: Wall) -> None:
        running = []
        for service_class, rerank in (
            ("background", True),
            ("conversational", False),
            ("interactive", True),
        ):
            request = asked("a", service_class=service_class)
            running.append(asyncio.create_task(server.answer(request)))
            assert await began.get() == (service_class, rerank)
        with pytest.raises(ShedError, match="background"):
            await server.answer(asked("a", service_class="background"))
        release.set()
        await asyncio.gather(*running)

    serve(tmp_path, test, at_once=1)


def test_a_copy_is_put_back_when_its_household_is_closed(tmp_path: Path, store: Any) -> None:
    """To make room, and at the end; what nobody asked is not written."""
    before = store.cat_file("/served/c.db")

    async def test(server: HouseholdServer, _: Wall) -> None:
        await server.answer(asked("a", "remember"))
        assert not copies(store, "a")
        await server.answer(asked("b", "remember"))
        assert (copies(store, "a"), copies(store, "b")) == (True, False)
        await server.answer(asked("c", "warm"))
        assert list(server.households.ready()) == ["c"]

    serve(tmp_path, test, open_files=1)

    assert copies(store, "b")
    assert store.cat_file("/served/c.db") == before
    assert not list(tmp_path.iterdir())


def test_an_open_household_is_backed_up_once_it_was_asked(tmp_path: Path, store: Any) -> None:
    """Each time with what was stored until then; not again if nothing was asked since."""

    async def test(server: HouseholdServer, _: Wall) -> None:
        await server.answer(asked("a", "remember"))
        await server.answer(asked("b", "warm"))
        assert await server.back_up() == 1
        assert copies(store, "a")
        assert await server.back_up() == 0

    serve(tmp_path, test)


def test_one_that_cannot_be_backed_up_keeps_no_other_from_it(
    tmp_path: Path, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its error is raised at the end, and the next time it is tried again."""

    def fails_for_a(source: Path, place: str) -> None:
        if place.endswith("a.db"):
            raise OSError("no room for a")
        places.put(source, place)

    async def test(server: HouseholdServer, _: Wall) -> None:
        for name in "ab":
            await server.answer(asked(name, "remember"))
        with monkeypatch.context() as patched:
            patched.setattr(household_server, "put", fails_for_a)
            with pytest.raises(OSError, match="no room for a"):
                await server.back_up()
        assert (copies(store, "a"), copies(store, "b")) == (False, True)
        assert await server.back_up() == 1
        assert copies(store, "a")

    serve(tmp_path, test)


def test_what_cannot_be_put_back_stays_open(
    tmp_path: Path, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is down: no other takes its place, and nothing is lost when it is back."""

    def down(*_: Any) -> None:
        raise OSError("the store is down")

    async def test(server: HouseholdServer, _: Wall) -> None:
        await server.answer(asked("a", "remember"))
        with monkeypatch.context() as patched:
            patched.setattr(household_server, "put", down)
            with pytest.raises(OSError, match="down"):
                await server.answer(asked("b"))
            with pytest.raises(OSError, match="down"):
                await server.back_up()
        assert TEXT in str((await server.answer(asked("a")))["memories"])

    serve(tmp_path, test, open_files=1)

    assert copies(store, "a")


@pytest.mark.usefixtures("store")
def test_where_all_are_in_use_a_further_one_is_refused(tmp_path: Path) -> None:
    """At once, and without closing one that is in use."""

    async def test(server: HouseholdServer, _: Wall) -> None:
        async with server.households.using("a"):
            with pytest.raises(AllInUseError):
                await server.answer(asked("b"))

    serve(tmp_path, test, open_files=1)


def test_a_household_of_a_folder_is_used_where_it_is(tmp_path: Path) -> None:
    """No copy is made, and what is remembered is in the file at once."""
    homes = make_homes(tmp_path / "homes", 1)

    async def test(server: HouseholdServer, _: Wall) -> None:
        await server.answer(asked("a", "remember"))
        assert await server.back_up() == 0
        log = homes / "a.db-wal"
        assert TEXT.encode() in log.read_bytes() + (homes / "a.db").read_bytes()

    serve(tmp_path / "scratch", test, str(homes))
