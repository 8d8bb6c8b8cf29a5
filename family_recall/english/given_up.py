"""What people state of themselves, and what they later say is over: a diet, a habit, a job, a home.

*I'm a vegan* is over where *I eat meat again*, which shares no word with it. Both are said by one
person of themselves; who says so of somebody else says nothing here.
"""

from __future__ import annotations

import re
from typing import Final

from .lexicon import COUNTS
from .text import STOP_WORDS, lowered, runs_in
from .tokens import singular_of

_MAX_CHARS = 400

_OFTEN = (
    r"(?:(?:really|also|still|always|only|never|just|quite|usually|absolutely|actually|do not"
    r"|cannot|can not|will not|no longer|can|now) )*"
)
_PASSING = (
    r"(?:not )?(?!\w+ian\b)(?:(?!allergic)\w+ing|at|in|off|so|too|home|here|there|back(?! on)|late"
    r"|early|sure|sorry|fine|ok|okay|good|well|just|done|ready|happy|glad|sad|tired|hungry|afraid"
    r"|only|out|up|down|with|about|gonna|very|a bit|free|busy|available|nearly|almost"
    r"|on(?! a (?:[\w-]+ ){1,3}diet))\b"
)
_OF_SELF = re.compile(
    rf"\bi am (?!{_PASSING})"
    rf"|\bi (?:have )?{_OFTEN}(?:like|love|hate|enjoy|prefer|dislike|fear|stand|work(?:ed)?"
    r"|live(?:d)?|wear|eat|drink|smoke|play|speak|study|studied|teach|own|drive|sing|run|collect"
    r"|weigh|take|avoid|belong|grew up|was born|come from|started|stopped|quit|retired|resigned"
    r"|moved|gave up|given up|gone off|went off|left (?!(?:my|the|a|an|it|your|our)\b)"
    r"|left the \w+(?=$|[.,;!])|been made redundant|been allergic"
    r"|(?:have|got) (?:\w+ )?(?:brothers?|sisters?|children|kids|sons?|daughters?|dogs?|cats?"
    r"|asthma|diabetes|eczema|hay fever|migraines?|epilepsy|adhd|autism|dyslexia))\b"
    r"|\bi am (?:back (?:on|to)|eating|drinking|starting at)\b"
    r"|\bi (?:have )?(?:start at|got into|come round to|taken up|taken to)\b"
    r"|\bmy (?:[\w'-]+ ){1,6}(?:is|are|was|were)\b"
)
"""What a text says of who says it, and not of the moment: *I'm allergic*, not *I'm late*."""

_EXPANDED = (
    ("’", "'"), ("i'm ", "i am "), ("i've ", "i have "), ("don't", "do not"),
    ("can't", "cannot"), ("won't", "will not"), ("isn't", "is not"), ("anymore", "any more"),
)  # fmt: skip

_MEAT = frozenset(
    "meat lamb beef pork chicken ham bacon turkey steak burger sausage mince duck venison".split()
)
_SHELLFISH = frozenset("shellfish prawn crab mussel lobster scallop oyster shrimp".split())
_FISH = _SHELLFISH | frozenset("fish kipper salmon tuna cod haddock seafood sushi".split())
_DAIRY = frozenset("dairy milk cheese butter cream yoghurt yogurt".split())
_WHEAT = frozenset("gluten bread pasta wheat cake flour toast pizza".split())
_STARCH = frozenset("carb bread pasta rice potato sugar".split())
_ALCOHOL = frozenset(
    "alcohol wine beer gin whisky whiskey cider spirits vodka rum lager prosecco champagne".split()
)
_DIETS: Final = {
    **dict.fromkeys(
        ("vegan", "plant-based", "plant based"), _MEAT | _FISH | _DAIRY | {"egg", "honey"}
    ),
    **dict.fromkeys(("vegetarian", "veggie"), _MEAT | _FISH),
    **dict.fromkeys(("pescatarian", "pescetarian"), _MEAT),
    **dict.fromkeys(("gluten", "coeliac", "celiac"), _WHEAT),
    "dairy": _DAIRY,
    "keto": _STARCH,
    **dict.fromkeys(("teetotal", "teetotaller"), _ALCOHOL),
    **dict.fromkeys(("halal", "kosher"), frozenset(("pork", "ham", "bacon", "any meat"))),
}
"""What a diet leaves out, by its name."""
_KINDS = {
    "meat": _MEAT, "fish": _FISH, "dairy": _DAIRY, "gluten": _WHEAT, "alcohol": _ALCOHOL,
    "carb": _STARCH, "seafood": _FISH, "shellfish": _SHELLFISH,
}  # fmt: skip

