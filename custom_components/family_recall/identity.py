"""Who is asking: from a user or a device to a person of the household, heard by others or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homeassistant.components.person import ATTR_USER_ID
from homeassistant.components.person.const import DOMAIN as PERSON_DOMAIN
from homeassistant.const import ATTR_ID
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.helpers import entity_registry as er

from .const import (
    CONF_ALOUD,
    CONF_DEVICE,
    CONF_PERSON,
    CONF_PERSON_ID,
    CONF_ROLE,
    SUBENTRY_DEVICE,
    SUBENTRY_PERSON,
)
from .household import Member

if TYPE_CHECKING:
    from .coordinator import FamilyRecallConfigEntry


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who speaks, and who may listen.

    ``person_id`` is None for an unknown voice. ``aloud`` means that others may hear the answer.
    ``is_trusted`` allows to store something: a known person, or a device of the household.
    """

    person_id: str | None = None
    aloud: bool = False
    is_trusted: bool = False


@callback
def members(entry: FamilyRecallConfigEntry) -> dict[str, Member]:
    """Return the people of the household, by the id of their person in Home Assistant."""
    return {
        subentry.data[CONF_PERSON]: Member(
            subentry.data[CONF_PERSON_ID], subentry.title, subentry.data[CONF_ROLE]
        )
        for subentry in entry.subentries.values()
        if subentry.subentry_type == SUBENTRY_PERSON
    }


@callback
def known_person(entry: FamilyRecallConfigEntry, ha_person_id: str | None) -> str | None:
    """Return the id in the file of a person in Home Assistant; None for one who is not in it."""
    member = members(entry).get(ha_person_id or "")
    return member.person_id if member else None


@callback
def speaker_of(
    hass: HomeAssistant,
    entry: FamilyRecallConfigEntry,
    context: Context | None,
    device_id: str | None = None,
) -> Speaker:
    """Return who speaks.

    A device that was set up says who speaks at it; else the user does. A voice satellite that was
    not set up speaks aloud.
    """
    for subentry in entry.subentries.values():
        if subentry.subentry_type == SUBENTRY_DEVICE and subentry.data[CONF_DEVICE] == device_id:
            person_id = known_person(entry, subentry.data.get(CONF_PERSON))
            return Speaker(person_id, aloud=subentry.data[CONF_ALOUD], is_trusted=True)
    person_id = _person_of_user(hass, entry, context.user_id if context else None)
    aloud = device_id is not None and _is_satellite(hass, device_id)
    return Speaker(person_id, aloud=aloud, is_trusted=person_id is not None)


def _person_of_user(
    hass: HomeAssistant, entry: FamilyRecallConfigEntry, user_id: str | None
) -> str | None:
    if user_id is None:
        return None
    for state in hass.states.async_all(PERSON_DOMAIN):
        if state.attributes.get(ATTR_USER_ID) == user_id:
            return known_person(entry, state.attributes[ATTR_ID])
    return None


def _is_satellite(hass: HomeAssistant, device_id: str) -> bool:
    entities = er.async_entries_for_device(er.async_get(hass), device_id)
    return any(entity.domain == "assist_satellite" for entity in entities)
