"""A question that goes on from the one before it, as a question that stands alone."""

from __future__ import annotations

import re

from .kinship import KINSHIP_ROLES
from .owners import PRONOUNS
from .text import STOP_WORDS, Words

_OPENING = re.compile(
    r"^\W*(?:(?:and|n|or|but|so|ok|okay|then|also|what about|how about|what of|same for|as for)"
    r"(?:\s+for)?\b[\s,]*)+",
    re.IGNORECASE,
)
_FRAME = frozenset(
    """
    a about an are at can could did do does for had has have her his how in is it its long many much
    my of often on our should that the their there these they this those to was were what when where
    which who whose why will with would your
    """.split()
)
"""Words before what a question is about."""
_ASKING = frozenset(
    """
    are can could did do does had has have how is should was were what what's when when's where
    where's which who who's whose why will with would
    """.split()
) - {"with"}
_BESIDE = frozenset("about at by for from in on to with".split())
_DETERMINERS = frozenset("a an the my our your his her their its this that these those".split())
_EMPTY = STOP_WORDS | frozenset(
    "ago earlier exactly first immediately just last later long many much one ones right".split()
)
"""Words that leave open what is asked about."""
_THANKS = frozenset(
    """
    brilliant cheers cool good great lovely much nice ok okay perfect ta thank thanks very you
    """.split()
)
_MINE = {"mine": "my", "ours": "our", "his": "his", "hers": "her", "theirs": "their"}


def standalone(question: str, previous: str) -> str:
    """Return a question with what it takes from the one that the same person asked before it.

    One that names what it is about stays as it is.

    >>> standalone("and Tom's?", "When is Lena's swimming lesson?")
    "When is Tom's swimming lesson?"
    >>> standalone("what about Tom?", "Is Lena allergic to nuts?")
    'Is Tom allergic to nuts?'
    >>> standalone("and where?", "When is Lena's swimming lesson?")
    "where Lena's swimming lesson?"
    >>> standalone("ok thanks", "When is Lena's swimming lesson?")
    'ok thanks'
    >>> standalone("and the hoover?", "Where's the drill?")
    "Where's the hoover?"
    """
    opened = _OPENING.match(question)
    rest = question[opened.end() :] if opened else question
    words, before = Words.of(rest), Words.of(previous)
    if not before.plain or _THANKS.issuperset(words.plain):
        return question
    plain = [word.replace("’", "'") for word in words.plain]
    said = rest.strip().rstrip("?.! ")
    if opened and _ASKING.isdisjoint(plain) and len(plain) <= 4 and not _EMPTY.issuperset(plain):
        if plain[0] in _BESIDE:
            return _beside(said, plain[0], before)
        return _with_instead(said, words, before)
    if all(word in _EMPTY for word in plain) or (
        not _EMPTY.issuperset(plain) and _refers(plain) and len(set(plain) - _EMPTY) <= 2
    ):
        return f"{said} {_topic_of(before)}?"
    return question


def _beside(said: str, preposition: str, before: Words) -> str:
    """Return a question with another place, time or purpose: *on Sunday* for *on Saturday*."""
    end = before.text.rstrip("?.! ")
    if preposition in before.plain[1:]:
        at = len(before.plain) - 1 - before.plain[::-1].index(preposition)
        end = end[: before.spans[at][0]].rstrip()
    return f"{end} {said}?"


def _refers(plain: list[str]) -> bool:
    """Whether a question has a word for what was spoken of."""
    return not {"it", "that", "this", "those", "them", "ones", "one", *PRONOUNS}.isdisjoint(plain)


def _topic_of(before: Words) -> str:
    """Return the words of a question from its first that tells what it is about."""
    for at, word in enumerate(before.plain):
        is_asking = word.replace("’", "'").split("'")[0] in _FRAME or word in _FRAME
        if not is_asking or word in _DETERMINERS:
            return before.text[before.spans[at][0] :].rstrip("?.! ")
    return before.text.rstrip("?.! ")


def _with_instead(said: str, words: Words, before: Words) -> str:
    """Return a question with another person, or another thing, in it."""
    end = before.text.rstrip("?.! ")
    whose = _MINE.get(words.plain[0], "") if len(words.plain) == 1 else ""
    if whose or words.is_possessive(len(words.plain) - 1) or said.endswith("s'"):
        owner = _owner_of(before)
        if owner is None:
            return f"{end} {said}?"
        return f"{end[: owner[0]]}{whose or said}{end[owner[1] :]}?"
    is_name = said[:1].isupper() or words.plain[-1] in KINSHIP_ROLES
    subject = _subject_of(before) if is_name else None
    if subject is not None:
        return f"{end[: subject[0]]}{said}{end[subject[1] :]}?"
    owner = _owner_of(before)
    if is_name and owner is not None:
        return f"{end[: owner[0]]}{said}'s{end[owner[1] :]}?"
    topic = _topic_of(before)
    return f"{end[: len(end) - len(topic)]}{said}?"


def _owner_of(before: Words) -> tuple[int, int] | None:
    """Return where a question says whose something is: *Lena's*, *my*."""
    for at, word in enumerate(before.plain):
        if before.is_possessive(at):
            start, end = before.spans[at]
            if at and before.plain[at - 1] in _DETERMINERS:
                start = before.spans[at - 1][0]
            if before.text[end : end + 1] in ("'", "’"):
                end += 1
            return start, end
        if word in ("my", "our", "his", "her", "their") and at + 1 < len(before.plain):
            return before.spans[at]
    # *wheres alfies passport*: the mark is often left out.
    return next(
        (
            before.spans[at]
            for at, word in enumerate(before.plain[:-1])
            if at and word.endswith("s") and len(word) > 3 and word not in _EMPTY | _FRAME
        ),
        None,
    )


def _subject_of(before: Words) -> tuple[int, int] | None:
    """Return where a question has a name as its subject: *does Tom*, *is Mum*."""
    for at in range(1, len(before.plain)):
        asks = before.plain[at - 1] in _FRAME - _DETERMINERS
        is_name = before.written[at][0].isupper() or before.plain[at] in KINSHIP_ROLES
        if asks and is_name and not before.is_possessive(at):
            return before.spans[at]
    return None
