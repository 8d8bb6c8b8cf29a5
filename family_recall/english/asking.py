"""Whether a text asks something, with or without a question mark, or asks to be remembered.

A text is split into clauses. One asks if it ends in a question mark, or begins as questions do:
with a question word and a verb (*which drawer is the torch*), a verb and its subject (*can we go*),
or a request to be told. The rest states something, unless it is a bare topic (*the AC filter*).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .kinship import CALLED

MOST_STATED: Final = 8
"""Words that a question may state after it and still wait for its answer …"""
MOST_STATED_BEFORE: Final = 6
"""… and before it."""

_MAX_CHARS = 600
_LONGEST_TOPIC = 5  # words
_CLAUSE = re.compile(r"([.!?…]+(?=\s|$)|[\n;:]+|,\s|\s[–—-]+\s)")
_SENTENCE_ENDS = frozenset(".!?…")
_QUOTED = re.compile(r"\?(?=[\"”’'])")
_WORD = re.compile(r"[\w'’]+")
_PRONOUN = (
    "(?:i|you|he|she|it|we|they|this|that|there|these|those|u|ya"
    "|(?:any|some|every)(?:one|body|thing))"
)
_DETERMINER = "(?:the|a|an|my|your|our|his|her|their|all|both)"
_KIN = f"(?:{'|'.join(sorted(CALLED))})"
_BE = "(?:is|are|was|were|does|has|do|can|could|would|should)"
_AUXILIARY = (
    "(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|shall|may|might|must"
    "|(?:is|are|was|were|do|does|did|has|have|could|would|should)n['’]?t|can['’]?t|won['’]?t)"
)
_OPENING = re.compile(
    "^(?:(?:so|and|but|or|ok|okay|hey|hi|hello|oh|oi|right|wait|e?r+m+|um+|uh|ah|eh|sorry|also|well|yo"
    "|now|then|anyway|just|quick question|question|please|guys|everyone|sir|ma['’]?am|mate|love"
    "|darling|honey|mija|mijo|bro|sis|as of now"
    rf"|{_KIN}(?=,|\s+(?:what|who|where|when|which|how|why)|\s+{_AUXILIARY}\s+{_PRONOUN}\b))"
    r"(?![\w'’])[\s,:]*)+",
    re.IGNORECASE,
)
_ASKING = re.compile(
    # What size is it; how many did she say; in which drawer is the torch.
    r"(?:(?:at|in|on|for|from|to|with|by|since|till|until)\s+)?(?:what|which|whose|how)\s+"
    rf"(?!{_PRONOUN}\b)(?:[\w'’]+\s+){{0,4}}?{_AUXILIARY}\b"
    # Who's going; when does it start.
    rf"|(?:what|where|when|who|how|why)(?:['’](?:s|re|d|ll)|\s+(?:the\s+\w+\s+)?{_AUXILIARY})\b"
    r"|(?:whats|whos|wheres|whens|hows)\b"
    # Who left it there; who put it back.
    r"|(?:who|whose|which)\s+(?!am\b)(?:\w+(?:s|ed|ing)|left|put|took|got|ate|bought|made|said|sent"
    r"|lent|gave|found|lost|broke|won)\b"
    r"|(?:how (?:much|many|long|far|often|old|big|tall|late|early|come|about)"
    r"|what (?:time|day|date|colou?r|size|number)|why|whereabouts)\b"
    # Can we go; is the torch there; did Mum say; is swimming today.
    rf"|{_AUXILIARY}\s+(?!not\b){_PRONOUN}\b|{_BE}\s+(?:{_DETERMINER}\b|(?-i:[A-Z])\w+)"
    rf"|(?:{_BE}|did)\s+{_KIN}\b|did\s+(?-i:[A-Z])\w+"
    r"|did\s+(?:[\w'’]+\s+){1,3}(?:say|tell|go|get|take|make|give|come|like|want|need|buy|bring"
    r"|find|pay|win|finish|call|ring|book|eat|see|have|leave|send|pick|end|put|do|be|think|know)\b"
    r"|(?:is|are|was|does)\s+(?!(?:not|due|done|gone|back|now|so|too|very|in|at|on|for|to|from"
    r"|getting|going|being|been|nice|good|great|fine|ready|here|off|out|only|also|still|just)\b)"
    r"\w+\s+\w+"
    # Anyone know where; remember when.
    r"|any(?:one|body)? (?:know|seen|got|have|remember|ideas?|news|word|chance)\b"
    r"|any(?:one|body)\s+\w+ing\b"
    r"|(?:remember|know) (?:what|where|when|who|which|how|why|if|whether)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\b(?:tell|remind) (?:me|us)\b|\blet me know\b|\b(?:does|do) (?:you|any(?:one|body)) know\b"
)
"""Tell me when: anywhere in a clause, in lower case."""

_NOT_ASKING = re.compile(
    "(?:what|how) an?\\b|whatever\\b|which (?:is|was|means)\\b|do(?: not|n['’]t)\\b"
    "|(?:tell|told) (?:me|us) about it\\b|have (?:a|the|you) (?:good|nice|great|lovely)\\b",
    re.IGNORECASE,
)
_ANSWERED = re.compile(r"\?\s+(?:no|yes|yep|nope|yeah)\b", re.IGNORECASE)
_VERB = re.compile(
    rf"\b{_AUXILIARY}\b|['’](?:s|m|re|ve|ll|d)\b|\b\w+ed\b|\d"
    "|\\b(?:go|goes|went|gets?|got|takes?|took|needs?|wants?|says?|said|comes?|came|puts?|makes?|made"
    "|think|know|see|saw|keeps?|kept|told|left|found|lost|bought|gave|gives?|likes?|loves?|hates?"
    "|eats?|ate)\\b",
)

_REMINDER = re.compile(
    r"(?:please )?(?:remember|remind us|note|don['’]t forget|keep in mind)"
    r"(?P<everyone> for (?:everyone|everybody|the family|all of us|us))?"
    r"(?P<that> that|:|,)? (?P<text>.+)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """How many words of a text ask, and how many state something before and after it asks."""

    asking: int
    before: int
    after: int

    @property
    def only(self) -> bool:
        """Whether it asks and states nothing."""
        return self.asking > 0 and self.before + self.after == 0


def asked_in(text: str) -> Asked:
    """Count the words of a text that ask, and those that state something.

    >>> asked_in("lunch is at one on Sunday, who's picking me up?")
    Asked(asking=4, before=6, after=0)
    """
    asking = before = after = 0
    goes_on = False  # whether the sentence asks, so that all of it does
    split = _CLAUSE.split(_QUOTED.sub("", text[:_MAX_CHARS].strip()))
    ends = [*map(str.strip, split[1::2]), ""]
    for at, (clause, end) in enumerate(zip(map(str.strip, split[::2]), ends, strict=True)):
        words = _OPENING.sub("", clause)
        n = len(_WORD.findall(clause))
        if n and (end.startswith("?") or _asks(words) or (goes_on and _ends_in_mark(ends[at:]))):
            asking, before, after = asking + n, before + after, 0
            goes_on = True
        elif _VERB.search(words.lower()) or n > _LONGEST_TOPIC:
            after += n
        goes_on = goes_on and end[:1] not in {*_SENTENCE_ENDS, ";", ":"}
    return Asked(asking, before, after) if asking else Asked(0, before + after, 0)


def asks(text: str) -> bool:
    """Whether a text waits for an answer: it asks, and states little besides."""
    return waits_for_answer(asked_in(text), text)


def waits_for_answer(asked: Asked, text: str) -> bool:
    """Whether a text that asks so much waits for an answer."""
    return (
        asked.asking > 0
        and asked.before + asked.after <= max(2 * asked.asking, MOST_STATED)
        and asked.before <= MOST_STATED_BEFORE
        and asked.after <= MOST_STATED
        and _ANSWERED.search(text) is None
    )


@dataclass(frozen=True, slots=True)
class Reminder:
    """What is to be remembered, and whether for everyone, in so many words."""

    text: str
    for_everyone: bool


def reminder_in(text: str) -> Reminder | None:
    """Return what a text asks to be remembered; None for any other, such as a question.

    >>> reminder_in("Please remember for everyone that the bins go out on Monday")
    Reminder(text='the bins go out on Monday', for_everyone=True)
    >>> reminder_in("Remember where we parked?")
    """
    order = _REMINDER.fullmatch(text.strip())
    if order is None or (not order["that"] and asks(text)):
        return None
    return Reminder(order["text"], for_everyone=order["everyone"] is not None)


def _asks(clause: str) -> bool:
    """Whether a clause begins as questions do, or requests to be told something."""
    asks = _ASKING.match(clause) is not None or _REQUEST.search(clause.lower()) is not None
    return asks and _NOT_ASKING.match(clause) is None


def _ends_in_mark(ends: list[str]) -> bool:
    """Whether the sentence that ends first ends in a question mark."""
    return next((end for end in ends if end[:1] in _SENTENCE_ENDS), "").startswith("?")
