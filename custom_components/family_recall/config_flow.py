"""Set up: the file and its people; later the sources, and whose device is whose."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import voluptuous as vol
from homeassistant.components.calendar.const import DOMAIN as CALENDAR_DOMAIN
from homeassistant.components.person.const import DOMAIN as PERSON_DOMAIN
from homeassistant.components.todo.const import DOMAIN as TODO_DOMAIN
from homeassistant.config_entries import (
    ConfigEntry,
    ConfigEntryState,
    ConfigFlow,
    ConfigFlowResult,
    ConfigSubentryData,
    ConfigSubentryFlow,
    OptionsFlow,
    SubentryFlowResult,
)
from homeassistant.const import ATTR_ID
from homeassistant.core import HomeAssistant, State, callback
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers import selector

from family_recall import FamilyRecall, Person
from family_recall.errors import (
    InvalidRequestError,
    NewerStoreError,
    NotAStoreError,
    StoreBusyError,
    StoreError,
)

from .const import (
    CONF_ALOUD,
    CONF_CALENDARS,
    CONF_DEVICE,
    CONF_FILE,
    CONF_LOGBOOK,
    CONF_PEOPLE,
    CONF_PERSON,
    CONF_PERSON_ID,
    CONF_ROLE,
    CONF_TIME_BUDGET_MS,
    CONF_TODO_LISTS,
    CONF_UNKNOWN_VOICES,
    DEFAULT_FILE,
    DEFAULT_TIME_BUDGET_MS,
    DOMAIN,
    ROLES,
    SUBENTRY_DEVICE,
    SUBENTRY_PERSON,
)
from .household import BUSY_TIMEOUT_MS
from .identity import members

_PEOPLE = selector.EntitySelector(
    selector.EntitySelectorConfig(domain=PERSON_DOMAIN, multiple=True)
)
_ROLE = selector.SelectSelector(
    selector.SelectSelectorConfig(options=list(ROLES), translation_key=CONF_ROLE)
)
OPTIONS_SCHEMA = vol.Schema(
    {
        vol.Optional(CONF_CALENDARS, default=list): selector.EntitySelector(
            selector.EntitySelectorConfig(domain=CALENDAR_DOMAIN, multiple=True)
        ),
        vol.Optional(CONF_TODO_LISTS, default=list): selector.EntitySelector(
            selector.EntitySelectorConfig(domain=TODO_DOMAIN, multiple=True)
        ),
        vol.Required(CONF_LOGBOOK, default=False): selector.BooleanSelector(),
        vol.Required(CONF_UNKNOWN_VOICES, default=False): selector.BooleanSelector(),
        vol.Required(CONF_TIME_BUDGET_MS, default=DEFAULT_TIME_BUDGET_MS): selector.NumberSelector(
            selector.NumberSelectorConfig(
                min=50,
                max=10_000,
                step=50,
                unit_of_measurement="ms",
                mode=selector.NumberSelectorMode.BOX,
            )
        ),
    }
)


class FamilyRecallConfigFlow(ConfigFlow, domain=DOMAIN):
    """Choose the file, and the people whose memories it holds."""

    VERSION = 1

    @staticmethod
    @callback
    def async_get_options_flow(config_entry: ConfigEntry) -> SourcesFlow:
        """Change the sources."""
        return SourcesFlow()

    @classmethod
    @callback
    def async_get_supported_subentry_types(
        cls, config_entry: ConfigEntry
    ) -> dict[str, type[ConfigSubentryFlow]]:
        """People and devices are added one by one."""
        return {SUBENTRY_PERSON: PersonFlow, SUBENTRY_DEVICE: DeviceFlow}

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Open or create the file."""
        errors: dict[str, str] = {}
        everybody = [state.entity_id for state in self.hass.states.async_all(PERSON_DOMAIN)]
        if user_input is not None:
            known, error = await _try_file(self.hass, user_input[CONF_FILE])
            if error is None:
                chosen = map(self.hass.states.get, user_input[CONF_PEOPLE])
                return self.async_create_entry(
                    title="Family Recall",
                    data={CONF_FILE: user_input[CONF_FILE]},
                    subentries=_person_subentries(filter(None, chosen), known, []),
                )
            errors[CONF_FILE] = error
        schema = vol.Schema(
            {
                vol.Required(CONF_FILE, default=DEFAULT_FILE): selector.TextSelector(),
                vol.Optional(CONF_PEOPLE, default=everybody): _PEOPLE,
            }
        )
        return self.async_show_form(
            step_id="user",
            data_schema=self.add_suggested_values_to_schema(schema, user_input),
            errors=errors,
        )

    async def async_step_reconfigure(
        self, user_input: dict[str, Any] | None = None
    ) -> ConfigFlowResult:
        """Use another file."""
        errors: dict[str, str] = {}
        entry = self._get_reconfigure_entry()
        if user_input is not None:
            _, error = await _try_file(self.hass, user_input[CONF_FILE])
            if error is None:
                return self.async_update_reload_and_abort(entry, data_updates=user_input)
            errors[CONF_FILE] = error
        schema = vol.Schema({vol.Required(CONF_FILE): selector.TextSelector()})
        return self.async_show_form(
            step_id="reconfigure",
            data_schema=self.add_suggested_values_to_schema(schema, user_input or entry.data),
            errors=errors,
        )


