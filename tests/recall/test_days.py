"""What is told carries its day: *yesterday* in an old text counts from there, and not from now."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from family_recall import Answer
from tests.conftest import Wall, found, move_in, open_home, recall, remember

NOW = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)


def told(
    path: Path, text: str, zone: str = "Europe/London", now: dt.datetime = NOW, **fields: str
) -> Answer:
    """Return the answer of a household in which one thing was said."""
    with open_home(path, encoder=None, wall=Wall(NOW)) as home:
        move_in(home)
        home.move(timezone=zone)
        remember(home, text, **fields)
        return recall(home, text.split(maxsplit=2)[-1], "mia", now=now)


@pytest.mark.parametrize(
    ("zone", "said_at", "day", "spoken"),
    [
        ("Europe/London", "2026-03-12T12:00Z", "2026-03-12", "Ben said on 12 March 2026"),
        ("Europe/London", "2026-06-12T23:30Z", "2026-06-13", "Ben said on 13 June 2026"),
        ("America/Chicago", "2026-03-13T01:00Z", "2026-03-12", "Ben said on 12 March 2026"),
        ("Asia/Kolkata", "2026-03-12T20:00Z", "2026-03-13", "Ben said on 13 March 2026"),
        ("Asia/Kolkata", "2026-12-12", "2026-12-12", "Ben said of 12 December 2026"),
    ],
)
def test_what_is_told_carries_its_day(
    path: Path, zone: str, said_at: str, day: str, spoken: str
) -> None:
    """Aloud, in print, to a model; the household's day, and not that of Greenwich."""
    text = "Yesterday we bought the new fridge"
    answer = told(path, text, zone, occurred_at=said_at, author="Ben")

    assert answer.results[0].day == day
    assert answer.spoken() == f"{spoken}: {text}."
    assert f'- Ben said: "{text}" ({day})\n' in answer.briefing()
    assert spoken.split(maxsplit=3)[3] in str(answer)
    assert day in str(answer.results[0])


@pytest.mark.parametrize(
    ("text", "has_day"),
    [
        ("Yesterday we bought the new fridge", True),
        ("The plumber came last week", True),
        ("Choir is on Thursday", True),
        ("The fridge holds two hundred litres", False),
    ],
)
def test_words_that_count_from_a_day_have_one(path: Path, text: str, has_day: bool) -> None:
    """Of a text without a moment it is the day of recording, where its words need one.

    Aloud it is told from the next day on.
    """
    answer = told(path, text, now=NOW + dt.timedelta(days=1))

    assert (answer.results[0].day == "2026-11-20") == has_day
    assert answer.spoken() == (f"20 November 2026: {text}." if has_day else f"{text}.")


def test_what_was_said_today_is_told_as_it_was(path: Path) -> None:
    """Aloud *yesterday* then means what it says; a model is told the day."""
    answer = told(path, "Yesterday we bought the new fridge", author="Ben", occurred_at=str(NOW))

    assert answer.spoken() == "Ben said: Yesterday we bought the new fridge."
    assert "(2026-11-20)" in answer.briefing()


def test_a_text_that_names_its_day_is_told_as_it_is(path: Path) -> None:
    """An entry of a calendar is not told with its date twice."""
    text = "Piano tuner: Thursday 5 March 2026, 10:00."

    assert told(path, text, occurred_at="2026-03-05T10:00").spoken() == text


JULY = "2026-07-03T12:00Z"
TODAY = "2026-11-20T09:00Z"


@pytest.mark.parametrize(
    ("said_at", "text", "question", "answers"),
    [
        (JULY, "Nana baked a cherry cake today", "What did Nana bake today?", False),
        (JULY, "Nana baked a cherry cake last week", "Did Nana bake a cake last week?", False),
        (JULY, "Next week Nana has the eye clinic", "When is the eye clinic next week?", False),
        (TODAY, "Nana baked a cherry cake yesterday", "What did Nana bake yesterday?", True),
        ("2026-11-12", "Next week Nana has the eye clinic", "Is the clinic this week?", True),
        (JULY, "Nana baked a cherry cake today", "What did Nana bake in July?", True),
        (JULY, "Nana baked a cherry cake today", "When did Nana bake a cherry cake?", True),
        (JULY, "From today Leela does the school run", "Who does the school run today?", True),
        (JULY, "Swimming is on Fridays at five", "Is there swimming today?", True),
    ],
)
def test_the_today_of_another_day_answers_nothing(
    path: Path, said_at: str, text: str, question: str, answers: bool
) -> None:
    """A text of July that says *today* is not of today; what lasts, or is of the day, still is."""
    with open_home(path, encoder=None, wall=Wall(NOW)) as home:
        move_in(home)
        remember(home, text, doc_id="it", occurred_at=said_at)
        remember(home, "We ate soup", occurred_at="2026-11-02")
        answer = recall(home, question, "mia", now=NOW)

    assert answer.results[0].doc_id == "it"
    assert (answer.status != "no_match") == answers
    assert (answer.spoken() != "") == answers
    assert any(word in question for word in answer.uncovered) == (not answers)


def test_what_is_of_the_day_stands_above_what_only_says_so(path: Path) -> None:
    """Of two that say *today* the one of today is told."""
    with open_home(path, encoder=None, wall=Wall(NOW)) as home:
        move_in(home)
        remember(home, "Nana baked a cherry cake today", occurred_at=JULY, doc_id="july")
        remember(home, "Nana baked scones", occurred_at=TODAY, doc_id="it")
        answer = recall(home, "What did Nana bake today?", "mia", now=NOW)

    assert answer.results[0].doc_id == "it"
    assert answer.status != "no_match"


def test_a_conversation_opens_with_today_and_tomorrow(path: Path) -> None:
    """What is still to come of both days, the first first; then what was said, newest first."""
    stored = (
        ("over", "2026-11-20T08:00", "The bin lorry came at eight"),
        ("talk", "2026-11-20T11:00", "The bus was late again"),
        ("tonight", "2026-11-20T19:30", "Choir: 19:30"),
        ("tomorrow", "2026-11-17", "Nana lands on Saturday at 7:40 am"),
        ("inset", "2026-11-20T10:00", "Tomorrow evening the neighbours come"),
        ("later", "2026-11-19", "The dentist is on 3 December"),
        ("old", "2026-03-12", "Tomorrow we buy a fridge"),
    )
    with open_home(path, encoder=None, wall=Wall(NOW)) as home:
        move_in(home)
        for doc_id, occurred_at, text in stored:
            remember(home, text, doc_id=doc_id, occurred_at=occurred_at)
        opening = home.opening(person_id="mia", now=NOW, mmr_lambda=1.0)
        few = home.opening(person_id="mia", now=NOW, top_k=4, mmr_lambda=1.0)

    assert found(opening)[:3] == ["tonight", "tomorrow", "inset"]
    assert found(opening)[3:5] == ["talk", "over"]
    assert found(few)[:3] == ["tonight", "tomorrow", "talk"]
    assert '"Choir: 19:30" (2026-11-20)' in opening.briefing()
