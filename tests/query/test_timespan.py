"""What the time grammar reads, and what it leaves alone."""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.errors import InvalidRequestError
from family_recall.time_expressions import Anchor, Timespan, find_timespan, is_past_reference

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
        "What did we do on the last bank holiday in April?",
        "What did we buy at last year's Christmas market?",
        "What did we do the last time it snowed in March?",
        "What did we do in the weeks after we moved?",
        "Who called on Mondays in May?",
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
        ("Easter", False),
        ("on Friday", False),
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


NAMES = calendar.month_name, calendar.day_name
NTHS = ["first", "second", "third", "fourth"]
SOME = ["spring", "summer", "autumn", "winter"]
CHANGES = [
    ("Europe/London", dt.datetime(2025, 3, 30, 9)),  # noqa: DTZ001  (put into its zone below)
    ("Europe/London", dt.datetime(2026, 10, 25, 9)),  # noqa: DTZ001
    ("America/New_York", dt.datetime(2024, 3, 10, 9)),  # noqa: DTZ001
    ("America/New_York", dt.datetime(2024, 11, 3, 9)),  # noqa: DTZ001
    ("Australia/Sydney", dt.datetime(2026, 4, 5, 9)),  # noqa: DTZ001
    ("Australia/Sydney", dt.datetime(2025, 10, 6, 9)),  # noqa: DTZ001
]
asked_at = st.sampled_from(CHANGES) | st.tuples(
    st.sampled_from(["Europe/London", "America/New_York", "Asia/Kolkata", "Australia/Sydney"]),
    st.datetimes(dt.datetime(2016, 1, 1), dt.datetime(2034, 1, 1))  # noqa: DTZ001
    | st.sampled_from([dt.datetime(2024, 2, 29, 7), dt.datetime(2025, 12, 31, 23)])  # noqa: DTZ001
    | st.sampled_from([dt.datetime(2026, 1, 1, 0, 30), dt.datetime(2024, 2, 28, 20)]),  # noqa: DTZ001
)


def at(day: dt.date, hour: int = 0) -> dt.datetime:
    """Give the hour of a day on the wall; from 24 on it is the next day's."""
    return dt.datetime(day.year, day.month, day.day) + dt.timedelta(hours=hour)  # noqa: DTZ001


def days(first: dt.date, n: int = 1) -> tuple[dt.datetime, dt.datetime]:
    """Give n whole days."""
    return at(first), at(first + dt.timedelta(n))


def months(year: int, month: int, n: int = 1) -> tuple[dt.datetime, dt.datetime]:
    """Give n calendar months; the month may lie outside 1 to 12."""
    first, after = divmod(month - 1, 12), divmod(month - 1 + n, 12)
    return at(dt.date(year + first[0], first[1] + 1, 1)), at(
        dt.date(year + after[0], after[1] + 1, 1)
    )