_DIET = re.compile(
    r"\bi (?:am|have been|only eat|eat|follow|keep)\b[\w\s,'-]{0,24}?"
    rf"\b({'|'.join(_DIETS)})\b(?!\s+(?:food|restaurant|friend))"
)
_NOT_DOING = re.compile(
    r"\bi (?:really |just )?(?:do not|cannot|can not|never|will not|no longer) "
    r"(eat|drink|smoke|like|wear|play|run|drive|work|take|go|do|have)\b([^.;!?]*)"
)
_JOB = re.compile(
    r"\b(?:i work(?: \w+){0,3}?|i am working|my job is|i have a job|i am an? (?:\w+ )?\w+)"
    r" (?:as|at|for|in|with) (.+)"
)
_HOME = re.compile(
    r"\b(?:i|we) live (?:at|in|on|near) (.+)|\bmy (?:address|home|flat) is (?:at |in |on )?(.+)"
)
_RESUMED = re.compile(
    r"\b(?:again|back on|back to|started|starting|these days|nowadays|now|after all|taken up"
    r"|got into|come round to|taken to)\b"
)
_TAKEN_UP = re.compile(r"\b(?:back on|back to|started|taken up|got into|come round to|taken to)\b")
_NEGATED = re.compile(r"\b(?:not|cannot|never|no longer|without|stopped|given up|gave up)\b")
_OF_OTHERS = re.compile(r"\bfor (?!breakfast|lunch|dinner|supper|tea|the first|a\b|me\b|now\b)\w+")
_SUBSTITUTE = re.compile(
    r"\b(?:vegan|veggie|vegetarian|plant|oat|soya?|almond|coconut|free|fake|mock|meatless)\b"
)
_EATING = re.compile(
    rf"\bi (?:have |am )?{_OFTEN}(?:started |back to |back on )?"
    r"(?:eat|drink|eating|drinking|have|having)\b"
)
_CLOCK = rf"(?:\d|noon|half|quarter|lunchtime|{'|'.join(COUNTS)})"
_LEFT = re.compile(
    r"\b(?:left(?! (?:my|his|her|our|an?|the [\w'-]+ (?:at|in|on|by)) )(?!.* (?:at|early|late)\b)"
    r"|quit|retired|resigned|redundant|sacked|fired|laid off|let me go|last day|handed in my"
    rf"|gave up|given up|packed in|no longer|any more|any longer|finished (?:with|at (?!{_CLOCK}))"
    r"|stopped (?:working|being|doing))\b"
)
_NEW_JOB = re.compile(
    r"\bi (?:have )?(?:just )?(?:started|start|got|have) (?:a |my )?new job\b(?! for)"
    r"|\bi (?:have )?(?:just )?started work(?:ing)? (?:at|as|for|with|in)\b"
    rf"|\bi (?:am )?(?:start|starting|started) (?:at|with) (?!{_CLOCK})"
)
_MOVED_OUT = re.compile(
    r"\b(?:i|we) (?:have |are )?(?:just |now )?(?:moved|moving) (?:out|away|off)"
    r"(?: of| from)?\b(.*)"
    r"|\b(?:i|we) (?:have )?(?:just |now )?moved from (.*)"
)
_MOVED_TO = re.compile(
    r"\b(?:I|[Ww]e|I['’]ve|[Ww]e['’]ve)(?: have)?(?: just| now)? moved (?:house |flat |home )?"
    r"(?:back )?(?:to|into) (?:a (?:new )?(?:flat|house|home)|\d|[A-Z])"
    r"|\b(?:I am|[Ww]e are|I['’]m|[Ww]e['’]re) (?:at|in) (?:\d|[A-Z]).* now\b"
)


