"""Events: what mattered of a time, and the kind whose time is asked for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from family_recall import FamilyRecall
from tests.conftest import NOW, found, move_in, open_home, recall, remember


@pytest.fixture
def home(path: Path) -> Iterator[FamilyRecall]:
    """Open an empty household."""
    with open_home(path) as opened:
        move_in(opened)
        yield opened


def small_talk(home: FamilyRecall, n: int) -> None:
    """Store lines that share the words of a question about last week."""
    for at in range(n):
        remember(
            home,
            f"What a week, nothing happened on day {at}, we did what we did last week",
            doc_id=f"talk-{at}",
            occurred_at=NOW - dt.timedelta(days=8, hours=at),
        )


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Ada was born at ten past four, three kilos", {}),
        ("Off to Lisbon", {"kind": "milestone", "event_type": "house_move"}),
        ("Otto can swim", {"importance": 1.0}),
    ],
)
def test_what_mattered_is_not_pushed_out_by_talk(
    home: FamilyRecall, text: str, fields: dict[str, Any]
) -> None:
    """Eight lines that are more like the question leave room for it, in order of time."""
    small_talk(home, 8)
    remember(home, text, doc_id="event", occurred_at=NOW - dt.timedelta(days=9), **fields)

    answer = recall(home, "What happened last week?", "priya", top_k=5)
    moments = [result.occurred_at for result in answer.results]

    assert "event" in found(answer)
    assert moments == sorted(moments, key=str)


def test_how_much_it_mattered_is_half_importance_and_half_event(home: FamilyRecall) -> None:
    """(0.5 + 0) / 2, (0.5 + 0.6) / 2 and (0.9 + 1) / 2; 0 where something is asked for."""
    yesterday = NOW - dt.timedelta(days=1)
    remember(home, "Rain", doc_id="rain", occurred_at=yesterday)
    remember(home, "Raj broke his wrist", doc_id="wrist", occurred_at=yesterday)
    remember(
        home, "Keys!", doc_id="keys", occurred_at=yesterday, kind="milestone", importance=0.9
    )  # fmt: skip

    alone = recall(home, "What happened yesterday?", "priya")
    about = recall(home, "What happened to the keys yesterday?", "priya")

    assert {r.doc_id: r.features["matters"] for r in alone.results} == {
        "rain": pytest.approx(0.25),
        "wrist": pytest.approx(0.55),
        "keys": pytest.approx(0.95),
    }
    assert {r.features["matters"] for r in about.results} == {0.0}


@pytest.mark.parametrize(
    ("question", "text", "event_type"),
    [
        ("When did I get married?", "Our wedding was on 4 June 2016", None),
        ("When did I get married?", "The sun came out for us at the lake", "wedding"),
        ("When was the funeral?", "We buried Grandpa on a Friday", None),
        ("When did we move?", "Relocated to the coast in May", None),
    ],
)
def test_an_event_is_found_by_its_kind(
    home: FamilyRecall, question: str, text: str, event_type: str | None
) -> None:
    """By other words for it, or by its event type alone."""
    remember(home, "Otto has a red umbrella", doc_id="umbrella")
    remember(home, text, doc_id="event", author="rajesh", kind="milestone", event_type=event_type)
    answer = recall(home, question, "rajesh")

    assert found(answer)[0] == "event"
    assert answer.results[0].features["event_kind"] == 1.0
    assert {r.features["event_kind"] for r in answer.results[1:]} <= {0.0}


def test_a_question_that_asks_for_no_time_has_no_kind(home: FamilyRecall) -> None:
    """Whom I married is no matter of when."""
    remember(home, "Our wedding was on 4 June 2016", doc_id="wedding")
    answer = recall(home, "Who came to the wedding?", "rajesh")

    assert answer.results[0].features["event_kind"] == 0.0
