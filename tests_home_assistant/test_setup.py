"""The entry is set up, reloaded and unloaded; what hinders it is retried, shown or repaired."""

from __future__ import annotations

import sys
import threading
from http import HTTPStatus
from pathlib import Path
from typing import Any

import apsw
import pytest
from homeassistant.components.repairs import DOMAIN as REPAIRS_DOMAIN
from homeassistant.config_entries import ConfigEntryState
from homeassistant.const import EVENT_HOMEASSISTANT_STOP
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers import issue_registry as ir
from homeassistant.setup import async_setup_component
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.family_recall import household
from custom_components.family_recall.const import DEFAULT_FILE, DOMAIN
from family_recall import FamilyRecall, Grant, Person, Region, Space
from family_recall.errors import ClosedError, StoreError
from tests_home_assistant.common import AsUser, SetUp, call, texts


def issues(hass: HomeAssistant) -> set[str]:
    """Return the ids of the issues shown to the owner."""
    return {issue_id for domain, issue_id in ir.async_get(hass).issues if domain == DOMAIN}


def file_of(hass: HomeAssistant) -> Path:
    """Return where the household's file lies."""
    return Path(hass.config.path(DEFAULT_FILE))


def threads() -> list[str]:
    """Return the threads of the library."""
    return [t.name for t in threading.enumerate() if "family_recall" in t.name]


async def test_people_get_a_private_space_each(entry: MockConfigEntry) -> None:
    """Each person owns a private space, and is an adult in the household's."""
    grants = entry.runtime_data.home.spaces.grants()
    assert {(grant.person_id, grant.space_id): grant.role for grant in grants} == {
        ("alice", "shared:household"): "adult",
        ("alice", "private:alice"): "owner",
        ("bob", "shared:household"): "adult",
        ("bob", "private:bob"): "owner",
    }


async def test_a_file_of_another_program_keeps_its_spaces(
    hass: HomeAssistant, set_up: SetUp
) -> None:
    """Its people, its household's space and their private spaces are used, not made again."""
    with FamilyRecall.open(file_of(hass)) as home:
        home.people.add(Person("alice", "Alice Smith", ("Ally",)))
        home.spaces.add(Space("shared:home", "household"))
        home.spaces.add(Space("alices", "private"))
        home.spaces.grant(Grant("alice", "alices", "owner"))
        home.spaces.grant(Grant("alice", "shared:home", "owner"))
    entry = await set_up()
    home = entry.runtime_data.home
    assert home.people.all()[0] == Person("alice", "Alice Smith", ("Ally",))
    assert {space.space_id for space in home.spaces.all()} == {
        "shared:home", "alices", "private:bob",
    }  # fmt: skip
    roles = {(g.person_id, g.space_id): g.role for g in home.spaces.grants()}
    assert roles["alice", "shared:home"] == "owner"


async def test_for_one_alone_is_where_nobody_else_is(
    hass: HomeAssistant, set_up: SetUp, as_user: AsUser
) -> None:
    """Neither a private space that another owns too, nor one that was kept for somebody else."""
    with FamilyRecall.open(file_of(hass)) as home:
        for known in (Person("alice", "Alice"), Person("tom", "Tom"), Person("zed", "Zed")):
            home.people.add(known)
        for space_id, owners in (("ours", ("alice", "zed")), ("private:bob", ("tom",))):
            home.spaces.add(Space(space_id, "private"))
            for owner in owners:
                home.spaces.grant(Grant(owner, space_id, "owner"))
        home.remember("Tom's secret", space_id="private:bob", person_id="tom")
    entry = await set_up()
    home = entry.runtime_data.home
    for name, space_id in (("Alice", "private:alice"), ("Bob", "private:bob-2")):
        stored = await call(hass, "remember", as_user(name), text=f"{name}: mine", private=True)
        detail = home.memories.get(stored["doc_id"], person_id=name.lower())
        assert detail.current.memory.space_id == space_id
    assert await texts(hass, "Tom's secret", as_user("Bob")) == ["Bob: mine"]
    assert {g.space_id for g in home.spaces.grants() if g.person_id == "bob"} == {
        "shared:household", "private:bob-2",
    }  # fmt: skip


