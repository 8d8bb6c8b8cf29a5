"""A record that is made faster is like any other of its class."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Mapping
from typing import Any

import pytest

from family_recall.types.frozen import maker, replace


@dataclasses.dataclass(frozen=True, slots=True)
class Shelf:
    """Where something lies."""

    room: str
    height_cm: float = 0.0
    holds: Mapping[str, int] = dataclasses.field(default_factory=dict)


new_shelf = maker(Shelf)


@pytest.mark.parametrize("given", [{}, {"height_cm": 90.0}, {"holds": {"tins": 3}}])
def test_a_record_made_is_what_its_class_makes(given: dict[str, Any]) -> None:
    """Of that class, equal, with its defaults, and copied and pickled alike."""
    made, usual = new_shelf("cellar", **given), Shelf("cellar", **given)

    assert type(made) is Shelf
    assert (made, repr(made)) == (usual, repr(usual))
    assert pickle.loads(pickle.dumps(made)) == usual  # noqa: S301  our own bytes
    assert copy.deepcopy(made) == dataclasses.replace(made) == replace(made) == usual


def test_a_record_made_is_frozen_and_its_defaults_are_its_own() -> None:
    """Nothing assigned, and no two share what a factory makes."""
    made = new_shelf("cellar")

    with pytest.raises(dataclasses.FrozenInstanceError):
        made.room = "attic"  # type: ignore[misc]
    assert made.holds is not new_shelf("cellar").holds


def test_what_is_replaced_is_as_said_and_the_rest_as_it_was() -> None:
    """Neither record changes; a field that there is not is refused."""
    before = Shelf("cellar", 90.0, {"tins": 3})
    after = replace(before, holds={}, room="attic")

    assert (type(after), after) == (Shelf, Shelf("attic", 90.0, {}))
    assert before == Shelf("cellar", 90.0, {"tins": 3})
    with pytest.raises(KeyError):
        replace(before, depth_cm=1.0)  # type: ignore[call-arg]
