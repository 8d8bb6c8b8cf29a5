"""Repairs: rename a damaged file, and begin with an empty one."""

from __future__ import annotations

from pathlib import Path

import voluptuous as vol
from homeassistant.components.repairs import RepairsFlow
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResult
from homeassistant.util import dt as dt_util

from .const import CONF_FILE


async def async_create_fix_flow(
    hass: HomeAssistant, issue_id: str, data: dict[str, str | int | float | None] | None
) -> RepairsFlow:
    """Repair the only issue that can be repaired here: a damaged file."""
    known = data or {}
    return DamagedFileFlow(str(known["entry_id"]), str(known["error"]))


class DamagedFileFlow(RepairsFlow):
    """Rename the file once the owner agrees; nothing of it is lost."""

    def __init__(self, entry_id: str, error: str) -> None:
        """Repair the file of an entry; the error says what is wrong with it."""
        self._entry_id = entry_id
        self._error = error

    async def async_step_init(self, user_input: dict[str, str] | None = None) -> FlowResult:
        """Ask."""
        return await self.async_step_confirm()

    async def async_step_confirm(self, user_input: dict[str, str] | None = None) -> FlowResult:
        """Rename the file, and set up again."""
        entry = self.hass.config_entries.async_get_known_entry(self._entry_id)
        path = Path(self.hass.config.path(entry.data[CONF_FILE]))
        renamed = path.with_name(f"{path.name}.damaged-{dt_util.now():%Y%m%d-%H%M%S}")
        if user_input is None:
            return self.async_show_form(
                step_id="confirm",
                data_schema=vol.Schema({}),
                description_placeholders={
                    "file": path.name,
                    "renamed": renamed.name,
                    "error": self._error,
                },
            )
        await self.hass.async_add_executor_job(_rename, path, renamed)
        await self.hass.config_entries.async_reload(entry.entry_id)
        return self.async_create_entry(data={})


def _rename(path: Path, renamed: Path) -> None:
    for suffix in ("-wal", "-shm", ""):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(renamed.with_name(renamed.name + suffix))
