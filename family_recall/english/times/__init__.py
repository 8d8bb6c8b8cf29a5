"""The stretch of time that a question is about, and the times that a text mentions.

A deterministic grammar without a model: the same question asked at the same moment gives the same
span. When it is unsure it returns none.

>>> import datetime as dt
>>> from zoneinfo import ZoneInfo
>>> now = dt.datetime(2026, 6, 17, 14, 30, tzinfo=ZoneInfo("Europe/London"))
>>> question = "What did we do on Christmas Eve at Grandma's last year?"
>>> span = find_timespan(question, now=now, country="GB")
>>> str(span.start), str(span.end), span.certainty
('2025-12-24 00:00:00+00:00', '2025-12-25 00:00:00+00:00', 0.95)
>>> [question[first:last] for first, last in span.matched]
['on Christmas Eve', 'last year']
>>> moved = Anchor("we moved", dt.date(2023, 8, 12), dt.date(2023, 8, 13))
>>> str(find_timespan("Who visited since we moved?", now=now, anchors=[moved]).start)
'2023-08-12 00:00:00+01:00'
>>> find_timespan("When did we move?", now=now)

From a certainty of 0.9 on a span may exclude memories; below it only prefers some. A span that
reaches into the future stays below: what was said about next Friday was said before it.

What it reads:

* Days and weeks. A day runs from midnight to midnight. Weeks run from Monday to Sunday, a weekend
  is Saturday and Sunday. Morning is 5 to 12, afternoon 12 to 18, evening 17 to 24, night 18 to 5.
* Calendar or rolling. *Last week* is the calendar week before this one, and so for months, quarters
  and years. *Two weeks ago* is a calendar week, *3 days ago* a day. *The last 3 days*, *the past
  week* and *the last week* roll: so many days back, up to and with today; hours are exact.
* Names that recur. *In March* and *on Friday* are the most recent one that has begun, or the
  coming one if the verb looks ahead: *who comes on Friday*. Where it leaves that open, ``other`` is
  the second one that may be meant. *Last Friday* is the most recent one before today, *next
  Friday* the one in the next calendar week when this week still has one.
* Seasons are three whole months, half a year later in the south.
* Parts. *Early*, *mid* and *late* are thirds; halves and *the first Monday of May* are read.
* Open ends. *Since* starts with the time, *after* behind it, *before* ends in front of it;
  *until*, *by*, *between* and *from … to* include their end. *Around* adds a margin.
* Before and after. *The two weeks before Easter* are fourteen days, *two weeks before Easter* is
  the calendar week of that day.
* Holidays of ``holidays.json``. Christmas is 24 to 26 December, Easter Friday to Monday; *on*,
  *since*, *before* and *after* mean the main day.
* Dates: *5 May 2023*, *2023-05-05*, *25/12/2023*, *01.03.2024* (the first of March), *the 5th*.
* Hours narrow the day beside them. Without *am* or *pm* an hour is the one in the part of the day
  that is named, or else from 7 in the morning to 6 in the evening. The same hour of the other
  half is ``other``, if people may be awake for both.
* Lengths ahead. *In a fortnight* is a week, *in 10 days* a day, *within a week* all of it; behind a
  verb that looks back, or *how much*, they are how long something takes.
* What is to come: *coming up*, *on the calendar*, *what do we have planned* begin today.

No time: questions for one ("when did we move?"), habits ("every Monday"), times beside one that is
not known (*two days before the school fair*), blurred (*shortly after Easter*) or compared ones
(*than last year*), ``03/05/2024``, holidays of another country, and lunar holidays outside the
years of the table.

A replacement has the signatures of `find_timespan`, `times_mentioned` and `is_past_reference`;
``tests/english/times/timespans.tsv`` judges it.
"""

from family_recall.english.tokens import Token, tokens_of

from .calendar import holiday_at
from .sentence import EMPTY_WORDS, JOINTS, Anchor, stem
from .tense import counts_from_its_day, is_past_reference, is_relative
from .timespan import Mention, Timespan, find_timespan, times_mentioned

__all__ = [
    "EMPTY_WORDS",
    "JOINTS",
    "Anchor",
    "Mention",
    "Timespan",
    "Token",
    "counts_from_its_day",
    "find_timespan",
    "holiday_at",
    "is_past_reference",
    "is_relative",
    "stem",
    "times_mentioned",
    "tokens_of",
]
