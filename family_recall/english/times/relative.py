"""Times counted from now or another day: *yesterday*, *last week*, *two days before Christmas*."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from family_recall.english.lexicon import (
    CHOICES,
    COUNTS,
    DASHES,
    ORDINALS,
    OWNERS,
    PARTS,
    UNITS,
    WEEKDAYS,
)
from family_recall.english.tokens import count_of, singular_of

from . import calendar as cal
from .calendar import DAY, Interval
from .context import is_plain
from .dates import holiday_phrase, month_alone, repeat_of, season_phrase, weekday_phrase
from .readers import READERS, event_day_at, main_day_at, phrase_at, register
from .sentence import Phrase, Sentence, choose, unclear, within

_OVER = frozenset("in over during within for from of".split())
_FROM_THE_END = frozenset(("next", *ORDINALS))
_PRONOUNS = frozenset("what who where when how it that there here let he she".split())
_CHOSEN = frozenset(("time", "day", "half", "fortnight", *UNITS))
_SHIFTS = {"last": -1, "this": 0, "next": 1}
_DAY_SHIFTS = {"today": 0, "yesterday": -1, "tomorrow": 1}
_NEARLY = frozenset("almost nearly about approximately roughly around".split())
_VAGUE_COUNTS = {"few": (2, 5), "several": (3, 8), "couple": (2, 3)}
_SMALLER_UNITS = {"hour": ("minute", 60), "year": ("month", 12), "decade": ("year", 10)}
_LARGE_UNITS = frozenset("day week month quarter year decade".split())


class Count(NamedTuple):
    """How many, at least and at most, and the token after the number."""

    least: int
    most: int
    last: int

    @property
    def exact(self) -> bool:
        """Whether it is one number."""
        return self.least == self.most


def count_at(s: Sentence, i: int) -> Count | None:
    """Read *3*, *two or three*, *a few*, *a couple of*."""
    if s.reads(i, {"a", "an"}, {"few", "couple"}):
        i += 1
    word = s.word(i)
    if word in {"a", "an"}:
        return Count(1, 1, i + 1)
    if word in _VAGUE_COUNTS:
        return Count(*_VAGUE_COUNTS[word], i + 1 + (s.word(i + 1) == "of"))
    count = count_of(word)
    if count is None:
        return None
    more = count_of(s.word(i + 2)) if s.word(i + 1) in {"or", "to", *DASHES} else None
    if more is not None and more > count:
        return Count(count, more, i + 3)
    return Count(count, count, i + 1)


def _moments_ago(s: Sentence, name: str, n: int, *, about: bool = False) -> Interval:
    """Return the last n hours or minutes, or the moment about so long ago."""
    length = dt.timedelta(**{f"{name}s": n})
    if not about:
        return Interval(s.ago(length), s.ago(dt.timedelta()))
    margin = dt.timedelta(minutes=30 if name == "hour" else 5)
    return Interval(s.ago(length + margin), s.ago(max(dt.timedelta(), length - margin)))


def _relative_day(s: Sentence, i: int) -> Phrase | None:
    """Read *yesterday*, *tomorrow evening*, *tomorrow week*, *tonight*."""
    word, following = s.word(i), s.word(i + 1)
    if s.at(i).capitalised and i > 0 and s.word(i - 1)[-1:].isalpha():
        return None  # a title, like the song
    if word == "tonight":
        return Phrase(i, i + 1, "part", cal.part_of_day(s.now, PARTS["night"]))
    day = s.now + _DAY_SHIFTS[word] * DAY
    if following == "week" and s.ends_at(i + 2):
        later = (-7 if word == "yesterday" else 7) * DAY
        return Phrase(i, i + 2, "day", cal.day(day + later), None, 0.8)
    if following in PARTS:
        return Phrase(i, i + 2, "part", cal.part_of_day(day, PARTS[following]))
    return Phrase(i, i + 1, "day", cal.day(day))


def _chosen(s: Sentence, i: int) -> Phrase | None:
    """Read *last*, *this*, *next*, *past* or *coming* and the time it chooses."""
    counts = s.word(i - 1) in ORDINALS or s.reads(i - 2, _FROM_THE_END, "to")
    following = s.word(i + 1)
    may_be_chosen = following in READERS or following in _CHOSEN or not following[:1].isalpha()
    if not (counts or may_be_chosen) or _is_owned_or_title(s, i):
        return None
    if counts:
        other = phrase_at(s, i + 1)
        return unclear(i, other.last if other else i + 2)  # "the second last Friday"
    return _chosen_by(s, i, i + s.reads(i, {"this", "current"}, {"past", "coming"}))


def _is_owned_or_title(s: Sentence, i: int) -> bool:
    """Whether *last* is in *my last week*, *Priya's last year* or *the film Last Christmas*."""
    before = s.at(i - 1)
    at_home = s.word(i - 2) in {"at", "to", "from"}  # "at Grandma's last year"
    owned = before.possessive and before.word not in _PRONOUNS and not at_home
    title = s.at(i).capitalised and before.word[-1:].isalpha()
    return before.word in OWNERS or owned or title


