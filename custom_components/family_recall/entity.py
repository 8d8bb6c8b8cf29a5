"""What the entities of the household share."""

from __future__ import annotations

from homeassistant.helpers.device_registry import DeviceEntryType, DeviceInfo
from homeassistant.helpers.update_coordinator import CoordinatorEntity

from .const import DOMAIN
from .coordinator import FamilyRecallCoordinator


class FamilyRecallEntity(CoordinatorEntity[FamilyRecallCoordinator]):
    """An entity of the one household."""

    _attr_has_entity_name = True

    def __init__(self, coordinator: FamilyRecallCoordinator, key: str) -> None:
        """Name the entity by its key."""
        super().__init__(coordinator)
        entry = coordinator.config_entry
        self._attr_unique_id = f"{entry.entry_id}-{key}"
        self._attr_device_info = DeviceInfo(
            identifiers={(DOMAIN, entry.entry_id)},
            name=entry.title,
            entry_type=DeviceEntryType.SERVICE,
        )
