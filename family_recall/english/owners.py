"""Whose something is: whom a question asks of, and of whom a text tells.

*Dad's blood group*, *is Lena allergic*, *I'm allergic* have an owner: by a possessive, or as the
subject of a state. Who does something, *Tom put the passports away*, owns nothing.
"""

from __future__ import annotations

import re
from typing import Final

from .text import SELF, STOP_WORDS, Words

US: Final = frozenset(("we", "us", "our", "ours", "ourselves"))
YOU: Final = frozenset(("your", "yours", "yourself"))
PRONOUNS: Final = frozenset("he her hers him his she their theirs them they".split())
"""Words that may stand for anybody."""

_ASKING = frozenset(
    """
    is are am was were isn't does do did has have had can could will would should when's where's
    what's how's
    """.split()
)
"""Words after which a question has its subject."""

_ACTING = frozenset(
    """
    ask asked asks believe book booked books borrowed bought bring brings brought buy buys call
    called calls check checked chose dropped drove emailed fetched fixed found gave get gets give
    gives got guess hid hides hope keep keeps kept know leave leaves left lend lends lent let made
    make makes mean mentioned met moved ordered packed paid pays phoned pick picked picks popped
    promised put puts rang reckons recommended remembered rung said saw say says send sends sent
    signed sorted stuck suggested take takes tell tells texted think thinks thought threw told
    took wants went wrote
    """.split()
)
"""Verbs of what somebody does with things that may be anybody's."""

_SAYING = frozenset(
    """
    admit advice advise agree answer argue ask asked call claim comment complain describe discuss
    discussed explain express feel mean mention mentioned opinion promise propose reckon recommend
    remember report said say saying says suggest talk talked tell think thought told warn
    """.split()
)

_DOING = frozenset(
    "call come contact do drop find fix go look open press ring turn type use".split()
)
"""Verbs by which somebody asks how to do a thing, and not of themselves."""

OURSELVES: Final = (
    SELF
    | US
    | frozenset(
        f"{who}{mark}{verb}"
        for who in ("i", "we")
        for mark in ("'", "’", "")
        for verb in ("m", "re", "ve", "d", "ll")
    )
    - {"id", "ill", "were", "well", "wed"}
)
"""Words by which a text speaks of who says it."""
I_AM: Final = frozenset(("i", "i'm", "i’m", "im", "i've", "i’ve", "ive"))
_CLAUSE = re.compile(
    r"(?:^|[.!?;:\n–—,]|\s-|"
    r"\b(?:and|but|so|that|because|cos|then|while|also|by the way|btw|fyi|remember))\s*$",
    re.IGNORECASE,
)
_END = re.compile(r"[.!?;\n]|,? (?:so|but|because|while) ")
_VERB_NEXT = re.compile(r"(?:['’]s?)?(?:\s+|\s*[:–—-]\s*)")


def asks_of(words: Words, first: int, last: int) -> bool:
    """Whether a question asks for what the somebody at some words has or is.

    >>> words = Words.of("What is Dad's blood group, and is Lena allergic to it?")
    >>> asks_of(words, 2, 2), asks_of(words, 7, 7)
    (True, True)
    """
    has_more = last + 1 < len(words.plain)
    return has_more and (
        words.is_possessive(last)
        or words.plain[last] in ("my", "mine")
        or (first > 0 and words.written[first - 1].lower().replace("’", "'") in _ASKING)
    )


def asks_what_was_said(words: Words) -> bool:
    """Whether a question asks what somebody said, asked or thought."""
    return not _SAYING.isdisjoint(words.plain)


def asks_of_self(words: Words, at: int) -> bool:
    """Whether a question with *I* at a word asks what who asks has or is: not how to do a thing.

    >>> asks_of_self(Words.of("What do I take in the morning?"), 2)
    True
    >>> asks_of_self(Words.of("Where do I look for the key?"), 2)
    False
    """
    before = words.plain[at - 1] if at else ""
    if before in ("do", "did"):
        verb = words.plain[at + 1]
        is_how = at > 1 and words.plain[at - 2] == "how"
        return not (is_how or verb in _DOING or (verb in _ACTING and verb != "take"))
    return before in ("am", "was", "have", "had")


def told_of(words: Words, first: int, last: int) -> str:
    """Return what a text tells of the somebody at some words: the clause they begin, or nothing.

    >>> words = Words.of("Tom is allergic to cashews, and Ed put the passports away")
    >>> told_of(words, 0, 0), told_of(words, 6, 6)
    (' is allergic to cashews, and Ed put the passports away', ' put the passports away')
    """
    start, end = words.spans[first][0], words.spans[last][1]
    if last + 1 == len(words.plain) or not _VERB_NEXT.match(words.text, end):
        return ""
    if not _CLAUSE.search(words.text[:start]):
        return ""
    return _END.split(words.text[end:], maxsplit=1)[0]


def acts(words: Words, last: int) -> str:
    """Return the verb after the words for somebody, if it tells what they did and not how they are.

    >>> acts(Words.of("Ed put the passports away"), 0)
    'put'
    """
    verb, after = [*words.plain[last + 1 : last + 3], "", ""][:2]
    if words.plain[last].replace("’", "'") in ("i've", "ive") or (verb == "have" and after != "a"):
        return after if verb != "got" else ""
    return verb if verb in _ACTING or (verb == "am" and after.endswith("ing")) else ""


def owned_by(words: Words, last: int) -> tuple[str, ...]:
    """Return the words for what somebody has, after the words for them: up to three.

    >>> owned_by(Words.of("Where is Dad's old school bag now?"), 2)
    ('old', 'school', 'bag')
    """
    if not (words.is_possessive(last) or words.plain[last] in ("my", "our")):
        return ()
    own: list[str] = []
    for at in range(last + 1, min(last + 4, len(words.plain))):
        if words.plain[at] in STOP_WORDS:
            break
        own.append(words.plain[at])
        if words.is_possessive(at):
            break
    return tuple(own)
