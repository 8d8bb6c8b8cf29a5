"""Time spans: the stretch of local time that a question in English is about.

A deterministic grammar, without a model: the same question asked at the same moment gives the
same span, in a fraction of a millisecond. When it is unsure it finds nothing. The package
imports nothing outside its folder but the standard library; ``README.md`` holds its
conventions, for example that weeks run from Monday to Sunday.
"""

from .anchors import Anchor, content_words, stem
from .holidays import holiday_at
from .mentioned import Mention, times_mentioned
from .tense import is_past_reference
from .timespan import Timespan, find_timespan
from .tokens import Token, tokens_of

__all__ = [
    "Anchor",
    "Mention",
    "Timespan",
    "Token",
    "content_words",
    "find_timespan",
    "holiday_at",
    "is_past_reference",
    "stem",
    "times_mentioned",
    "tokens_of",
]