def _chosen_by(s: Sentence, i: int, j: int) -> Phrase | None:
    """Read what the word at token ``j`` chooses, as a phrase from token ``i`` on."""
    choice, word = CHOICES[s.word(j)], s.word(j + 1)
    if choice == "this" and word in {"time", "day"}:
        return _this_time(s, i)
    if choice != "this" and word == "fortnight":
        fixed = cal.rolling(s.now, "week", 2 if choice == "last" else -2)
        return Phrase(i, j + 2, "days", fixed)
    if choice == "last" and word == "half":
        return _half_hour(s, i, j + 1)
    count = count_at(s, j + 1) if choice != "this" else None
    if count:
        alone = s.word(j) == "coming" and i == j and s.word(i - 1) != "the"
        # "is she coming a week on Saturday"
        return None if alone else _rolling(s, i, count, choice)
    if word in UNITS and not word.endswith("s"):
        return _chosen_unit(s, i, j)
    if word in PARTS:
        if choice == "next":
            return None
        certainty = 0.6 if s.now.hour < 5 and word == "night" else 0.95
        hours = cal.part_of_day(s.now + _SHIFTS[choice] * DAY, PARTS[word])
        return Phrase(i, j + 2, "part", hours, None, certainty)
    return _chosen_name(s, i, j)


def _chosen_unit(s: Sentence, i: int, j: int) -> Phrase | None:
    """Read *last week* and *this year* by the calendar, *the past week* back from today."""
    choice, name = CHOICES[s.word(j)], s.word(j + 1)
    if name in {"minute", "day"}:
        return None
    past = s.word(j) == "past"
    rolls = past or (s.reads(i - 1, "the", "last") and name != "quarter")
    if rolls and not past and s.word(i - 2) not in _OVER and not s.ends_at(j + 2):
        return None  # "the last year Dad worked"
    if name == "hour" or rolls:
        return _rolling(s, i, Count(1, 1, j + 1), choice) if choice == "last" else None
    return Phrase(i, j + 2, name, cal.unit(s.now, name, _SHIFTS[choice]))


def _chosen_name(s: Sentence, i: int, j: int) -> Phrase | None:
    """Read *last Friday*, *next March*, *this summer*, *the coming weekend*."""
    name = _name_at(s, j + 1)
    if name is None or name.repeat is None:
        return None
    if s.word(j) == "coming" and name.grain in {"weekday", "weekend"}:
        # The first there is, even in this week.
        fixed = cal.first_after(name.repeat, s.now)
        return name._replace(first=i, bare=False, fixed=fixed, certainty=0.85)
    return choose(s, name._replace(first=i, bare=False), CHOICES[s.word(j)])


