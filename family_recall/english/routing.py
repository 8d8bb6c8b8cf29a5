"""Route a question to the strategy that fits what it asks for.

The evidence of word rules and of the cosine to the prototype questions of ``prototypes.json`` is
added up. Without an encoder the rules decide alone.

* ``FACTUAL`` asks for a fact: a name, a birthday, where the key is.
* ``EPISODIC`` asks for what was said, done or arranged.
* ``MILESTONE`` asks about a life event: a birth, a wedding, a move.
* ``TIMELINE`` asks for everything of a stretch of time.
* ``HYBRID`` asks broadly, or is undecided.

The rules read a question in lower case, each word of letters and digits behind one space: a pattern
that begins with a space is tried at the words alone.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from importlib import resources
from typing import NamedTuple, TypeAlias, get_args

import numpy as np

from family_recall.types import FloatArray, Mode, Strategy

from .text import STOP_WORDS, runs_in
from .times import Timespan

_Test: TypeAlias = Callable[[str], object]

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

MAX_ROUTED_CHARS = 300
"""Characters of a question that are routed; the rest is ignored."""


Encode: TypeAlias = Callable[[str], FloatArray]

MIN_CONFIDENCE = 0.4
"""Below this confidence the strategy is ``HYBRID``."""

MIN_COSINE = 0.45
"""A question without a matching rule and below this cosine to every prototype is noise."""

MAX_ENCODERS = 4
"""Encoders whose prototype vectors are cached."""

TOP_PROTOTYPES = 3
"""Best prototypes of a strategy whose cosines are averaged."""

TIER_WEIGHTS: Mapping[Strategy, Mapping[str, float]] = {
    "FACTUAL": {"facts": 0.8, "milestones": 0.1, "episodes": 0.1},
    "EPISODIC": {"facts": 0.1, "milestones": 0.1, "episodes": 0.8},
    "MILESTONE": {"facts": 0.1, "milestones": 0.8, "episodes": 0.1},
    "TIMELINE": {"facts": 0.0, "milestones": 0.3, "episodes": 0.7},
    "HYBRID": {"facts": 0.33, "milestones": 0.33, "episodes": 0.34},
}
"""Share of each tier in an answer; they sum to 1."""

_RULE_WEIGHT = 4.0
_COSINE_WEIGHT = 9.0
"""Both in nats, per unit of a rule and of a cosine."""


class Route(NamedTuple):
    """How to search for an answer.

    Attributes:
        strategy: What the question asks for.
        confidence: Probability of the strategy in [0, 1]; 0 for a question without any evidence.
            Below `MIN_CONFIDENCE` the strategy is ``HYBRID``.
        mode: ``knowledge`` for a question that quotes an identifier, ``neural`` for one about
            happenings, decisions or a summary, else ``hybrid``.
    """

    strategy: Strategy
    confidence: float
    mode: Mode


UNROUTED = Route("HYBRID", 0.0, "hybrid")
"""The route of a question without any evidence."""


def _either(lines: str) -> str:
    """Return a pattern with one alternative per line."""
    return "(?:" + "|".join(line.strip() for line in lines.strip().splitlines()) + ")"


def _opening(lines: str) -> _Test:
    """Return a test for the first words of a question, with one alternative per line."""
    return re.compile(f" {_either(lines)}").match


def _anywhere(lines: str) -> _Test:
    """Return a test for whole words anywhere in a question, with one alternative per line."""
    return re.compile(rf" {_either(lines)}(?!\w)").search


FACTUAL, EPISODIC, MILESTONE, TIMELINE, HYBRID = range(len(STRATEGIES))

_APOSTROPHE = re.compile(r"['’‘`´]")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_GREETING = _either(r"""
    hi|hey|hello|ok|okay|please|sorry|so|um|well|and|but|also
