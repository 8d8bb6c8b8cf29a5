"""What the tests share: who is in the household, and how they call its actions."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import Context, HomeAssistant
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.family_recall.const import CONF_PERSON, CONF_PERSON_ID, CONF_ROLE, DOMAIN

SetUp: TypeAlias = Callable[..., Coroutine[Any, Any, MockConfigEntry]]
AsUser: TypeAlias = Callable[[str], Context]

KEY = "The spare key is under the blue pot."


def person(ha_id: str, person_id: str | None = None, role: str = "adult") -> ConfigSubentryData:
    """Return the subentry of a person."""
    return ConfigSubentryData(
        subentry_type="person",
        title=ha_id.capitalize(),
        unique_id=ha_id,
        data={CONF_PERSON: ha_id, CONF_PERSON_ID: person_id or ha_id, CONF_ROLE: role},
    )


def device(device_id: str, ha_person_id: str | None, *, aloud: bool = True) -> ConfigSubentryData:
    """Return the subentry of a device."""
    speaker = {} if ha_person_id is None else {CONF_PERSON: ha_person_id}
    return ConfigSubentryData(
        subentry_type="device",
        title="Speaker",
        unique_id=device_id,
        data={"device": device_id, "aloud": aloud, **speaker},
    )


async def call(
    hass: HomeAssistant, action: str, context: Context | None = None, /, **data: Any
) -> Any:
    """Call an action and return its response."""
    return await hass.services.async_call(
        DOMAIN, action, data, blocking=True, return_response=True, context=context
    )


async def texts(
    hass: HomeAssistant, question: str, context: Context | None = None, /, **data: Any
) -> list[str]:
    """Return the texts that a recall answers with, or comes near to."""
    answer = await call(hass, "recall", context, question=question, **data)
    return [memory["text"] for memory in answer["memories"] + answer["closest"]]
