"""A backup holds a sound copy, and what is restored from it is sound."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.family_recall import household
from custom_components.family_recall.backup import async_post_backup, async_pre_backup
from family_recall import FamilyRecall
from family_recall.errors import StoreError

KEY = "The spare key is under the blue pot"


def texts(home: FamilyRecall) -> list[str]:
    """Return what Alice may see."""
    return [version.memory.text for version in home.memories.page(person_id="alice").memories]


async def test_the_copy_is_sound_and_goes_afterwards(
    hass: HomeAssistant, entry: MockConfigEntry
) -> None:
    """It holds what was remembered before, and is there only while the backup is made."""
    entry.runtime_data.home.remember(KEY, author="alice", space_id="shared:household")
    copy = household.copy_of(entry.runtime_data.path)
    await async_pre_backup(hass)
    assert copy.exists()
    moved = copy.with_name("elsewhere.db")
    shutil.copy(copy, moved)
    await async_post_backup(hass)
    assert not copy.exists()
    with FamilyRecall.open(moved, create=False) as restored:
        assert texts(restored) == [KEY]


async def test_a_torn_file_is_replaced_by_its_copy(
    hass: HomeAssistant, entry: MockConfigEntry
) -> None:
    """After a restore the copy takes the place of a file that was read while it was written to."""
    entry.runtime_data.home.remember(KEY, author="alice", space_id="shared:household")
    path: Path = entry.runtime_data.path
    await async_pre_backup(hass)
    await hass.config_entries.async_unload(entry.entry_id)
    pages = path.read_bytes()
    path.write_bytes(pages[: len(pages) // 2])

    await hass.config_entries.async_setup(entry.entry_id)

    assert entry.state is ConfigEntryState.LOADED
    assert texts(entry.runtime_data.home) == [KEY]
    assert not household.copy_of(path).exists()


async def test_a_sound_file_stays(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """After a backup that was interrupted, what was remembered since is not lost."""
    await async_pre_backup(hass)
    entry.runtime_data.home.remember(KEY, author="alice", space_id="shared:household")
    await hass.config_entries.async_reload(entry.entry_id)
    assert texts(entry.runtime_data.home) == [KEY]
    assert not household.copy_of(entry.runtime_data.path).exists()


async def test_a_copy_that_cannot_be_made_fails_the_backup(
    hass: HomeAssistant, entry: MockConfigEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is left with a backup that they think is sound."""

    def fails(*_: object, **__: object) -> None:
        raise StoreError("disk full")

    monkeypatch.setattr(entry.runtime_data.home.maintenance, "backup", fails)
    with pytest.raises(HomeAssistantError, match="disk full"):
        await async_pre_backup(hass)
