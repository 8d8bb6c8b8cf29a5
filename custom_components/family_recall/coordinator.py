"""The open household: its calls, with errors that Home Assistant can show, and its readings."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers.update_coordinator import DataUpdateCoordinator, UpdateFailed
from homeassistant.util import dt as dt_util

from family_recall import Answer, FamilyRecall, FollowUps, RecallContext, Remembered
from family_recall.apps.llm_tools import adispatch
from family_recall.errors import ClosedError, FamilyRecallError, ModelError, StoreError

from . import household
from .const import CONF_FILE, CONF_TIME_BUDGET_MS, DEFAULT_TIME_BUDGET_MS, DOMAIN
from .identity import Speaker
from .sources import Sources

_LOGGER = logging.getLogger(__name__)
UPDATE_INTERVAL = timedelta(minutes=15)

FamilyRecallConfigEntry: TypeAlias = "ConfigEntry[FamilyRecallCoordinator]"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Readings:
    """What the sensors show."""

    n_memories: int
    last_recall_ms: float | None = None


@contextmanager
def translated_errors() -> Generator[None]:
    """Raise the library's errors as Home Assistant's: refused calls apart from failures."""
    try:
        yield
    except (ClosedError, ModelError, StoreError) as error:
        raise HomeAssistantError(
            translation_domain=DOMAIN,
            translation_key="failed",
            translation_placeholders={"error": str(error)},
        ) from error
    except FamilyRecallError as error:
        raise ServiceValidationError(
            translation_domain=DOMAIN,
            translation_key="refused",
            translation_placeholders={"error": str(error)},
        ) from error


class FamilyRecallCoordinator(DataUpdateCoordinator[Readings]):
    """One open household."""

    config_entry: FamilyRecallConfigEntry

    def __init__(
        self, hass: HomeAssistant, entry: FamilyRecallConfigEntry, home: FamilyRecall
    ) -> None:
        """Wrap an open household; the entry closes it."""
        super().__init__(
            hass,
            _LOGGER,
            config_entry=entry,
            name=DOMAIN,
            update_interval=UPDATE_INTERVAL,
        )
        self.home = home
        self.follow_ups = FollowUps()
        self.path = Path(hass.config.path(entry.data[CONF_FILE]))
        self.sources = Sources(hass, entry, home)

    async def _async_update_data(self) -> Readings:
        try:
            await self.sources.async_sync()
            stats = await self.hass.async_add_executor_job(self.home.maintenance.stats)
        except FamilyRecallError as error:
            raise UpdateFailed(
                translation_domain=DOMAIN,
                translation_key="failed",
                translation_placeholders={"error": str(error)},
            ) from error
        return Readings(stats["memories"], self.data.last_recall_ms if self.data else None)

    def context_of(self, speaker: Speaker, **fields: Any) -> RecallContext:
        """Return the context in which a speaker asks."""
        return RecallContext(
            person_id=speaker.person_id,
            aloud=speaker.aloud and speaker.person_id is not None,
            time_budget_ms=self.config_entry.options.get(
                CONF_TIME_BUDGET_MS, DEFAULT_TIME_BUDGET_MS
            ),
            **fields,
        )

    async def async_recall(self, question: str, context: RecallContext) -> Answer:
        """Answer a question."""
        return await self._timed(partial(self.home.arecall, question, context))

    async def async_remember(
        self, text: str, speaker: Speaker, *, private: bool, source: str | None = None
    ) -> Remembered:
        """Store what a trusted speaker said: for everyone at home, or for them alone."""
        with translated_errors():
            stored = await self.home.aremember(
                text,
                space_id=await self._space(speaker, private=private),
                author=speaker.person_id,
                person_id=speaker.person_id,
                source=source,
                occurred_at=dt_util.now(),
            )
        await self.async_request_refresh()
        return stored

    async def async_tool(
        self,
        name: str,
        speaker: Speaker,
        arguments: dict[str, Any],
        *,
        private: bool | None = None,
    ) -> dict[str, Any]:
        """Call one of the library's tools; ``private`` says where ``remember`` stores."""
        context = self.context_of(speaker)
        if private is not None:
            context = replace(context, space_id=await self._space(speaker, private=private))
        call = partial(adispatch, self.home, context, name, arguments)
        if name == "recall":
            return await self._timed(call)
        with translated_errors():
            result = await call()
        if name in {"remember", "correct", "relate", "forget"}:
            await self.async_request_refresh()
        return result

    async def async_backup(self) -> None:
        """Make a sound copy beside the file, which changes while a backup reads it."""

        def make_copy() -> None:
            self.home.maintenance.backup(household.copy_of(self.path), overwrite=True)

        with translated_errors():
            await self.hass.async_add_executor_job(make_copy)

    async def _timed(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """Await a recall, and show how long it took."""
        started_s = self.hass.loop.time()
        with translated_errors():
            result = await call()
        last_recall_ms = (self.hass.loop.time() - started_s) * 1000
        self.data = replace(self.data, last_recall_ms=round(last_recall_ms, 1))
        self.async_update_listeners()
        return result

    async def _space(self, speaker: Speaker, *, private: bool) -> str:
        if private and speaker.person_id is not None:
            return await self.hass.async_add_executor_job(
                self.home.spaces.private, speaker.person_id
            )
        return await self.hass.async_add_executor_job(household.shared_space, self.home)
