"""A Home Assistant with two people, and the component set up in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from homeassistant.config_entries import ConfigEntryState, ConfigSubentryData
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.family_recall.const import (
    CONF_FILE,
    DEFAULT_FILE,
    DOMAIN,
)
from tests_home_assistant.common import SetUp, person


@pytest.fixture(autouse=True)
def _custom_integrations(enable_custom_integrations: None) -> None:
    """Load what lies in custom_components."""


@pytest.fixture
async def hass(hass: HomeAssistant, tmp_path: Path) -> HomeAssistant:
    """Return a Home Assistant with a configuration folder of its own, and two people in it."""
    hass.config.config_dir = str(tmp_path)
    (tmp_path / ".storage").mkdir()
    users = {}
    for name in ("Alice", "Bob", "Guest"):
        users[name] = await hass.auth.async_create_user(name)
    people = [
        {"id": name.lower(), "name": name, "user_id": users[name].id, "device_trackers": []}
        for name in ("Alice", "Bob")
    ]
    assert await async_setup_component(hass, "homeassistant", {})
    assert await async_setup_component(hass, "person", {"person": people})
    hass.data["test_users"] = users
    await hass.async_block_till_done()
    return hass


@pytest.fixture
def as_user(hass: HomeAssistant) -> Callable[[str], Context]:
    """Return how to make the context of something that a user does."""
    return lambda name: Context(user_id=hass.data["test_users"][name].id)


@pytest.fixture
async def set_up(hass: HomeAssistant) -> AsyncGenerator[SetUp]:
    """Return how to set up the component; what is still open at the end is closed."""
    entries = []

    async def make(
        *subentries: ConfigSubentryData, options: dict[str, Any] | None = None
    ) -> MockConfigEntry:
        entry = MockConfigEntry(
            domain=DOMAIN,
            title="Family Recall",
            data={CONF_FILE: DEFAULT_FILE},
            options=options or {},
            subentries_data=[person("alice"), person("bob"), *subentries],
        )
        entry.add_to_hass(hass)
        entries.append(entry)
        await hass.config_entries.async_setup(entry.entry_id)
        await hass.async_block_till_done()
        return entry

    yield make
    for entry in entries:
        if entry.state is ConfigEntryState.LOADED:
            await hass.config_entries.async_unload(entry.entry_id)
    await hass.async_block_till_done()


@pytest.fixture
async def entry(set_up: SetUp) -> MockConfigEntry:
    """Return the loaded entry of a household of two."""
    entry = await set_up()
    assert entry.state is ConfigEntryState.LOADED, entry.reason
    return entry
