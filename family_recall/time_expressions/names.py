"""Names that come round again: weekdays, seasons, holidays."""

from __future__ import annotations

from . import intervals as iv
from .dates import year_at
from .holidays import FIRST_WORDS, PERIODS, holiday_at
from .intervals import DAY, Interval, Repeat
from .reading import (
    Phrase,
    Sentence,
    doubt,
    nothing,
    phrase_at,
    register,
)
from .words import (
    CHOICES,
    COMPOUNDS,
    END,
    MONTHS,
    PARTS,
    SEASONS,
    WEEKDAYS,
    day_of,
)

_WEEKDAY_ABBREVIATIONS = frozenset("mon tue tues wed thu thur thurs fri sat sun".split())


def weekday_phrase(s: Sentence, i: int) -> Phrase | None:
    """Read *Friday*, *Friday night*, *Sunday, 7 June*."""
    word = s.word(i)
    if word not in WEEKDAYS:
        return None
    if word in _WEEKDAY_ABBREVIATIONS:
        marked = s.word(i - 1) in {"on", "last", "this", "next", "since", "until", "by"}
        if not marked or (word in {"sat", "sun", "wed"} and not s.at(i).raw[:1].isupper()):
            return None
    if s.word(i + 1) == "last" and s.ends_at(i + 2):
        there = iv.latest_over(iv.weekly(WEEKDAYS[word]), s.now)
        return Phrase(i, i + 2, "weekday", there)
    if [s.word(i + 1), s.word(i + 2)] == ["just", "gone"]:
        there = iv.latest_over(iv.weekly(WEEKDAYS[word]), s.now)
        return Phrase(i, i + 3, "weekday", there)
    if s.word(i + 1) in {"week", "fortnight"} and s.ends_at(i + 2):
        if s.word(i - 1) in CHOICES:
            return doubt(i, i + 2)
        coming = iv.first_after(iv.weekly(WEEKDAYS[word]), s.now)
        later = (7 if s.word(i + 1) == "week" else 14) * DAY
        fixed = Interval(coming.start + later, coming.end + later) if coming else None
        return Phrase(i, i + 2, "weekday", fixed, None, 0.7)
    hours = PARTS.get(s.word(i + 1))
    if hours:
        if s.word(i + 2) in {"lights", "live", "fever"}:
            return None
        repeat = iv.mapped(iv.weekly(WEEKDAYS[word]), lambda one: iv.part_of_day(one.start, hours))
        return Phrase(i, i + 2, "weekday", repeat=repeat, bare=True)
    j = i + 1 + (s.word(i + 1) == ",")
    j += s.word(j) == "the"
    if s.word(j) in MONTHS or day_of(s.word(j)):
        date = phrase_at(s, j)
        weekday = WEEKDAYS[word]
        if date and date.grain == "day" and date.fixed:
            agrees = date.fixed.start.weekday() == weekday
            return date._replace(first=i) if agrees else doubt(i, date.last)
        nth = date and date.grain == "nth" and s.word(j - 1) == "the"
        if date and date.repeat and (nth or date.grain == "day"):
            repeat = iv.mapped(
                date.repeat, lambda one: one if one.start.weekday() == weekday else None
            )
            return date._replace(first=i, repeat=repeat, article=nth or date.article)
    return Phrase(i, i + 1, "weekday", repeat=iv.weekly(WEEKDAYS[word]), bare=True)


def season_phrase(s: Sentence, i: int) -> Phrase | None:
    """Read *summer*, *summer 2023*, *the winter of 2022/23*; a winter counts by its December."""
    word = s.word(i)
    if word not in SEASONS:
        return None
    if s.word(i + 1) in COMPOUNDS:
        return nothing(i, i + 2)
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
    return iv.yearly(lambda year: [iv.season(year, number, south=south)])


def holiday_phrase(s: Sentence, i: int) -> Phrase | None:
    """Read *Christmas*, *Christmas Eve 2022*, *Christmas morning*, *Thanksgiving weekend*."""
    found = holiday_at(s.tokens, i, s.country) if s.word(i) in FIRST_WORDS else None
    if found is None:
        return None
    holiday, j, name = found
    period, main_day = holiday.period, holiday.main_day
    if s.word(j) in COMPOUNDS:
        return nothing(i, j + 1)
    hours = PARTS.get(s.word(j))
    if hours:
        repeat = iv.mapped(iv.yearly(main_day), lambda one: iv.part_of_day(one.start, hours))
        return Phrase(i, j + 1, "holiday", repeat=repeat, certainty=holiday.certainty)
    if s.word(j) == "weekend":
        repeat = iv.mapped(iv.yearly(main_day), _weekend_around)
        return Phrase(i, j + 1, "holiday", repeat=repeat, certainty=holiday.certainty)
    year = year_at(s, j)
    if year:
        spans = period(year[0])
        if len(spans) != 1:
            return nothing(i, year[1])
        days = main_day(year[0])
        return Phrase(
            i, year[1], "holiday", spans[0], None, holiday.certainty,
            main_day=lambda _low, _high: days,
        )  # fmt: skip
    return Phrase(
        i, j, "holiday", None, iv.yearly(period), holiday.certainty, bare=True,
        main_day=iv.yearly(main_day) if " ".join(name) in PERIODS else None,
    )  # fmt: skip


def _weekend_around(one: Interval) -> Interval:
    """Join a holiday from Thursday to Tuesday with the weekend beside it."""
    weekday = one.start.weekday()
    to_saturday = 5 - weekday if weekday > 1 else -2 - weekday
    saturday = one.start + to_saturday * DAY
    return Interval(min(saturday, one.start), max(saturday + 2 * DAY, one.start + DAY))


def named_repeat(s: Sentence, name: str) -> tuple[Repeat | None, str]:
    """Give what a single word such as *Friday* or *Easter* repeats as, and its grain."""
    if name == "weekend":
        return iv.weekly(5, 2), "weekend"
    if name in WEEKDAYS:
        return iv.weekly(WEEKDAYS[name]), "weekday"
    if name in SEASONS:
        return _season_repeat(s, name), "season"
    if name in FIRST_WORDS:
        found = holiday_at([END._replace(word=name)], 0, s.country)
        if found:
            return iv.yearly(found[0].period), "holiday"
    return None, ""


register(season_phrase, *SEASONS)
register(holiday_phrase, *FIRST_WORDS)
register(weekday_phrase, *WEEKDAYS)
