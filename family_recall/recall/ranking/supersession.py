"""Whether a newer memory replaces an older one as the answer to one question.

Two memories are *rivals* where both answer the question and answer it differently: another code,
another day, "moved to", "no longer". Likeness alone cannot tell rivals from two facts about two
things, and age alone cannot either, so a pair is compared in :data:`FEATURES` and a logistic model
decides, at a threshold that retires next to no memory wrongly. Two facts of one key need no model.

Source: the model is fitted by ``python -m tools.fit.supersession`` on scenarios of our own.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from family_recall.english import BITS, Question, Statement, Values
from family_recall.english.statement import begin_alike

CHANGED, RENEWED, STOPPED = BITS["changed"], BITS["renewed"], BITS["stopped"]
FOR_NOW, ONE_DAY, UNSURE, ASKS, NEGATED = (
    BITS[name] for name in ("for_now", "one_day", "unsure", "asks", "negated")
)
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Stated:
    """What the test reads of one memory.

    ``stems`` are the numbers of its own content stems, ``values`` those of the kinds asked for,
    ``modifiers`` what stands before the question's words.
    ``score`` is its score, ``near`` its closeness to the question in meaning, in [0, 1].
    """

    statement: Statement
    author: str | None
    said_s: float
    session: int
    cues: int
    stems: frozenset[int]
    score: float
    near: float
    covered: frozenset[int]
    values: Values
    modifiers: Mapping[str, set[str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the test reads of the question.

    ``weights`` are the rarity of each of its stems, ``words`` those words as asked, ``forms`` the
    longer of them by how they are written with and without their last letter; ``ordinary`` the
    numbers of stems that say nothing about a topic; ``names`` the words by which it names somebody,
    normalised; ``asker`` who asks, ``about_asker`` whether it is about them.
    """

    question: Question
    weights: Mapping[int, float]
    words: frozenset[str]
    forms: Mapping[str, str]
    ordinary: frozenset[int]
    names: frozenset[str]
    asker: str | None
    about_asker: bool


FEATURES = (
    "bias", "newer_covers", "older_covers", "both_cover", "only_older_covers",
    "only_newer_covers", "score_ratio", "near_ratio", "newer_near", "shared_words", "cosine",
    "value_differs", "value_same", "value_new", "value_lost", "changed", "renewed", "stopped",
    "for_now", "one_day", "unsure", "older_asks", "older_for_now", "negated", "other_name",
    "other_owner", "other_kind", "subject_lost", "other_speaker", "same_author", "same_session",
    "gap", "asks_state", "asks_event", "asks_all", "open_slot", "newer_long", "older_long",
    "narrates", "adds_words", "lasting", "changed_covers", "differs_covers", "stopped_state",
    "differs_cosine", "changed_cosine", "changed_differs", "open_changed", "renewed_differs",
    "open_cosine", "covers_cosine", "begins_alike",
)  # fmt: skip
"""What a pair is compared in, in the order of the model's weights."""

LIKELY = 0.7
"""Probability from which the newer is placed above the older; to say that it replaces it takes the
model's ``threshold``. Where nothing changed, the one costs the right answer its first place."""


@dataclass(frozen=True, slots=True)
class Model:
    """Weights of :data:`FEATURES`, and the probability from which the older surely is replaced."""

    weights: tuple[float, ...]
    threshold: float

    def probability(self, features: Sequence[float]) -> float:
        """Return how probably the newer of a pair with these features replaces the older."""
        logit = sum([w * x for w, x in zip(self.weights, features, strict=True)])
        return 1.0 / (1.0 + math.exp(-min(max(logit, -40.0), 40.0)))


@functools.cache
def model() -> Model:
    """Load the fitted model."""
    text = resources.files("family_recall.recall.ranking").joinpath("supersession.json").read_text()
    record = json.loads(text)
    return Model(tuple(record["weights"][name] for name in FEATURES), record["threshold"])


