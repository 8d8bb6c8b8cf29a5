"""Two questions in one: *the Wi-Fi password and the alarm code?*.

Only such as stand alone: what a second one takes from the first (*and who made it?*) is told where
the first is answered.
"""

from __future__ import annotations

import re

from .owners import PRONOUNS
from .question import Question
from .text import STOP_WORDS, lowered, runs_in

MAX_CHARS = 300
"""A longer question is one, whatever words are in it."""

_ASKING = (
    r"(?:(?:with|at|on|in|for|to|from|by|of)\s+)?"
    r"(?:(?:what|when|where|who|whom|whose|which)(?:['’]?(?:s|re|ll|d))?\b"
    r"|how\s+(?:much|many|long|often|old|far|big|tall)\b)"
)
_OPENING = re.compile(
    r"\W*(?:(?:hey|hi|ok|okay|so|um|and|please|sorry|remind\s+me|tell\s+(?:me|us)"
    r"|(?:do|can|could)\s+you\s+(?:know|remember|tell\s+me))\b[\s,]*)*"
)
_CLAUSES = re.compile(
    rf"(?P<one>{_ASKING}.+?)(?:\s*[,;]\s*(?:and\s+)?|\s+(?:and|plus)\s+|\s*&\s*|\s*\?+\s+(?:and\s+)?)"
    rf"(?:also\s+)?(?P<other>{_ASKING}.+)"
)
_THING = r"(?:(?:the|my|our|his|her|their)|[\w'’]+['’]s?)\s.*?"
_THINGS = re.compile(
    rf"(?P<frame>(?:(?:what|when|where)(?:['’]?(?:s|re)|\s+(?:is|are|was|were))\s+)?)"
    rf"(?P<one>{_THING})\s*(?:\band|&|\bplus)\s+(?:also\s+)?(?P<other>{_THING})"
    r"(?P<where>(?:\s+(?:at|in)\s.+)?)"
)
_QUALIFIED = re.compile(r"\b(?:and|at|between|by|for|from|in|of|on|that|to|with)\b|&")
_REFERS = frozenset("it its that this those them one ones there".split()) | PRONOUNS


def parts_of(question: str) -> tuple[str, ...]:
    """Return the two questions in one; one question as it is.

    >>> parts_of("what's the wifi password and the alarm code at home?")
    ("what's the wifi password at home?", "what's the alarm code at home?")
    >>> parts_of("When is the dentist and who takes Mia?")
    ('When is the dentist?', 'who takes Mia?')
    >>> parts_of("Where is the cake, and who made it?")
    ('Where is the cake, and who made it?',)
    >>> parts_of("Where is the salt and pepper mill?")
    ('Where is the salt and pepper mill?',)
    """
    said = question.strip().rstrip("?.! ")
    text = lowered(said)
    opened = _OPENING.match(text)
    start = opened.end() if opened is not None else 0
    if len(question) > MAX_CHARS or "\n" in said:
        return (question,)
    clauses = _CLAUSES.fullmatch(text, start)
    if clauses is not None:
        one, other = (said[slice(*clauses.span(name))] for name in ("one", "other"))
        words = runs_in(lowered(other))
        n_own = sum(word not in STOP_WORDS for word in words)
        if n_own >= (2 if _REFERS.isdisjoint(words) else 3):
            return f"{one}?", f"{other}?"
        return (question,)
    things = _THINGS.fullmatch(text, start)
    if things is None:
        return (question,)
    frame, one, other, where = (said[slice(*things.span(name))] for name in things.groupdict())
    if not frame or frame[:4].lower() == "what":
        if not Question(one).kinds or not Question(other).kinds:
            return (question,)
    elif _QUALIFIED.search(lowered(f"{one} {other}")):
        return (question,)
    shared = "" if _QUALIFIED.search(lowered(one)) else where
    return f"{frame}{one}{shared}?", f"{frame}{other}{where}?"