def tells_of_self(text: str) -> bool:
    """Whether a text says something of who says it that may last.

    >>> [tells_of_self(text) for text in ("I'm allergic to nuts", "I'm late", "The boiler is on")]
    [True, False, False]
    """
    return _OF_SELF.search(_expanded(text)) is not None


def is_given_up(older: str, newer: str) -> bool:
    """Whether what an older text states of who says it is over by a newer one of the same person.

    >>> is_given_up("I'm a vegan", "I had roast lamb, I eat meat again")
    True
    >>> is_given_up("I'm a vegan", "I cooked lamb for the guests again")
    False
    """
    before, after = _expanded(older), _expanded(newer)
    return (
        _eats_again(before, after)
        or _does_again(before, after)
        or _has_left(before, after)
        or _has_moved(before, after, newer)
    )


def _eats_again(before: str, after: str) -> bool:
    """Whether somebody on a diet has what it leaves out, or is on it no longer."""
    diet = _DIET.search(before)
    if diet is None or _NEGATED.search(before[: diet.end()]):
        return False
    name = diet[1]
    over = rf"\b(?:not|no longer|off|stopped|gave up|given up)\b[\w\s-]{{0,24}}\b{name}\b"
    if re.search(over, after):
        return True
    return any(
        _RESUMED.search(clause)
        and _EATING.search(clause)
        and (_holds(clause, _DIETS[name]) or (name[:3] == "tee" and "drinking again" in clause))
        for clause in _clauses(after)
    )


def _does_again(before: str, after: str) -> bool:
    """Whether somebody who did not do something, *eat fish*, does it again."""
    denied = _NOT_DOING.search(before)
    if denied is None:
        return False
    verb, things = denied[1], _content(denied[2])
    for clause in _clauses(after):
        words = _content(clause)
        if not _RESUMED.search(clause) or not re.search(r"\bi\b", clause):
            continue
        doing = verb in clause or (verb == "smoke" and "smoking" in clause)
        doing = doing or (verb in {"eat", "drink"} and _EATING.search(clause) is not None)
        if not (doing or _TAKEN_UP.search(clause)):
            continue
        if not things:
            if doing:
                return True
            continue
        alike = things.union(*(_KINDS[thing] for thing in things if thing in _KINDS))
        if not words.isdisjoint(alike):
            return True
    return False


def _has_left(before: str, after: str) -> bool:
    """Whether somebody works no longer where they did."""
    job = _JOB.search(before)
    if job is None:
        return False
    left = _LEFT.search(after) is not None and not _content(job[1]).isdisjoint(_content(after))
    return left or _NEW_JOB.search(after) is not None


def _has_moved(before: str, after: str, written: str) -> bool:
    """Whether somebody lives no longer where they did."""
    home = _HOME.search(before)
    if home is None:
        return False
    place = _content(home[1] or home[2])
    out = _MOVED_OUT.search(after)
    if out is not None:
        return not (out[1] or out[2] or "").strip() or not place.isdisjoint(_content(after))
    to = _MOVED_TO.search(written[:_MAX_CHARS])
    return to is not None and place.isdisjoint(_content(lowered(written[to.start() :])))


def _expanded(text: str) -> str:
    text = lowered(text[:_MAX_CHARS])
    for short, long in _EXPANDED:
        text = text.replace(short, long)
    return text


def _clauses(text: str) -> list[str]:
    """Return the clauses in which nothing is denied, done for others, or only like the thing."""
    clauses = re.split(r"[.,;:!?\n]|\band\b|\bbut\b", text)
    unsaid = (_NEGATED, _OF_OTHERS, _SUBSTITUTE)
    return [clause for clause in clauses if not any(each.search(clause) for each in unsaid)]


def _content(text: str) -> frozenset[str]:
    words = (singular_of(word) for word in runs_in(text))
    return frozenset(words) - STOP_WORDS - {"now", "day", "time"}


def _holds(clause: str, things: frozenset[str]) -> bool:
    return not _content(clause).isdisjoint(things) or any(
        thing in clause for thing in things if " " in thing
    )
