"""What the time grammar reads, and what it leaves alone."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.english.times import Anchor, Timespan, find_timespan

ANCHORS = (
    Anchor("we moved", dt.date(2023, 8, 12), dt.date(2023, 8, 13)),
    Anchor("Priya's birthday", dt.date(2024, 5, 4), dt.date(2024, 5, 5)),
    Anchor("Priya's birthday", dt.date(2025, 5, 4), dt.date(2025, 5, 5)),
    Anchor("Priya's birthday", dt.date(2026, 5, 4), dt.date(2026, 5, 5)),
    Anchor("Arjun was born", dt.date(2019, 11, 2), dt.date(2019, 11, 3)),
    Anchor("we lived in Pune", dt.date(2012, 3, 1), dt.date(2017, 7, 1)),
    Anchor("the wedding", dt.date(2016, 12, 10), dt.date(2016, 12, 10)),
)
Edges: TypeAlias = tuple[dt.datetime | None, dt.datetime | None]


class Setting(NamedTuple):
    """When and where a question is asked."""

    now: dt.datetime
    country: str
    hemisphere: Literal["north", "south"]


class Case(NamedTuple):
    """A question and the local interval it means; None for no time."""

    question: str
    setting: Setting
    expected: Edges | None


AT_HOME = Setting(dt.datetime(2026, 6, 17, 14, 30, tzinfo=ZoneInfo("Europe/London")), "GB", "north")


def read_table() -> dict[str, list[Case]]:
    """Read the hand-made table: the cases of each section, under the section's comment."""
    sections: dict[str, list[Case]] = {}
    title, setting = "", AT_HOME
    text = (Path(__file__).parent / "timespans.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        fields = line.split("\t")
        if line.startswith("#"):
            title = line.removeprefix("# ")
        elif fields[0] == "@":
            now = dt.datetime.fromisoformat(fields[1]).replace(tzinfo=ZoneInfo(fields[2]))
            setting = Setting(now, fields[3], "south" if fields[4] == "south" else "north")
        elif line:
            expected = None if fields[1] == "none" else (_edge(fields[1]), _edge(fields[2]))
            sections.setdefault(title, []).append(Case(fields[0], setting, expected))
    return sections


def _edge(text: str) -> dt.datetime | None:
    return None if text == "-" else dt.datetime.fromisoformat(text)


SECTIONS = read_table()


def find(question: str, setting: Setting = AT_HOME) -> Timespan | None:
    """Ask as the household of the table does."""
    now, country, hemisphere = setting
    return find_timespan(question, now=now, country=country, hemisphere=hemisphere, anchors=ANCHORS)


def wall(span: Timespan | None) -> Edges | None:
    """Return the ends as a clock on the wall shows them."""
    if span is None:
        return None
    start, end = span.start, span.end
    return start and start.replace(tzinfo=None), end and end.replace(tzinfo=None)


@pytest.mark.parametrize("title", SECTIONS)
def test_family_expressions_are_read_as_a_calendar_shows_them(title: str) -> None:
    """Every question of a section means exactly the interval worked out by hand, or none."""
    wrong = [
        f"{case.setting.now:%Y-%m-%d %H:%M} {case.question}: {answer}, not {case.expected}"
        for case in SECTIONS[title]
        if (answer := wall(find(case.question, case.setting))) != case.expected
    ]

    assert not wrong, "\n".join(wrong)


def test_the_table_keeps_its_size() -> None:
    """At least 1,900 expressions and 600 sentences without a time are in it."""
    expected = [case.expected for cases in SECTIONS.values() for case in cases]

    assert sum(edges is not None for edges in expected) >= 1900
    assert sum(edges is None for edges in expected) >= 600


def test_matched_characters_are_what_said_so() -> None:
    """The words consumed can be cut out of the question, preposition and all."""
    question = "What did we do on Christmas Eve at Grandma's last year?"
    span = find(question)

    assert span is not None
    assert [question[a:b] for a, b in span.matched] == ["on Christmas Eve", "last year"]


def test_about_belongs_to_the_verb_of_telling() -> None:
    """*Talk about* keeps its preposition; *about a month ago* has one of its own."""
    expected = {
        "Tell me about last week": "last week",
        "What did we talk about this weekend?": "this weekend",
        "Give me the news of today": "today",
        "What did we talk about about a month ago?": "about a month ago",
    }
    matched = {
        question: [question[a:b] for a, b in span.matched]
        for question in expected
        if (span := find(question))
    }

    assert matched == {question: [words] for question, words in expected.items()}


NOVEMBER = AT_HOME._replace(now=dt.datetime(2026, 11, 25, 22, 0, tzinfo=ZoneInfo("Europe/London")))
_MONTHS = (
    "January February March April May June July August September October November December".split()
)


@pytest.mark.parametrize("month", range(1, 13))
@given(day=st.dates(dt.date(2020, 1, 1), dt.date(2035, 12, 31)))
@settings(max_examples=15, deadline=None)
def test_the_mood_says_which_march_is_meant(month: int, day: dt.date) -> None:
    """*Should*, *will* and *could we* mean the month not over yet, *did* the latest begun."""
    setting = AT_HOME._replace(now=dt.datetime.combine(day, dt.time(12), dt.UTC))
    name = _MONTHS[month - 1]

    for verb in ("should", "will", "could", "must", "can"):
        ahead = find(f"Where {verb} we go in {name}?", setting)
        assert ahead is not None
        assert ahead.start is not None
        assert ahead.end is not None
        assert (ahead.start.month, ahead.other) == (month, None)
        assert ahead.end > setting.now
        assert (ahead.end - setting.now).days <= 366
    behind = find(f"Where did we go in {name}?", setting)
    assert behind is not None
    assert behind.start is not None
    assert (behind.start.month, behind.other) == (month, None)
    assert dt.timedelta(0) <= setting.now - behind.start <= dt.timedelta(days=366)


@pytest.mark.parametrize(
    ("question", "last", "coming"),
    [
        ("Who is away in March?", (2026, 3, 1), (2027, 3, 1)),
        ("What do we have in March?", (2026, 3, 1), (2027, 3, 1)),
        ("What's on 3 September?", (2026, 9, 3), (2027, 9, 3)),
        ("Could you remind me when in April the MOT was done?", (2026, 4, 1), (2027, 4, 1)),
        ("What's on in the summer?", (2026, 6, 1), (2027, 6, 1)),
    ],
)
def test_a_tense_that_leaves_it_open_means_either(
    question: str, last: tuple[int, int, int], coming: tuple[int, int, int]
) -> None:
    """Then it is too uncertain to exclude anything, and both stretches are named."""
    span = find(question, NOVEMBER)

    assert span is not None
    assert span.start is not None
    assert span.other is not None
    assert span.start.date() == dt.date(*last)
    assert span.other[0].date() == dt.date(*coming)
    assert span.certainty == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("question", "hours"),
    [
        ("What do we have on Thursday at 7:30?", (7, 19)),
        ("What do we have on Thursday at half six?", (18, 6)),
        ("What did we have yesterday around eight?", (7, 19)),
        ("What do we have on Thursday at 7:30 pm?", (19,)),
        ("What do we have on Thursday at 19:30?", (19,)),
        ("What do we have on Thursday evening at 7:30?", (19,)),
        ("What did we do at noon yesterday?", (11,)),
    ],
)
def test_a_clock_time_means_either_half_of_the_day(question: str, hours: tuple[int, ...]) -> None:
    """Unless *pm*, the evening or 24 hours say which; the likelier is first."""
    span = find(question, NOVEMBER)

    assert span is not None
    assert span.start is not None
    starts = [span.start, *([span.other[0]] if span.other else [])]
    assert tuple(start.hour for start in starts) == hours
    assert span.certainty < 0.9


