"""A process that is killed at a step of its work leaves a household that has lost nothing.

The tool ``tools/torture/crash.py`` does the same at random moments, by the hundred.
"""

from __future__ import annotations

import bisect
import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from tools.torture import crash, crash_checks
from tools.torture.crash_work import KEY_WORK, WORK

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the tool forks")


@pytest.mark.parametrize("work", sorted(WORK.keys() - KEY_WORK.keys()))
def test_work_that_is_killed_loses_nothing(tmp_path: Path, work: str) -> None:
    """At writes, renames and deletions: what was acknowledged is there, a step is whole or not."""
    tally = killed(tmp_path, work, (3, 40, 150))

    assert tally.failures == []
    assert tally.kills[work] >= 2


@pytest.mark.parametrize("work", sorted(KEY_WORK))
def test_a_change_of_key_that_is_killed_leaves_one_of_the_two_keys(
    tmp_path: Path, work: str
) -> None:
    """From the first write to the last step, where the new file takes the name of the old."""
    n = n_steps(tmp_path, work)
    tally = killed(tmp_path, work, (*range(0, n, n // 4), *range(n - 4, n)))

    assert tally.failures == []
    assert tally.kills[work] >= 8


def test_a_lost_memory_and_a_damaged_file_are_found(tmp_path: Path) -> None:
    """The check itself does not pass over them."""
    path = tmp_path / "family.db"
    expected = crash.new_household(path, 1)
    expected.texts["never written"] = "text"
    assert "missing" in crash_checks.problems_of(path, expected, random.Random(1))[0]

    content = bytearray(path.read_bytes())
    content[100:5000] = bytes(4900)
    path.write_bytes(content)
    assert crash_checks.problems_of(path, expected, random.Random(1))


def killed(folder: Path, work: str, steps: Iterable[int]) -> crash.Tally:
    """Kill one kind of work at each of some steps, on one household."""
    path, tally = folder / "family.db", crash.Tally()
    expected = crash.new_household(path, 1)
    for step in steps:
        crash.kill_once(path, work, crash.Kill(step), expected, tally, 1)
    return tally


def n_steps(folder: Path, work: str) -> int:
    """Return how many steps a kind of work has: one is killed at the last, none after it."""
    path, tally = folder / "counted.db", crash.Tally()
    expected = crash.new_household(path, 1)

    def ends_before(step: int) -> bool:
        before = tally.ended.total()
        crash.kill_once(path, work, crash.Kill(step), expected, tally, 1)
        return tally.ended.total() > before

    n = bisect.bisect_left(range(1000), True, key=ends_before)
    assert tally.failures == []
    return n
