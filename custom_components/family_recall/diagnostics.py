"""Counts and settings for a bug report, without a name, an id or a text."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

from homeassistant.core import HomeAssistant

from .coordinator import FamilyRecallConfigEntry


async def async_get_config_entry_diagnostics(
    hass: HomeAssistant, entry: FamilyRecallConfigEntry
) -> dict[str, Any]:
    """Return what is redacted by how it is made: lists are counted, not shown."""
    coordinator = entry.runtime_data
    return {
        "options": {
            name: len(value) if isinstance(value, list) else value
            for name, value in entry.options.items()
        },
        "subentries": Counter(subentry.subentry_type for subentry in entry.subentries.values()),
        "readings": dataclasses.asdict(coordinator.data),
        "file": await hass.async_add_executor_job(
            lambda: coordinator.home.maintenance.stats(redacted=True)
        ),
    }
