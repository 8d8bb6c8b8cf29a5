"""Relative times: *yesterday evening*, *last week*, *this summer*, *the past two weeks*."""

from __future__ import annotations

import datetime as dt

from family_recall.english.lexicon import CHOICES, ORDINALS, OWNERS, PARTS, UNITS

from . import calendar as iv
from .calendar import DAY, Interval
from .counted import Count, count_at, moments_ago
from .dates import month_alone
from .phrases import Phrase, Sentence, choose, unclear
from .readers import READERS, phrase_at, register
from .recurring import holiday_phrase, season_phrase, weekday_phrase

_OVER = frozenset("in over during within for from of".split())
_FROM_THE_END = frozenset(("next", *ORDINALS))
_PRONOUNS = frozenset("what who where when how it that there here let he she".split())
_CHOSEN = frozenset(("time", "day", "half", "fortnight", *UNITS))
_SHIFTS = {"last": -1, "this": 0, "next": 1}
_DAY_SHIFTS = {"today": 0, "yesterday": -1, "tomorrow": 1}


def _relative_day(s: Sentence, i: int) -> Phrase | None:
    """Read *yesterday*, *tomorrow evening*, *tomorrow week*, *tonight*."""
    word = s.word(i)
    if s.at(i).capitalised and i > 0 and s.word(i - 1)[-1:].isalpha():
        return None  # a title, like the song
    if word == "tonight":
        return Phrase(i, i + 1, "part", iv.part_of_day(s.now, PARTS["night"]))
    day = s.now + _DAY_SHIFTS[word] * DAY
    if s.word(i + 1) == "week" and s.ends_at(i + 2):
        later = (-7 if word == "yesterday" else 7) * DAY
        return Phrase(i, i + 2, "day", iv.day(day + later), None, 0.8)
    hours = PARTS.get(s.word(i + 1))
    if hours:
        return Phrase(i, i + 2, "part", iv.part_of_day(day, hours))
    return Phrase(i, i + 1, "day", iv.day(day))


def _chosen(s: Sentence, i: int) -> Phrase | None:
    """Read *last*, *this*, *next*, *past* or *coming* and the time it chooses."""
    counts = s.word(i - 1) in ORDINALS
    counts = counts or (s.word(i - 1) == "to" and s.word(i - 2) in _FROM_THE_END)
    if not (counts or _may_be_chosen(s.word(i + 1))) or _is_owned_or_title(s, i):
        return None
    if counts:
        other = phrase_at(s, i + 1)
        return unclear(i, other.last if other else i + 2)  # "the second last Friday"
    if s.reads(i, {"this", "current"}, {"past", "coming"}):
        return _chosen_by(s, i, i + 1)
    return _chosen_by(s, i, i)


def _may_be_chosen(word: str) -> bool:
    """Whether a word may follow *last*, *this* or *next* in a time: most often none does."""
    return word in READERS or word in _CHOSEN or not word[:1].isalpha()


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
        fixed = iv.rolling(s.now, "week", 2 if choice == "last" else -2)
        return Phrase(i, j + 2, "days", fixed)
    if choice == "last" and word == "half":
        return _half_hour(s, i, j + 1)
    count = count_at(s, j + 1) if choice != "this" else None
    if count:
        alone = s.word(j) == "coming" and i == j and s.word(i - 1) != "the"
        # "is she coming a week on Saturday"
        return None if alone else rolling_phrase(s, i, count, choice)
    if word in UNITS and not word.endswith("s"):
        return _chosen_unit(s, i, j)
    if word in PARTS:
        return _chosen_part(s, i, j)
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
        return rolling_phrase(s, i, Count(1, 1, j + 1), choice) if choice == "last" else None
    return Phrase(i, j + 2, name, iv.unit(s.now, name, _SHIFTS[choice]))


def _chosen_part(s: Sentence, i: int, j: int) -> Phrase | None:
    """Read *this morning* and *last night*."""
    choice, part = CHOICES[s.word(j)], s.word(j + 1)
    if choice == "next":
        return None
    certainty = 0.6 if s.now.hour < 5 and part == "night" else 0.95
    hours = iv.part_of_day(s.now + _SHIFTS[choice] * DAY, PARTS[part])
    return Phrase(i, j + 2, "part", hours, None, certainty)


