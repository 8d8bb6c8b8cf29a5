"""Household anchors: the times a question names in the household's own words."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from family_recall import FamilyRecall, RecallContext
from family_recall.access.policy import scope_of
from family_recall.english.times import Anchor, find_timespan
from family_recall.recall.question.anchors import anchors_of
from tests.conftest import NOW, move_in, open_home, remember, store_of

ZONE = ZoneInfo("America/New_York")


@pytest.fixture
def home(path: Path) -> Iterator[FamilyRecall]:
    """Open a household with some milestones and dated facts."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        milestone = {"kind": "milestone", "category": "milestone"}
        for text, event_type, day in (
            ("We moved into the house on Elm Street", "move", "2019-08-12"),
            ("Arjun was born", "birth", "2019-11-02"),
            ("Our wedding in Jaipur", "wedding", "2016-12-10"),
            ("Dad had surgery on his knee", "surgery", "2024-03-05"),
            ("Mia graduated from Lincoln High", "graduation", "2023-06-09"),
            ("Ravi graduated from Purdue", "graduation", "2021-05-15"),
            ("Nana passed away", "death", "2022-01-20"),
            ("Our first camping trip to Yosemite", None, "2021-07-04"),
        ):
            remember(home, text, occurred_at=day, event_type=event_type, **milestone)
        remember(
            home, "Priya flew to the Lisbon conference", "private:priya", author="priya",
            occurred_at="2024-09-10", event_type="conference", **milestone,
        )  # fmt: skip
        for key, value, author in (
            ("birthday_priya", "--05-04", None),
            ("birthday_kim", "3 May", None),
            ("birthday", "May 30, 1981", "rajesh"),
            ("spouse_birthday", "1983-02-11", "rajesh"),
            ("dog_birthday", "some time in spring", None),
        ):
            remember(
                home, "Noted for the calendar", kind="fact", fact_key=key, fact_value=value,
                author=author,
            )  # fmt: skip
        yield home


def anchors(home: FamilyRecall, question: str, person_id: str = "rajesh") -> tuple[Anchor, ...]:
    """Return the anchors of a question."""
    with store_of(home).snapshot() as snapshot:
        scope = scope_of(snapshot, RecallContext(person_id), wall_s=NOW.timestamp(), zone=home.zone)
        return anchors_of(question, scope, snapshot, ZONE)


def days(home: FamilyRecall, question: str, person_id: str = "rajesh") -> set[str]:
    """Return the first days of a question's anchors."""
    return {anchor.start.isoformat() for anchor in anchors(home, question, person_id)}


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("What has changed since we moved?", "2019-08-12"),
        ("What did we pay before we moved to Elm Street?", "2019-08-12"),
        ("Who helped during the move?", "2019-08-12"),
        ("Who visited when Arjun was born?", "2019-11-02"),
        ("Who called after the birth of Arjun?", "2019-11-02"),
        ("Who danced at our wedding?", "2016-12-10"),
        ("Where did we live before we got married?", "2016-12-10"),
        ("What did the doctor say before dad's surgery?", "2024-03-05"),
        ("What did the doctor say after my father's operation?", "2024-03-05"),
        ("Who came when Mia graduated?", "2023-06-09"),
        ("What did we eat after Ravi's graduation?", "2021-05-15"),
        ("What has Grandma's sister said since Nana died?", "2022-01-20"),
        ("Where did we sleep on the Yosemite camping trip?", "2021-07-04"),
    ],
)
def test_a_milestone_is_known_by_the_forms_of_its_name(
    home: FamilyRecall, question: str, day: str
) -> None:
    """*Moved*, *the move*, *born* and *the birth* mean the milestone's day."""
    assert days(home, question) == {day}


@pytest.mark.parametrize(
    "question",
    [
        "When did we move?",
        "What did we do on Monday?",
        "Who is at the door?",
        "What has changed since we moved to Denver?",
        "What did the doctor say before his surgery?",
        "What did the doctor say before Priya's surgery?",
        "Where did I live when I was born?",
        "What did we eat after the graduation?",
        "What did we do on Zoe's birthday?",
        "What did we do on the dog's birthday?",
        "",
    ],
)
def test_what_is_not_surely_meant_is_no_anchor(home: FamilyRecall, question: str) -> None:
    """A question for the time, another person's event, and two that fit alike stay silent."""
    assert days(home, question) == set()


