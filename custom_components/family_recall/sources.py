"""Calendars, to-do lists and the logbook as sources of memories, kept as they are now."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from homeassistant.components.calendar.const import DOMAIN as CALENDAR_DOMAIN
from homeassistant.components.todo.const import DOMAIN as TODO_DOMAIN
from homeassistant.const import ATTR_ENTITY_ID, EVENT_LOGBOOK_ENTRY
from homeassistant.core import Event, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.event import async_track_state_change_event
from homeassistant.util import dt as dt_util

from family_recall import FamilyRecall
from family_recall.errors import FamilyRecallError, InvalidMemoryError

from . import household
from .const import CONF_CALENDARS, CONF_LOGBOOK, CONF_TODO_LISTS, CONF_UNKNOWN_VOICES

if TYPE_CHECKING:
    from .coordinator import FamilyRecallConfigEntry

_LOGGER = logging.getLogger(__name__)
AHEAD = timedelta(days=365)
BEHIND = timedelta(days=1)

Items: TypeAlias = dict[str, str]
"""The text of each item, by its key."""


class Sources:
    """What is remembered from Home Assistant by itself, as far as it was allowed."""

    def __init__(
        self, hass: HomeAssistant, entry: FamilyRecallConfigEntry, home: FamilyRecall
    ) -> None:
        """Read which sources are allowed from the options."""
        self._hass = hass
        self._entry = entry
        self._home = home
        self._calendars: list[str] = entry.options.get(CONF_CALENDARS, [])
        self._todo_lists: list[str] = entry.options.get(CONF_TODO_LISTS, [])
        self._chosen = {*self._calendars, *self._todo_lists}
        # An unknown voice hears green memories of the household, and no others.
        self._band = "green" if entry.options.get(CONF_UNKNOWN_VOICES) else "amber"
        self._written: dict[str, Items] = {}
        self._was_synced = False
        self._syncing = asyncio.Lock()

    @callback
    def async_listen(self) -> None:
        """Sync when a calendar or list changes, and remember what is written in the logbook."""
        coordinator = self._entry.runtime_data

        async def changed(_: Event[Any]) -> None:
            await coordinator.async_request_refresh()

        if self._chosen:
            self._entry.async_on_unload(
                async_track_state_change_event(self._hass, self._chosen, changed)
            )
        if self._entry.options.get(CONF_LOGBOOK):
            self._entry.async_on_unload(
                self._hass.bus.async_listen(EVENT_LOGBOOK_ENTRY, self._async_log_entry)
            )

    async def async_sync(self) -> None:
        """Write what is new or changed in calendars and lists, and withdraw what is gone.

        A calendar or list that cannot be read now keeps what it had.
        """
        async with self._syncing:
            await self._sync()

    async def _sync(self) -> None:
        if not self._was_synced:
            await self._hass.async_add_executor_job(self._forget_others)
            self._was_synced = True
        now = dt_util.now()
        for entity_id in self._calendars:
            window = {"start_date_time": now - BEHIND, "end_date_time": now + AHEAD}
            events = await self._ask(CALENDAR_DOMAIN, "get_events", entity_id, window)
            if events is not None:
                items = dict(map(event_item, events["events"]))
                await self._write(entity_id, items, since=(now - BEHIND).isoformat())
        for entity_id in self._todo_lists:
            todo = await self._ask(
                TODO_DOMAIN, "get_items", entity_id, {"status": ["needs_action"]}
            )
            if todo is not None:
                name = self._name(entity_id)
                items = {
                    item.get("uid") or item["summary"]: todo_text(name, item)
                    for item in todo["items"]
                }
                await self._write(entity_id, items)

    async def _ask(
        self, domain: str, action: str, entity_id: str, data: dict[str, Any]
    ) -> dict[str, Any] | None:
        try:
            response: Any = await self._hass.services.async_call(
                domain,
                action,
                {ATTR_ENTITY_ID: entity_id, **data},
                blocking=True,
                return_response=True,
            )
        except HomeAssistantError:  # not loaded yet, or its server cannot be reached
            return None
        found: dict[str, Any] | None = response.get(entity_id)
        return found

    async def _write(self, source: str, items: Items, since: str = "") -> None:
        """Make a source hold these items; ``since`` is the first end that they cover."""
        if items == self._written.get(source):
            return
        title = self._name(source)

        def write() -> None:
            space_id = household.shared_space(self._home)
            for key, text in items.items():
                start = key.rpartition("@")[2].partition("/")[0]
                try:
                    self._home.sources.write(
                        source,
                        key,
                        text,
                        space_id=space_id,
                        title=title,
                        band=self._band,
                        category="event" if since else "casual",
                        occurred_at=datetime.fromisoformat(start) if since else None,
                    )
                except InvalidMemoryError as error:  # an invitation may hold anything
                    _LOGGER.warning("An item of %s was not remembered: %s", source, error)
            for key in self._home.sources.keys(source, space_id=space_id):
                if key not in items and key.rpartition("/")[2] >= since:
                    self._home.sources.withdraw(source, key, space_id=space_id)

        await self._hass.async_add_executor_job(write)
        self._written[source] = items

    def _forget_others(self) -> None:
        """Forget what calendars and lists wrote that are not chosen any more."""
        space_id = household.shared_space(self._home)
        for count in self._home.sources.all():
            domain, _, _ = count.source.partition(".")
            if (
                domain in {CALENDAR_DOMAIN, TODO_DOMAIN}
                and count.source not in self._chosen
                and count.space_id == space_id
            ):
                self._home.sources.forget(count.source, space_id=space_id)

    def _name(self, entity_id: str) -> str:
        state = self._hass.states.get(entity_id)
        return state.name if state else entity_id

    async def _async_log_entry(self, event: Event[Any]) -> None:
        text = f"{event.data.get('name', '')} {event.data.get('message', '')}".strip()

        def write() -> None:
            self._home.remember(
                text,
                space_id=household.shared_space(self._home),
                source=CONF_LOGBOOK,
                band=self._band,
                occurred_at=event.time_fired,
            )

        try:
            await self._hass.async_add_executor_job(write)
        except FamilyRecallError as error:
            _LOGGER.warning("An entry of the logbook was not remembered: %s", error)


def event_item(event: Mapping[str, Any]) -> tuple[str, str]:
    """Return the key and the text of a calendar's event; all of one title are occurrences of it.

    >>> event_item({"summary": "Dentist", "start": "2026-11-27", "end": "2026-11-28"})
    ('Dentist@2026-11-27/2026-11-28', 'Dentist, on Friday 27 November 2026')
    """
    text = f"{event['summary']}, {_when(event['start'], event['end'])}"
    if location := event.get("location"):
        text += f", at {location}"
    if description := event.get("description"):
        text += f". {description}"
    return f"{event['summary']}@{event['start']}/{event['end']}", text


def todo_text(list_name: str, item: Mapping[str, Any]) -> str:
    """Return the text of an item of a to-do list.

    >>> todo_text("Shopping List", {"summary": "milk", "due": "2026-11-27"})
    'On the list Shopping List: milk, due on Friday 27 November 2026'
    """
    text = f"On the list {list_name}: {item['summary']}"
    if due := item.get("due"):
        text += f", due {_when(due, due)}"
    if description := item.get("description"):
        text += f". {description}"
    return text


def _when(start: str, end: str) -> str:
    """Return a time in words; the end of whole days is the day after the last."""
    if "T" in start:
        return _moment(datetime.fromisoformat(start))
    first, last = date.fromisoformat(start), date.fromisoformat(end) - timedelta(days=1)
    return f"from {_day(first)} to {_day(last)}" if first < last else f"on {_day(first)}"


def _moment(moment: datetime) -> str:
    return f"on {_day(moment)} at {moment:%H:%M}"


def _day(day: date) -> str:
    return f"{day:%A} {day.day} {day:%B %Y}"
