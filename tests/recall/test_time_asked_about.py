"""Questions that name a time: what happened then, what is to come, and what was true then."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from family_recall import FamilyRecall
from family_recall.config import RecallConfig
from tests.conftest import HOME, NOW, found, move_in, open_home, recall, remember

# NOW is Sunday 15 June 2025, noon.
TWO_WEEKS_AGO = NOW - dt.timedelta(days=14)


@pytest.fixture
def home(path: Path) -> Iterator[FamilyRecall]:
    """Open a household with appointments ahead, and talk of the last weeks."""
    with open_home(path) as opened:
        move_in(opened)
        for doc_id, text in (
            ("dentist", "Mia's dentist is on Monday 16 June at 3.40, Dr Oyelaran"),
            ("bins", "The new bins come on Thursday the 19th"),
            ("gala", "Swimming gala is saturday 28 june, bring the blue cap"),
            ("roof", "The roofer wants four thousand for the back roof"),
        ):
            remember(opened, text, doc_id=doc_id, occurred_at=TWO_WEEKS_AGO)
        yesterday = NOW - dt.timedelta(days=1)
        for hour, doc_id, text in (
            (8, "toast", "Raj burnt the toast again"),
            (14, "guess", "The tiles are three hundred, he was guessing about it"),
            (20, "film", "We watched the one with the penguins"),
        ):
            moment = yesterday.replace(hour=hour, minute=30)
            remember(opened, text, doc_id=doc_id, occurred_at=moment)
        yield opened


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What's happening tomorrow?", ["dentist"]),
        ("whats on tomorrow", ["dentist"]),
        ("what have we got on Thursday", ["bins"]),
        ("Is anything on this evening?", []),
        ("What's on next week?", ["dentist", "bins"]),
        ("What's coming up?", ["dentist", "bins", "gala"]),
        ("what's on two weeks from today", []),
    ],
)
def test_the_future_is_a_time_too(home: FamilyRecall, question: str, expected: list[str]) -> None:
    """What is told to take place then, and only that, in order of time, however long ago it was."""
    answer = recall(home, question, "priya")

    assert found(answer) == expected
    assert answer.status == ("ok" if expected else "no_match")


def test_what_takes_place_later_is_an_appointment(home: FamilyRecall) -> None:
    """So is a memory that occurs, or is valid, from a moment ahead."""
    remember(home, "Otto's party", doc_id="party", occurred_at="2025-06-16T15:00:00")
    remember(home, "The new alarm is on", doc_id="alarm", valid_from="2025-06-16T08:00:00")

    assert set(found(recall(home, "What's happening tomorrow?", "priya"))) == {
        "dentist",
        "party",
        "alarm",
    }


def test_a_timeline_has_the_days_to_come(home: FamilyRecall) -> None:
    """A question about next week shows its seven days, with those that hold nothing."""
    answer = recall(home, "What's on next week?", "priya")
    shown = [(part.first.day, part.last.day, part.doc_ids) for part in answer.timeline]

    assert shown == [
        (16, 16, ("dentist",)),
        (17, 18, ()),
        (19, 19, ("bins",)),
        (20, 22, ()),
    ]


def test_a_person_or_topic_beside_the_time_narrows_it(home: FamilyRecall) -> None:
    """The dentist is first among what is near, and the answer is one to act on."""
    answer = recall(home, "When is Mia at the dentist next week?", "priya")

    assert found(answer)[0] == "dentist"
    assert answer.status != "no_match"


def test_what_was_said_then_is_preferred_beside_a_topic(home: FamilyRecall) -> None:
    """Yesterday's remark comes before an older one that shares more words."""
    answer = recall(home, "What did we say about the roof tiles yesterday?", "priya")

    assert found(answer)[0] == "guess"
    assert answer.results[0].features["temporal_match"] > 0.9


def test_what_shares_no_word_is_found_by_its_time(home: FamilyRecall) -> None:
    """It is among the candidates, unless the stage is left out."""
    question = "What did the roofer cost yesterday?"
    with_period = recall(home, question, "priya")

    assert {"film", "toast"} <= set(with_period.trace.runs["timeline"])
    assert [span.stage for span in with_period.trace.spans].count("period") == 1


@pytest.mark.usefixtures("home")
def test_the_stage_can_be_left_out(path: Path) -> None:
    """Then the trace says so."""
    with open_home(path, config=RecallConfig(leave_out=frozenset({"period"}))) as without:
        answer = recall(without, "What did the roofer cost yesterday?", "priya")

    assert answer.trace.runs["timeline"] == ()
    assert ("period", "disabled") in {(skip.stage, skip.reason) for skip in answer.trace.skips}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What happened between 2 and 4 pm yesterday?", ["guess"]),
        ("What happened before 9 am yesterday?", ["toast"]),
        ("What happened after 6 pm yesterday?", ["film"]),
        ("What happened yesterday?", ["toast", "guess", "film"]),
    ],
)
def test_hours_are_part_of_the_time(home: FamilyRecall, question: str, expected: list[str]) -> None:
    """A question about some hours is answered from them."""
    assert found(recall(home, question, "priya")) == expected


def test_a_time_in_the_past_asks_for_what_was_valid_then(home: FamilyRecall) -> None:
    """Two flats, one after the other: each is the answer for its time, and today the newer."""
    remember(
        home, "We live in the flat in Canal Street", doc_id="canal", kind="fact",
        valid_from="2018-05-01", valid_until="2022-03-01",
    )  # fmt: skip
    remember(
        home, "We live in the house in Mill Lane", doc_id="mill", kind="fact",
        valid_from="2022-03-01",
    )  # fmt: skip

    def places(question: str) -> set[str]:
        return {"canal", "mill"} & set(found(recall(home, question, "priya")))

    assert places("Where did we live in March 2020?") == {"canal"}
    assert places("Where did we live in 2023?") == {"mill"}
    assert places("Where did we live in 2022?") == {"canal", "mill"}
    assert places("Where do we live?") == {"mill"}


def test_a_moment_of_the_request_decides_what_is_valid(home: FamilyRecall) -> None:
    """``as_of`` is not overruled by the words of the question."""
    remember(home, "The code is 1111", doc_id="old", valid_until="2024-01-01")
    answer = recall(home, "Which code was it in 2024?", "priya", as_of=NOW - dt.timedelta(days=730))

    assert "old" in found(answer)


def test_a_time_shows_nothing_from_outside_the_scope(home: FamilyRecall) -> None:
    """Priya's own appointment is in no answer of Rajesh's, and not counted in his timeline."""
    remember(
        home, "My blood test is on Monday 16 June", "private:priya", doc_id="blood",
        occurred_at=TWO_WEEKS_AGO,
    )  # fmt: skip
    hers = recall(home, "What's happening tomorrow?", "priya")
    his = recall(home, "What's happening tomorrow?", "rajesh")
    shared = recall(home, "What's happening tomorrow?", "priya", space_id=HOME)

    assert set(found(hers)) == {"dentist", "blood"}
    assert (found(his), found(shared)) == (["dentist"], ["dentist"])
    assert [part.n_stored for part in his.timeline] == [1]