""")
_REQUEST = (
    r"(?:(?:(?:can|could|would|will) you )?(?:please )?"
    r"(?:tell|remind) (?:me|us) (?:again )?(?:of )?"
    r"(?=(?:wh|how|if|my |our |the )(?!en i ))"
    r"|do you (?:know|remember|recall) (?=wh|how old|my |our )"
    r"(?!when\b|what (?:i|we|you|he|she|they) |our (?:talk|chat|conversation)))"
)
_OPENING_PHRASE = re.compile(rf"^(?:{_GREETING},? )*{_REQUEST}?", re.IGNORECASE)

_SHORT_FORMS = {
    "adress": "address", "bday": "birthday", "bout": "about", "discus": "discuss",
    "fave": "favourite", "hows": "how is", "u": "you", "ur": "your", "wat": "what",
    "wats": "what is", "wen": "when", "whats": "what is", "whens": "when is", "wheres": "where is",
    "whos": "who is", "yday": "yesterday",
}  # fmt: skip

_GENERAL_WORDS = STOP_WORDS | frozenset(
    """
    accomplish achieve anyone away bring catch date day days do done everybody everyone everything
    events evening far family give go going good happen happened happening happenings highlights
    home house household important interesting lately latest like list main miss missed month
    morning new news notable overview past recap recent recently run show special speed spend
    spent step summarise summarize summary take time timeline today tonight update walk week
    weekend went whole year yesterday
    """.split()
)
"""Words that name no topic: a question of these alone asks for everything of a time."""

_SPEAKS = _anywhere(r"""
    talk(?:ed|ing)?(?! (?:to|with) (?:me|us))|chat\w*|conversations?
    discuss\w*|told|said|say|saying|mention\w*|spoke|speak|spoken
    tell you|(?:did|have|has) \w+ (?:ever )?tell|remember when
    suggest\w*|recommend\w*|advi[cs]e|promise\w*|ask(?:ed)?|explain\w*
    agree\w*|decid\w*|decision|argu\w*|complain\w*
""")
_RECENT_TIME = _anywhere(r"""
    today|tonight|yesterday|recent|recently|lately|latest|so far|these days|weekend|holidays
    (?:this|last|past|the|my|our) (?:morning|evening|night|days?|weeks?|months?|years?)
""")
_HAPPENINGS = _anywhere(r"""
    happen\w*|decisions?|decid\w*|summar\w+|recap|overview|recent|recently|lately
""")
_OWNERSHIP = _anywhere(r"""
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
    marry|married|marriage|wedding|engaged|engagement|propose\w*|divorce\w*|separated
    (?:meet|met)$|(?:meet|met) (?:my|his|her|each)|bec[ao]me
    start(?:ed)? (?:school|work|working|college|university|kindergarten|my|his|her|the)
    graduat\w*|diploma|degree|finish(?:ed)? (?:school|college|university|his|her|my)
    (?:driving|drivers?) (?:test|licen[cs]e)|promot\w*|retire\w*|quit
    mov(?:e|ed|ing) (?:to|in|into|here|away|out|house|from)|emigrat\w*|immigrat\w*|citizen
    diagnos\w*|heart attack|stroke|operation|surgery|stop(?:ped)? (?:smoking|drinking)
