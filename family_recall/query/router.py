"""Router: a question in, how to look for its answer out.

Two readings are added up: rules about words, and the nearness of the question to prototype
questions of ``prototypes.json``. Without an encoder the rules decide alone.

* ``FACTUAL`` asks for what somebody or something is: a name, a birthday, where the key is kept.
* ``EPISODIC`` asks for what was said, done or arranged.
* ``MILESTONE`` asks about an event of a life: a birth, a wedding, a move.
* ``TIMELINE`` asks for whatever there is of a stretch of time.
* ``HYBRID`` asks broadly, or cannot be told.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType
from typing import TypeAlias, get_args

import numpy as np

from family_recall.query import text
from family_recall.query.identifiers import Identifier
from family_recall.time_expressions import Timespan
from family_recall.types import FloatArray, Mode, Strategy

Encode: TypeAlias = Callable[[str], FloatArray]

MAX_ROUTED_CHARS = 300
"""Characters of a question that are looked at: what it is after shows by then."""

MIN_CONFIDENCE = 0.4
"""Confidence below which a question is taken broadly."""

MIN_COSINE = 0.45
"""Nearness to some prototype without which, and without a rule, a question is noise."""

MAX_ENCODERS = 4
"""Encoders whose prototype vectors are kept, and the encoders with them."""

TOP_K = 3
"""Prototypes of a strategy that speak for it."""

_SHARES: tuple[tuple[Strategy, tuple[float, float, float]], ...] = (
    ("FACTUAL", (0.8, 0.1, 0.1)),
    ("EPISODIC", (0.1, 0.1, 0.8)),
    ("MILESTONE", (0.1, 0.8, 0.1)),
    ("TIMELINE", (0.0, 0.3, 0.7)),
    ("HYBRID", (0.33, 0.33, 0.34)),
)
TIER_WEIGHTS: Mapping[Strategy, Mapping[str, float]] = MappingProxyType(
    {
        strategy: MappingProxyType(dict(zip(("facts", "milestones", "episodes"), of, strict=True)))
        for strategy, of in _SHARES
    }
)
"""Share of each tier in an answer."""

_STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
_RULE_WEIGHT = 4.0
_COSINE_WEIGHT = 9.0
"""Both in nats, per unit of a rule and of a cosine."""


@dataclass(frozen=True, slots=True)
class Route:
    """How to look for an answer.

    Attributes:
        strategy: What the question is after.
        confidence: Probability in [0, 1] that this is so; 0 for a question of nothing known.
            Below `MIN_CONFIDENCE` the strategy is ``HYBRID``, whatever else came first.
        mode: ``knowledge`` for a question that quotes an identifier, ``neural`` for one after
            happenings, decisions or a summary, else ``hybrid``.
        tier_weights: Share of ``facts``, ``milestones`` and ``episodes``; they sum to 1.
        disable_recency: Whether old memories are no worse than new ones.
    """

    strategy: Strategy
    confidence: float
    mode: Mode
    tier_weights: Mapping[str, float]
    disable_recency: bool


UNROUTED = Route("HYBRID", 0.0, "hybrid", TIER_WEIGHTS["HYBRID"], disable_recency=False)
"""Where a question goes that nothing was read from."""


def route(
    question: str,
    *,
    timespan: Timespan | None,
    past_reference: bool,
    identifiers: Sequence[Identifier],
    encode: Encode | None,
) -> Route:
    """Route a question. Any string is one; of a long one the beginning is read.

    Args:
        question: As asked; ``timespan`` holds offsets into it.
        timespan: The time it speaks of.
        past_reference: Whether it points at a distant past.
        identifiers: What it quotes.
        encode: Gives the unit vector of a short text; None leaves it to the rules. Hashable,
            and the same for the same encoder each time: it is what the vectors of the
            prototypes are kept under, for the last `MAX_ENCODERS`.
    """
    asked = _asked(question[:MAX_ROUTED_CHARS], timespan)
    rules = _rules(asked, timespan)
    strategy: Strategy = "HYBRID"
    confidence = 0.0
    logits = _RULE_WEIGHT * rules
    known = bool(rules.any())
    if encode is not None and asked.plain:
        nearness, best = _nearness(asked.neutral, encode)
        logits += _COSINE_WEIGHT * nearness
        known = known or best >= MIN_COSINE
    if known:
        if not asked.of_a_time:
            logits[_TIMELINE] = -np.inf
        odds = np.exp(logits - logits.max())
        best_at = int(odds.argmax())
        confidence = float(odds[best_at] / odds.sum())
        if confidence >= MIN_CONFIDENCE:
            strategy = _STRATEGIES[best_at]
    return Route(
        strategy=strategy,
        confidence=confidence,
        mode=_mode(asked.plain, identifiers),
        tier_weights=TIER_WEIGHTS[strategy],
        disable_recency=past_reference,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question made ready to be read.

    ``plain`` is in lower case, less its opening, apostrophes and other marks; in ``timeless`` a
    time reads *that day*. ``neutral``, to be encoded, is as asked but for times and names.
    """

    plain: str
    timeless: str
    neutral: str
    of_a_time: bool


