"""tools/torture/fuzz.py: broken input by the thousand, and what counts as a finding."""

from __future__ import annotations

from typing import Any

import pytest

from family_recall import Filters
from tools.torture import fuzz


def test_some_thousand_broken_inputs_meet_clear_errors_alone() -> None:
    """A short run of what runs by the million before a release."""
    tally = fuzz.fuzz(2_000, seed=5)

    assert tally.findings == []
    assert tally.inputs.total() == 2_000
    assert tally.accepted["filters"] > 0
    assert tally.accepted["manifest"] < tally.inputs["manifest"]


def test_an_error_of_another_kind_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool finds what it is there to find."""

    def broken(_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Filters, "from_json", broken)
    tally = fuzz.fuzz(20, seed=5, only=["filters"])

    assert len(tally.findings) == 20
    assert "ZeroDivisionError" in tally.findings[0]["error"]
