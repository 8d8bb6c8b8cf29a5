"""The flows open the file before they end, and say what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
from homeassistant.config_entries import SOURCE_RECONFIGURE, SOURCE_USER, ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers import device_registry as dr
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.family_recall import config_flow
from custom_components.family_recall.const import DEFAULT_FILE, DOMAIN
from custom_components.family_recall.identity import Speaker
from family_recall import FamilyRecall, Person
from tests_home_assistant.common import SetUp

PEOPLE = ["person.alice", "person.bob"]


async def start(hass: HomeAssistant) -> Any:
    """Open the dialog that adds the integration."""
    return await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})


async def send(hass: HomeAssistant, flow: Any, **answers: Any) -> Any:
    """Fill in the dialog."""
    result = await hass.config_entries.flow.async_configure(flow["flow_id"], answers)
    await hass.async_block_till_done()
    return result


async def subentry(
    hass: HomeAssistant, entry: MockConfigEntry, kind: str, subentry_id: str | None = None
) -> Any:
    """Open the dialog that adds a subentry, or changes one."""
    context: dict[str, Any] = {"source": SOURCE_USER}
    if subentry_id is not None:
        context = {"source": SOURCE_RECONFIGURE, "subentry_id": subentry_id}
    return await hass.config_entries.subentries.async_init((entry.entry_id, kind), context=context)


async def send_subentry(hass: HomeAssistant, flow: Any, **answers: Any) -> Any:
    """Fill in the dialog of a subentry."""
    result = await hass.config_entries.subentries.async_configure(flow["flow_id"], answers)
    await hass.async_block_till_done()
    return result


async def unload(hass: HomeAssistant) -> None:
    """Close what a flow has set up."""
    for entry in hass.config_entries.async_loaded_entries(DOMAIN):
        await hass.config_entries.async_unload(entry.entry_id)


async def test_the_flow_makes_the_file(hass: HomeAssistant) -> None:
    """It offers everybody who lives here, and a household is open at its end."""
    form = await start(hass)
    assert form["type"] is FlowResultType.FORM
    assert form["data_schema"]({}) == {"file": DEFAULT_FILE, "people": PEOPLE}
    done = await send(hass, form, file="memories.db", people=PEOPLE)
    assert done["type"] is FlowResultType.CREATE_ENTRY
    entry = done["result"]
    assert entry.state is ConfigEntryState.LOADED
    assert Path(hass.config.path("memories.db")).exists()
    assert {s.title: dict(s.data) for s in entry.subentries.values()} == {
        "Alice": {"person": "alice", "person_id": "alice", "role": "adult"},
        "Bob": {"person": "bob", "person_id": "bob", "role": "adult"},
    }
    await unload(hass)


async def test_people_of_the_file_are_known_by_their_names(hass: HomeAssistant) -> None:
    """Somebody whom another program stored keeps their id, and so their memories."""
    with FamilyRecall.open(hass.config.path(DEFAULT_FILE)) as home:
        home.people.add(Person("p-17", "alice"))
    done = await send(hass, await start(hass), file=DEFAULT_FILE, people=PEOPLE)
    ids = {s.title: s.data["person_id"] for s in done["result"].subentries.values()}
    assert ids == {"Alice": "p-17", "Bob": "bob"}
    await unload(hass)


@pytest.mark.parametrize(
    ("file", "error"),
    [
        ("../outside.db", "outside"),
        ("/etc/outside.db", "outside"),
        ("www/public.db", "outside"),
        ("", "outside"),
        ("garbage.db", "not_a_household"),
        ("newer.db", "newer_file"),
        ("nosuch/family.db", "cannot_open"),
        ("busy.db", "busy"),
    ],
)
async def test_a_file_that_will_not_do(
    hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch, file: str, error: str
) -> None:
    """The dialog says why, and another file can be given."""
    monkeypatch.setattr(config_flow, "BUSY_TIMEOUT_MS", 50)
    Path(hass.config.path("garbage.db")).write_bytes(b"garbage" * 1000)
    for name in ("newer.db", "busy.db"):
        FamilyRecall.open(hass.config.path(name)).close()
    newer = apsw.Connection(hass.config.path("newer.db"))
    newer.execute("PRAGMA user_version = 999999")
    newer.close()
    other = apsw.Connection(hass.config.path("busy.db"))
    list(other.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"))

    form = await send(hass, await start(hass), file=file, people=[])

    assert form["errors"] == {"file": error}
    other.close()
    done = await send(hass, form, file=DEFAULT_FILE, people=[])
    assert done["type"] is FlowResultType.CREATE_ENTRY
    await unload(hass)


@pytest.mark.usefixtures("entry")
async def test_there_is_one_household(hass: HomeAssistant) -> None:
    """A second one is refused."""
    result = await start(hass)
    assert result["reason"] == "single_instance_allowed"


async def test_another_file_can_be_used(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """Reconfiguring closes the one and opens the other."""
    form = await entry.start_reconfigure_flow(hass)
    assert form["step_id"] == "reconfigure"
    form = await send(hass, form, file="../outside.db")
    assert form["errors"] == {"file": "outside"}
    done = await send(hass, form, file="other.db")
    assert done["reason"] == "reconfigure_successful"
    assert entry.runtime_data.path == Path(hass.config.path("other.db"))


async def test_options(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """The sources are stored, and shown again."""
    form = await hass.config_entries.options.async_init(entry.entry_id)
    chosen = {
        "calendars": ["calendar.family"],
        "todo_lists": [],
        "logbook": True,
        "unknown_voices": False,
        "time_budget_ms": 500,
    }
    done = await hass.config_entries.options.async_configure(form["flow_id"], chosen)
    await hass.async_block_till_done()
    assert done["type"] is FlowResultType.CREATE_ENTRY
    assert dict(entry.options) == chosen
    assert entry.runtime_data.context_of(Speaker()).time_budget_ms == 500


async def test_a_person_is_added_and_changed(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """A child has the role of a child in the file as soon as that is said."""
    hass.states.async_set("person.carol", "home", {"id": "carol", "friendly_name": "Carol"})
    form = await subentry(hass, entry, "person")
    done = await send_subentry(hass, form, person="person.carol", role="child")
    assert done["type"] is FlowResultType.CREATE_ENTRY

    def role() -> str:
        grants = entry.runtime_data.home.spaces.grants()
        return next(
            g.role for g in grants if (g.person_id, g.space_id) == ("carol", "shared:household")
        )

    assert role() == "child"
    carol = next(s for s in entry.subentries.values() if s.title == "Carol")
    form = await subentry(hass, entry, "person", carol.subentry_id)
    assert form["description_placeholders"] == {"name": "Carol"}
    done = await send_subentry(hass, form, person_id="carol", role="adult")
    assert done["reason"] == "reconfigure_successful"
    assert role() == "adult"

    form = await subentry(hass, entry, "person")
    done = await send_subentry(hass, form, person="person.carol", role="adult")
    assert done["reason"] == "already_configured"


async def test_a_device_is_added_and_changed(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """It carries the device's name, and may belong to nobody."""
    other = MockConfigEntry(domain="test")
    other.add_to_hass(hass)
    satellite = dr.async_get(hass).async_get_or_create(
        config_entry_id=other.entry_id, identifiers={("test", "kitchen")}, name="Kitchen"
    )
    form = await subentry(hass, entry, "device")
    done = await send_subentry(hass, form, device=satellite.id, aloud=True)
    assert done["title"] == "Kitchen"
    (kitchen,) = (s for s in entry.subentries.values() if s.subentry_type == "device")

    form = await subentry(hass, entry, "device", kitchen.subentry_id)
    done = await send_subentry(hass, form, person="bob", aloud=False)
    assert done["reason"] == "reconfigure_successful"
    (kitchen,) = (s for s in entry.subentries.values() if s.subentry_type == "device")
    assert dict(kitchen.data) == {"device": satellite.id, "person": "bob", "aloud": False}

    form = await subentry(hass, entry, "device")
    done = await send_subentry(hass, form, device=satellite.id, aloud=True)
    assert done["reason"] == "already_configured"