def _chosen_name(s: Sentence, i: int, j: int) -> Phrase | None:
    """Read *last Friday*, *next March*, *this summer*, *the coming weekend*."""
    name = _name_at(s, j + 1)
    if name is None or name.repeat is None:
        return None
    if s.word(j) == "coming" and name.grain in {"weekday", "weekend"}:
        # The first there is, even in this week.
        fixed = iv.first_after(name.repeat, s.now)
        return name._replace(first=i, bare=False, fixed=fixed, certainty=0.85)
    return choose(s, name._replace(first=i, bare=False), CHOICES[s.word(j)])


def _name_at(s: Sentence, i: int) -> Phrase | None:
    if s.word(i) == "weekend":
        return Phrase(i, i + 1, "weekend", repeat=iv.weekends)
    for read in (weekday_phrase, month_alone, season_phrase, holiday_phrase):
        name = read(s, i)
        if name and name.repeat and (name.grain != "month" or _is_noun(s, name)):
            return name
    return None


def _is_noun(s: Sentence, month: Phrase) -> bool:
    """Whether *may* and *march* are months: *this may* is mostly a verb and *last march* a walk."""
    token = s.at(month.first)
    written = token.raw[:1].isupper() or s.ends_at(month.last)
    return written or token.word not in {"may", "march", "mar", "jan"}


def _half_hour(s: Sentence, i: int, j: int) -> Phrase | None:
    """Read *the last half hour* and *the past half an hour*."""
    j += 1 + (s.word(j + 1) == "an")
    if s.word(j) != "hour":
        return unclear(i, j + 1) if s.word(j) in UNITS else None
    return Phrase(i, j + 1, "time", moments_ago(s, "minute", 30))


def _now(s: Sentence, i: int) -> Phrase | None:
    """Read *now* where something lasts from it: *between now and Christmas*."""
    if s.word(i - 1) not in {"from", "between"}:
        return None
    return Phrase(i, i + 1, "day", iv.day(s.now), None, 0.8)


def _this_time(s: Sentence, i: int) -> Phrase | None:
    """Read *this day last year* as that day, *this time last year* as the week before and after."""
    day, last = _years_back(s, i + 2)
    this_day = s.word(i + 1) == "day"
    if this_day and s.reads(i + 2, {"last", "next"}, "week"):
        day, last = iv.midnight(s.now) + _SHIFTS[s.word(i + 2)] * 7 * DAY, i + 4
    if day is None:
        other = phrase_at(s, i + 2)
        return unclear(i, other.last) if other else None
    if this_day:
        return Phrase(i, last, "day", iv.day(day))
    return Phrase(i, last, "days", Interval(day - 7 * DAY, day + 8 * DAY), certainty=0.7)


def _years_back(s: Sentence, i: int) -> tuple[dt.datetime | None, int]:
    """Read *last year* or *three years ago* as today in that year, and the token after."""
    if s.reads(i, "last", "year"):
        return iv.add_months(iv.midnight(s.now), -12), i + 2
    count = count_at(s, i)
    if count is None or not count.exact or not s.reads(count.last, {"year", "years"}, "ago"):
        return None, i
    return iv.add_months(iv.midnight(s.now), -12 * count.least), count.last + 2


def rolling_phrase(s: Sentence, i: int, count: Count, choice: str) -> Phrase | None:
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
        return Phrase(i, j + 1, "time", moments_ago(s, name, n), None, certainty)
    fixed = iv.rolling(s.now, name, n if choice == "last" else -n)
    return Phrase(i, j + 1, "days", fixed, None, certainty)


def _earlier_or_later(s: Sentence, i: int) -> Phrase | None:
    """Read *earlier this week*, *later today*: the part of it up to, or from, today."""
    inner = phrase_at(s, i + 1)
    if inner is None or inner.fixed is None or inner.grain == "time":
        return None
    today = iv.day(s.now)
    start, end = inner.fixed
    if inner.grain in {"week", "month", "quarter", "year", "decade"} and start <= s.now < end:
        start, end = (start, today.end) if s.word(i) == "earlier" else (today.start, end)
    return inner._replace(first=i, fixed=Interval(start, end))


register(_relative_day, *_DAY_SHIFTS, "tonight")
register(_now, "now")
register(_chosen, *CHOICES)
register(_earlier_or_later, "earlier", "later")
