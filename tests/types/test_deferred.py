"""A field that is computed when it is first read is like any other field."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from family_recall import FamilyRecall
from family_recall.types.deferred import Deferred, deferred
from tests.conftest import recall


@dataclasses.dataclass(frozen=True, slots=True)
class Square(Deferred):
    """A number and its square."""

    number: int
    squared: int


def square_of(number: int, computed: list[str]) -> Square:
    """Make a square that notes what is computed of it."""

    def compute(name: str) -> object:
        computed.append(name)
        return number**2

    return deferred(Square, compute, {"number": number})


def test_an_open_field_is_computed_once_and_when_it_is_read() -> None:
    """Not before, and the record stays frozen."""
    computed: list[str] = []
    square = square_of(7, computed)

    assert (square.number, computed) == (7, [])
    assert [square.squared, square.squared] == [49, 49]
    assert computed == ["squared"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        square.squared = 50  # type: ignore[misc]


@pytest.mark.parametrize(
    "made_of",
    [
        copy.copy,
        copy.deepcopy,
        lambda square: pickle.loads(pickle.dumps(square)),  # noqa: S301  our own bytes
        lambda square: dataclasses.replace(square, number=7),
        lambda square: Square(**dataclasses.asdict(square)),
    ],
)
def test_an_open_record_is_copied_compared_and_pickled_as_a_whole_one(
    made_of: Callable[[Square], Square],
) -> None:
    """A copy has the field, and needs nothing of what it was computed from."""
    made = made_of(square_of(7, []))

    assert made == Square(7, 49) == square_of(7, [])
    assert hash(made) == hash(Square(7, 49))
    assert repr(made) == "Square(number=7, squared=49)"


def test_what_is_no_field_is_not_there() -> None:
    """Neither computed nor found; and a whole record has nothing to compute with."""
    computed: list[str] = []
    record: Any = square_of(7, computed)
    with pytest.raises(AttributeError, match="'Square' has no attribute 'cubed'"):
        _ = record.cubed
    assert computed == []
    with pytest.raises(AttributeError, match="'Square' has no attribute '_compute'"):
        _ = getattr(Square(1, 1), "_compute")  # noqa: B009  which no type knows


def test_an_answer_outlives_its_household(home: FamilyRecall) -> None:
    """Reasons, score and highlights are there after it was closed, in a copy from elsewhere too."""
    question = "Where is the spare key?"
    read_at_once, read_later = recall(home, question), recall(home, question)
    expected = [(r.score, r.contributions, r.highlights) for r in read_at_once]
    home.close()
    copied = pickle.loads(pickle.dumps(read_later.results))  # noqa: S301  our own bytes

    assert [(r.score, r.contributions, r.highlights) for r in read_later] == expected
    assert copied == read_later.results == read_at_once.results
    assert read_later.trace.top3 == read_at_once.trace.top3