@pytest.mark.parametrize("subentry_id", [None, "alice"])
async def test_people_need_an_open_household(
    hass: HomeAssistant, entry: MockConfigEntry, subentry_id: str | None
) -> None:
    """Who is in the file is not known while it is closed."""
    await hass.config_entries.async_unload(entry.entry_id)
    alice = next(s.subentry_id for s in entry.subentries.values() if s.unique_id == "alice")
    result = await subentry(hass, entry, "person", alice if subentry_id else None)
    assert result["reason"] == "not_loaded"


async def test_nobody_becomes_somebody_else(hass: HomeAssistant, set_up: SetUp) -> None:
    """Neither a namesake of a member, nor whose id was another's, nor one of two of that name."""
    with FamilyRecall.open(hass.config.path(DEFAULT_FILE)) as home:
        for known in (Person("carol", "Carolina"), Person("d1", "Dan"), Person("d2", "Dan")):
            home.people.add(known)
    entry = await set_up()
    for ha_id, name in (("bob_2", "Bob"), ("carol", "Carol"), ("dan", "Dan")):
        hass.states.async_set(f"person.{ha_id}", "home", {"id": ha_id, "friendly_name": name})
        form = await subentry(hass, entry, "person")
        await send_subentry(hass, form, person=f"person.{ha_id}", role="adult")
    ids = {s.unique_id: s.data["person_id"] for s in entry.subentries.values()}
    assert ids == {
        "alice": "alice", "bob": "bob", "bob_2": "bob_2", "carol": "carol_2", "dan": "dan",
    }  # fmt: skip
    bob = next(s for s in entry.subentries.values() if s.unique_id == "bob_2")
    form = await subentry(hass, entry, "person", bob.subentry_id)
    options = form["data_schema"].schema["person_id"].config["options"]
    assert {option["value"] for option in options} == {"bob_2", "carol", "d1", "d2"}