def _asked(question: str, timespan: Timespan | None) -> _Asked:
    timeless = question
    for start, end in sorted(timespan.matched if timespan else (), reverse=True):
        if start < len(question):
            timeless = f"{timeless[:start]} that day {timeless[end:]}"
    plain = _plain(question)
    named = _NAME.sub("Anna", _composed(timeless).replace("’", "'"))
    return _Asked(
        plain=plain,
        timeless=plain if timeless == question else _plain(timeless),
        neutral=_OPENING.sub("", " ".join(named.split())),
        of_a_time=timespan is not None or _NOW.search(plain) is not None,
    )


def _plain(question: str) -> str:
    folded = _APOSTROPHE.sub("", _composed(question).casefold())
    return _OPENING.sub("", " ".join(map(_repaired, _WORD.findall(folded))))


def _composed(question: str) -> str:
    # One character can become eighteen, so it is cut again.
    return unicodedata.normalize("NFKC", question)[:MAX_ROUTED_CHARS]


def _repaired(word: str) -> str:
    """Write a short form out, and mend one letter of a telling word."""
    if word in _CUES or not 6 <= len(word) <= 12:
        return _SHORT_FOR.get(word, word)
    near = (_CUE_OF.get(one) for one in (word, *_less_a_letter(word)))
    return next((cue for cue in near if cue and cue[0] == word[0]), word)


def _less_a_letter(word: str) -> list[str]:
    return [word[:at] + word[at + 1 :] for at in range(len(word))]


def _rules(asked: _Asked, timespan: Timespan | None) -> FloatArray:
    """Say how much the words speak for each strategy: shape (5,), in [0, 1]."""
    said = np.zeros(len(_STRATEGIES), np.float32)
    for at, weight, pattern in _RULES:
        if weight > said[at] and pattern.search(asked.timeless):
            said[at] = weight
    beside = asked.timeless.replace("that day", " ").split()
    if asked.of_a_time and _GENERAL.issuperset(beside) and not _TOLD.search(asked.timeless):
        said[:] = 0.0
        said[_EPISODIC if not beside and _is_a_day(timespan) else _TIMELINE] = 1.0
    return said


def _is_a_day(timespan: Timespan | None) -> bool:
    if timespan is None or timespan.start is None or timespan.end is None:
        return False
    return (timespan.end - timespan.start).total_seconds() <= 25 * 3600


def _nearness(neutral: str, encode: Encode) -> tuple[FloatArray, float]:
    """Give the mean of the `TOP_K` best cosines of each strategy, and the best of all."""
    prototypes, firsts = _prototypes(encode)
    # einsum adds in one order; a matrix product may not.
    cosines = np.einsum("nd,d->n", prototypes, encode(neutral))
    groups = [cosines[a:b] for a, b in itertools.pairwise(firsts)]
    nearest = [np.sort(group)[-TOP_K:].mean() for group in groups]
    return np.array(nearest, np.float32), float(cosines.max())


def warm_up(encode: Encode | None) -> None:
    """Encode the prototypes now, some 10 ms, so that the first question need not wait for it."""
    if encode is not None:
        _prototypes(encode)


@functools.lru_cache(maxsize=MAX_ENCODERS)
def _prototypes(encode: Encode) -> tuple[FloatArray, tuple[int, ...]]:
    """Encode the prototypes: shape (n, dim), and where each strategy's begin and the last end."""
    questions = prototype_questions()
    vectors = np.stack([encode(one) for of in questions.values() for one in of])
    vectors.setflags(write=False)
    return vectors, (0, *itertools.accumulate(len(of) for of in questions.values()))


@functools.cache
def prototype_questions() -> Mapping[Strategy, tuple[str, ...]]:
    """Give the questions of ``prototypes.json``; a time reads *that day*, a name *Anna*."""
    file = resources.files("family_recall.query").joinpath("prototypes.json")
    record = json.loads(file.read_text(encoding="utf-8"))
    return {strategy: tuple(record[strategy]) for strategy in _STRATEGIES}


def _mode(plain: str, identifiers: Sequence[Identifier]) -> Mode:
    if identifiers:
        return "knowledge"
    if _OWNERSHIP.search(plain):
        return "hybrid"
    return "neural" if _HAPPENINGS.search(plain) else "hybrid"


