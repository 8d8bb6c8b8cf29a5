"""What the library makes is written as JSON and read from it."""

from __future__ import annotations

import contextlib
import copy
import datetime as dt
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import family_recall
from family_recall import Answer, Corrected, FamilyRecall, Memory, RecallContext, Receipt
from family_recall.errors import FamilyRecallError, InvalidRequestError
from family_recall.types import Imported, Omission
from tests.conftest import HOME, recall, remember


def test_what_cannot_be_read_is_refused(home: FamilyRecall) -> None:
    """The error names the record and the field, whatever it was given in place of JSON."""
    answer = recall(home, "Where is the spare key?").to_json()
    receipt: dict[str, Any] = {
        "receipt_id": "r",
        "at": "2026-01-01",
        "person_id": None,
        "chosen_by": [],
        "counts": {"memory": 1},
    }
    assert Receipt.from_json(receipt).counts == {"memory": 1}
    with pytest.raises(InvalidRequestError, match=r"not an answer: .*confidence"):
        Answer.from_json({**answer, "confidence": "high"})
    for wrong in (
        {"counts": {"memory": -1}},
        {"counts": {"memory": True}},
        {"at": 5},
        {"rows": [1 << 63]},
        {"proof": {"at": "x"}},
        {"chosen_by": "\ud800"},
    ):
        with pytest.raises(InvalidRequestError, match="this is not a receipt"):
            Receipt.from_json({**receipt, **wrong})


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ("changed", "trace", "understanding", "identifiers", "was", "kind", "x")
    ), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(record=_JSON)
def test_any_json_is_a_record_or_is_refused(record: Any) -> None:
    """Every exported class reads it, or says what it expected."""
    for name in family_recall.__all__:
        if hasattr(made := getattr(family_recall, name), "from_json"):
            with contextlib.suppress(FamilyRecallError):
                made.from_json(record)


def test_what_is_asked_of_an_answer_is_checked(home: FamilyRecall) -> None:
    """Its methods check their arguments as a household's do, and so does a context."""
    remember(home, "The spare key is under the blue pot")
    answer = recall(home, "Where is the spare key?")
    assert answer.best is not None
    for call in (
        lambda: answer.briefing(max_chars="x"),  # type: ignore[arg-type]
        lambda: answer.spoken(max_chars={}),  # type: ignore[arg-type]
        lambda: answer.results[0].excerpt(None),  # type: ignore[arg-type]
        lambda: home.memories.ids().find([]),  # type: ignore[arg-type]
        lambda: RecallContext(filters=None),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidRequestError, match="must be"):
            call()


def test_records_of_records_read_back() -> None:
    """Nested records, moments with and without an offset, and pairs of values."""
    at = dt.datetime(2026, 3, 1, 18, 30, tzinfo=dt.UTC)
    memory = Memory("x", HOME, title="t", importance=0.25, occurred_at=at, labels=("a",))
    left_out = (Omission("rows", 2, "f:3"),)
    imported = Imported(
        "f.csv", "csv", "csv f", HOME, True, 1, 0, 0, 0, left_out, {"Tom": None}, (memory,)
    )
    corrected = Corrected("d", HOME, {"title": (None, "t")})

    assert Imported.from_json(json.loads(json.dumps(imported.to_json()))) == imported
    assert Corrected.from_json(json.loads(json.dumps(corrected.to_json()))) == corrected


def test_an_answer_outlives_its_household(home: FamilyRecall) -> None:
    """Copied, pickled and read from JSON it is the same, also after the household was closed."""
    answer = recall(home, "Where is the spare key?")
    home.close()

    assert copy.deepcopy(answer) == answer
    assert pickle.loads(pickle.dumps(answer)) == answer  # noqa: S301  our own bytes
    assert Answer.from_json(json.loads(json.dumps(answer.to_json()))) == answer
    with pytest.raises(AttributeError, match="immutable"):
        answer.confidence = 1.0  # type: ignore[misc]
