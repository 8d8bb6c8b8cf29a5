"""A record is a dataclass with slots, equal and hashed by its fields, and copied with changes."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Mapping

import pytest

from family_recall.types.record import record, replace


@record(frozen=True, slots=True)
class Box:
    """Where something lies."""

    room: str
    height_cm: float = 0.0
    holds: Mapping[str, int] = dataclasses.field(default_factory=dict)


@record(frozen=True, slots=True)
class Note:
    """Something to buy, of values that can be hashed."""

    text: str
    n: int


def test_a_record_is_compared_copied_and_pickled_by_its_fields() -> None:
    """As a frozen dataclass is; what a factory makes is its own, and no other field can be set."""
    box = Box("cellar", 90.0)

    assert box == Box("cellar", 90.0, {}) != Box("attic", 90.0)
    assert copy.deepcopy(box) == box
    assert pickle.loads(pickle.dumps(box)) == box  # noqa: S301  our own bytes
    assert box.holds is not Box("cellar").holds
    assert hash(Note("milk", 2)) == hash(Note("milk", 2))
    with pytest.raises(AttributeError):
        box.depth_cm = 1.0  # type: ignore[attr-defined]


def test_what_is_replaced_is_as_said_and_the_rest_as_it_was() -> None:
    """Neither record changes; a field that there is not is refused."""
    before = Box("cellar", 90.0, {"tins": 3})
    after = replace(before, holds={}, room="attic")

    assert (type(after), after) == (Box, Box("attic", 90.0, {}))
    assert before == Box("cellar", 90.0, {"tins": 3})
    with pytest.raises(KeyError):
        replace(before, depth_cm=1.0)  # type: ignore[call-arg]
