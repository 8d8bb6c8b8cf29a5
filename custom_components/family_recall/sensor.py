"""How much is remembered, and how long the last recall took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from homeassistant.components.sensor import (
    SensorDeviceClass,
    SensorEntity,
    SensorEntityDescription,
    SensorStateClass,
)
from homeassistant.const import EntityCategory, UnitOfTime
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .coordinator import FamilyRecallConfigEntry, FamilyRecallCoordinator, Readings
from .entity import FamilyRecallEntity

PARALLEL_UPDATES = 0


@dataclass(frozen=True, kw_only=True)
class ReadingDescription(SensorEntityDescription):
    """A sensor, and the reading that it shows."""

    value: Callable[[Readings], float | None]


SENSORS = (
    ReadingDescription(
        key="memories",
        translation_key="memories",
        state_class=SensorStateClass.MEASUREMENT,
        value=lambda readings: readings.n_memories,
    ),
    ReadingDescription(
        key="last_recall",
        translation_key="last_recall",
        device_class=SensorDeviceClass.DURATION,
        state_class=SensorStateClass.MEASUREMENT,
        native_unit_of_measurement=UnitOfTime.MILLISECONDS,
        suggested_display_precision=0,
        entity_category=EntityCategory.DIAGNOSTIC,
        value=lambda readings: readings.last_recall_ms,
    ),
)


async def async_setup_entry(
    hass: HomeAssistant,
    entry: FamilyRecallConfigEntry,
    async_add_entities: AddConfigEntryEntitiesCallback,
) -> None:
    """Add the sensors."""
    async_add_entities(ReadingSensor(entry.runtime_data, sensor) for sensor in SENSORS)


class ReadingSensor(FamilyRecallEntity, SensorEntity):
    """One reading of the household."""

    entity_description: ReadingDescription

    def __init__(
        self, coordinator: FamilyRecallCoordinator, description: ReadingDescription
    ) -> None:
        """Show one reading."""
        super().__init__(coordinator, description.key)
        self.entity_description = description

    @property
    def native_value(self) -> float | None:
        """The reading."""
        return self.entity_description.value(self.coordinator.data)
