"""What the time grammar reads, and what it leaves alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.errors import InvalidRequestError
from family_recall.query.timespan import Anchor, Timespan, find_timespan, is_past_reference

ANCHORS = (
    Anchor("we moved", dt.date(2023, 8, 12), dt.date(2023, 8, 13)),
    Anchor("Priya's birthday", dt.date(2024, 5, 4), dt.date(2024, 5, 5)),
    Anchor("Priya's birthday", dt.date(2025, 5, 4), dt.date(2025, 5, 5)),
    Anchor("Priya's birthday", dt.date(2026, 5, 4), dt.date(2026, 5, 5)),
    Anchor("Arjun was born", dt.date(2019, 11, 2), dt.date(2019, 11, 3)),
    Anchor("we lived in Pune", dt.date(2012, 3, 1), dt.date(2017, 7, 1)),
    Anchor("the wedding", dt.date(2016, 12, 10), dt.date(2016, 12, 10)),
)
NOON = dt.datetime(2026, 6, 17, 14, 30, tzinfo=ZoneInfo("Europe/London"))


class Case(NamedTuple):
    """One question and the local interval it means; None for no time."""

    question: str
    now: dt.datetime
    country: str
    hemisphere: Literal["north", "south"]
    expected: tuple[dt.datetime | None, dt.datetime | None] | None


def cases() -> Iterator[Case]:
    """Read the hand-made list."""
    now, country = NOON, "GB"
    hemisphere: Literal["north", "south"] = "north"
    text = (Path(__file__).parent / "timespans.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        fields = line.split("\t")
        if line.startswith("#") or not line:
            continue
        if fields[0] == "@":
            now = dt.datetime.fromisoformat(fields[1]).replace(tzinfo=ZoneInfo(fields[2]))
            country, hemisphere = fields[3], "south" if fields[4] == "south" else "north"
            continue
        expected = None if fields[1] == "none" else (_local(fields[1]), _local(fields[2]))
        yield Case(fields[0], now, country, hemisphere, expected)


def _local(text: str) -> dt.datetime | None:
    return None if text == "-" else dt.datetime.fromisoformat(text)


def find(question: str, case: Case | None = None) -> Timespan | None:
    """Ask as the household of the list does."""
    now, country, hemisphere = case[1:4] if case else (NOON, "GB", "north")
    return find_timespan(question, now=now, country=country, hemisphere=hemisphere, anchors=ANCHORS)


def wall(span: Timespan | None) -> tuple[dt.datetime | None, dt.datetime | None] | None:
    """Give the ends as the clock on the wall shows them."""
    if span is None:
        return None
    start, end = span.start, span.end
    return start and start.replace(tzinfo=None), end and end.replace(tzinfo=None)


@pytest.mark.parametrize(
    "case", list(cases()), ids=lambda case: f"{case.now:%y%m%d} {case.question}"
)
def test_family_expressions_are_read_as_a_calendar_shows_them(case: Case) -> None:
    """Every question of the list gives exactly the interval worked out by hand, or none."""
    assert wall(find(case.question, case)) == case.expected


def test_the_list_is_long_enough_to_mean_something() -> None:
    """At least 250 expressions and 40 sentences without a time are on it."""
    everything = list(cases())

    assert sum(case.expected is not None for case in everything) >= 250
    assert sum(case.expected is None for case in everything) >= 40


def test_matched_characters_are_what_said_so() -> None:
    """The words consumed can be cut out of the question, preposition and all."""
    question = "What did we do on Christmas Eve at Grandma's last year?"
    span = find(question)

    assert span is not None
    assert [question[a:b] for a, b in span.matched] == ["on Christmas Eve", "last year"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Tell me about last week", "last week"),
        ("What did we talk about this weekend?", "this weekend"),
        ("Give me the news of today", "today"),
        ("What did we talk about about a month ago?", "about a month ago"),
    ],
)
def test_about_belongs_to_the_verb_of_telling(question: str, words: str) -> None:
    """*Talk about* takes its preposition along; *about a month ago* keeps it."""
    span = find(question)

    assert span is not None
    assert [question[a:b] for a, b in span.matched] == [words]


@pytest.mark.parametrize(
    "question",
    [
        "Who came two days before the school fair last month?",
        "What did we do shortly after Easter?",
        "Was it last week or the week before?",
        "Is it warmer than last year?",
        "Since we spoke on Monday, who called?",
        "What did we do on our second Christmas Day?",
        "What did we do a week ago last Friday?",
        "What did we spend at the end of March and April?",
        "What did we do on the first day of term last September?",
    ],
)
def test_a_time_only_the_speaker_knows_is_not_guessed(question: str) -> None:
    """Words that nobody read, and that make another time of the one beside them, end in silence."""
    assert find(question) is None


@pytest.mark.parametrize(
    ("question", "is_filter"),
    [
        ("What did we do last week?", True),
        ("What did we do on 5 May 2023?", True),
        ("What did we do last Christmas?", True),
        ("Summary of this month", True),
        ("What did we talk about yesterday?", True),
        ("Tell me about last week", True),
        ("What did she cook about a week ago?", False),
        ("What did we do the day before the party last Friday?", False),
        ("What will we do next week?", False),
        ("What's for lunch on Friday?", False),
        ("What did we do a few weeks ago?", False),
        ("What did she say about last week?", False),
        ("What happened around 5 May?", False),
        ("Who came on Eid?", False),
    ],
)
def test_only_a_certain_past_may_exclude_memories(question: str, is_filter: bool) -> None:
    """A vague, a coming or a merely mentioned time stays below the certainty of a filter."""
    span = find(question)

    assert span is not None
    assert (span.certainty >= 0.9) is is_filter


def test_a_day_without_a_midnight_begins_when_it_does() -> None:
    """In Beirut the clocks went from 0:00 to 1:00 on 27 March 2022."""
    zone = ZoneInfo("Asia/Beirut")
    now = dt.datetime(2022, 3, 27, 12, tzinfo=zone)
    span = find_timespan("What did we do today?", now=now)

    assert span is not None
    assert span.start == dt.datetime(2022, 3, 27, 1, tzinfo=zone)
    assert span.end == dt.datetime(2022, 3, 28, tzinfo=zone)


def test_days_are_as_long_as_the_clocks_make_them() -> None:
    """30 March 2025 had 23 hours in Berlin, 26 October 2025 had 25."""
    for day, hours in ((dt.date(2025, 3, 30), 23), (dt.date(2025, 10, 26), 25)):
        now = dt.datetime.combine(day, dt.time(20), ZoneInfo("Europe/Berlin"))
        span = find_timespan("What did we do today?", now=now)
        assert span is not None
        assert span.start is not None
        assert span.end is not None
        assert span.end.timestamp() - span.start.timestamp() == hours * 3600


def test_the_last_hour_is_an_hour_long_when_the_clocks_go_back() -> None:
    """At the second 2:30 the last hour began at the first 2:30."""
    zone = ZoneInfo("Europe/Berlin")
    now = dt.datetime(2025, 10, 26, 2, 30, tzinfo=zone, fold=1)
    span = find_timespan("What did I say in the last hour?", now=now)

    assert span is not None
    assert span.start is not None
    assert span.end is not None
    assert span.end.timestamp() == now.timestamp()
    assert span.end.timestamp() - span.start.timestamp() == 3600


def test_thanksgiving_depends_on_the_country() -> None:
    """The fourth Thursday of November 2025 was the 27th, the second Monday of October the 13th."""
    now = dt.datetime(2025, 12, 20, 12, tzinfo=ZoneInfo("America/Toronto"))
    for country, day in (("US", dt.date(2025, 11, 27)), ("CA", dt.date(2025, 10, 13))):
        span = find_timespan("Who cooked on Thanksgiving?", now=now, country=country)
        assert span is not None
        assert span.start is not None
        assert span.start.date() == day


def test_a_holiday_outside_its_table_is_not_guessed() -> None:
    """The tables of moon holidays end in 2035."""
    assert find("Who came on Diwali 2040?") is None


def test_an_anchor_needs_all_its_words() -> None:
    """Somebody else's birthday, or a certain one of many, is not the one we know."""
    assert find("What did we do on Arjun's birthday?") is None
    assert find("What did we do on Priya's 40th birthday?") is None
    assert find("Do you remember when we moved?") is None