class SourcesFlow(OptionsFlow):
    """Choose what is remembered by itself, and the time allowed for an answer."""

    async def async_step_init(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show and store the options."""
        if user_input is not None:
            return self.async_create_entry(data=user_input)
        return self.async_show_form(
            step_id="init",
            data_schema=self.add_suggested_values_to_schema(
                OPTIONS_SCHEMA, self.config_entry.options
            ),
        )


class PersonFlow(ConfigSubentryFlow):
    """Add a person of the household with a role, or change whose memories are theirs."""

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Add a person."""
        entry = self._get_entry()
        if entry.state is not ConfigEntryState.LOADED:
            return self.async_abort(reason="not_loaded")
        if user_input is not None and (state := self.hass.states.get(user_input[CONF_PERSON])):
            if state.attributes[ATTR_ID] in members(entry):
                return self.async_abort(reason="already_configured")
            home = entry.runtime_data.home
            known = await self.hass.async_add_executor_job(home.people.all)
            taken = [member.person_id for member in members(entry).values()]
            (subentry,) = _person_subentries([state], known, taken)
            return self.async_create_entry(
                title=subentry["title"],
                data={**subentry["data"], CONF_ROLE: user_input[CONF_ROLE]},
                unique_id=subentry["unique_id"],
            )
        person = selector.EntitySelector(selector.EntitySelectorConfig(domain=PERSON_DOMAIN))
        return self.async_show_form(
            step_id="user",
            data_schema=vol.Schema(
                {
                    vol.Required(CONF_PERSON): person,
                    vol.Required(CONF_ROLE, default=ROLES[0]): _ROLE,
                }
            ),
        )

    async def async_step_reconfigure(
        self, user_input: dict[str, Any] | None = None
    ) -> SubentryFlowResult:
        """Change the role, or whose memories in the file are theirs."""
        entry, subentry = self._get_entry(), self._get_reconfigure_subentry()
        if entry.state is not ConfigEntryState.LOADED:
            return self.async_abort(reason="not_loaded")
        if user_input is not None:
            return self.async_update_and_abort(entry, subentry, data_updates=user_input)
        known = await self.hass.async_add_executor_job(entry.runtime_data.home.people.all)
        others = {
            member.person_id
            for ha_person_id, member in members(entry).items()
            if ha_person_id != subentry.data[CONF_PERSON]
        }
        choices = [
            selector.SelectOptionDict(value=person.person_id, label=person.name)
            for person in known
            if person.person_id not in others
        ]
        schema = vol.Schema(
            {
                vol.Required(CONF_PERSON_ID): selector.SelectSelector(
                    selector.SelectSelectorConfig(options=choices)
                ),
                vol.Required(CONF_ROLE): _ROLE,
            }
        )
        return self.async_show_form(
            step_id="reconfigure",
            data_schema=self.add_suggested_values_to_schema(schema, subentry.data),
            description_placeholders={"name": subentry.title},
        )


class DeviceFlow(ConfigSubentryFlow):
    """Set who speaks at a device, and whether others hear the answer."""

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Add a device."""
        entry = self._get_entry()
        if user_input is not None:
            device_id = user_input[CONF_DEVICE]
            if any(subentry.unique_id == device_id for subentry in entry.subentries.values()):
                return self.async_abort(reason="already_configured")
            return self.async_create_entry(
                title=_device_name(self.hass, device_id), data=user_input, unique_id=device_id
            )
        schema = _listeners(entry).extend({vol.Required(CONF_DEVICE): selector.DeviceSelector()})
        return self.async_show_form(step_id="user", data_schema=schema)

    async def async_step_reconfigure(
        self, user_input: dict[str, Any] | None = None
    ) -> SubentryFlowResult:
        """Change who speaks and who listens."""
        entry, subentry = self._get_entry(), self._get_reconfigure_subentry()
        if user_input is not None:
            device = {CONF_DEVICE: subentry.data[CONF_DEVICE]}
            return self.async_update_and_abort(entry, subentry, data={**device, **user_input})
        return self.async_show_form(
            step_id="reconfigure",
            data_schema=self.add_suggested_values_to_schema(_listeners(entry), subentry.data),
            description_placeholders={"name": subentry.title},
        )


def _listeners(entry: ConfigEntry) -> vol.Schema:
    people = [
        selector.SelectOptionDict(value=ha_person_id, label=member.name)
        for ha_person_id, member in members(entry).items()
    ]
    return vol.Schema(
        {
            vol.Optional(CONF_PERSON): selector.SelectSelector(
                selector.SelectSelectorConfig(options=people)
            ),
            vol.Required(CONF_ALOUD, default=True): selector.BooleanSelector(),
        }
    )


def _device_name(hass: HomeAssistant, device_id: str) -> str:
    device = dr.async_get(hass).async_get(device_id)
    return (device.name_by_user or device.name or device_id) if device else device_id


def _person_subentries(
    states: Iterable[State], known: list[Person], taken: Iterable[str]
) -> list[ConfigSubentryData]:
    """Return people as they are added: each the one of that name in the file, or a new one.

    Nobody becomes somebody who is a member already (``taken``), or has an id that was another's.
    """
    subentries: list[ConfigSubentryData] = []
    member_ids = {*taken}
    for state in states:
        ha_person_id: str = state.attributes[ATTR_ID]
        name = state.name.casefold()
        namesakes = [person.person_id for person in known if person.name.casefold() == name]
        if len(namesakes) == 1 and namesakes[0] not in member_ids:
            (person_id,) = namesakes
        else:
            ids = {*member_ids, *(person.person_id for person in known)}
            numbered = (f"{ha_person_id}_{n}" for n in itertools.count(2))
            free = itertools.chain([ha_person_id], numbered)
            person_id = next(free_id for free_id in free if free_id not in ids)
        member_ids.add(person_id)
        subentries.append(
            ConfigSubentryData(
                subentry_type=SUBENTRY_PERSON,
                title=state.name,
                unique_id=ha_person_id,
                data={CONF_PERSON: ha_person_id, CONF_PERSON_ID: person_id, CONF_ROLE: ROLES[0]},
            )
        )
    return subentries


async def _try_file(hass: HomeAssistant, file: str) -> tuple[list[Person], str | None]:
    """Open or create a file in the configuration folder; return its people, or what is wrong."""

    def people() -> list[Person]:
        folder, path = (
            Path(hass.config.config_dir).resolve(),
            Path(hass.config.path(file)).resolve(),
        )
        # What lies in "www" is served to everybody.
        if folder not in path.parents or folder / "www" in path.parents:
            raise InvalidRequestError
        with FamilyRecall.open(path, busy_timeout_ms=BUSY_TIMEOUT_MS) as home:
            return home.people.all()

    try:
        return await hass.async_add_executor_job(people), None
    except InvalidRequestError:
        return [], "outside"
    except StoreBusyError:
        return [], "busy"
    except NewerStoreError:
        return [], "newer_file"
    except NotAStoreError:
        return [], "not_a_household"
    except StoreError:
        return [], "cannot_open"
