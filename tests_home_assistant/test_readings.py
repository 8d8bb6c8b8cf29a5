"""Sensors and diagnostics."""

from __future__ import annotations

import json

import pytest
from homeassistant.core import HomeAssistant
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.family_recall.diagnostics import async_get_config_entry_diagnostics
from family_recall.errors import StoreError
from tests_home_assistant.common import KEY, AsUser, SetUp, call, device

MEMORIES, LAST_RECALL = "sensor.family_recall_memories", "sensor.family_recall_last_recall"


def shown(hass: HomeAssistant, entity_id: str) -> str:
    """Return the state of an entity."""
    state = hass.states.get(entity_id)
    assert state is not None
    return state.state


@pytest.mark.usefixtures("entry")
async def test_the_sensors_follow(hass: HomeAssistant, as_user: AsUser) -> None:
    """A memory is counted, and a recall timed, when it happens."""
    assert (shown(hass, MEMORIES), shown(hass, LAST_RECALL)) == ("0", "unknown")
    await call(hass, "remember", as_user("Alice"), text=KEY)
    await hass.async_block_till_done()
    assert shown(hass, MEMORIES) == "1"
    await call(hass, "recall", as_user("Alice"), question="Where is the spare key?")
    assert 0 < float(shown(hass, LAST_RECALL)) < 60_000
    await call(hass, "remember", as_user("Alice"), text="The bins go out on Friday.")
    assert float(shown(hass, LAST_RECALL)) > 0


async def test_the_sensors_are_unavailable_while_the_file_fails(
    hass: HomeAssistant, entry: MockConfigEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And come back with it."""
    coordinator = entry.runtime_data

    def fails() -> None:
        raise StoreError("disk gone")

    with monkeypatch.context() as broken:
        broken.setattr(coordinator.home.maintenance, "stats", fails)
        await coordinator.async_refresh()
        assert shown(hass, MEMORIES) == "unavailable"
    await coordinator.async_refresh()
    assert shown(hass, MEMORIES) == "0"


async def test_diagnostics_name_nobody(hass: HomeAssistant, set_up: SetUp, as_user: AsUser) -> None:
    """They have counts and settings; no text, name, id, path or entity."""
    options = {"calendars": ["calendar.alices_secrets"], "todo_lists": [], "time_budget_ms": 300}
    entry = await set_up(device("alices-phone", "alice"), options=options)
    await call(hass, "remember", as_user("Alice"), text=KEY, private=True)
    await call(hass, "recall", as_user("Alice"), question="Where is the spare key?")

    diagnostics = await async_get_config_entry_diagnostics(hass, entry)

    assert diagnostics["options"] == {"calendars": 1, "todo_lists": 0, "time_budget_ms": 300}
    assert diagnostics["subentries"] == {"person": 2, "device": 1}
    assert diagnostics["file"]["memories"] == 1
    assert diagnostics["readings"]["last_recall_ms"] > 0
    written = json.dumps(diagnostics).casefold()
    for secret in ("alice", "bob", "spare key", "family_recall.db", hass.config.config_dir):
        assert secret.casefold() not in written
