"""Frozen dataclasses as JSON: every field, moments as ISO 8601."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any


class JsonRecord:
    """A base for frozen dataclasses that write themselves as a JSON object of their fields."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Return every field, moments as ISO 8601."""
        return {field.name: as_json(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]  # a dataclass


def as_json(value: Any) -> Any:
    """Return a value as JSON has it: records as objects, tuples as lists, moments as texts."""
    if isinstance(value, JsonRecord):
        return value.to_json()
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    return str(value) if isinstance(value, Path) else value