def pair_features(asked: Asked, older: Stated, newer: Stated, cosine: float) -> tuple[float, ...]:
    """Compare two memories that a question found: :data:`FEATURES`, each in [0, 1] or near it.

    Args:
        asked: The question.
        older: What was said first.
        newer: What was said later.
        cosine: Of their vectors; 0.5 where one has none.
    """
    question = asked.question
    total = sum(asked.weights.values()) or 1.0
    newer_covers = sum([asked.weights[stem] for stem in newer.covered]) / total
    older_covers = sum([asked.weights[stem] for stem in older.covered]) / total
    both = sum([asked.weights[stem] for stem in newer.covered & older.covered]) / total
    smaller = min(len(older.stems), len(newer.stems))
    shared = len(older.stems & newer.stems) / smaller if smaller else 0.0
    differs, same, new, lost = _values(older.values, newer.values)
    cues = newer.cues
    changed = 1.0 if cues & CHANGED else 0.0
    renewed = 1.0 if cues & RENEWED else 0.0
    stopped = 1.0 if cues & STOPPED else 0.0
    older_text = older.statement.text.casefold()
    gap_days = max(newer.said_s - older.said_s, 0.0) / DAY_S
    open_slot = float(not question.kinds)
    return (
        1.0,
        newer_covers,
        older_covers,
        both,
        older_covers - both,
        newer_covers - both,
        min(newer.score / max(older.score, 1e-6), 1.5),
        min(newer.near / max(older.near, 1e-6), 1.5),
        newer.near,
        shared,
        cosine,
        differs,
        same,
        new,
        lost,
        changed,
        renewed,
        stopped,
        1.0 if cues & FOR_NOW else 0.0,
        1.0 if cues & ONE_DAY else 0.0,
        1.0 if cues & UNSURE else 0.0,
        1.0 if older.cues & ASKS else 0.0,
        1.0 if older.cues & FOR_NOW else 0.0,
        1.0 if cues & NEGATED else 0.0,
        _other_name(asked, older.statement, newer),
        _other_owner(asked, older_text, newer.statement),
        _other_kind(older, newer),
        _subject_lost(asked, older, newer),
        _other_speaker(asked, older, newer),
        float(older.author == newer.author),
        float(older.session == newer.session),
        min(math.log1p(gap_days) / math.log(366.0), 1.2),
        float(question.asks_state),
        float(question.asks_event),
        float(question.asks_all),
        open_slot,
        min(len(newer.statement.text) / 300.0, 2.0),
        min(len(older.statement.text) / 300.0, 2.0),
        float(newer.statement.narrates),
        min(len(newer.stems - older.stems) / 3.0, 1.0),
        float(newer.statement.lasts),
        changed * newer_covers,
        differs * both,
        stopped * both * float(question.asks_state),
        differs * cosine,
        changed * cosine,
        changed * differs,
        changed * open_slot,
        renewed * differs,
        open_slot * cosine,
        both * cosine,
        float(begin_alike(older.statement, newer.statement)),
    )


def probability(features: Sequence[float], *, has_changed: bool = False) -> float:
    """Return how probably the newer of a pair with these features replaces the older.

    ``has_changed``: whether the question says that something did; then it says nothing against
    that if little time lies between the two, as between a code and the next one on the same day.
    """
    if is_excluded(features):
        return 0.0
    if is_plain(features):
        return 1.0
    if has_changed:
        place = _PLACE_OF["gap"]
        features = (*features[:place], _A_YEAR, *features[place + 1 :])
    return model().probability(features)


def is_plain(features: Sequence[float]) -> bool:
    """Whether the newer says plainly, of just what is asked, that it is no longer so.

    Both hold half of the question's words or more, by rarity, and the newer says that a value
    changed or, where yes or no is asked for, that it ended: of 36 such pairs in the data that the
    model is fitted on 35 are rivals. Or it says in another talk the same with another value
    (:func:`begin_alike`), which nobody in that data does. And it is about nobody else, is sure and
    lasts.
    """
    at = _PLACE_OF
    differs = features[at["value_differs"]] and not features[at["open_slot"]]
    says_so = (features[at["changed"]] and differs) or (
        features[at["stopped"]] and features[at["asks_state"]]
    )
    repeats = differs and features[at["begins_alike"]]
    repeats = repeats and not any(features[at[name]] for name in _NOT_REPEATED)
    if not repeats and (not says_so or features[at["both_cover"]] < 0.5):
        return False
    for_a_day = features[at["one_day"]] and not features[at["lasting"]]
    return not (for_a_day or any(features[at[name]] for name in _NOT_PLAIN))


