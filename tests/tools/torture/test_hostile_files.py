"""tools/torture/files.py: hostile files of every format, and what counts as a finding."""

from __future__ import annotations

from typing import Any

import pytest

from family_recall.apps.importing import drafts
from tools.torture import files


def test_hostile_files_are_stored_or_refused() -> None:
    """A short run of what runs by the thousand before a release."""
    tally = files.torture(3, seed=7)

    assert tally.findings == []
    assert set(tally.outcomes) == set(files.READERS)
    assert all(outcomes.total() == 3 for outcomes in tally.outcomes.values())


def test_a_raw_error_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool finds what it is there to find."""

    def broken(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(drafts, "unreadable", broken)
    monkeypatch.setattr(drafts, "open_regular", broken)
    tally = files.torture(2, seed=7, only=["csv"])

    assert len(tally.findings) == 2
    assert "AssertionError" in tally.findings[0]["error"]
