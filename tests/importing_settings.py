"""What the tests of readers have in common: a clock, a zone, and drafts by their texts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from zoneinfo import ZoneInfo

from family_recall.apps.importing import Draft, Reading, ReadSettings

ZONE = ZoneInfo("Europe/Berlin")
SETTINGS = ReadSettings(ZONE, dt.datetime(2026, 11, 1, 12, 0, tzinfo=ZONE))


def texts(reading: Reading) -> list[str]:
    """Return the texts of a reading, in order."""
    return [draft.text for draft in reading.drafts]


def reasons(reading: Reading) -> list[str]:
    """Return why things were left out, in order."""
    return [item.reason for item in reading.left_out]


def moments(drafts: Iterable[Draft]) -> list[object]:
    """Return when drafts happened."""
    return [draft.fields.get("occurred_at") for draft in drafts]
