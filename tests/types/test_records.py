"""What the library makes is written as JSON and read from it."""

from __future__ import annotations

import copy
import datetime as dt
import json
import pickle
from typing import Any

import pytest

from family_recall import Answer, Corrected, FamilyRecall, Memory, Receipt
from family_recall.errors import InvalidRequestError
from family_recall.types import Imported, Omission
from tests.conftest import HOME, recall


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
