"""A question that goes on from the one before it, as a question that stands alone."""

from __future__ import annotations

import re
from collections.abc import Collection

from .lexicon import MONTH_NAMES, OWNERS, PARTS, SEASONS, UNITS, WEEKDAY_NAMES
from .owners import PRONOUNS
from .somebody import Somebody, people_in, somebody_at
from .text import STOP_WORDS, Words

_OPENING = re.compile(
    r"^\W*(?:(?:so|ok|okay|but|then|also)\b\W*)*"
    r"(?:(?:and|n|or|what about|how about|what of|same for|as for)(?:\s+for)?\b[\s,]*)+",
    re.IGNORECASE,
)
_ENDING = re.compile(
    r"(?:\s+(?:then|though|too|instead|please|ah|eh|lah|leh))*[\s.?!]*$", re.IGNORECASE
)
_ASKING = frozenset(
    """
    are can could did do does had has have how hows is should was were what whats when whens where
    wheres which who whos whose why will would
    """.split()
)
_DETERMINERS = OWNERS | frozenset("a an the these this that those".split())
_BESIDE = frozenset("about at by for from in of on since to until with".split())
_BEFORE_THING = _ASKING | _BESIDE | _DETERMINERS
_EMPTY = STOP_WORDS | frozenset(
    "ago earlier exactly first immediately just last later long many much one ones right".split()
)
"""Words that leave open what is asked about."""
_FRAME = _ASKING | _EMPTY
"""Words before what a question is about."""
_IT = PRONOUNS | frozenset(("it", "that"))
_HIM = frozenset("he her him his she".split())
_THANKS = frozenset(
    """
    bad brilliant cheers cool fun good great how love lovely much nice ok okay perfect ta thank
    thanks very what you
    """.split()
)
_SELVES = {
    "mine": ("my", "I"), "me": ("my", "I"), "ours": ("our", "we"), "us": ("our", "we"),
    "his": ("his", "he"), "hers": ("her", "she"), "theirs": ("their", "they"),
}  # fmt: skip
"""Words for people: as an owner, and as a subject."""
_DAY = (
    r"(?:today|tonight|tomorrow|yesterday|christmas|easter|weekend|[12]\d{3}|"
    rf"(?:{'|'.join((*MONTH_NAMES, *WEEKDAY_NAMES, *PARTS, *SEASONS))})s?)"
)
_TIME = (
    "(?:now|before(?: that)?|(?:(?:on|in|at|for|by|until|since|after|before) )?"
    f"(?:(?:%s) (?:{_DAY}|{'|'.join(UNITS)})|{_DAY})(?: {_DAY})*)"
)
_ITS_TIME = re.compile(
    rf"(?<!what )(?<!which )\b{_TIME}\b" % "this|that|last|next|every", re.IGNORECASE
)
_OTHER_TIME = re.compile(
    rf"{_TIME}(?: (?:of|when|before|after|it|we|i|he|she|they|the) .*)?"
    % r"(?:this|that|last|next|the)(?: \w+){0,2}?",
    re.IGNORECASE,
)
"""A time that is all that is said, with what tells which: *the week of the wedding*."""


def standalone(question: str, previous: str, names: Collection[str] = ()) -> str:
    """Return a question with what it takes from the one that the same person asked before it.

    Words take the place of words of their kind: a person of a person, a time of a time, a thing of
    a thing. What only asks is put before what was asked about. A question that names what it is
    about stays as it is.

    Args:
        question: What is asked.
        previous: What was asked before.
        names: What people are called, normalised; any other name needs a capital.

    >>> standalone("and toms", "whens lenas swimming lesson", {"tom", "lena"})
    "whens tom's swimming lesson?"
    >>> standalone("what about Tom?", "Is Lena allergic to nuts?")
    'Is Tom allergic to nuts?'
    >>> standalone("and on sunday", "who drives her on saturday")
    'who drives her on sunday?'
    >>> standalone("and where?", "When is Lena's swimming lesson?")
    "where Lena's swimming lesson?"
    >>> standalone("and the blue one", "where's the red bike")
    "where's the blue bike?"
    >>> standalone("ok thanks", "When is Lena's swimming lesson?")
    'ok thanks'
    """
    opened = _OPENING.match(question)
    words = Words.of(_ENDING.sub("", question[opened.end() if opened else 0 :]).strip())
    before = Words.of(previous.rstrip("?.! "))
    if not before.plain or _THANKS.issuperset(words.plain):
        return question
    people = people_in(before, names)
    if opened and _OTHER_TIME.fullmatch(words.text):
        return _replaced(before, *_time_in(before), words.text)
    if not _ASKING.isdisjoint(words.plain):
        return _asking(words, before, people, names) or question
    person = somebody_at(words, 0, names, is_capital=opened is not None)
    # *Muslins?*, but not *garage code?*, which is a question of its own.
    goes_on = opened is not None or (len(words.plain) == 1 and "?" in question)
    if len(words.plain) > 4 or not (goes_on or person):
        return question
    the = next((at for at, word in enumerate(before.plain) if word == "the"), None)
    if person and person.owns and not people and the is not None:
        people = [Somebody(the, the, "the", owns=True, is_named=False)]
    if person and people and person.last == len(words.plain) - 1:
        return _with_person(person, before, people) if goes_on or person.is_named else question
    if goes_on and _EMPTY.issuperset(words.plain):
        return _replaced(before, *_time_in(before), words.text)
    if person and (goes_on or (person.owns and words.plain[0] in PRONOUNS)):
        return _of_owner(words, before, people)
    return _with_thing(words, before, people) if goes_on else question


