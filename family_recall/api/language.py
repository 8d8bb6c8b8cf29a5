"""What a program may ask of the language that questions and memories are in."""

from family_recall.english import asks
from family_recall.english.text import STOP_WORDS
from family_recall.english.times import find_timespan, times_mentioned

__all__ = ["STOP_WORDS", "asks", "find_timespan", "times_mentioned"]
