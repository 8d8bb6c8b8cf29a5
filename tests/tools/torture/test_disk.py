"""tools/torture/disk.py: a disk that is full, or without power, leaves a household whole."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tools.torture import disk


@pytest.mark.parametrize("call", ["remember", "correct", "forget", "hide"])
def test_a_full_disk_loses_nothing(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever write fails first: a clear error, and with room the call and all checks pass."""
    monkeypatch.setattr(disk, "MOST_WRITES", 4)
    tally = disk.Tally()
    disk.fill_disk(tally, random.Random(1), [call])

    assert tally.findings == []
    assert tally.ended["StoreFullError"]


def test_a_power_cut_leaves_what_was_synced() -> None:
    """With a key and without: whole, with everything up to a sync, and what followed in order."""
    tally = disk.Tally()
    disk.cut_power(tally, random.Random(2), 8)

    assert tally.findings == []
    assert tally.ended.total() == 8


def test_a_disk_that_loses_what_it_synced_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check itself does not pass over it."""
    lay_out = disk._lay_out

    def without_syncs(
        folder: Path, before: bytes, done: Sequence[disk.Change], chance: random.Random
    ) -> None:
        lay_out(folder, before, [each for each in done if each[0] != "sync"], chance)

    monkeypatch.setattr(disk, "_lay_out", without_syncs)
    tally = disk.Tally()
    disk.cut_power(tally, random.Random(1), 4)

    assert tally.findings
