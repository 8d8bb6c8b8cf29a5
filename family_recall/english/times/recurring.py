"""Names that come round again: weekdays, seasons, holidays."""

from __future__ import annotations

from family_recall.english.lexicon import CHOICES, COMPOUNDS, MONTHS, PARTS, SEASONS, WEEKDAYS
from family_recall.english.tokens import day_of

from . import calendar as iv
from .calendar import DAY, HOLIDAY_WORDS, Repeat, holiday_at, weekly, yearly
from .dates import year_at
from .phrases import Phrase, Sentence, no_time, unclear
from .readers import phrase_at, register

_WEEKS_LATER = {"week": 1, "fortnight": 2}
_ABBREVIATIONS = frozenset("mon tue tues wed thu thur thurs fri sat sun".split())


def weekday_phrase(s: Sentence, i: int) -> Phrase | None:
    """Read *Friday*, *Friday night*, *Friday last*, *Friday week*, *Sunday, 7 June*."""
    word, following = s.word(i), s.word(i + 1)
    if word not in WEEKDAYS or (word in _ABBREVIATIONS and not _is_abbreviation(s, i)):
        return None
    days = weekly(WEEKDAYS[word])
    ends = s.ends_at(i + 2)
    if (following == "last" and ends) or s.reads(i + 1, "just", "gone"):
        last = i + (2 if following == "last" else 3)
        return Phrase(i, last, "weekday", iv.latest_over(days, s.now))
    if following in _WEEKS_LATER and ends:
        # One or two weeks after the coming one.
        coming = iv.first_after(days, s.now)
        later = _WEEKS_LATER[following] * 7 * DAY
        fixed = iv.shifted(coming, later) if coming else None
        chosen = s.word(i - 1) in CHOICES and s.word(i - 1) != "this"
        return unclear(i, i + 2) if chosen else Phrase(i, i + 2, "weekday", fixed, None, 0.7)
    if following in PARTS:
        hours = PARTS[following]
        repeat = iv.mapped(days, lambda day: iv.part_of_day(day.start, hours))
        title = s.word(i + 2) in {"lights", "live", "fever"}
        return None if title else Phrase(i, i + 2, "weekday", repeat=repeat, bare=True)
    return _dated_weekday(s, i) or Phrase(i, i + 1, "weekday", repeat=days, bare=True)


def _is_abbreviation(s: Sentence, i: int) -> bool:
    """Whether *sat* or *sun* is a day here: *on Sat*."""
    if s.word(i) in {"sat", "sun", "wed"} and not s.at(i).raw[:1].isupper():
        return False
    return s.word(i - 1) in {"on", "last", "this", "next", "since", "until", "by"}


def _dated_weekday(s: Sentence, i: int) -> Phrase | None:
    """Read *Sunday, 7 June* and *Sunday the 7th*; a date on another weekday is unclear."""
    j = i + 1 + (s.word(i + 1) == ",")
    j += s.word(j) == "the"
    date = phrase_at(s, j) if s.word(j) in MONTHS or day_of(s.word(j)) else None
    if date is None:
        return None
    weekday = WEEKDAYS[s.word(i)]
    if date.grain == "day" and date.fixed:
        agrees = date.fixed.start.weekday() == weekday
        return date._replace(first=i) if agrees else unclear(i, date.last)
    nth = date.grain == "nth" and s.word(j - 1) == "the"
    if not date.repeat or not (nth or date.grain == "day"):
        return None
    repeat = iv.mapped(date.repeat, lambda day: day if day.start.weekday() == weekday else None)
    return date._replace(first=i, repeat=repeat, article=nth or date.article)


def season_phrase(s: Sentence, i: int) -> Phrase | None:
    """Read *summer*, *summer 2023*, *the winter of 2022/23*; a winter counts by its December."""
    word = s.word(i)
    if word not in SEASONS:
        return None
    if s.word(i + 1) in COMPOUNDS:
        return no_time(i, i + 2)
    spans_years = SEASONS[word] == (1 if s.south else 3)
    j = i + 1 + (s.word(i + 1) in {"of", "in"})
    pair = s.word(j)
    if spans_years and len(pair) in {7, 9} and pair[4:5] == "/" and pair[:4].isdigit():
        fixed = iv.season(int(pair[:4]), SEASONS[word], south=s.south)
        return Phrase(i, j + 1, "season", fixed)
    year = year_at(s, i + 1)
    if year:
        fixed = iv.season(year[0], SEASONS[word], south=s.south)
        return Phrase(i, year[1], "season", fixed, None, 0.7 if spans_years else 0.95)
    return Phrase(i, i + 1, "season", repeat=_season_repeat(s, word), bare=True)


def _season_repeat(s: Sentence, name: str) -> Repeat:
    number, south = SEASONS[name], s.south
    return yearly(lambda year: [iv.season(year, number, south=south)])


def holiday_phrase(s: Sentence, i: int) -> Phrase | None:
    """Read *Christmas*, *Christmas Eve 2022*, *Christmas morning*, *Thanksgiving weekend*."""
    match = holiday_at(s.words, i, s.country) if s.word(i) in HOLIDAY_WORDS else None
    if match is None:
        return None
    holiday, j = match
    if s.word(j) in COMPOUNDS:
        return no_time(i, j + 1)
    if s.word(j) in PARTS or s.word(j) == "weekend":
        hours = PARTS.get(s.word(j))
        repeat = iv.mapped(
            yearly(holiday.main_day),
            lambda day: iv.part_of_day(day.start, hours) if hours else iv.weekend_around(day),
        )
        return Phrase(i, j + 1, "holiday", repeat=repeat, certainty=holiday.certainty)
    year = year_at(s, j)
    if year is None:
        main = yearly(holiday.main_day) if holiday.is_period else None
        repeat = yearly(holiday.period)
        return Phrase(i, j, "holiday", None, repeat, holiday.certainty, bare=True, main_day=main)
    intervals, days = holiday.period(year[0]), holiday.main_day(year[0])
    if len(intervals) != 1:
        return no_time(i, year[1])
    fixed = Phrase(i, year[1], "holiday", intervals[0], None, holiday.certainty)
    return fixed._replace(main_day=lambda _low, _high: days)


def named_repeat(s: Sentence, name: str) -> tuple[Repeat | None, str]:
    """Return what a word such as *Friday*, *March* or *Easter* repeats as, and its grain."""
    if name == "weekend":
        return iv.weekends, "weekend"
    if name in WEEKDAYS:
        return weekly(WEEKDAYS[name]), "weekday"
    if name in SEASONS:
        return _season_repeat(s, name), "season"
    match = holiday_at([name], 0, s.country)
    return (yearly(match[0].period), "holiday") if match else (None, "")


register(season_phrase, *SEASONS)
register(holiday_phrase, *HOLIDAY_WORDS)
register(weekday_phrase, *WEEKDAYS)