def test_now_must_say_where_the_household_is() -> None:
    """Yesterday means nothing without a zone."""
    with pytest.raises(InvalidRequestError, match="zone"):
        find_timespan("yesterday", now=dt.datetime(2026, 6, 17))  # noqa: DTZ001


@pytest.mark.parametrize(
    "question",
    [
        "What did I tell you last Christmas?",
        "Where did we live back when Dad was a postman?",
        "What did I say years ago about the loan?",
        "What was it like in the old days?",
        "What did Grandpa used to sing?",
        "What did you use to cook for us?",
        "What was our number in the nineties?",
        "Where did I play when I was little?",
        "What did we do the summer before last?",
    ],
)
def test_past_references_are_known(question: str) -> None:
    """These ask for old memories, which are then no worse for being old."""
    assert is_past_reference(question)


@pytest.mark.parametrize(
    "question",
    [
        "What did we do last week?",
        "What is my wife's last name?",
        "Is she used to the new school?",
        "What did we eat yesterday?",
        "What happened in the past week?",
        "What is the knife used for?",
        "When did we move?",
        "",
    ],
)
def test_the_recent_past_is_no_past_reference(question: str) -> None:
    """Recency still counts for these."""
    assert not is_past_reference(question)


WORDS = (
    "the a last next this past two 3 5 5th 2023 2024-02-29 31 May March August summer winter fall "
    "weekend week weeks month year years day days ago before after since until between and from to "
    "of in on at around early mid - end first second Christmas Easter Eve New Year's Thanksgiving "
    "Eid Monday Fri night morning today yesterday tomorrow ' 's , . ? when we moved "
    "Priya's birthday wedding did will every 90s nineties half other now 9999 99999999 0 30 "
    "12/25/2023 February hour"
).split()
moments = st.datetimes(dt.datetime(3, 1, 1), dt.datetime(9998, 12, 1)) | st.datetimes(  # noqa: DTZ001
    dt.datetime(2014, 1, 1),  # noqa: DTZ001
    dt.datetime(2037, 1, 1),  # noqa: DTZ001
)
zones = st.sampled_from(["UTC", "Europe/London", "America/Havana", "Asia/Beirut", "Pacific/Apia"])
questions = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=80)


@settings(max_examples=400)
@given(questions, moments, zones)
def test_any_text_at_any_moment_gives_a_proper_span_or_none(
    question: str, moment: dt.datetime, zone: str
) -> None:
    """Nothing raises; a span runs forward and its matches lie inside the question, in order."""
    now = moment.replace(tzinfo=ZoneInfo(zone))
    span = find_timespan(question, now=now, country="GB", hemisphere="south", anchors=ANCHORS)

    if span is None:
        return
    assert 0 <= span.certainty <= 1
    assert span.start is not None or span.end is not None
    if span.start is not None and span.end is not None:
        assert span.start.timestamp() < span.end.timestamp()
    edges = [edge for match in span.matched for edge in match]
    assert edges
    assert edges == sorted(edges)
    assert edges[0] >= 0
    assert edges[-1] <= len(question)
    assert span == find_timespan(
        question, now=now, country="GB", hemisphere="south", anchors=ANCHORS
    )


@pytest.mark.parametrize("word", ["the ", "day before ", "between ", "5 ", "early ", "\x00", "🙂"])
def test_long_nonsense_is_read_to_a_bound(word: str) -> None:
    """A hundred thousand characters are as good as the first few thousand."""
    assert find(word * (100_000 // len(word))) is None