def _name_at(s: Sentence, i: int) -> Phrase | None:
    if s.word(i) == "weekend":
        return Phrase(i, i + 1, "weekend", repeat=cal.weekends)
    month = month_alone(s, i)
    if month:
        # *This may* is mostly a verb and *last march* a walk.
        written = s.at(i).raw[:1].isupper() or s.ends_at(i + 1)
        return month if written or s.word(i) not in {"may", "march", "mar", "jan"} else None
    names = (read(s, i) for read in (weekday_phrase, season_phrase, holiday_phrase))
    return next((name for name in names if name and name.repeat), None)


def _half_hour(s: Sentence, i: int, j: int) -> Phrase | None:
    """Read *the last half hour* and *the past half an hour*."""
    j += 1 + (s.word(j + 1) == "an")
    moment = _moments_ago(s, "minute", 30) if s.word(j) == "hour" else None
    return Phrase(i, j + 1, "time", moment) if moment else None


def _now(s: Sentence, i: int) -> Phrase | None:
    """Read *now* where something lasts from it: *between now and Christmas*."""
    if s.word(i - 1) not in {"from", "between"}:
        return None
    return Phrase(i, i + 1, "day", cal.day(s.now), None, 0.8)


def _this_time(s: Sentence, i: int) -> Phrase | None:
    """Read *this day last year* as that day, *this time last year* as the week before and after."""
    day, last = _years_back(s, i + 2)
    this_day = s.word(i + 1) == "day"
    if this_day and s.reads(i + 2, {"last", "next"}, "week"):
        day, last = cal.midnight(s.now) + _SHIFTS[s.word(i + 2)] * 7 * DAY, i + 4
    if day is None:
        other = phrase_at(s, i + 2)
        return unclear(i, other.last) if other else None
    if this_day:
        return Phrase(i, last, "day", cal.day(day))
    return Phrase(i, last, "days", Interval(day - 7 * DAY, day + 8 * DAY), certainty=0.7)


def _years_back(s: Sentence, i: int) -> tuple[dt.datetime | None, int]:
    """Read *last year* or *three years ago* as today in that year, and the token after."""
    count = Count(1, 1, i) if s.reads(i, "last", "year") else count_at(s, i)
    years_ago = count and s.reads(count.last, {"year", "years"}, "ago")
    if count is None or not count.exact or not (years_ago or count.last == i):
        return None, i
    return cal.add_months(cal.midnight(s.now), -12 * count.least), count.last + 2


def _rolling(s: Sentence, i: int, count: Count, choice: str) -> Phrase | None:
    """Read the units behind *the last 3* or *the next few*, counted from the day of asking."""
    least, most, j = count
    n = most if most - least > 1 else least
    name = UNITS.get(s.word(j))
    if name is None or n == 0:
        return None
    certainty = 0.95 if count.exact else 0.7
    if name in {"minute", "hour"}:
        if choice == "next":
            return None
        return Phrase(i, j + 1, "time", _moments_ago(s, name, n), None, certainty)
    fixed = cal.rolling(s.now, name, n if choice == "last" else -n)
    return Phrase(i, j + 1, "days", fixed, None, certainty)


def _earlier_or_later(s: Sentence, i: int) -> Phrase | None:
    """Read *earlier this week*, *later today*: the part of it up to, or from, today."""
    inner = phrase_at(s, i + 1)
    if inner is None or inner.fixed is None or inner.grain == "time":
        return None
    today = cal.day(s.now)
    start, end = inner.fixed
    if inner.grain in {"week", "month", "quarter", "year", "decade"} and start <= s.now < end:
        start, end = (start, today.end) if s.word(i) == "earlier" else (today.start, end)
    return inner._replace(first=i, fixed=Interval(start, end))


