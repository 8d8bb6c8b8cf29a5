"""tools/torture/surface.py: every surface called by chance, and what counts as a finding."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from family_recall.api.people import People
from tools.torture import surface
from tools.torture.household import open_home
from tools.torture.surface_calls import CALLERS


@pytest.mark.parametrize("name", ["api", "open", "tool", "mcp", "form"])
def test_a_hundred_calls_meet_clear_errors_alone(name: str) -> None:
    """A short run of what runs by the hundred thousand before a release."""
    tally = surface.Tally()
    surface.call_round(tally, seed=7, number=0, only=[name])

    assert tally.findings == []
    assert tally.total() == surface.CALLS_A_ROUND
    assert len(tally.ended) > 1


def test_a_round_depends_on_seed_and_number_alone(tmp_path: Path) -> None:
    """The same arguments in any process, so that a finding can be repeated."""
    with open_home(tmp_path / "family.db") as home:
        surface.fill(home)
        made = [CALLERS["command"](home, tmp_path / "family.db") for _ in range(2)]
        texts = [[make(random.Random("7/0")).text for _ in range(20)] for make in made]

    assert texts[0] == texts[1]


def test_an_error_of_another_kind_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool finds what it is there to find, and names the call."""

    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    for name in ("all", "guardians", "add_guardian", "remove_guardian"):
        monkeypatch.setattr(People, name, broken)
    tally = surface.Tally()
    surface.call_round(tally, seed=7, number=0, only=["api"])

    assert tally.findings
    assert {finding["error"].split()[-1] for finding in tally.findings} == {"ZeroDivisionError"}
    assert all(finding["call"].startswith("home.people.") for finding in tally.findings)