@pytest.mark.parametrize(
    ("question", "month_and_day"),
    [
        ("What did we do on Priya's birthday?", "05-04"),
        ("What did we do on Kim's birthday?", "05-03"),
        ("What did I get on my birthday?", "05-30"),
        ("What did I cook on my wife's birthday?", "02-11"),
        ("What did he get on Arjun's birthday?", "11-02"),
        ("Where did we eat on our anniversary?", "12-10"),
    ],
)
def test_what_is_kept_each_year_has_a_day_in_each(
    home: FamilyRecall, question: str, month_and_day: str
) -> None:
    """Birthdays and anniversaries, and those that a birth or a wedding founds."""
    found = days(home, question)

    assert {day[5:] for day in found} == {month_and_day}
    assert {str(NOW.year - 1), str(NOW.year), str(NOW.year + 1)} <= {day[:4] for day in found}


def test_my_birthday_is_that_of_who_asks(home: FamilyRecall) -> None:
    """The fact is Rajesh's own; Priya's question for hers finds none."""
    assert days(home, "What did I get on my birthday?", "priya") == set()


def test_somebody_elses_private_milestone_is_no_anchor(home: FamilyRecall) -> None:
    """What lies outside the asker's partitions names no time, and changes none."""
    question = "What did I pack before the Lisbon conference?"

    assert days(home, question, "priya") == {"2024-09-10"}
    assert anchors(home, question, "rajesh") == ()
    remember(
        home, "Priya moved into her own flat", "private:priya", kind="milestone",
        event_type="move", occurred_at="2024-12-01",
    )  # fmt: skip
    assert days(home, "What has changed since we moved?", "rajesh") == {"2019-08-12"}


def test_what_has_been_replaced_is_no_anchor(home: FamilyRecall) -> None:
    """A corrected date takes the place of the one before."""
    known = {"kind": "milestone", "event_type": "adoption", "doc_id": "cat"}
    remember(home, "We adopted the cat", occurred_at="2022-04-01", **known)
    remember(home, "We adopted the cat", occurred_at="2022-05-01", **known)

    assert days(home, "What has she eaten since we adopted the cat?") == {"2022-05-01"}


def test_the_same_day_told_twice_is_one_anchor(home: FamilyRecall) -> None:
    """Both parents wrote down when Arjun was born."""
    remember(
        home, "Arjun is born!", kind="milestone", event_type="birth", occurred_at="2019-11-02T23:10"
    )

    assert days(home, "Who visited when Arjun was born?") == {"2019-11-02"}


def test_anchors_are_read_by_the_grammar(home: FamilyRecall) -> None:
    """*Since* begins with the day, *last year* takes last year's."""
    now = dt.datetime(2025, 6, 10, 12, tzinfo=ZONE)
    moved = "What has changed since we moved?"
    span = find_timespan(moved, now=now, anchors=anchors(home, moved))
    assert span is not None
    assert span.start == dt.datetime(2019, 8, 12, tzinfo=ZONE)
    assert span.end is None

    birthday = "What did we do on Priya's birthday last year?"
    span = find_timespan(birthday, now=now, anchors=anchors(home, birthday))
    assert span is not None
    assert span.start == dt.datetime(2024, 5, 4, tzinfo=ZONE)


def test_a_question_without_such_words_reads_nothing(home: FamilyRecall) -> None:
    """The store is left alone: asking a closed one raises nothing."""
    with store_of(home).snapshot() as snapshot:
        scope = scope_of(snapshot, RecallContext("rajesh"), wall_s=NOW.timestamp(), zone=home.zone)

    assert anchors_of("Where is the spare key?", scope, snapshot, ZONE) == ()
    assert anchors_of("What did we do on Monday?", scope, snapshot, ZONE) == ()
