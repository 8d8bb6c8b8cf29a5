"""Read how much a question asks for: one thing, all that belongs together, or all about somebody.

*Where is the ladder?* wants one memory. *Everything we lent out* and *which of the cousins can't
eat nuts* want all of a kind. *What do you know about me?* and *Tell me about Leela* want whatever
is known.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from family_recall.types import Breadth

from .lexicon import PARTS, UNITS, WEEKDAY_NAMES
from .text import STOP_WORDS, lowered, normalise

MAX_CHARS = 300
"""A longer question asks for one thing, whatever words are in it."""

_START = r"^\W*(?:(?:hey|hi|ok|okay|so|um|well|and|please|sorry)\b[\s,]*)*"
_ASK = (
    r"(?:(?:(?:can|could|would|will)\s+you\s+)?(?:please\s+)?"
    r"(?:tell|show|give|read|remind|get|find)\s+(?:me|us)\s+(?:again\s+)?(?:of\s+|about\s+)?"
    r"|(?:what|who)(?:['’]?s|\s+is|\s+are|\s+were|\s+was)\s+|do\s+you\s+(?:know|remember)\s+"
    r"|i\s+(?:need|want)\s+)?"
)
_OF = r"(?:\s+of)?(?:\s+(?:the|those|these|different)\b)*"
_GENERAL = r"(?:things?|times?|ones?|stuff|occasions?)\b(?:\s+(?:that|which|when)\b)?"
_EACH = rf"(?:(?:all|every|each)\b{_OF}\s+)?(?:{_GENERAL}\s+)?"
_PERIOD = r"(?:day|night|morning|week|month|year)s?\b"
_NOT_ALL = (
    rf"(?:\s+the)?\s+(?:time\b|{_PERIOD}|(?:about|along|clear|done|fine|good|here|now|ok|okay|over"
    r"|right|same|set|there)\b|of\s+a\s+sudden\b)"
)
_NOT_EVERYTHING = r"\s+(?:about|doing|else|fine|going|is|ok|okay)\b"
_FRAMES = (
    # A list is asked for by that word.
    rf"(?:list|name)(?:\s+(?:up|out|for\s+me|for\s+us))?\s+{_EACH}",
    rf"(?:a|the|my|our)\s+(?:(?:whole|full|complete)\s+)?list\s+of\s+{_EACH}",
    r"(?:the\s+)?names\s+of\s+(?:all\s+)?(?:the\s+)?",
    # All of something, or each.
    rf"all(?!{_NOT_ALL}){_OF}\s+(?:{_GENERAL}\s+)?",
    rf"every(?:thing|one|body)(?!{_NOT_EVERYTHING})\s+(?:(?:that|which|who|of\s+ours)\s+)?",
    rf"every(?!\s+(?:other\b|{_PERIOD}))\s+(?:single\s+)?(?:{_GENERAL}\s+)?(?:of\s+)?",
    # How often something happened is counted.
    r"how\s+(?:many\s+times|often)\s+(?:did|has|have|had|was|were)\s+",
    # Which ones, of several.
    r"which\s+of\s+(?!the\s+two\b|these\s+two\b|them\s+is\b)",
    r"(?:what|who|where|which|when)\s+all\s+",
)
_LIST = re.compile(rf"{_START}{_ASK}(?:{'|'.join(_FRAMES)})")
_SEVERAL = re.compile(
    rf"{_START}(?:which\s+(?:other\s+|different\s+|kinds?\s+of\s+)?(?:[\w'’-]+\s+)??"
    r"(?P<which>[\w'’-]+)\s+(?:have|has|had|did|do|does|are|were|can|could|would|will|is|was)\b"
    r"|what\s+(?:other\s+|different\s+|kinds?\s+of\s+)?(?:[\w'’-]+\s+)??"
    r"(?P<what>[\w'’-]+)\s+(?:have|has|had|did)\b)"
)
_PLURAL = re.compile(r".{2,}[^siu'’]s|people|children|grandchildren|men|women|folks?")
_TIMES = frozenset(("dates", "sizes", "times", "weekends")).union(
    (f"{name}s" for name in (*PARTS, *WEEKDAY_NAMES)),
    (unit for unit in UNITS if unit.endswith("s")),
)
"""*Which days does she work?* has one answer."""
_TAIL = re.compile(
    r"[\s,]+(?:(?:and\s+)?all\s+of\s+(?:them|it|['’]?em)|so\s+far,?\s+all\s+of\s+(?:them|['’]?em)"
    r"|every\s+(?:single\s+)?one(?:\s+of\s+(?:them|['’]?em))?|the\s+(?:whole|full)\s+list"
    r"|in\s+one\s+list)\s*[.?!]*\s*$"
)
_ADDED = re.compile(r"[,;:]\s*all\s+(?:of\s+)?(?:the|my|our|his|her|their)\b")
_AT_THE_END = re.compile(r"[\s,]+(?:so\s+far|ever|please|again)\s*[.?!]*\s*$")

_ABOUT = re.compile(
    rf"{_START}(?:"
    r"(?:what|how\s+much)\s+(?:all\s+)?(?:do|can|could|did|have|would)\s+you\s+"
    r"(?:(?:already|actually|really|all)\s+)?"
    r"(?:know|tell\s+(?:me|us)|say|remember|learn(?:ed|t)?|heard?|have|got)\s+(?:about|on|of)\s+"
    r"|(?:(?:can|could|would|will)\s+you\s+)?(?:please\s+)?"
    r"(?:tell|remind)\s+(?:me|us)\s+(?:(?:everything|anything|something|all|a\s+(?:bit|little)"
    r"|more|again)\s+)?(?:(?:that\s+)?you\s+(?:know|remember|have)\s+)?(?:about|on|of)\s+"
    r"|(?:everything|anything|all)\s+(?:(?:that\s+)?(?:you\s+know|we\s+know|there\s+is)\s+)?"
    r"(?:about|on)\s+"
    r"|what\s+(?:is|do\s+we)\s+(?:known?|have)\s+(?:about|on)\s+"
    r"|who\s+(?:am|are)\s+(?=(?:i|we)\b)|describe\s+)(?P<whom>.+)$",
    re.DOTALL,
)
_WHATEVER = re.compile(r"\b(?:everything|anything|all)\b|^\W*what\b")
_FAMILY_WORDS = frozenset(
    """
    all everybody everyone families family folks home house household life lives lot members people
    person
    """.split()
)
"""Words that, like *us*, mean everybody who lives here."""
_ASKER = frozenset({"i", "me", "myself"})
_EVERYBODY = _FAMILY_WORDS | {"us", "we", "our", "ours", "ourselves"}


class Asked(NamedTuple):
    """How much a question asks for.

    Attributes:
        breadth: ``one``, ``all`` of a kind, or whatever is known ``about`` somebody.
        topic: The question without the words that only say so; as it is, where it asks for one.
        otherwise: The breadth of a question that asks *about* something that is nobody.
    """

    breadth: Breadth
    topic: str
    otherwise: Breadth = "one"


def read_breadth(question: str) -> Asked:
    """Read how much a question asks for, by its words alone.

    ``about`` is so far only what the words suggest: see :func:`is_about_somebody`.

    >>> read_breadth("list every thing we lent to the neighbours")
    Asked(breadth='all', topic='we lent to the neighbours', otherwise='one')
    >>> read_breadth("What do you know about Leela?")
    Asked(breadth='about', topic='Leela?', otherwise='all')
    >>> read_breadth("Why is he tired all the time?").breadth
    'one'
    """
    if len(question) > MAX_CHARS:
        return Asked("one", question)
    text = lowered(question)
    about = _ABOUT.match(text)
    if about is not None:
        whatever = _WHATEVER.search(text, 0, about.start("whom")) is not None
        return Asked("about", question[about.start("whom") :], "all" if whatever else "one")
    frame, tail = _LIST.match(text), _TAIL.search(text)
    if frame is None and tail is None:
        several = _ADDED.search(text) is not None or _asks_for_several(text)
        return Asked("all" if several else "one", question)
    first, last = frame.end() if frame is not None else 0, len(text)
    for ending in (_TAIL, _AT_THE_END):
        end = ending.search(text, first, last)
        last = end.start() if end is not None else last
    return Asked("all", question[first:last].strip() or question)


def is_about_somebody(whom: str, names: tuple[str, ...]) -> bool:
    """Whether all a topic names is people, or the family.

    Args:
        whom: The topic of a question that asks for whatever is known.
        names: The normalised words by which the question names people and things.

    >>> is_about_somebody("my sister Leela", ("my sister", "leela"))
    True
    >>> is_about_somebody("Leela's wedding", ("leela",))
    False
    """
    rest = f" {normalise(whom)} "
    for name in sorted(names, key=len, reverse=True):
        rest = rest.replace(f" {name} ", "  ")
    return all(word in STOP_WORDS or word in _FAMILY_WORDS for word in rest.split())


def is_about_everybody(whom: str, names: tuple[str, ...]) -> bool:
    """Whether a topic means the family as a whole: *us*, *our family*, *everybody here*."""
    return not names and not _EVERYBODY.isdisjoint(normalise(whom).split())


def is_about_asker(whom: str) -> bool:
    """Whether a topic means the person who asks: *me*, *myself*, and *I* in *who am I*."""
    return not _ASKER.isdisjoint(normalise(whom).split())


def _asks_for_several(text: str) -> bool:
    """Whether *which* or *what* asks about a noun in the plural: *which cousins can't eat nuts*."""
    several = _SEVERAL.match(text)
    noun = several[several.lastgroup or 0] if several is not None else ""
    return _PLURAL.fullmatch(noun) is not None and noun not in _TIMES