@pytest.mark.parametrize("question", ["Swimming on Thursday", "the dinner on Saturday?"])
def test_a_weekday_without_a_verb_means_either(question: str) -> None:
    """The last one and the coming one, of which neither excludes the other."""
    span = find(question, NOVEMBER)

    assert span is not None
    assert span.end is not None
    assert span.other is not None
    assert span.end < NOVEMBER.now < span.other[0]
    assert span.certainty < 0.8


def test_a_time_that_is_not_over_means_nothing_else() -> None:
    """In November *what's on in November* is this one, and no other."""
    span = find("What's on in November?", NOVEMBER)

    assert span is not None
    assert span.other is None


def test_a_time_only_the_speaker_knows_is_not_guessed() -> None:
    """Words that nobody read, and that make another time of the one beside them, mean silence."""
    questions = [
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
        "What did we do the last time it snowed in March?",
        "What did we do in the weeks after we moved?",
        "Who called on Mondays in May?",
    ]

    assert [question for question in questions if find(question)] == []


def test_only_a_certain_past_may_exclude_memories() -> None:
    """A vague, a coming or a merely mentioned time stays below the certainty of a filter."""
    certain = [
        "What did we do last week?",
        "What did we do on 5 May 2023?",
        "What did we do last Christmas?",
        "Summary of this month",
        "What did we talk about yesterday?",
        "Tell me about last week",
    ]
    uncertain = [
        "What did she cook about a week ago?",
        "What will we do next week?",
        "What's for lunch on Friday?",
        "What did we do a few weeks ago?",
        "What did she say about last week?",
        "What happened around 5 May?",
        "Who came on Eid?",
        "Easter",
        "on Friday",
    ]
    certainties = {
        question: span.certainty for question in (*certain, *uncertain) if (span := find(question))
    }

    assert certainties.keys() == {*certain, *uncertain}
    assert [question for question, value in certainties.items() if value >= 0.9] == certain


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
    now = dt.datetime(2025, 10, 26, 1, 30, tzinfo=dt.UTC).astimezone(zone)
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
    """The Hindu calendar of the table ends in 2035."""
    assert find("Who came on Diwali 2040?") is None


def test_an_anchor_needs_all_its_words() -> None:
    """Somebody else's birthday, or a certain one of many, is not the one we know."""
    assert find("What did we do on Arjun's birthday?") is None
    assert find("What did we do on Priya's 40th birthday?") is None
    assert find("Do you remember when we moved?") is None


def test_now_must_say_where_the_household_is() -> None:
    """Yesterday means nothing without a zone."""
    with pytest.raises(ValueError, match="zone"):
        find_timespan("yesterday", now=dt.datetime(2026, 6, 17))  # noqa: DTZ001


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


def test_long_nonsense_is_read_to_a_bound() -> None:
    """A hundred thousand characters are as good as the first few thousand."""
    for word in ("the ", "day before ", "between ", "5 ", "early ", "\x00", "🙂"):
        assert find(word * (100_000 // len(word))) is None, word