def _either(lines: str) -> str:
    """Make one pattern of a line for each alternative."""
    return "(?:" + "|".join(line.strip() for line in lines.strip().splitlines()) + ")"


def _whole(lines: str) -> re.Pattern[str]:
    """Make one pattern of whole words of a line for each alternative."""
    return re.compile(rf"\b{_either(lines)}\b")


_FACTUAL, _EPISODIC, _MILESTONE, _TIMELINE, _HYBRID = range(len(_STRATEGIES))

_WORD = re.compile(r"[^\W_]+")
_APOSTROPHE = re.compile(r"['’‘`´]")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_GREETING = _either(r"""
    hi|hey|hello|ok|okay|please|sorry|so|um|well|and|but|also
    i (?:forgot|forget|wonder)|i was wondering
    i can'?t remember|i don'?t (?:know|remember|recall)
""")
_REQUEST = (
    r"(?:(?:(?:can|could|would|will) you )?(?:please )?"
    r"(?:tell|remind) (?:me|us) (?:again )?(?:of )?"
    r"(?=(?:wh|how|if|my |our |the )(?!en i ))"
    r"|do you (?:know|remember|recall) (?=wh|how old|my |our )"
    r"(?!when\b|what (?:i|we|you|he|she|they) |our (?:talk|chat|conversation)))"
)
_OPENING = re.compile(rf"^(?:{_GREETING},? )*{_REQUEST}?", re.IGNORECASE)

_SHORT_FOR = {
    "adress": "address", "bday": "birthday", "bout": "about", "discus": "discuss",
    "fave": "favourite", "hows": "how is", "u": "you", "ur": "your", "wat": "what",
    "wats": "what is", "wen": "when", "whats": "what is", "whens": "when is", "wheres": "where is",
    "whos": "who is", "yday": "yesterday",
}  # fmt: skip
_CUES = frozenset(
    "birthday discuss discussed favorite favourite graduate graduated happen happened happening"
    " married mention mentioned recently remember summary talking wedding weekend yesterday"
    .split()
)  # fmt: skip
_CUE_OF = {part: cue for cue in sorted(_CUES) for part in (cue, *_less_a_letter(cue))}
"""Two words a letter apart share what is left of them less that letter."""

_GENERAL = text.STOP_WORDS | frozenset(
    """
    accomplish achieve anyone away bring catch date day days do done everybody everyone everything
    events evening far family give go going good happen happened happening happenings highlights
    home house household important interesting lately latest like list main miss missed month
    morning new news notable overview past recap recent recently run show special speed spend
    spent step summarise summarize summary take time timeline today tonight update walk week
    weekend went whole year yesterday
    """.split()
)
"""Words that ask for whatever there is."""

_TOLD = _whole(r"""
    talk(?:ed|ing)?(?! (?:to|with) (?:me|us))|chat\w*|conversations?
    discuss\w*|told|said|say|saying|mention\w*|spoke|speak|spoken
    tell you|(?:did|have|has) \w+ (?:ever )?tell|remember when
    suggest\w*|recommend\w*|advi[cs]e|promise\w*|ask(?:ed)?|explain\w*
    agree\w*|decid\w*|decision|argu\w*|complain\w*
""")
_NOW = _whole(r"""
    today|tonight|yesterday|recent|recently|lately|latest|so far|these days|weekend|holidays
    (?:this|last|past|the|my|our) (?:morning|evening|night|days?|weeks?|months?|years?)
""")
_HAPPENINGS = _whole(r"""
    happen\w*|decisions?|decid\w*|summar\w+|recap|overview|recent|recently|lately
""")
_OWNERSHIP = _whole(r"""
    owns?|owned|owners?|belong(?:s|ed)? to|whose|in charge of|responsible for
    depends? on|dependent on|dependency|dependencies|blocked by|blocks|blocking
""")

