"""Family Recall: what a household remembers, in one file on this machine."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from homeassistant.components.person.const import DOMAIN as PERSON_DOMAIN
from homeassistant.const import (
    ATTR_ID,
    EVENT_CORE_CONFIG_UPDATE,
    EVENT_HOMEASSISTANT_STOP,
    Platform,
)
from homeassistant.core import Event, HomeAssistant, callback, split_entity_id
from homeassistant.exceptions import ConfigEntryError, ConfigEntryNotReady, HomeAssistantError
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.typing import ConfigType

from family_recall import FamilyRecall
from family_recall.errors import FamilyRecallError, NewerStoreError, StoreBusyError

from . import household
from .const import (
    CONF_FILE,
    DOMAIN,
    ISSUE_DAMAGED,
    ISSUE_NEWER,
    ISSUE_NO_MODEL,
    SUBENTRY_PERSON,
)
from .coordinator import FamilyRecallConfigEntry, FamilyRecallCoordinator
from .household import Place
from .identity import members
from .llm import async_register_api
from .services import async_register_actions

PLATFORMS = [Platform.CONVERSATION, Platform.SENSOR]
CONFIG_SCHEMA = cv.config_entry_only_config_schema(DOMAIN)


async def async_setup(hass: HomeAssistant, config: ConfigType) -> bool:
    """Register the actions."""
    async_register_actions(hass)
    return True


async def async_setup_entry(hass: HomeAssistant, entry: FamilyRecallConfigEntry) -> bool:
    """Open the household, and let Home Assistant ask it."""
    try:
        home = await hass.async_add_executor_job(
            partial(
                household.opened,
                Path(hass.config.path(entry.data[CONF_FILE])),
                members(entry).values(),
                **_place(hass),
            )
        )
    except FamilyRecallError as error:
        raise _setup_error(hass, entry, error) from error
    entry.runtime_data = coordinator = FamilyRecallCoordinator(hass, entry, home)
    try:
        await coordinator.async_config_entry_first_refresh()
        await _async_check_model(hass, home)
        await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    except BaseException:
        await home.aclose()
        raise
    for issue_id in (ISSUE_DAMAGED, ISSUE_NEWER):
        ir.async_delete_issue(hass, DOMAIN, issue_id)
    coordinator.sources.async_listen()
    entry.async_on_unload(async_register_api(hass, entry))
    entry.async_on_unload(entry.add_update_listener(_async_reload))

    async def move(_: Event) -> None:
        await hass.async_add_executor_job(partial(home.move, **_place(hass)))

    entry.async_on_unload(hass.bus.async_listen(EVENT_CORE_CONFIG_UPDATE, move))

    @callback
    def part(event: Event[er.EventEntityRegistryUpdatedData]) -> None:
        is_person = split_entity_id(event.data["entity_id"])[0] == PERSON_DOMAIN
        if is_person and event.data["action"] == "remove":
            _async_remove_members(hass, entry, event.data["entity_id"])

    entry.async_on_unload(hass.bus.async_listen(er.EVENT_ENTITY_REGISTRY_UPDATED, part))

    async def close(_: Event) -> None:
        await home.aclose()

    # Home Assistant unloads no entry when it stops.
    entry.async_on_unload(hass.bus.async_listen_once(EVENT_HOMEASSISTANT_STOP, close))
    return True


async def async_unload_entry(hass: HomeAssistant, entry: FamilyRecallConfigEntry) -> bool:
    """Close the household."""
    unloaded = await hass.config_entries.async_unload_platforms(entry, PLATFORMS)
    if unloaded:
        await entry.runtime_data.async_shutdown()
        await entry.runtime_data.home.aclose()
    return unloaded


async def async_remove_entry(hass: HomeAssistant, entry: FamilyRecallConfigEntry) -> None:
    """Leave the file, which belongs to the household, and no issue."""
    for issue_id in (ISSUE_DAMAGED, ISSUE_NEWER, ISSUE_NO_MODEL):
        ir.async_delete_issue(hass, DOMAIN, issue_id)


async def _async_reload(hass: HomeAssistant, entry: FamilyRecallConfigEntry) -> None:
    await hass.config_entries.async_reload(entry.entry_id)


def _place(hass: HomeAssistant) -> Place:
    """Return where the household lives, for words about time, holidays and seasons."""
    return Place(
        timezone=hass.config.time_zone,
        country=hass.config.country,
        hemisphere="south" if hass.config.latitude < 0 else "north",
    )


def _setup_error(
    hass: HomeAssistant, entry: FamilyRecallConfigEntry, error: FamilyRecallError
) -> HomeAssistantError:
    """Return what a file that cannot be opened means, and show the owner what can be done."""
    kind = ConfigEntryNotReady if isinstance(error, StoreBusyError) else ConfigEntryError
    is_newer = isinstance(error, NewerStoreError)
    if is_newer or household.is_damaged(Path(hass.config.path(entry.data[CONF_FILE])), error):
        _async_set_issue(
            hass,
            ISSUE_NEWER if is_newer else ISSUE_DAMAGED,
            severity=ir.IssueSeverity.ERROR,
            is_fixable=not is_newer,
            translation_placeholders={"file": entry.data[CONF_FILE], "error": str(error)},
            data={"entry_id": entry.entry_id, "error": str(error)},
        )
    return kind(
        translation_domain=DOMAIN,
        translation_key="failed",
        translation_placeholders={"error": str(error)},
    )


async def _async_check_model(hass: HomeAssistant, home: FamilyRecall) -> None:
    """Show the owner where answers rest on words alone."""
    if await hass.async_add_executor_job(household.has_model, home):
        ir.async_delete_issue(hass, DOMAIN, ISSUE_NO_MODEL)
    else:
        _async_set_issue(hass, ISSUE_NO_MODEL, severity=ir.IssueSeverity.WARNING, is_fixable=False)


@callback
def _async_remove_members(
    hass: HomeAssistant, entry: FamilyRecallConfigEntry, removed: str
) -> None:
    """End the membership of people deleted in Home Assistant, which may use their ids again."""
    remaining = {
        state.attributes.get(ATTR_ID)
        for state in hass.states.async_all(PERSON_DOMAIN)
        if state.entity_id != removed
    }
    for subentry in [*entry.subentries.values()]:
        if subentry.subentry_type == SUBENTRY_PERSON and subentry.unique_id not in remaining:
            hass.config_entries.async_remove_subentry(entry, subentry.subentry_id)


@callback
def _async_set_issue(hass: HomeAssistant, issue_id: str, **fields: Any) -> None:
    ir.async_create_issue(hass, DOMAIN, issue_id, translation_key=issue_id, **fields)