async def test_who_comes_by_a_deleted_persons_id_is_nobody(
    hass: HomeAssistant, entry: MockConfigEntry, as_user: AsUser
) -> None:
    """Home Assistant uses ids again: a member who was deleted there is none until added again."""
    secret = {"text": "Bob's ring is in the desk", "private": True}
    await call(hass, "remember", as_user("Bob"), **secret)
    attributes = hass.states.get("person.bob").attributes
    er.async_get(hass).async_remove("person.bob")
    await hass.async_block_till_done()
    hass.states.async_set("person.bob", "home", attributes)
    assert [s.unique_id for s in entry.subentries.values()] == ["alice"]
    assert await texts(hass, "Where is Bob's ring?", as_user("Bob")) == []
    assert {person.person_id for person in entry.runtime_data.home.people.all()} == {"alice", "bob"}


async def test_a_shared_space_is_not_opened_to_everybody(
    hass: HomeAssistant, set_up: SetUp
) -> None:
    """Whoever may not enter it in a file of another program, may not afterwards."""
    with FamilyRecall.open(file_of(hass)) as home:
        home.people.add(Person("sitter", "Sitter"))
        home.spaces.add(Space("shared:household", "shared"))
    entry = await set_up()
    assert entry.runtime_data.home.spaces.all("sitter") == []
    assert [s.space_id for s in entry.runtime_data.home.spaces.all("alice")] == [
        "private:alice", "shared:household",
    ]  # fmt: skip


async def test_reloading_keeps_what_is_remembered(
    hass: HomeAssistant, entry: MockConfigEntry
) -> None:
    """A changed option reloads the entry; the file is what it was."""
    entry.runtime_data.home.remember("The spare key is under the blue pot", author="alice")
    before = entry.runtime_data
    hass.config_entries.async_update_entry(entry, options={"time_budget_ms": 500})
    await hass.async_block_till_done()
    assert entry.state is ConfigEntryState.LOADED
    assert entry.runtime_data is not before
    assert entry.runtime_data.home.maintenance.stats()["memories"] == 1


