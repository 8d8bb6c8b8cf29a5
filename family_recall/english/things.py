"""The things that a question asks about, as *maths* in *Who teaches Isla maths?*."""

from __future__ import annotations

import re
from collections.abc import Container

from .text import STOP_WORDS, Words

_DOING = frozenset("do does did".split())
_BEING = frozenset("is are was were".split())
_HAVING = frozenset("has have had having".split())
_WHO = frozenset("what when where which who whom whose why how".split())
_VERBS = (
    _DOING | _BEING | _HAVING | frozenset("can could will would should shall may might".split())
)
_WHATS = re.compile(r"(?:what|when|where|who|how)['’]?s", re.IGNORECASE)
_BEFORE = _HAVING | frozenset(
    """
    a about against an another any at behind by for from her his in into its my near of on our that
    the their these this those to under with your
    """.split()
)
"""Words after which a thing is named."""
_SORTS = frozenset(
    """
    amount big bit brand color colour cost current date day days first guy idea kind last latest
    little long main many money month name names new next number old one ones place price size sort
    still stuff time times type way week year
    """.split()
)
"""What is asked of a thing, or which of several it is."""
_STATES = re.compile(
    r".*(?:ed|en|ing)|back|built|called|done|due|gone|kept|left|like|lost|made|open|paid|put|ready"
    r"|sold|told"
)
"""What a thing is: the end of *where is the key kept*."""
_GAP = re.compile(r"[,.;:!?\n–—]")


def things_asked(words: Words, names: Container[str]) -> list[tuple[str, ...]]:
    """Return the words for each thing that a question asks about, without what it does or is.

    >>> things_asked(Words.of("When does the car insurance end for Isla's school bus?"), {"isla"})
    [('car', 'insurance'), ('school', 'bus')]
    """
    plain, things = words.plain, []
    is_whats = [_WHATS.fullmatch(word) is not None for word in words.written]
    is_stop = [
        word in STOP_WORDS or word in _VERBS or whats
        for word, whats in zip(plain, is_whats, strict=True)
    ]
    # *Broadband bill?* has nothing but things.
    is_bare = not any(is_whats) and (_WHO | _VERBS).isdisjoint(plain)
    verb, at = "", 0
    while at < len(plain):
        if is_stop[at]:
            if is_whats[at] or plain[at] in _DOING | _BEING:
                verb = "is" if is_whats[at] else plain[at]
            elif plain[at] in _WHO | _HAVING:
                verb = ""
            at += 1
            continue
        first = at
        before = plain[first - 1] if first and not is_whats[first - 1] else ""
        while at < len(plain) and not is_stop[at]:
            at += 1
            if at < len(plain) and _GAP.search(
                words.text, words.spans[at - 1][1], words.spans[at][0]
            ):
                break
        owners = [n for n in range(first, at) if plain[n] in names or words.is_possessive(n)]
        start = owners[-1] + 1 if owners else first
        of_owner = bool(owners) and (before == "who" or words.is_possessive(owners[-1]))
        run = list(range(start, at))
        if verb in _DOING and len(run) > 1:
            run.pop()
        verb = "" if verb in _DOING else verb
        while run and verb in _BEING and _STATES.fullmatch(plain[run[-1]]):
            run.pop()
        if is_bare or of_owner or (before in _BEFORE and not owners):
            thing = tuple(plain[n] for n in run if plain[n] not in _SORTS)
            things += [thing] if thing else []
    return things


def is_said_of_things(word: str) -> bool:
    """Whether a word tells which of several things, what is asked of it, or how it is.

    >>> [word for word in ("number", "due", "maths") if is_said_of_things(word)]
    ['number', 'due']
    """
    return word in _SORTS or _STATES.fullmatch(word) is not None