_WHO = r"(?:i|we|you|he|she|they|it|(?:my|our|the|his|her|their|your)(?: \w+){1,2}|\w+(?: \w+)?)"
_ATTRIBUTE = _either(r"""
    names?|surname|called|birthday|birth ?date|age|blood|breed|size|height|weight|colou?r
    address|phone|number|password|code|pin|email|favou?rite|allergic|allergy|medication|medicine
    job|living|doctor|dentist|teacher|boss
""")
_LIFE = _either(r"""
    pass(?:ed)?$|pass(?:ed)? (?:away|on|my|his|her|the|your)|die[ds]?|dying|death|funeral
    born|birth|baptis\w*|baptiz\w*|christen\w*|adopt\w*|first (?!name)\w+|learn(?:ed|t)? to
    have (?:her|his|their|our|a|the) (?:\w+ )?(?:baby|twins|son|daughter)
    marry|married|marriage|wedding|engaged|engagement|propose\w*|divorce\w*|separated
    (?:meet|met)$|(?:meet|met) (?:my|his|her|each)|bec[ao]me
    start(?:ed)? (?:school|work|working|college|university|kindergarten|my|his|her|the)
    graduat\w*|diploma|degree|finish(?:ed)? (?:school|college|university|his|her|my)
    (?:driving|drivers?) (?:test|licen[cs]e)|promot\w*|retire\w*|quit
    mov(?:e|ed|ing) (?:to|in|into|here|away|out|house|from)|emigrat\w*|immigrat\w*|citizen
    (?:buy|bought|sell|sold) (?:the|our|a|this) (?:\w+ )?(?:house|flat|home|farm|car)
    come to live|get (?:our|the) (?:dog|cat|puppy|kitten)
    diagnos\w*|heart attack|stroke|operation|surgery|stop(?:ped)? (?:smoking|drinking)
""")
_READINGS = (
    (_FACTUAL, 1.0, rf"""
        ^(?:(?:what|who|where|which|when) (?:is|are|am|was) )?(?:\w+ ){{1,4}}{_ATTRIBUTE}$
        ^(?:what|who) (?:is|are) .*\b{_ATTRIBUTE}\b
        ^who (?:is|are) (?:my|our)
        ^where (?:do|does) .*\b(?:live|work|study)$
        ^how (?:old|tall|heavy|big) (?:is|are|am)\b
    """),
    (_FACTUAL, 0.8, r"""
        ^(?:who|where) (?:is|are|do|does)\b
        ^how (?:old|tall|heavy|big|many|far)\b
        ^(?:what|which)(?: \w+){1,3} (?:do|does|is|are|am)\b
        ^(?:is|are|does)\b
    """),
    (_FACTUAL, 0.6, rf"""
        ^(?:what|which) (?:is|are|am|does|do|time)\b
        ^(?!when).*\b{_ATTRIBUTE}\b
        ^do (?:i|we)\b|^am i\b
    """),
    (_EPISODIC, 1.0, rf"""
        ^(?:do you )?(?:remember|recall) (?:when|that|the (?:time|day)|how|our)\b
        {_TOLD.pattern}
    """),
    (_EPISODIC, 0.9, r"""
        \bhappen\w* (?:with|to|at|about)\b|\bappointment\b|\blast time\b
        ^where did (?:i|we) (?:put|leave|park|hide)\b
        ^how did .* go(?: that day)?$
        ^why (?:did|was|were)\b
    """),
    (_EPISODIC, 0.6, rf"""
        ^(?:what|which)(?: \w+){{0,2}} (?:did|was|were|have|had) {_WHO}\b
        ^(?:did|have|has) (?:i|we|you|anyone)\b
        ^where did\b|^who \w+ed\b
    """),
    (_MILESTONE, 1.0, rf"""
        \b(?:when|year|date|long ago|since|how long)\b.*\b{_LIFE}\b
        ^when did$
    """),
    (_MILESTONE, 0.8, rf"^(?:what|which|how|where|who)\b.*\b{_LIFE}\b"),
    (_MILESTONE, 0.4, r"^(?:when|(?:in )?(?:what|which) year) (?:did|was|were)\b"),
    (_TIMELINE, 1.0, rf"""
        \b(?:summar\w+|recap|overview|highlights|timeline|news of|up to (?:date|speed))\b
        \b(?:catch (?:me|us) up|walk (?:me|us) through)\b
        \b(?:been up to|going on|went on|been happening|been doing)\b
        ^what (?:did|has|have) {_WHO} (?:do|done|get up to|get done|miss)(?: that day| so far|$)
        ^what (?:has|have) .* been that day$
    """),
    (_TIMELINE, 0.6, r"""
        \bhappen\w*\b(?! (?:with|to|at|about))
        ^how (?:was|is|has)\b
    """),
    (_HYBRID, 1.0, r"""
        \b(?:tell|talk to) (?:me|us) (?:\w+ ){0,3}(?:about|on)\b
        ^tell me$|^who am i$|\bdescri(?:be|ption)
        \byou (?:\w+ ){0,2}(?:know|tell me|say|remember|learned|learnt) (?:about|of)\b
        \b(?:do|should|can) (?:we|i) (?:\w+ ){0,2}know (?:about|of)\b
        \b(?:information|info|background|story|stories) (?:about|on|of|with)\b
        \b(?:everything|anything|all|something) (?:you know |there is )?(?:about|on)\b
    """),
)  # fmt: skip
_RULES = tuple((at, weight, re.compile(_either(lines))) for at, weight, lines in _READINGS)