_NOT_PLAIN = (
    "unsure", "for_now", "other_name", "other_owner", "other_kind", "subject_lost",
    "other_speaker",
)  # fmt: skip
_NOT_REPEATED = ("only_older_covers", "same_session", "asks_event", "asks_all")


def reason(features: Sequence[float]) -> str:
    """Return in words what speaks for a change."""
    at = _PLACE_OF
    if features[at["changed"]]:
        return "says that it changed"
    if features[at["stopped"]]:
        return "says that it ended"
    if features[at["value_differs"]]:
        return "states another value"
    return "says how it is now"


def is_excluded(features: Sequence[float]) -> bool:
    """Whether a pair cannot be rivals, whatever else speaks for it.

    Nothing says that anything changed or differs; or the newer repeats the value; or it holds for
    a while only.
    """
    at = _PLACE_OF
    differs, changed = features[at["value_differs"]], features[at["changed"]]
    cue = changed or features[at["stopped"]] or features[at["renewed"]]
    repeats = features[at["value_same"]] and not (changed or differs)
    lasts = features[at["lasting"]]
    return bool(not (differs or cue) or repeats or (features[at["for_now"]] and not lasts))


_A_YEAR = 1.0  # in ``gap``
_PLACE_OF = {name: at for at, name in enumerate(FEATURES)}


def _values(before: Values, after: Values) -> tuple[float, float, float, float]:
    """Compare the values of the kinds asked for: (differ, same, only newer has, only older has).

    They are the same where a kind has one in common, or two names of places share a word; numbers
    where one of the two texts has no other.
    """
    differs = same = 0.0
    for kind in before.keys() & after.keys():
        if kind == "place":
            agree = not _words(before[kind]).isdisjoint(_words(after[kind]))
        elif kind == "name":
            agree = not after[kind] - before[kind]
        elif kind == "number":
            agree = after[kind] <= before[kind] or before[kind] <= after[kind]
        else:
            agree = not before[kind].isdisjoint(after[kind])
        differs, same = max(differs, float(not agree)), max(same, float(agree))
    new = float(bool(after.keys() - before.keys()))
    lost = float(bool(before.keys() - after.keys()))
    return differs, same, new, lost


def _words(values: Iterable[str]) -> set[str]:
    return {word for value in values for word in value.split()}


def _other_name(asked: Asked, older: Statement, newer: Stated) -> float:
    """Whether the newer names somebody that neither the question nor the older does."""
    if "name" in asked.question.kinds:
        return 0.0
    strangers = (
        newer.statement.people - asked.names - asked.words - {(newer.author or "").casefold()}
    )
    return float(not strangers.issubset(older.words))


def _other_owner(asked: Asked, older_text: str, newer: Statement) -> float:
    """Whether the newer is about something of somebody's, or for something, named in it alone."""
    strangers = newer.owners - asked.words
    return float(any(word not in older_text for word in strangers))


def _other_kind(older: Stated, newer: Stated) -> float:
    """Whether a word of the question has another word before it in the newer: "science tuition"."""
    before, after = older.modifiers, newer.modifiers
    return float(any(not before[word] & after[word] for word in before.keys() & after.keys()))


def _subject_lost(asked: Asked, older: Stated, newer: Stated) -> float:
    """Whether the question names somebody whom the older is about and the newer is not."""
    statement = newer.statement
    older_by, newer_by = (older.author or "").casefold(), (newer.author or "").casefold()
    for name in asked.names:
        was = name in older.statement.words or name in older_by
        now = name in statement.words or (name in newer_by and statement.speaks_of_self)
        if was and not now:
            return 0.5 if statement.speaks_of_others else 1.0
    return 0.0


def _other_speaker(asked: Asked, older: Stated, newer: Stated) -> float:
    """Whether the newer speaks of its author, who is another than the one asked about."""
    if not newer.statement.speaks_of_self:
        return 0.0
    if asked.about_asker:
        return float(newer.author != asked.asker)
    if older.statement.speaks_of_self:
        return float(newer.author != older.author)
    author = (newer.author or "").casefold()
    return float(bool(asked.names) and not any(name in author for name in asked.names))