def _asking(
    words: Words, before: Words, people: list[Somebody], names: Collection[str]
) -> str | None:
    """Return what asks for something else of what was asked about, *and where?*, if it does."""
    plain, n_content = words.plain, sum(word not in _FRAME for word in words.plain)
    if plain[plain[0] in _BESIDE] not in _ASKING or n_content > 2:
        return None
    is_own = any(each.is_named for each in people_in(words, names))
    named = words.text if is_own else _with_name(words, people)
    if n_content and named != words.text:
        return f"{named}?"
    is_about = is_own or n_content > 1 or len(plain) > 4 or not _DETERMINERS.isdisjoint(plain)
    if n_content and is_about and _IT.isdisjoint(plain):
        return None
    return _before_topic(words, before)


def _before_topic(words: Words, before: Words) -> str:
    """Return words with what a question was about after them."""
    return f"{words.text} {before.text[before.spans[_topic_at(before)][0] :]}?"


def _of_owner(words: Words, before: Words, people: list[Somebody]) -> str:
    """Return a question about something else that somebody has: *and her email?*."""
    named = _with_name(words, people)
    if named == words.text and words.plain[0] in PRONOUNS:
        return _before_topic(words, before)
    first = next((each.first for each in people if each.owns), _topic_at(before))
    return _replaced(before, first, len(before.plain) - 1, named)


def _topic_at(before: Words) -> int:
    """Return the number of the first word of a question that tells what it is about."""
    about = (word not in _FRAME or word in _DETERMINERS for word in before.plain)
    return next((at for at, is_about in enumerate(about) if is_about), 0)


def _time_in(before: Words) -> tuple[int, int]:
    """Return the first and the last word of a question for a time; where it has none, its end."""
    n = len(before.spans)
    for time in reversed(list(_ITS_TIME.finditer(before.text))):
        at = [at for at in range(n) if time.start() <= before.spans[at][0] < time.end()]
        if at:
            return at[0], at[-1]
    return n, n - 1


def _replaced(before: Words, first: int, last: int, said: str) -> str:
    """Return a question with others in place of some words, with the mark of what is theirs."""
    if first == len(before.spans):
        return f"{before.text} {said}?"
    start, end = before.spans[first][0], before.spans[last][1]
    end += before.text[end : end + 1] in ("'", "’")
    return f"{before.text[:start]}{said}{before.text[end:]}?"


def _with_name(words: Words, people: list[Somebody]) -> str:
    """Return words with the name of who was asked about in place of *he* or *her*."""
    name = next((each.name for each in people if each.is_named), "")
    at = next((at for at, word in enumerate(words.plain) if word in _HIM), None)
    if at is None or not name:
        return words.text
    mark = "'s" if words.plain[at] in OWNERS else ""
    start, end = words.spans[at]
    return f"{words.text[:start]}{name}{mark}{words.text[end:]}"


def _with_person(person: Somebody, before: Words, people: list[Somebody]) -> str:
    """Return a question with another person in it, in place of the first that is named."""
    old = min(people, key=lambda each: not each.is_named)
    owner, subject = _SELVES.get(person.name.lower(), (f"{person.name}'s", person.name))
    return _replaced(before, old.first, old.last, owner if old.owns else subject)


def _with_thing(words: Words, before: Words, people: list[Somebody]) -> str:
    """Return a question with another thing in it, whose owner stays: *Lena's piano lesson*."""
    said, plain, n = words.text, before.plain, len(before.plain)
    last = _time_in(before)[0] - 1
    if words.plain[0] in _BESIDE:  # another place or purpose: *for the car* for *for the van*
        beside = (at for at, word in enumerate(plain) if at and word == words.plain[0])
        first = max(beside, default=n)
        return _replaced(before, first, last if first <= last else n - 1, said)
    owners = {each.last: each for each in people if each.owns}
    leads = owners.keys() | {at for at, word in enumerate(plain) if word in _BEFORE_THING}
    first = max((at + 1 for at in leads if at < last and plain[at + 1] not in _FRAME), default=0)
    if plain[first - 1] in _ASKING:
        last = min(last, first + len(words.plain) - 1)  # where does *mo* live
    if words.plain[-1] in ("one", "ones"):
        said = f"{said[: words.spans[-1][0]]}{before.written[last]}"
    owner = owners.get(first - 1)
    if words.plain[0] in _DETERMINERS and owner and owner.is_named:
        said = said[words.spans[0][1] :].strip()
    elif words.plain[0] in _DETERMINERS and owner:  # the *car's* insurance
        return _replaced(before, owner.first, owner.last, f"{said}'s")
    elif words.plain[0] in _DETERMINERS and plain[first - 1] in _DETERMINERS:
        first -= 1
    return _replaced(before, first, last, said)