async def test_unloading_leaves_no_thread(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """After it no thread of the library is left, and the file can be opened by another."""
    assert await hass.config_entries.async_unload(entry.entry_id)
    assert entry.state is ConfigEntryState.NOT_LOADED
    assert threads() == []
    FamilyRecall.open(file_of(hass)).close()


async def test_stopping_leaves_no_thread(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """Home Assistant stops without unloading entries; the file is closed all the same."""
    hass.bus.async_fire(EVENT_HOMEASSISTANT_STOP)
    await hass.async_block_till_done()
    assert threads() == []
    with pytest.raises(ClosedError):
        await entry.runtime_data.home.arecall("Where is the spare key?")


async def test_the_household_moves_with_home_assistant(
    hass: HomeAssistant, entry: MockConfigEntry
) -> None:
    """Zone, country and hemisphere are those of Home Assistant, also after they are changed."""
    home = entry.runtime_data.home
    await hass.config.async_update(time_zone="Australia/Sydney", country="AU", latitude=-33.9)
    await hass.async_block_till_done()
    assert (str(home.zone), home.region) == ("Australia/Sydney", Region("AU", "south"))
    await hass.config.async_update(time_zone="UTC", latitude=52.5)
    await hass.async_block_till_done()
    assert (str(home.zone), home.region) == ("UTC", Region("AU", "north"))


async def test_a_busy_file_is_tried_again(
    hass: HomeAssistant, set_up: SetUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another program writes, the setup waits for its turn, and no issue is shown."""
    FamilyRecall.open(file_of(hass)).close()
    monkeypatch.setattr(household, "BUSY_TIMEOUT_MS", 50)
    other = apsw.Connection(str(file_of(hass)))
    other.execute("BEGIN IMMEDIATE")
    entry = await set_up()
    assert entry.state is ConfigEntryState.SETUP_RETRY
    assert issues(hass) == set()
    other.close()
    assert await hass.config_entries.async_reload(entry.entry_id)
    assert entry.state is ConfigEntryState.LOADED


async def test_a_newer_file_is_left_alone(hass: HomeAssistant, set_up: SetUp) -> None:
    """The owner is told to update; the file is not touched."""
    FamilyRecall.open(file_of(hass)).close()
    connection = apsw.Connection(str(file_of(hass)))
    connection.execute("PRAGMA user_version = 999999")
    connection.close()
    before = file_of(hass).read_bytes()
    entry = await set_up()
    assert entry.state is ConfigEntryState.SETUP_ERROR
    assert issues(hass) == {"newer_file"}
    assert file_of(hass).read_bytes() == before


async def test_a_damaged_file_is_renamed(
    hass: HomeAssistant, set_up: SetUp, hass_client: Any
) -> None:
    """Once the owner agrees it is renamed, and an empty household takes its place."""
    file_of(hass).write_bytes(b"garbage" * 1000)
    Path(f"{file_of(hass)}-wal").write_bytes(b"log")
    entry = await set_up()
    assert entry.state is ConfigEntryState.SETUP_ERROR
    assert issues(hass) == {"damaged_file"}
    assert await async_setup_component(hass, REPAIRS_DOMAIN, {})
    client = await hass_client()

    url = "/api/repairs/issues/fix"
    start = await client.post(url, json={"handler": DOMAIN, "issue_id": "damaged_file"})
    assert start.status == HTTPStatus.OK
    form = await start.json()
    assert form["step_id"] == "confirm"
    assert form["description_placeholders"]["file"] == DEFAULT_FILE
    assert "no SQLite database" in form["description_placeholders"]["error"]
    done = await (await client.post(f"{url}/{form['flow_id']}", json={})).json()
    await hass.async_block_till_done()

    assert done["type"] == "create_entry"
    assert entry.state is ConfigEntryState.LOADED
    assert issues(hass) == set()
    renamed = list(file_of(hass).parent.glob(f"{DEFAULT_FILE}.damaged-*"))
    assert b"garbage" * 1000 in [path.read_bytes() for path in renamed]
    assert b"log" in [path.read_bytes() for path in renamed]


async def test_an_encrypted_file_is_not_called_damaged(hass: HomeAssistant, set_up: SetUp) -> None:
    """No repair is offered that would rename it."""
    FamilyRecall.open(file_of(hass), key="a passphrase").close()
    entry = await set_up()
    assert entry.state is ConfigEntryState.SETUP_ERROR
    assert issues(hass) == set()
    assert "key" in (entry.reason or "")


async def test_without_a_model_the_owner_is_told(
    hass: HomeAssistant, set_up: SetUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The household works by words, and the issue goes once there is a model."""
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "onnxruntime", None)
        entry = await set_up()
        assert entry.state is ConfigEntryState.LOADED
        assert issues(hass) == {"no_model"}
    await hass.config_entries.async_reload(entry.entry_id)
    assert issues(hass) == set()


@pytest.mark.parametrize("part", ["warmup", "recall"])
async def test_what_fails_after_opening_closes_the_file(
    set_up: SetUp, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """No thread and no lock stay behind a setup that failed half way."""

    def fails(*_: object, **__: object) -> None:
        raise StoreError("disk gone")

    with monkeypatch.context() as broken:
        broken.setattr(FamilyRecall, part, fails)
        entry = await set_up()
    assert entry.state is not ConfigEntryState.LOADED
    assert threads() == []
