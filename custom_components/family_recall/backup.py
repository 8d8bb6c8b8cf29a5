"""Backups: a sound copy lies beside the file while Home Assistant reads both."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from homeassistant.core import HomeAssistant

from .const import CONF_FILE, DOMAIN
from .household import copy_of


async def async_pre_backup(hass: HomeAssistant) -> None:
    """Make the copy."""
    for entry in hass.config_entries.async_loaded_entries(DOMAIN):
        await entry.runtime_data.async_backup()


async def async_post_backup(hass: HomeAssistant) -> None:
    """Remove the copy."""
    for entry in hass.config_entries.async_entries(DOMAIN):
        copy = copy_of(Path(hass.config.path(entry.data[CONF_FILE])))
        await hass.async_add_executor_job(partial(copy.unlink, missing_ok=True))
