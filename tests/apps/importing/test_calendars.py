"""Calendars: single, whole-day and repeated events, zones, and what was cancelled."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import re
from typing import Any

import pytest
from dateutil.rrule import rrulestr  # type: ignore[import-untyped]
from hypothesis import example, given
from hypothesis import strategies as st

from family_recall.apps.importing.calendar_words import rule_in_words
from family_recall.apps.importing.calendars import read_calendar
from family_recall.errors import DatasetError
from tests.importing_settings import SETTINGS, moments, reasons, texts


def calendar(*events: str, head: str = "") -> str:
    """Return an iCalendar text of some events, each as its lines."""
    parts = "".join(f"BEGIN:VEVENT\n{event.strip()}\nEND:VEVENT\n" for event in events)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n{head}{parts}END:VCALENDAR\n"


def test_an_event_says_when_and_where_in_the_households_zone() -> None:
    """UTC becomes local time, broken lines are joined, floating times are local already."""
    text = calendar(
        "UID:a\nDTSTART:20261110T170000Z\nDTEND:20261110T183000Z\nSUMMARY:Mia has a piano\n"
        "  recital\nLOCATION:Music school\nDESCRIPTION:Bring\\nflowers\n"
        "CATEGORIES:Mia,Music",
        "UID:b\nDTSTART:20261111T090000\nDURATION:PT30M\nSUMMARY:Dentist.",
    )

    reading = read_calendar(text, "c.ics", SETTINGS)

    when = "Tuesday 10 November 2026, 18:00 to 19:30"
    assert texts(reading) == [
        f"Mia has a piano recital: {when}. At Music school.\nBring\nflowers",
        "Dentist.: Wednesday 11 November 2026, 09:00 to 09:30.",
    ]
    assert [draft.key for draft in reading.drafts] == ["a", "b"]
    assert reading.drafts[0].where == "c.ics:4"
    assert reading.drafts[0].fields["labels"] == ("Mia", "Music")
    at = moments(reading.drafts)
    assert at[0] == dt.datetime(2026, 11, 10, 17, 0, tzinfo=dt.UTC)
    assert at[1] == dt.datetime(2026, 11, 11, 9, 0)  # noqa: DTZ001 -- floating


def test_whole_days_end_before_the_day_that_is_named() -> None:
    """DTEND of a whole day is excluded (RFC 5545, 3.6.1)."""
    text = calendar(
        "UID:a\nDTSTART;VALUE=DATE:20261019\nDTEND;VALUE=DATE:20261031\nSUMMARY:Holidays",
        "UID:b\nDTSTART;VALUE=DATE:20261019\nSUMMARY:Bring cake",
        "UID:c\nDTSTART;VALUE=DATE:20261019\nDTEND:20261031T170000Z\nSUMMARY:Half",
        "UID:d\nDTSTART;VALUE=DATE:20261019\nDURATION:P12D\nSUMMARY:Camp",
        "UID:g\nDTSTART;VALUE=DATE:20261019T000000\nDTEND;VALUE=DATE:20261021T000000\nSUMMARY:Off",
        "UID:e\nDTSTART;VALUE=DATE:20261019\nDURATION:P2W\nSUMMARY:Tour",
        "UID:f\nDTSTART;VALUE=DATE:20261019\nDURATION:PT36H\nSUMMARY:Night",
    )

    assert texts(read_calendar(text, "c.ics", SETTINGS)) == [
        "Holidays: Monday 19 October 2026 to Friday 30 October 2026.",
        "Bring cake: Monday 19 October 2026, all day.",
        "Half: Monday 19 October 2026, all day.",
        "Camp: Monday 19 October 2026 to Friday 30 October 2026.",
        "Off: Monday 19 October 2026 to Tuesday 20 October 2026.",
        "Tour: Monday 19 October 2026 to Sunday 1 November 2026.",
        "Night: Monday 19 October 2026 to Tuesday 20 October 2026.",
    ]


def test_a_repeated_event_is_its_occurrences_around_now() -> None:
    """It is 1 November 2026: from 2 October to 1 February, each with the rule in words.

    A day that is taken out, cancelled or moved says so itself.
    """
    series = "UID:a\nDTSTART;TZID=Europe/Berlin:20260901T163000\nSUMMARY:Piano\n"
    text = calendar(
        f"{series}RRULE:FREQ=WEEKLY;BYDAY=TU\nEXDATE;TZID=Europe/Berlin:20261006T163000",
        "UID:a\nRECURRENCE-ID;TZID=Europe/Berlin:20261103T163000\n"
        "DTSTART;TZID=Europe/Berlin:20261104T150000\nSUMMARY:Piano (moved)",
        "UID:a\nRECURRENCE-ID;TZID=Europe/Berlin:20261110T163000\nSTATUS:CANCELLED\n"
        "DTSTART;TZID=Europe/Berlin:20261110T163000\nSUMMARY:Piano",
    )

    reading = read_calendar(text, "c.ics", SETTINGS)

    rule = "every week on Tuesday"
    before, moved = "Tuesday 3 November 2026, 16:30", "Wednesday 4 November 2026, 15:00"
    words = texts(reading)
    assert words[:7] == [
        f"Piano: Tuesday 6 October 2026, 16:30, is cancelled; otherwise {rule}.",
        f"Piano: Tuesday 13 October 2026, 16:30, {rule}.",
        f"Piano: Tuesday 20 October 2026, 16:30, {rule}.",
        f"Piano: Tuesday 27 October 2026, 16:30, {rule}.",
        f"Piano (moved): {moved}, instead of {before}.",
        f"Piano: {before}, is moved to {moved}; otherwise {rule}.",
        f"Piano: Tuesday 10 November 2026, 16:30, is cancelled; otherwise {rule}.",
    ]
    assert "Tuesday 17 November" in words[7]
    assert "Tuesday 26 January 2027" in words[-1]
    assert len({draft.key for draft in reading.drafts}) == len(words)


def test_of_a_long_series_the_days_that_are_taken_out_are_known() -> None:
    """It is told once, with them; of many, the number. Those around now are drafts, too."""
    out = [dt.date(2026, 11, 5) + dt.timedelta(days=n) for n in range(20)]
    series = "UID:a\nDTSTART:20260819T074500\nRRULE:FREQ=DAILY;COUNT=400\nSUMMARY:Pills\n"

    few = texts(read_calendar(calendar(f"{series}EXDATE:20261105T074500"), "c.ics", SETTINGS))
    dates = ",".join(f"{day:%Y%m%d}" for day in out)
    many = texts(read_calendar(calendar(f"{series}EXDATE;VALUE=DATE:{dates}"), "c.ics", SETTINGS))

    once = "Pills: Wednesday 19 August 2026, 07:45, every day, 400 times"
    assert few == [
        f"{once}, except on Thursday 5 November 2026.",
        "Pills: Thursday 5 November 2026, 07:45, is cancelled; otherwise every day, 400 times.",
    ]
    assert f"{once}, except on 20 days." in many
    assert len(many) == 21


def test_days_of_another_zone_are_told_as_such() -> None:
    """A Tuesday of Greenwich, half past eleven, is a Wednesday in Berlin."""
    text = calendar("UID:a\nDTSTART:20261201T233000Z\nRRULE:FREQ=WEEKLY;BYDAY=TU\nSUMMARY:Call")

    assert texts(read_calendar(text, "c.ics", SETTINGS))[0] == (
        "Call: Wednesday 2 December 2026, 00:30, every week on Tuesday by its own time zone."
    )


def test_where_the_next_one_is_cancelled_the_whole_is_told() -> None:
    """Of a yearly event, the one of next year is cancelled: no other is within a year."""
    text = calendar(
        "UID:a\nDTSTART:20200704T080000\nRRULE:FREQ=YEARLY\nSUMMARY:Fair",
        "UID:a\nRECURRENCE-ID:20270704T080000\nDTSTART:20270704T080000\nSTATUS:CANCELLED\n"
        "SUMMARY:Fair",
    )

    assert texts(read_calendar(text, "c.ics", SETTINGS)) == [
        "Fair: Saturday 4 July 2020, 08:00, every year, except on Sunday 4 July 2027."
    ]


def test_a_change_from_then_on_has_all_its_occurrences() -> None:
    """Six weeks, of which the last four are a day later: six drafts."""
    text = calendar(
        "UID:a\nDTSTART:20261006T163000\nRRULE:FREQ=WEEKLY;COUNT=6\nSUMMARY:Piano",
        "UID:a\nRECURRENCE-ID;RANGE=THISANDFUTURE:20261020T163000\nDTSTART:20261021T170000\n"
        "SUMMARY:Piano",
    )

    days = [str(at)[:10] for at in moments(read_calendar(text, "c.ics", SETTINGS).drafts)]

    assert sorted(days) == [
        "2026-10-06", "2026-10-13", "2026-10-21", "2026-10-28", "2026-11-04", "2026-11-11",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "first", "expected"),
    [
        ("FREQ=DAILY", "20260101T080000", ["Pills: Thursday 1 January 2026, 08:00, every day."]),
        (
            "FREQ=WEEKLY;INTERVAL=2;COUNT=3",
            "20190101T080000",
            ["Pills: Tuesday 1 January 2019, 08:00, every 2 weeks, 3 times."],
        ),
        (
            "FREQ=DAILY\nRRULE:FREQ=WEEKLY",
            "20260101T080000",
            ["Pills: Thursday 1 January 2026, 08:00, every day and every week."],
        ),
        (
            "FREQ=SECONDLY",
            "20260101T080000",
            ["Pills: Thursday 1 January 2026, 08:00, every second."],
        ),
        ("FREQ=YEARLY", "20000704T080000", ["Pills: Sunday 4 July 2027, 08:00, every year."]),
        (
            "FREQ=MONTHLY;BYDAY=2FR;UNTIL=20261018T000000Z",
            "20260109T080000",
            ["Pills: Friday 9 October 2026, 08:00, every month on the second Friday until"],
        ),
    ],
)
def test_what_is_too_often_or_over_is_told_once(rule: str, first: str, expected: list[str]) -> None:
    """Every day: once, with its rule. Over: once. Once a year: the next time."""
    text = calendar(f"UID:a\nDTSTART:{first}\nRRULE:{rule}\nSUMMARY:Pills")

    read = texts(read_calendar(text, "c.ics", SETTINGS))

    assert [words[: len(start)] for words, start in zip(read, expected, strict=True)] == expected


def test_past_occurrences_stay_when_the_window_moves_on() -> None:
    """What was read in autumn is kept in spring, unless its event is gone from the calendar."""
    text = calendar("UID:a\nDTSTART:20260901T163000\nRRULE:FREQ=WEEKLY\nSUMMARY:Piano")
    autumn = read_calendar(text, "c.ics", SETTINGS)
    spring = dataclasses.replace(SETTINGS, now=SETTINGS.now + dt.timedelta(days=150))

    later = read_calendar(text, "c.ics", spring)
    without = read_calendar(calendar("UID:b\nDTSTART:20260901T163000\nSUMMARY:x"), "c.ics", spring)

    keys = {draft.key for draft in later.drafts}
    assert {draft.key for draft in autumn.drafts if not later.keeps(draft.key)} <= keys
    assert any(later.keeps(draft.key) for draft in autumn.drafts)
    assert not any(without.keeps(draft.key) for draft in autumn.drafts)


def test_a_cancelled_event_is_left_out() -> None:
    """By its status, or because the whole file cancels."""
    event = "UID:a\nDTSTART:20261110T170000Z\nSUMMARY:Party"

    assert reasons(read_calendar(calendar(f"{event}\nSTATUS:CANCELLED"), "c.ics", SETTINGS)) == [
        "cancelled events"
    ]
    cancelling = calendar(event, head="METHOD:CANCEL\n")
    assert reasons(read_calendar(cancelling, "c.ics", SETTINGS)) == ["cancelled events"]


def test_of_versions_of_an_event_the_newest_counts() -> None:
    """By SEQUENCE, whatever their order in the file."""
    event = "UID:a\nDTSTART:20261110T170000Z\n"

    reading = read_calendar(
        calendar(f"{event}SEQUENCE:2\nSUMMARY:New", f"{event}SEQUENCE:1\nSUMMARY:Old"),
        "c.ics",
        SETTINGS,
    )

    assert [text[:3] for text in texts(reading)] == ["New"]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=DAILY;BYMONTH=1", "every day in January"),
        ("FREQ=DAILY;BYDAY=SA,SU", "every week on Saturday and Sunday"),
        ("FREQ=DAILY;INTERVAL=2;BYDAY=SA", "every 2 days, if that is Saturday"),
        ("FREQ=MONTHLY;BYMONTHDAY=1,22,-1", "every month on the 1st, 22nd and last day"),
        ("FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR", "every month on the 13th day, if that is Friday"),
        ("FREQ=MONTHLY;BYDAY=TU", "every month on every Tuesday"),
        (
            "FREQ=MONTHLY;BYDAY=MO,FR;BYSETPOS=-1",
            "every month on Monday and Friday, only the last of these in each month",
        ),
        ("FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", "every year on the fourth Thursday in November"),
        ("FREQ=YEARLY;BYDAY=20MO", "every year on the 20th Monday of the year"),
        ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "every year in the 20th week of the year on Monday"),
        ("FREQ=YEARLY;BYYEARDAY=100", "every year on the 100th day of the year"),
        (
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU",
            "every 2 weeks on Tuesday and Sunday, with weeks from Sunday on",
        ),
        ("FREQ=DAILY;BYHOUR=8,20", "every day at 08:00 and 20:00"),
        ("FREQ=DAILY;BYHOUR=8;BYSECOND=1", "every day, by a rule with more to it"),
        ("FREQ=YEARLY;RSCALE=CHINESE", "every year, by a rule with more to it"),
        ("FREQ=HOURLY;INTERVAL=8", "every 8 hours"),
        ("FREQ=WEEKLY;BYDAY=9MO", "every week on Monday"),
        ("FREQ=WEEKLY;UNTIL=99991231T235959Z", "every week"),
        ("FREQ=YEARLY;BYMONTH=13", "by a rule that is not told here"),
        ("FREQ=DAILY\nEXRULE:FREQ=WEEKLY", "every day, by a rule with more to it"),
        ("FREQ=DAILY;COUNT=1", "every day, once"),
        ("FREQ=DAILY;UNTIL=20270306T060000", "every day until Friday 5 March 2027"),
        ("FREQ=DAILY\nRDATE:20270401T080000", "every day, also on Thursday 1 April 2027"),
    ],
)
def test_the_words_of_a_rule_tell_all_of_it_or_say_that_there_is_more(
    rule: str, words: str
) -> None:
    """At 08:00 the day of an end at 06:00 is none of it."""
    text = calendar(f"UID:a\nDTSTART:20260101T080000\nRRULE:{rule}\nSUMMARY:Pills")

    read = texts(read_calendar(text, "c.ics", SETTINGS))

    assert all(each.removesuffix(".").endswith(f", {words}") for each in read)
    assert read


DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = [f"{dt.date(2000, month, 1):%B}" for month in range(1, 13)]


def of(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, list[Any]]]:
    """Return rules that may have these parts, each with one or two values."""
    values = {name: st.lists(each, min_size=1, max_size=2) for name, each in parts.items()}
    return st.fixed_dictionaries({}, optional=values)


ALWAYS: dict[str, st.SearchStrategy[Any]] = {
    "BYSETPOS": st.sampled_from([1, -1]),
    "BYHOUR": st.integers(0, 23),
    "INTERVAL": st.integers(1, 3),
    "COUNT": st.integers(1, 30),
}


MONTH, PLAIN = st.integers(1, 12), ["MO", "TU", "FR", "SU"]
# Rules that have an occurrence in two years: looking for one takes long.
RULES = (
    of(BYMONTH=MONTH, BYMONTHDAY=st.sampled_from([1, 13, 22, -1]), COUNT=st.integers(1, 30))
    | of(BYMONTHDAY=st.sampled_from([13, -1]), BYDAY=st.sampled_from(PLAIN))
    | of(BYMONTH=MONTH, BYDAY=st.sampled_from(["2WE", "-1TH"]))
    | of(BYMONTH=MONTH, BYDAY=st.sampled_from(PLAIN))
    | of(BYDAY=st.sampled_from(PLAIN), **ALWAYS)
)
OF_A_YEAR = of(BYWEEKNO=st.integers(1, 52), **ALWAYS) | of(BYYEARDAY=st.integers(1, 365), **ALWAYS)


@given(
    st.tuples(st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]), RULES)
    | st.tuples(st.just("YEARLY"), OF_A_YEAR)
)
@example(("DAILY", {"BYMONTH": [1]}))
@example(("DAILY", {"BYDAY": ["MO"], "BYSETPOS": [1]}))
@example(("WEEKLY", {"BYDAY": ["2WE"]}))
def test_no_occurrence_contradicts_the_words_of_its_rule(
    of_rule: tuple[str, dict[str, list[Any]]],
) -> None:
    """What they name is so of all; rules with as few words as *every day* have no other part."""
    freq, parts = of_rule
    for single in ("INTERVAL", "COUNT"):
        parts |= {single: parts[single][:1]} if single in parts else {}
    start = dt.datetime(2026, 1, 1, 8, 0)  # noqa: DTZ001 -- floating
    named = {name: list(values) for name, values in parts.items()}
    words = rule_in_words({"FREQ": [freq], **named}, SETTINGS.zone, start)

    line = ";".join(f"{name}={','.join(map(str, values))}" for name, values in parts.items())
    try:
        rule = rrulestr(f"FREQ={freq};{line}".rstrip(";"), dtstart=start)
    except ValueError:  # a second Wednesday of a day
        return
    until = dt.datetime(2028, 1, 1)  # noqa: DTZ001 -- floating
    found = list(itertools.islice(itertools.takewhile(until.__gt__, rule), 20))
    for names, number in ((DAYS, "weekday"), (MONTHS, "month")):
        told = {at for at, name in enumerate(names, number == "month") if name in words}
        own = [at.weekday() if number == "weekday" else at.month for at in found]
        assert not told or told.issuperset(own)
    if days := re.search(r"on the ((?:\d+\w\w|last|to|and|,| )+) day(?! of the y)", words):
        last = "last" in days[1]
        numbers = {int(number) for number in re.findall(r"\d+", days[1])}
        assert all(at.day in numbers or (last and (at + dt.timedelta(1)).day == 1) for at in found)
    if times := re.findall(r"\d\d:\d\d", words):
        assert {f"{at:%H:%M}" for at in found} <= set(times)
    if re.fullmatch(r"every (?:\d )?(?:day|week|month|year)s?", words):
        assert not set(parts) - {"INTERVAL"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "c.ics:1: expected BEGIN:VCALENDAR of an iCalendar file, got 'hello'"),
        ("", "c.ics:1: expected BEGIN:VCALENDAR of an iCalendar file, got the end of the file"),
    ],
)
def test_what_is_no_calendar_is_an_error(text: str, message: str) -> None:
    """Nothing of it is read."""
    with pytest.raises(DatasetError) as error:
        read_calendar(text, "c.ics", SETTINGS)

    assert message in str(error.value)


GOOD = "UID:b\nDTSTART:20261110T170000Z\nSUMMARY:Vet"


@pytest.mark.parametrize(
    ("bad", "where", "problem", "told"),
    [
        ("UID:a\nDTSTART:soon\nSUMMARY:x", 6, "expected iCalendar, got DTSTART", ""),
        ("UID:a\nbroken line\nDTSTART:20261109\nSUMMARY:x", 6, "broken line", "all day."),
        (
            "UID:a\nDTSTART:20261109T170000Z\nRRULE:FREQ=SOMETIMES\nSUMMARY:x",
            7,
            "expected iCalendar, got RRULE",
            "18:00, repeatedly.",
        ),
        (
            "UID:a\nDTSTART;TZID=Nowhere:20261109T170000\nSUMMARY:x",
            6,
            "expected a known time zone, got TZID='Nowhere'",
            "17:00, in the unknown time zone Nowhere.",
        ),
        (
            "UID:a\nDTSTART:20261109T170000Z\nDTEND:20261109T160000Z\nSUMMARY:x",
            7,
            "expected a DTEND after",
            "18:00.",
        ),
        (
            "UID:a\nDTSTART;VALUE=DATE:20261109\nDURATION:-P1D\nSUMMARY:x",
            7,
            "expected a DURATION of 0 to some years, got -1 day",
            "all day.",
        ),
        ("UID:a\nDTSTART:20261109\nRRULE:\nSUMMARY:x", 7, "an RRULE with FREQ", "repeatedly."),
        (
            "UID:a\nDTSTART:20261109T170000Z\nDURATION:P9999999D\nSUMMARY:x",
            7,
            "expected a DURATION of 0 to some years",
            "18:00.",
        ),
        ("UID:a\nDTSTART:20261109\nSUMMARY:x\nSUMMARY:y", 7, "expected one SUMMARY", "all day."),
        ("UID:a\nDTSTART:20261109\nSUMMARY:x\nEND:VALARM", 8, "expected BEGIN:VALARM", "all day."),
        (
            "UID:a\nDTSTART:20261109\nSUMMARY:x\nBEGIN:VALARM",
            8,
            "expected END:VALARM, got END:VEVENT",
            "all day.",
        ),
        (
            "UID:a\nDTSTART:20261109\nSUMMARY:x\nBEGIN:VEVENT\nUID:c",
            4,
            "expected END:VEVENT, got BEGIN:VEVENT",
            "all day.",
        ),
    ],
)
def test_one_bad_event_is_listed_with_its_place_and_the_others_are_read(
    bad: str, where: int, problem: str, told: str
) -> None:
    """What is left of it is read; with ``strict`` it refuses the file."""
    text = calendar(bad, GOOD)

    reading = read_calendar(text, "c.ics", SETTINGS)

    (item,) = [item for item in reading.left_out if item.problem]
    assert item.where == f"c.ics:{where}"
    assert problem in item.problem
    of_bad = [draft.text for draft in reading.drafts if draft.key != "b"]
    assert [draft.key for draft in reading.drafts if draft.key == "b"] == ["b"]
    assert (of_bad and of_bad[0].endswith(told)) if told else not of_bad
    with pytest.raises(DatasetError, match=f"c.ics:{where}: "):
        read_calendar(text, "c.ics", dataclasses.replace(SETTINGS, strict=True))


def test_of_a_calendar_that_ends_too_early_the_whole_events_are_read() -> None:
    """The last event is not: its last line may be half."""
    text = calendar(GOOD, "UID:c\nDTSTART:20261111T170000Z\nSUMMARY:Party\nLOCATION:At")
    reading = read_calendar(text[: text.rindex("END:VEVENT")], "c.ics", SETTINGS)

    assert texts(reading) == ["Vet: Tuesday 10 November 2026, 18:00."]
    assert reasons(reading) == ["components without an end"] * 2
    assert reading.missing(["c"]) == []


def test_what_has_no_place_in_a_memory_is_counted() -> None:
    """Reminders, guests, to-dos, and the name of the calendar."""
    text = calendar(
        f"{GOOD}\nATTENDEE:mailto:tom@x.example\nX-ROOM:1\nDTSTAMP:20261101T000000Z\n"
        "BEGIN:VALARM\nTRIGGER:-PT5M\nEND:VALARM",
        head="X-WR-CALNAME:Home\nBEGIN:VTODO\nSUMMARY:Paint\nEND:VTODO\n",
    )

    assert sorted(reasons(read_calendar(text, "c.ics", SETTINGS))) == [
        "ATTENDEE properties of events",
        "VALARM components of events",
        "VTODO components",
        "X- properties of calendars",
        "X- properties of events",
    ]


def test_events_of_one_uid_are_several_where_they_differ() -> None:
    """Some programs give all the same; a higher SEQUENCE is a version."""
    several = calendar(
        "UID:a\nDTSTART:20261110\nSUMMARY:Blue bin",
        "UID:a\nDTSTART:20261117\nSUMMARY:Blue bin",
        "UID:a\nDTSTART:20261117\nSUMMARY:Green bin",
        "UID:a\nDTSTART:20261124\nSUMMARY:Green bin\nSEQUENCE:-1",
    )

    reading = read_calendar(several, "c.ics", SETTINGS)

    series = [draft.key.rpartition("@")[0] for draft in reading.drafts]
    assert len({draft.key for draft in reading.drafts}) == 3
    assert [series.count(each) for each in series] == [2, 2, 1]
    assert reasons(reading) == ["older versions of events"]


def test_a_zone_of_one_file_is_none_of_the_next() -> None:
    """Each file has its own of that name; a file without it does not know it."""
    zone = (
        "BEGIN:VTIMEZONE\nTZID:Home\nBEGIN:STANDARD\nDTSTART:19700101T000000\n"
        "TZOFFSETFROM:{0}\nTZOFFSETTO:{0}\nEND:STANDARD\nEND:VTIMEZONE\n"
    )
    event = "UID:a\nDTSTART;TZID=Home:20261110T170000\nSUMMARY:Vet"

    words = [
        texts(read_calendar(calendar(event, head=head), "c.ics", SETTINGS))[0]
        for head in (zone.format("+0000"), zone.format("+0300"), "")
    ]

    assert [each.partition(", ")[2] for each in words] == [
        "18:00.", "15:00.", "17:00, in the unknown time zone Home.",
    ]  # fmt: skip


MARKED = calendar(
    "UID:a\nDTSTART:20261105T100000\nRRULE:FREQ=WEEKLY;COUNT=3\nSUMMARY:Alpha\nLOCATION:Ahall\n"
    "DESCRIPTION:Along text\n with a fold",
    "UID:b\nDTSTART:20261110T170000Z\nSUMMARY:Beta\nLOCATION:Bhall\nDESCRIPTION:Btext",
).split("\n")


@given(
    st.integers(3, len(MARKED) - 2),
    st.sampled_from(["drop", "double", "swap", "cut"]) | st.text(min_size=1, max_size=20),
)
@example(4, "DTSTART:20261105T100000")
def test_each_line_of_a_mutated_calendar_is_told_or_listed(at: int, change: str) -> None:
    """Lines dropped, doubled, swapped, cut in their names or added: none is another event's."""
    lines = list(MARKED)
    if change == "drop":
        del lines[at]
    elif change == "double":
        lines.insert(at, lines[at])
    elif change == "swap":
        lines[at - 1 : at + 1] = lines[at], lines[at - 1]
    elif change == "cut":
        lines[at] = lines[at].partition(":")[0]
    else:
        lines.insert(at, " ".join(change.split()) or ";")

    reading = read_calendar("\n".join(lines), "c.ics", SETTINGS)

    text = " ".join(texts(reading))
    markers = [mark for mark in ("Alpha", "Ahall", "Along", "Beta", "Bhall", "Btext")
               if any(f":{mark}" in line for line in lines)]  # fmt: skip
    assert all(mark in text for mark in markers) or reading.left_out
    for told in texts(reading):
        assert not ("Alpha" in told and "Beta" in told)
        assert not ({"Ahall", "Along"} & {*told.split()} and "Beta:" in told)


def test_what_is_no_event_is_left_out() -> None:
    """Without a title, without a date, or in the year 1."""
    text = calendar(
        "UID:a\nDTSTART:20261110T170000Z", "UID:b\nSUMMARY:x", "UID:c\nDTSTART:00010101\nSUMMARY:x"
    )

    assert reasons(read_calendar(text, "c.ics", SETTINGS)) == [
        "events without a date",
        "events without a date",
        "events without a title",
    ]
