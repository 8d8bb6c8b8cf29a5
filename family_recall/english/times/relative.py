"""Times counted from now: *yesterday*, *last week*, *the next 3 days*, *two weeks ago*."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from family_recall.english import lexicon as lex
from family_recall.english.tokens import count_of, singular_of

from . import calendar as cal
from .calendar import DAY, Interval, Repeat
from .context import is_plain
from .dates import repeat_of
from .grammar import (
    Match,
    reads,
    table_class,
    word_class,
)
from .sentence import Phrase, Sentence, choose

_SHIFTS = {"last": -1, "this": 0, "next": 1, "yesterday": -1, "today": 0, "tomorrow": 1}
_VAGUE_COUNTS = {"few": (2, 5), "several": (3, 8), "couple": (2, 3)}
_SMALLER_UNITS = {"hour": ("minute", 60), "year": ("month", 12), "decade": ("year", 10)}
PERIODS = frozenset("week month quarter year decade".split())
CALENDAR_UNITS = PERIODS | {"day"}
_NEARLY = frozenset("almost nearly about approximately roughly around".split())
_OVER = frozenset("in over during within for from of".split())
_PRONOUNS = frozenset("what who where when how it that there here let he she".split())
_NAMES = frozenset(("weekday", "weekend", "month", "season", "holiday", "day"))


class Length(NamedTuple):
    """So many units, at least and at most: *two or three weeks*, *a few days*."""

    least: int
    most: int
    unit: str

    @property
    def exact(self) -> bool:
        """Whether it is one number."""
        return self.least == self.most


def _count_at(s: Sentence, i: int) -> tuple[tuple[int, int], int] | None:
    """Read *3*, *two or three*, *a few*, *a couple of*."""
    i += s.reads(i, {"a", "an"}, {"few", "couple"})
    word = s.word(i)
    if word in {"a", "an"}:
        return (1, 1), i + 1
    if word in _VAGUE_COUNTS:
        return _VAGUE_COUNTS[word], i + 1 + (s.word(i + 1) == "of")
    count = count_of(word)
    if not count:
        return None
    more = count_of(s.word(i + 2)) if s.word(i + 1) in {"or", "to", *lex.DASHES} else None
    return ((count, more), i + 3) if more and more > count else ((count, count), i + 1)


def length_at(s: Sentence, i: int) -> tuple[Length, int] | None:
    """Read a count and a unit; two fortnights are four weeks."""
    counted = _count_at(s, i)
    if counted is None or s.word(i - 1) in {"half", "and"}:
        return None
    (least, most), j = counted
    word = s.word(j)
    if word in {"fortnight", "fortnights"}:
        return Length(2 * least, 2 * most, "week"), j + 1
    return (Length(least, most, lex.UNITS.get(word, word)), j + 1) if word.isalpha() else None


def _number_at(s: Sentence, i: int) -> tuple[int, int] | None:
    number = count_of(s.word(i))
    return (number, i + 1) if number and number < 100 else None


def _choice_at(s: Sentence, i: int) -> tuple[str, int] | None:
    """Read *last*, *this*, *next*, *past* or *coming*, where no one owns what it chooses."""
    before = s.at(i - 1)
    at_home = s.word(i - 2) in {"at", "to", "from"}  # "at Grandma's last year"
    owned = before.possessive and before.word not in _PRONOUNS and not at_home
    if s.word(i) not in lex.CHOICES or before.word in lex.OWNERS or owned or _is_title(s, i):
        return None
    i += s.reads(i, {"this", "current"}, {"past", "coming"})
    return s.word(i), i + 1


def _is_title(s: Sentence, i: int) -> bool:
    """Whether *Yesterday* is the song, and *Last Christmas* too."""
    return s.at(i).capitalised and s.word(i - 1)[-1:].isalpha()


word_class("LENGTH", length_at, ["a", "an", *_VAGUE_COUNTS, *lex.COUNTS], digits=True)
word_class("CHOICE", _choice_at, lex.CHOICES)
table_class("UNIT", CALENDAR_UNITS)
table_class("UNITS", lex.UNITS)
word_class("NUMBER", _number_at, lex.COUNTS, digits=True)


@reads("tonight", "today|yesterday|tomorrow PART", "today|yesterday|tomorrow")
def _relative_day(m: Match, word: str = "", part: str = "") -> Phrase | None:
    if _is_title(m.s, m.first):
        return None
    day = m.s.now + _SHIFTS.get(word, 0) * DAY
    part = part or ("" if word else "night")
    if part:
        return m.part(day, part)
    return m.day(day)


@reads("today|tomorrow week|fortnight")
def _day_week(m: Match, word: str, weeks: str) -> Phrase | None:
    """Read *tomorrow week*: a week after it."""
    days = _SHIFTS[word] + (7 if weeks == "week" else 14)
    return m.day(m.s.now + days * DAY, 0.7) if m.s.ends_at(m.last) else None


@reads("now")
def _now(m: Match) -> Phrase | None:
    """Read *now* where something lasts from it: *between now and Christmas*."""
    return m.day(m.s.now, 0.8) if m.before in {"from", "between"} else None


@reads("last|past|previous half an? hour")
def _half_hour(m: Match, _: str) -> Phrase:
    return m.means("time", _moments_ago(m.s, "minute", 30))


def _moments_ago(s: Sentence, name: str, n: int, *, about: bool = False) -> Interval:
    """Return the last n hours or minutes, or the moment about so long ago."""
    length = dt.timedelta(**{f"{name}s": n})
    if not about:
        return Interval(s.ago(length), s.ago(dt.timedelta()))
    margin = dt.timedelta(minutes=30 if name == "hour" else 5)
    return Interval(s.ago(length + margin), s.ago(max(dt.timedelta(), length - margin)))


@reads("CHOICE LENGTH")
def _rolling(m: Match, word: str, length: Length) -> Phrase | None:
    """Read *the last 3 days* and *the next few weeks*, counted from the day of asking."""
    choice, name = lex.CHOICES[word], length.unit
    alone = word == "coming" and m.before != "the"  # "is she coming a week on Saturday"
    if choice == "this" or alone or name not in lex.UNITS:
        return None
    n = length.most if length.most - length.least > 1 else length.least
    certainty = 0.95 if length.exact else 0.7
    if name in {"minute", "hour"}:
        moments = _moments_ago(m.s, name, n) if choice == "last" else None
        return m.means("time", moments, certainty) if moments else None
    return m.means("days", cal.rolling(m.s.now, name, n if choice == "last" else -n), certainty)


@reads("CHOICE UNIT", "CHOICE hour|fortnight")
def _chosen_unit(m: Match, word: str, name: str) -> Phrase | None:
    """Read *last week* and *this year* by the calendar, *the past week* back from today."""
    choice, the = lex.CHOICES[word], m.first - (m.before == "the")
    if name == "fortnight":
        days = cal.rolling(m.s.now, "week", 2 if choice == "last" else -2)
        return m.means("days", days) if choice != "this" else None
    if name == "day":
        return None
    the_last = word == "last" and the < m.first and name != "quarter"
    if the_last and m.s.word(the - 1) not in _OVER and not m.s.ends_at(m.last):
        return None  # "the last year Dad worked"
    if name == "hour" or word == "past" or the_last:
        return _rolling(m, word, Length(1, 1, name)) if choice == "last" else None
    return m.means(name, cal.unit(m.s.now, name, _SHIFTS[choice]))


@reads("CHOICE PART")
def _chosen_part(m: Match, word: str, part: str) -> Phrase | None:
    """Read *last night* and *this morning*."""
    choice = lex.CHOICES[word]
    if choice == "next":
        return None
    certainty = 0.6 if m.s.now.hour < 5 and part == "night" else 0.95
    return m.part(m.s.now + _SHIFTS[choice] * DAY, part, certainty)


@reads("CHOICE TIME")
def _chosen_name(m: Match, word: str, name: Phrase) -> Phrase | None:
    """Read *last Friday*, *next March*, *this summer*, *the coming weekend*."""
    s, at = m.s, m.last - 1
    if name.repeat is None or name.fixed or name.article or name.grain not in _NAMES:
        return None
    small = name.grain == "month" and s.word(at) in {"may", "march", "mar", "jan"}
    if small and not s.at(at).raw[:1].isupper() and not s.ends_at(m.last):
        return None  # *This may* is mostly a verb and *last march* a walk.
    name = name._replace(first=m.first, bare=False)
    if word == "coming" and name.repeat and name.grain in {"weekday", "weekend"}:
        # The first there is, even in this week.
        return name._replace(fixed=cal.first_after(name.repeat, s.now), certainty=0.85)
    return choose(s, name, lex.CHOICES[word])


@reads("last|next UNIT but one", "last to last UNIT")
def _last_but_one(m: Match, *words: str) -> Phrase:
    """Read *last week but one*."""
    shift = 2 if words[0] == "next" else -2
    return m.means(words[-1], cal.unit(m.s.now, words[-1], shift))


@reads("last WEEKDAY but one")
def _last_weekday_but_one(m: Match, days: Repeat) -> Phrase | None:
    """Read *last Sunday but one*."""
    occurrence = cal.latest_over(days, cal.midnight(m.s.now), 2)
    return m.means("weekday", occurrence) if occurrence else None


@reads("this time|day last|next UNIT", "this time|day LENGTH ago", "this time|day TIME")
def _this_time(m: Match, word: str, *when: str | Length | Phrase) -> Phrase | None:
    """Read *this day last year* as that day, *this time last year* as the week before and after."""
    today = cal.midnight(m.s.now)
    if when[1:] == ("week",) and word == "day":
        return m.day(today + _SHIFTS[str(when[0])] * 7 * DAY)
    length = Length(1, 1, "year") if when == ("last", "year") else when[0]
    if not isinstance(length, Length) or not length.exact or length.unit != "year":
        return m.unclear()
    day = cal.add_months(today, -12 * length.least)
    if word == "day":
        return m.day(day)
    return m.means("days", Interval(day - 7 * DAY, day + 8 * DAY), 0.7)


@reads("earlier|later TIME")
def _earlier_or_later(m: Match, word: str, inner: Phrase) -> Phrase | None:
    """Read *earlier this week*, *later today*: the part of it up to, or from, today."""
    if inner.fixed is None or inner.grain == "time":
        return None
    today, (start, end) = cal.day(m.s.now), inner.fixed
    if inner.grain in PERIODS and start <= m.s.now < end:
        start, end = (start, today.end) if word == "earlier" else (today.start, end)
    return inner._replace(first=m.first, fixed=Interval(start, end))


@reads("half a|an UNITS ago|back", "a|an UNITS and a half ago|back")
@reads("NUMBER and a half UNITS ago|back")
def _half_ago(m: Match, number: int | str, unit: str, _: str) -> Phrase | None:
    """Read *half a year ago*, *a year and a half ago* and *two and a half years ago*."""
    if lex.UNITS[unit] not in _SMALLER_UNITS:
        return None
    name, parts = _SMALLER_UNITS[lex.UNITS[unit]]
    whole = number if isinstance(number, int) else int(m.s.word(m.first) != "half")
    n = whole * parts + parts // 2
    if name == "minute":
        return m.means("time", _moments_ago(m.s, name, n, about=True), 0.8)
    return m.means(name, cal.unit(m.s.now, name, -n), 0.7)


@reads("LENGTH ago|back")
def _ago(m: Match, length: Length, _: str) -> Phrase | None:
    """Read *two weeks ago*, *three nights ago* and *two Christmases ago*."""
    if m.before in {"than", "over", "under", "least", "most"}:
        return m.unclear()
    certainty = 0.9 if length.exact else 0.7
    if m.before in _NEARLY and not is_plain(m.s, m.first - 1):
        certainty = 0.6
    name, now = length.unit, m.s.now
    if name in {"minute", "hour"}:
        moment = _moments_ago(m.s, name, length.most, about=True)
        return m.means("time", moment, min(certainty, 0.8))
    if name in lex.UNITS:
        units = _units(now, name, -length.most, -length.least)
        return m.means(name, units, 0.5 if name == "decade" else certainty)
    name = singular_of(name)
    if not length.exact or name in lex.MONTHS:
        return None  # "out 14 Dec back 4 Jan"
    if name in lex.PARTS:
        return m.means(
            "part", cal.part_of_day(now - length.least * DAY, lex.PARTS[name]), certainty
        )
    repeat, grain = repeat_of(m.s, name)
    occurrence = cal.latest_over(repeat, now, length.least) if repeat else None
    return m.means(grain, occurrence, certainty) if occurrence else None


def _units(now: dt.datetime, name: str, nearest: int, farthest: int) -> Interval:
    return Interval(cal.unit(now, name, nearest).start, cal.unit(now, name, farthest).end)


@reads("LENGTH ago today", "LENGTH ago to the day")
def _to_the_day(m: Match, length: Length) -> Phrase | None:
    """Read *a week ago today*."""
    if not length.exact or length.unit not in lex.UNITS or length.unit in {"minute", "hour"}:
        return None
    return m.day(cal.earlier(m.s.now, length.unit, length.least))


def units_ahead(now: dt.datetime, length: Length) -> Interval | None:
    """Return the days, weeks or Saturdays that lie so many ahead; None of what has no calendar."""
    if length.unit in CALENDAR_UNITS:
        return _units(now, length.unit, length.least, length.most)
    name = singular_of(length.unit)
    if name not in lex.WEEKDAYS or not length.exact:
        return None
    coming = cal.first_after(cal.weekly(lex.WEEKDAYS[name]), now)
    return coming and cal.shifted(coming, 7 * (length.least - 1) * DAY)


@reads("LENGTH from now")
def _from_now(m: Match, length: Length) -> Phrase | None:
    units = units_ahead(m.s.now, length)
    return m.means(length.unit, units) if units else m.unclear()


@reads("LENGTH from|on? TIME")
def _from_day(m: Match, length: Length, day: Phrase) -> Phrase | None:
    """Read *two weeks from today*, *a week on Monday*, *a week tomorrow*: that day, so much later.

    *Two weeks last Tuesday* is so much earlier.
    """
    word, before = m.s.word(day.first), m.s.word(day.first - 1)
    joint = before if before in {"from", "on"} else ""
    if not length.exact or length.unit not in CALENDAR_UNITS:
        return None
    if joint != "from" and length.unit != "week":
        return None
    if joint == "on" and m.s.tense(m.first, day.first) == "past":
        return None
    if not joint and (word not in _SHIFTS or m.before in {"for", "in"} or not day.fixed):
        return None
    back = not joint and word in {"yesterday", "last"}
    day = choose(m.s, day, tense="future")
    if day.fixed is None or day.grain not in {"day", "weekday"}:
        return None
    n = length.least if back else -length.least
    start = cal.earlier(cal.midnight(day.fixed.start), length.unit, n)
    return m.day(start, day.certainty if joint else min(day.certainty, 0.7))