def easter_by_epact(year: int) -> dt.date:
    """Follow Clavius as in D. Knuth, *The Art of Computer Programming* 1, 1.3.2, exercise 14."""
    golden, century = year % 19 + 1, year // 100 + 1
    skipped, moon = 3 * century // 4 - 12, (8 * century + 5) // 25 - 5
    epact = (11 * golden + 20 + moon - skipped) % 30
    epact += epact == 24 or (epact == 25 and golden > 11)
    full = 44 - epact if epact <= 23 else 74 - epact
    sunday = full + 7 - (5 * year // 4 - skipped - 10 + full) % 7
    return dt.date(year, 3, 1) + dt.timedelta(sunday - 1)


def by_the_calendar(
    today: dt.date, n: int, *, south: bool
) -> Iterator[tuple[str, tuple[dt.datetime | None, dt.datetime | None]]]:
    """Work out, with dates alone, what some expressions mean; n picks names and counts."""
    one, monday = dt.timedelta(1), today - dt.timedelta(today.weekday())
    year, month, weekday = 2000 + n % 25, n % 12 + 1, n % 7
    m_name, d_name = NAMES[0][month], NAMES[1][weekday]
    begun = today - (today.weekday() - weekday) % 7 * one
    before_today = begun if begun < today else begun - 7 * one
    this = months(today.year, today.month)
    quarter = (today.month - 1) // 3 * 3 + 1
    latest = today.year if month <= today.month else today.year - 1
    over = today.year if month < today.month else today.year - 1
    in_month = [dt.date(year, month, 1) + k * one for k in range(31)]
    such = [day for day in in_month if day.month == month and day.weekday() == weekday]
    season = (3 * (n % 4) + 2 + 6 * south) % 12 + 1
    seasons = [months(y, season, 3) for y in range(today.year, today.year - 3, -1)]
    easter = easter_by_epact(year)
    whole = months(year, month)
    yield "today", days(today)
    yield "yesterday", days(today - one)
    yield "the day before yesterday", days(today - 2 * one)
    yield "last night", (at(today - one, 18), at(today - one, 29))
    yield "this morning", (at(today, 5), at(today, 12))
    yield "yesterday evening", (at(today - one, 17), at(today))
    yield "this week", days(monday, 7)
    yield "last week", days(monday - 7 * one, 7)
    yield "the week before last", days(monday - 14 * one, 7)
    yield "last weekend", days(monday - 2 * one, 2)
    yield "two weekends ago", days(monday - 9 * one, 2)
    yield "last month", months(today.year, today.month - 1)
    yield "on the last day of last month", days((this[0] - one).date())
    yield "last quarter", months(today.year, quarter - 3, 3)
    yield "last year", months(today.year - 1, 1, 12)
    yield f"{n} days ago", days(today - n * one)
    yield f"{n} weeks ago", days(monday - 7 * n * one, 7)
    yield f"{n} months ago", months(today.year, today.month - n)
    yield f"{n} years ago", months(today.year - n, 1, 12)
    yield f"in the last {n} days", (at(today - n * one), at(today + one))
    yield f"in the past {n} weeks", (at(today - 7 * n * one), at(today + one))
    yield f"on {d_name}", days(begun)
    yield f"last {d_name}", days(before_today)
    yield f"two {d_name}s ago", days(before_today - 7 * one)
    yield f"last {d_name} afternoon", (at(before_today, 12), at(before_today, 18))
    yield f"on {d_name} last week", days(monday + (weekday - 7) * one)
    yield f"in {m_name} {year}", whole
    yield f"in {m_name}", months(latest, month)
    yield f"last {m_name}", months(over, month)
    yield f"in {m_name} last year", months(today.year - 1, month)
    yield f"in the first week of {m_name} {year}", days(in_month[0], 7)
    yield f"in the last week of {m_name} {year}", (whole[1] - 7 * one, whole[1])
    yield f"in early {m_name} {year}", days(in_month[0], 10)
    yield f"in late {m_name} {year}", (at(in_month[20]), whole[1])
    yield f"on the {NTHS[n % 4]} {d_name} of {m_name} {year}", days(such[n % 4])
    yield f"on the last {d_name} in {m_name} {year}", days(such[-1])
    yield f"between 3 and 9 {m_name} {year}", days(in_month[2], 7)
    yield f"from {m_name} {year} to {m_name} {year + 1}", (whole[0], months(year + 1, month)[1])
    yield f"on {n % 28 + 1} {m_name} {year}", days(in_month[n % 28])
    yield f"on {m_name} {n % 28 + 1}, {year}", days(in_month[n % 28])
    yield f"on {in_month[n % 28].isoformat()}", days(in_month[n % 28])
    yield f"since {m_name} {year}", (whole[0], None)
    yield f"before {year}", (None, months(year, 1)[0])
    yield f"after {year}", (months(year + 1, 1)[0], None)
    yield f"until {m_name} {year}", (None, whole[1])
    yield f"in the {year // 10 * 10}s", months(year // 10 * 10, 1, 120)
    yield f"in {SOME[n % 4]} {year}", months(year, season, 3)
    yield f"last {SOME[n % 4]}", next(s for s in seasons if s[1] <= at(today))
    yield f"on Easter Monday {year}", days(easter + one)
    yield f"on Good Friday {year}", days(easter - 2 * one)
    yield f"the Sunday before Easter {year}", days(easter - 7 * one)
    yield f"the week before Christmas {year}", days(dt.date(year, 12, 18), 7)
    yield f"on New Year's Eve {year}", days(dt.date(year, 12, 31))


@settings(max_examples=60, deadline=None)
@given(asked_at, st.integers(2, 60))
def test_a_second_calendar_agrees(asked: tuple[str, dt.datetime], n: int) -> None:
    """Whole families of expressions mean what a second implementation makes of them, any day."""
    zone, moment = asked
    now, south = moment.replace(tzinfo=ZoneInfo(zone)), zone == "Australia/Sydney"
    for words, expected in by_the_calendar(now.date(), n, south=south):
        span = find_timespan(
            f"What did we do {words}?", now=now, hemisphere="south" if south else "north"
        )
        assert wall(span) == expected, words


@settings(max_examples=100)
@given(asked_at, st.integers(1, 200))
def test_hours_are_counted_as_a_clock_in_greenwich_does(
    asked: tuple[str, dt.datetime], n: int
) -> None:
    """The last n hours are n hours long, whatever the clocks on the wall did."""
    zone, moment = asked
    now = moment.replace(tzinfo=ZoneInfo(zone))
    span = find_timespan(f"What did I say in the last {n} hours?", now=now)

    assert span is not None
    assert span.start is not None
    assert span.end is not None
    assert now.timestamp() - span.start.timestamp() == 3600 * n
    assert span.end.timestamp() == now.timestamp()


@pytest.mark.parametrize("word", ["the ", "day before ", "between ", "5 ", "early ", "\x00", "🙂"])
def test_long_nonsense_is_read_to_a_bound(word: str) -> None:
    """A hundred thousand characters are as good as the first few thousand."""
    assert find(word * (100_000 // len(word))) is None