""")
_ROUTING_RULES: tuple[tuple[int, float, _Test], ...] = (
    (FACTUAL, 1.0, _opening(rf"""
        (?:(?:what|who|where|which|when) (?:is|are|am|was) )?(?:\w+ ){{1,4}}{_ATTRIBUTE}$
        (?:what|who) (?:is|are) (?:\w+ )*?{_ATTRIBUTE}\b
        who (?:is|are) (?:my|our)
        where (?:do|does) .*\b(?:live|work|study)$
        how (?:old|tall|heavy|big) (?:is|are|am)\b
    """)),
    (FACTUAL, 0.8, _opening(r"""
        (?:who|where) (?:is|are|do|does)\b
        how (?:old|tall|heavy|big|many|far)\b
        (?:what|which)(?: \w+){1,3} (?:do|does|is|are|am)\b
        (?:is|are|does)\b
    """)),
    (FACTUAL, 0.6, _opening(rf"""
        (?:what|which) (?:is|are|am|does|do|time)\b
        (?!when)(?:\w+ )*?{_ATTRIBUTE}\b
        do (?:i|we)\b|am i\b
    """)),
    (EPISODIC, 1.0, _SPEAKS),
    (EPISODIC, 0.9, _opening(r"""
        where did (?:i|we) (?:put|leave|park|hide)\b
        how did .* go(?: that day)?$
        why (?:did|was|were)\b
    """)),
    (EPISODIC, 0.9, _anywhere(r"happen\w* (?:with|to|at|about)|appointment|last time")),
    (EPISODIC, 0.6, _opening(rf"""
        (?:what|which)(?: \w+){{0,2}} (?:did|was|were|have|had) {_WHO}\b
        (?:did|have|has) (?:i|we|you|anyone)\b
        where did\b|who \w+ed\b
    """)),
    (MILESTONE, 1.0, _anywhere(
        rf"(?:when|year|date|long ago|since|how long) (?:\w+ )*?{_LIFE}\b"
    )),
    (MILESTONE, 1.0, _opening("when did$")),
    (MILESTONE, 0.8, _opening(rf"(?:what|which|how|where|who) (?:\w+ )*?{_LIFE}\b")),
    (MILESTONE, 0.4, _opening(r"(?:when|(?:in )?(?:what|which) year) (?:did|was|were)\b")),
    (TIMELINE, 1.0, _anywhere(r"""
        (?:summar\w+|recap|overview|highlights|timeline|news of|up to (?:date|speed))
        (?:catch (?:me|us) up|walk (?:me|us) through)
        (?:been up to|going on|went on|been happening|been doing)
    """)),
    (TIMELINE, 1.0, _opening(rf"""
        what (?:did|has|have) {_WHO} (?:do|done|get up to|get done|miss)(?: that day| so far|$)
        what (?:has|have) .* been that day$
    """)),
    (TIMELINE, 0.6, _anywhere(r"happen\w*(?! (?:with|to|at|about))")),
    (TIMELINE, 0.6, _opening(r"how (?:was|is|has)\b")),
    (HYBRID, 1.0, _anywhere(r"""
        (?:tell|talk to) (?:me|us) (?:\w+ ){0,3}(?:about|on)
        descri(?:be|ption)\w*
        you (?:\w+ ){0,2}(?:know|tell me|say|remember|learned|learnt) (?:about|of)
        (?:do|should|can) (?:we|i) (?:\w+ ){0,2}know (?:about|of)
        (?:information|info|background|story|stories) (?:about|on|of|with)
        (?:everything|anything|all|something) (?:you know |there is )?(?:about|on)
    """)),
    (HYBRID, 1.0, _opening("tell me$|who am i$")),
)  # fmt: skip
"""Strategy, weight, and test of a question; of a strategy those with more weight come first."""


def route(
    question: str,
    *,
    timespan: Timespan | None,
    quotes_identifier: bool,
    encode: Encode | None,
) -> Route:
    """Route a question. Any string is valid; only the beginning of a long one is read.

    Args:
        question: The question; ``timespan`` holds offsets into it.
        timespan: The time it is about.
        quotes_identifier: Whether it quotes an identifier.
        encode: Returns the unit vector of a short text; None uses the rules alone. Must be
            hashable and stable per encoder: the prototypes' vectors are cached by it, for the
            last `MAX_ENCODERS`.
    """
    question = written = question[:MAX_ROUTED_CHARS]
    for start, end in sorted(timespan.matched if timespan else (), reverse=True):
        if start < len(question):
            written = f"{written[:start]} that day {written[end:]}"
    plain = _plain(question)
    timeless = plain if written == question else _plain(written)
    has_time = timespan is not None or bool(_RECENT_TIME(plain))
    rules = _scores(timeless, timespan, has_time=has_time)
    logits = _RULE_WEIGHT * np.array(rules, np.float32)
    has_evidence = any(rules)
    if encode is not None and plain:
        # A time reads *that day* and a name *Anna*, as in the prototypes.
        neutral = _NAME.sub("Anna", _composed(written).replace("’", "'"))
        vector = encode(without_opening(" ".join(neutral.split())))
        prototypes, firsts = _prototypes(encode)
        # einsum adds in a fixed order; a matrix product may not.
        cosines = np.einsum("nd,d->n", prototypes, vector)
        groups = [cosines[a:b] for a, b in itertools.pairwise(firsts)]
        nearest = [np.sort(group)[-TOP_PROTOTYPES:].mean() for group in groups]
        logits += _COSINE_WEIGHT * np.array(nearest, np.float32)
        has_evidence = has_evidence or float(cosines.max()) >= MIN_COSINE
    strategy: Strategy = "HYBRID"
    confidence = 0.0
    if has_evidence:
        if not has_time:
            logits[TIMELINE] = -np.inf
        odds = np.exp(logits - logits.max())
        best_at = int(odds.argmax())
        confidence = float(odds[best_at] / odds.sum())
        if confidence >= MIN_CONFIDENCE:
            strategy = STRATEGIES[best_at]
    is_neural = not _OWNERSHIP(plain) and _HAPPENINGS(plain)
    mode: Mode = "neural" if is_neural else "hybrid"
    return Route(strategy, confidence, "knowledge" if quotes_identifier else mode)


def _scores(timeless: str, timespan: Timespan | None, *, has_time: bool) -> list[float]:
    """Return how strongly the words of a question suggest each strategy, in [0, 1].

    ``timeless`` is the question as the rules read it, with *that day* for its time.
    """
    scores = [0.0] * len(STRATEGIES)
    for strategy, weight, is_met in _ROUTING_RULES:
        if weight > scores[strategy] and is_met(timeless):
            scores[strategy] = weight
    rest = timeless.replace("that day", " ").split()
    if has_time and _GENERAL_WORDS.issuperset(rest) and not _SPEAKS(timeless):
        start, end = (timespan.start, timespan.end) if timespan else (None, None)
        is_a_day = start and end and (end - start).total_seconds() <= 25 * 3600
        scores = [0.0] * len(STRATEGIES)
        scores[EPISODIC if not rest and is_a_day else TIMELINE] = 1.0
    return scores


def encode_prototypes(encode: Encode | None) -> None:
    """Encode the prototypes now (about 10 ms), so that the first question need not wait."""
    if encode is not None:
        _prototypes(encode)


@functools.lru_cache(maxsize=MAX_ENCODERS)
def _prototypes(encode: Encode) -> tuple[FloatArray, tuple[int, ...]]:
    """Encode the prototypes: shape (n, dim), and the bounds of each strategy's rows."""
    groups = prototype_questions().values()
    vectors = np.stack([encode(question) for group in groups for question in group])
    vectors.setflags(write=False)
    return vectors, (0, *itertools.accumulate(map(len, groups)))


@functools.cache
def prototype_questions() -> Mapping[Strategy, tuple[str, ...]]:
    """Load ``prototypes.json``; a time reads *that day*, a name *Anna*."""
    file = resources.files("family_recall.english").joinpath("prototypes.json")
    record = json.loads(file.read_text(encoding="utf-8"))
    return {strategy: tuple(record[strategy]) for strategy in STRATEGIES}


def _plain(question: str) -> str:
    lower = _APOSTROPHE.sub("", _composed(question).casefold())
    plain = without_opening(" ".join(_SHORT_FORMS.get(word, word) for word in runs_in(lower)))
    return plain and f" {plain}"


def without_opening(text: str) -> str:
    """Leave out what opens a question: *hi, can you please tell me*."""
    opening = _OPENING_PHRASE.match(text)
    return text if opening is None else text[opening.end() :]


def _composed(question: str) -> str:
    # One character can become eighteen, so the text is cut again.
    return unicodedata.normalize("NFKC", question)[:MAX_ROUTED_CHARS]