def _counted(s: Sentence, i: int) -> Phrase | None:
    """Read a count and a unit, followed by *ago*, *back*, *from now*, *before* or *after*."""
    halves = _halves_ago(s, i)
    if halves:
        return halves
    count = count_at(s, i)
    if count is None or count.least == 0 or s.word(i - 1) in {"half", "and"}:
        return None
    word, following = s.word(count.last), s.word(count.last + 1)
    beside = following in {"before", "after"}
    if word in {"fortnight", "fortnights"}:
        count, word = Count(2 * count.least, 2 * count.most, count.last), "weeks"
    if following in {"ago", "back"}:
        return _ago(s, i, count, word)
    if beside and singular_of(word) in PARTS:
        return _parts_beside(s, i, count)
    name = UNITS.get(word)
    if name not in _LARGE_UNITS:
        return None
    if s.reads(count.last + 1, "from", "now"):
        return Phrase(i, count.last + 3, name, _units(s.now, name, count.least, count.most))
    if count.exact and (following == "from" or (following == "on" and name == "week")):
        return _from_day(s, i, count, name)
    return _weeks_from(s, i, count, name) or (_units_beside(s, i, count, name) if beside else None)


def _halves_ago(s: Sentence, i: int) -> Phrase | None:
    """Read *half a year ago*, *a year and a half ago*, *two and a half years ago*."""
    n = 1 if s.word(i) in {"a", "an"} else count_of(s.word(i))
    unit_at, last = i + 1, i + 5
    if s.reads(i, "half", {"a", "an"}):
        n, unit_at, last = 0, i + 2, i + 3
    elif s.reads(i + 1, "and", "a", "half"):
        unit_at = i + 4
    elif not s.reads(i + 2, "and", "a", "half"):
        return None
    name, parts = _SMALLER_UNITS.get(UNITS.get(s.word(unit_at), ""), ("", 0))
    if n is None or not name or s.word(last) not in {"ago", "back"}:
        return None
    n = n * parts + parts // 2
    if name == "minute":
        return Phrase(i, last + 1, "time", _moments_ago(s, name, n, about=True), None, 0.8)
    return Phrase(i, last + 1, name, cal.unit(s.now, name, -n), None, 0.7)


def _units_beside(s: Sentence, i: int, count: Count, name: str) -> Phrase:
    """Read *two days before Christmas* as a day, *the two days before Christmas* as both."""
    anchor = event_day_at(s, count.last + 2) or main_day_at(s, count.last + 2)
    if not count.exact or anchor is None or anchor.fixed is None:
        return unclear(i, count.last + 2)
    before = s.word(count.last + 1) == "before"
    shift = -count.least if before else count.least
    if s.word(i - 1) == "the":
        stretch = cal.adjacent(anchor.fixed, name, shift)
        return Phrase(i, anchor.last, "days", stretch, None, min(0.9, anchor.certainty))
    edge = anchor.fixed.start if before else anchor.fixed.end - DAY
    fixed = cal.unit(edge, name, shift)
    return Phrase(i, anchor.last, name, fixed, None, min(0.8, anchor.certainty))


def _from_day(s: Sentence, i: int, count: Count, name: str) -> Phrase | None:
    """Read *two weeks from today*, *a week from Monday*: that day, so much later."""
    j = count.last + 2
    day = phrase_at(s, j)
    if day is None or (s.word(j - 1) == "on" and s.tense(i, j) == "past"):
        return None
    day = choose(s, day, tense="future")
    if day.fixed is None or day.grain not in {"day", "weekday"}:
        return None
    start = cal.earlier(cal.midnight(day.fixed.start), name, -count.least)
    return Phrase(i, day.last, "day", cal.day(start), None, day.certainty)


