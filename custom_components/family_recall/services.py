"""The actions: recall, remember, forget and timeline, each with a response."""

from __future__ import annotations

from typing import Any

import voluptuous as vol
from homeassistant.components.person.const import DOMAIN as PERSON_DOMAIN
from homeassistant.const import ATTR_ID
from homeassistant.core import (
    HomeAssistant,
    ServiceCall,
    ServiceResponse,
    SupportsResponse,
    callback,
)
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import config_validation as cv

from .const import CONF_ALOUD, CONF_PERSON, DOMAIN
from .coordinator import FamilyRecallCoordinator
from .identity import Speaker, known_person, speaker_of

ATTR_CONFIRM = "confirm"
ATTR_DOC_IDS = "doc_ids"
ATTR_PERIOD = "period"
ATTR_PRIVATE = "private"
ATTR_QUESTION = "question"
ATTR_TEXT = "text"
ATTR_TOP_K = "top_k"

_PERSON_SCHEMA = vol.Schema({vol.Optional(CONF_PERSON): cv.entity_domain(PERSON_DOMAIN)})
_ASKING_SCHEMA = _PERSON_SCHEMA.extend(
    {
        vol.Optional(CONF_ALOUD, default=False): cv.boolean,
        vol.Optional(ATTR_TOP_K): vol.All(vol.Coerce(int), vol.Range(min=1, max=20)),
    }
)
RECALL_SCHEMA = _ASKING_SCHEMA.extend({vol.Required(ATTR_QUESTION): cv.string})
TIMELINE_SCHEMA = _ASKING_SCHEMA.extend({vol.Required(ATTR_PERIOD): cv.string})
REMEMBER_SCHEMA = _PERSON_SCHEMA.extend(
    {
        vol.Required(ATTR_TEXT): cv.string,
        vol.Optional(ATTR_PRIVATE, default=False): cv.boolean,
    }
)
FORGET_SCHEMA = _PERSON_SCHEMA.extend(
    {
        vol.Required(ATTR_DOC_IDS): vol.All(cv.ensure_list, [cv.string], vol.Length(min=1)),
        vol.Optional(ATTR_CONFIRM): cv.string,
    }
)


@callback
def async_register_actions(hass: HomeAssistant) -> None:
    """Register the actions, which find the household when they are called."""
    for name, schema, action in (
        ("recall", RECALL_SCHEMA, _use_tool),
        ("timeline", TIMELINE_SCHEMA, _use_tool),
        ("forget", FORGET_SCHEMA, _use_tool),
        ("remember", REMEMBER_SCHEMA, _remember),
    ):
        supports = SupportsResponse.OPTIONAL if action is _remember else SupportsResponse.ONLY
        hass.services.async_register(DOMAIN, name, action, schema, supports)


async def _use_tool(call: ServiceCall) -> ServiceResponse:
    """Recall, list or forget, as the tool of that name does."""
    coordinator = _coordinator(call.hass)
    speaker = _speaker(coordinator, call)
    arguments = {
        name: value for name, value in call.data.items() if name not in {CONF_PERSON, CONF_ALOUD}
    }
    if call.service == "forget" and speaker.person_id is None:
        raise _refusal("unknown_speaker")
    return await coordinator.async_tool(call.service, speaker, arguments)


async def _remember(call: ServiceCall) -> ServiceResponse:
    """Store a sentence; what nobody in particular says is the household's."""
    coordinator = _coordinator(call.hass)
    speaker = _speaker(coordinator, call)
    private: bool = call.data[ATTR_PRIVATE]
    if speaker.person_id is None and (private or call.context.user_id is not None):
        raise _refusal("unknown_speaker")
    stored = await coordinator.async_remember(call.data[ATTR_TEXT], speaker, private=private)
    return {"doc_id": stored.doc_id, "outcome": stored.outcome}


def _coordinator(hass: HomeAssistant) -> FamilyRecallCoordinator:
    for entry in hass.config_entries.async_loaded_entries(DOMAIN):
        coordinator: FamilyRecallCoordinator = entry.runtime_data
        return coordinator
    raise _refusal("not_loaded")


def _speaker(coordinator: FamilyRecallCoordinator, call: ServiceCall) -> Speaker:
    """Return who calls: the user; or, where no user does, the person that is named."""
    aloud: bool = call.data.get(CONF_ALOUD, False)
    entry = coordinator.config_entry
    caller = speaker_of(call.hass, entry, call.context)
    named: str | None = call.data.get(CONF_PERSON)
    if named is None:
        return Speaker(caller.person_id, aloud)
    state = call.hass.states.get(named)
    person_id = known_person(entry, state.attributes.get(ATTR_ID) if state else None)
    if person_id is None:
        raise _refusal("unknown_person", person=named)
    if call.context.user_id is not None and person_id != caller.person_id:
        raise _refusal("another_person")
    return Speaker(person_id, aloud)


def _refusal(key: str, **placeholders: Any) -> ServiceValidationError:
    return ServiceValidationError(
        translation_domain=DOMAIN, translation_key=key, translation_placeholders=placeholders
    )