def _weeks_from(s: Sentence, i: int, count: Count, name: str) -> Phrase | None:
    """Read *a week tomorrow*, *two weeks last Tuesday*: so many weeks on, or back, from there."""
    j = count.last + 1
    near = s.word(j) in {"today", "tomorrow", "yesterday", "last", "next"}
    if not (near and name == "week" and count.exact) or s.word(i - 1) in {"for", "in"}:
        return None
    day = phrase_at(s, j)
    if day is None or day.grain not in {"day", "weekday"} or not day.fixed:
        return None
    if day.fixed.end - day.fixed.start != DAY:
        return None
    back = s.word(j) in {"yesterday", "last"}
    start = day.fixed.start + dt.timedelta(weeks=-count.least if back else count.least)
    return Phrase(i, day.last, "day", cal.day(start), None, min(day.certainty, 0.7))


def _parts_beside(s: Sentence, i: int, count: Count) -> Phrase:
    """Read *two nights before Christmas*: that part of one day."""
    j = count.last
    day = main_day_at(s, j + 2)
    if not count.exact or s.word(i - 1) == "the" or day is None or day.fixed is None:
        return unclear(i, j + 2)
    edge = day.fixed.start - count.least * DAY
    if s.word(j + 1) == "after":
        edge = day.fixed.end + (count.least - 1) * DAY
    fixed = cal.part_of_day(edge, PARTS[singular_of(s.word(j))])
    return Phrase(i, day.last, "part", fixed, None, min(0.9, day.certainty))


def _ago(s: Sentence, i: int, count: Count, word: str) -> Phrase | None:
    """Read *two weeks ago*, *three nights ago* and *two Christmases ago*."""
    last, before = count.last + 2, s.word(i - 1)
    if before in {"than", "over", "under", "least", "most"}:
        return unclear(i, last)
    certainty = 0.9 if count.exact else 0.7
    if before in _NEARLY and not is_plain(s, i - 1):
        certainty = 0.6
    if word in UNITS:
        return _units_ago(s, i, count, UNITS[word], certainty)
    if not count.exact:
        return None
    name = singular_of(word)
    if name in PARTS:
        fixed = cal.part_of_day(s.now - count.least * DAY, PARTS[name])
        return Phrase(i, last, "part", fixed, None, certainty)
    repeat, grain = repeat_of(s, name)
    if grain == "month":
        return None  # "out 14 Dec back 4 Jan"
    occurrence = cal.latest_over(repeat, s.now, count.least) if repeat else None
    return Phrase(i, last, grain, occurrence, None, certainty) if repeat else None


def _units_ago(s: Sentence, i: int, count: Count, name: str, certainty: float) -> Phrase:
    last = count.last + 2
    if name in {"minute", "hour"}:
        moment = _moments_ago(s, name, count.most, about=True)
        return Phrase(i, last, "time", moment, None, min(certainty, 0.8))
    to_the_day = s.reads(last, "to", "the", "day")
    if count.exact and (to_the_day or s.word(last) == "today"):
        day = cal.earlier(cal.midnight(s.now), name, count.least)
        return Phrase(i, last + (3 if to_the_day else 1), "day", cal.day(day))
    week_of = phrase_at(s, last)
    if week_of and week_of.grain == "weekday":
        # "two weeks ago Monday" is a day of that week, and who knows "a week ago last Friday"?
        week = cal.unit(s.now, "week", -count.least)
        that_day = within(week_of, week) if name == "week" and count.exact else None
        if that_day is None or s.word(last) not in WEEKDAYS:
            return unclear(i, week_of.last)
        return Phrase(i, week_of.last, "day", that_day, None, 0.8)
    certainty = 0.5 if name == "decade" else certainty
    return Phrase(i, last, name, _units(s.now, name, -count.most, -count.least), None, certainty)


def _units(now: dt.datetime, name: str, nearest: int, farthest: int) -> Interval:
    return Interval(cal.unit(now, name, nearest).start, cal.unit(now, name, farthest).end)


register(_relative_day, *_DAY_SHIFTS, "tonight")
register(_now, "now")
register(_chosen, *CHOICES)
register(_earlier_or_later, "earlier", "later")
register(_counted, "a", "an", "few", "several", "couple", "half", *COUNTS, numbers=True)
