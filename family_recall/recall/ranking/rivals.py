"""Pairs of candidates that may be rivals: chosen by what is stored of them, then compared.

Two memories are *rivals* where both answer the question and answer it differently: another code,
another day, "moved to", "no longer". Likeness alone cannot tell rivals from two facts about two
things, and age alone cannot either, so a pair is compared in :data:`FEATURES` and a logistic model
decides, at a threshold that retires next to no memory wrongly.

Source: the model is fitted by ``python -m tools.fit.supersession`` on scenarios of our own.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib import resources
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from family_recall import english
from family_recall.english import BITS, Question, Values, mask_of, mask_of_kinds
from family_recall.english.kinship import CALLED
from family_recall.english.text import STOP_WORDS, lowered, runs_in
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking.bm25 import covers, question_weights
from family_recall.recall.ranking.features import INDEX
from family_recall.store.memory_queries import Rows, Statement
from family_recall.store.words import split, stem_number
from family_recall.types import BoolArray, FloatArray, IdArray

FEATURES = (
    "bias", "both_cover", "newer_near", "shared_words", "cosine", "value_differs", "says_change",
    "stopped_state", "for_now", "gap", "newer_long", "asks_event", "asks_all",
)  # fmt: skip
"""What a pair is compared in, in the order of the model's weights."""

LEAST_SCORE = 0.3
"""Share of the older's score below which a newer candidate is about something else."""
LEAST_COSINE = 0.3
"""Likeness of the vectors below which two memories tell of different things."""
SPEAKS_OF_IT = 0.4
"""Share of the question's words, by rarity, from which two memories speak of just what is asked."""
NAMES_IT = 0.3
"""The same of a change that says what it is now: *changed the wifi, it's otter-lamp now*."""
MUCH_FURTHER = 0.15
"""Distance in meaning from the question, beyond the older's, from which a newer memory …"""
ANOTHER_TOPIC = 4
"""… with so many words of its own is about something else: the smoke alarms, not the alarm's code.
One that says no more than *it's 5521 now* has its topic from what was said before."""
CARRIED = 0.4
"""Share of the question that an older memory holds at least for the turn before a newer one to be
about the same."""
SHORT_TURN = 24
"""Words, with its author and people, of a turn whose vector may lack what it is about."""
FIRST = 6
"""Candidates that a later one may replace: what stands below is not the answer."""
MOST_PAIRS = 8
"""Pairs whose texts are read."""
MOST_CHARS = 150
"""Length of a text that is compared in full; a longer one tells of several things."""

FEWEST_ALIKE = 4
"""Words that a text told again has in common with the first telling, and …"""
MOSTLY_ALIKE = 0.55
"""… the share of its words."""
MOST_DIFFERENT = 4
"""Words that it has instead of others."""
_MOST_READ = 1000  # characters

_SAYS_CHANGE = mask_of("changed", "stopped")
_SAYS_NEW = mask_of("changed", "stopped", "renewed")
_ASKS = BITS["only_asks"]
# Of what has no vector yet: as of middling rivals, so that a plain change is seen at once.
_NO_COSINE = 0.6
_NO_NEARNESS = 0.75
_NEARNESS = [INDEX["maxsim"], INDEX["cosine"], INDEX["static"]]
_EARLIER = (
    "before", "beforehand", "earlier", "first", "former", "formerly", "last", "old", "original",
    "originally", "past", "previous", "previously", "use", "used",
)  # fmt: skip
"""Words by which a question asks what was before: no memory of the old code need say it is old."""
_DAY_S = 86_400.0
_A_YEAR = 1.0  # in ``gap``
_BOTH_COVER, _DIFFERS, _GAP = map(FEATURES.index, ("both_cover", "value_differs", "gap"))


@dataclass(frozen=True, slots=True)
class Rival:
    """A pair that was compared: rows of the older and the newer, and why one may replace the other.

    ``features`` in the order of :data:`FEATURES`.
    """

    older: int
    newer: int
    features: tuple[float, ...]
    reason: str


class Compared(NamedTuple):
    """Pairs that may be rivals, those that surely are, and texts.

    ``retold`` are told again with another value; of ``given_up`` the newer says that it is over.
    ``statements`` by row: of each memory in a pair, and of each fact with a key.
    """

    pairs: Sequence[Rival] = ()
    retold: Sequence[tuple[int, int]] = ()
    given_up: Sequence[tuple[int, int]] = ()
    statements: Mapping[int, Statement] = MappingProxyType({})


def rivals(context: QueryContext, ranking: Ranking, n: int) -> Compared:
    """Compare the pairs among the best n candidates that may be rivals."""
    best = ranking.order[:n]
    chosen = _likely(context, ranking, best)
    alike = _alike(context, ranking, best)
    keyed = best[(ranking.rows.cues[best] & BITS["fact"]) != 0].tolist()
    of_self = _of_self(ranking, best)
    if not chosen and not alike and not of_self and len(keyed) < 2:
        return Compared()
    rows = sorted({*itertools.chain.from_iterable((*chosen, *alike, *of_self)), *keyed})
    statements = _statements_of(context, ranking, rows)
    question, rarity = context.plan.asked, _rarity(context)
    alike, of_self = (
        [pair for pair in pairs if statements.keys() >= {*pair}] for pairs in (alike, of_self)
    )
    retold = [
        (older, newer)
        for older, newer in alike
        if not _are_two_facts(statements[older], statements[newer])
        and _tells_again(question, statements[older].text, statements[newer].text)
    ]
    given_up = [
        (older, newer)
        for older, newer in of_self
        if english.is_given_up(statements[older].text, statements[newer].text)
    ]
    short = {row for row, statement in statements.items() if len(statement.text) <= MOST_CHARS}
    chosen = {
        (older, newer): cosine
        for (older, newer), cosine in chosen.items()
        if short.issuperset((older, newer))
        and not _are_two_facts(statements[older], statements[newer])
    }
    if not chosen:
        return Compared((), retold, given_up, statements)
    paired = {row: statements[row] for row in sorted({*itertools.chain.from_iterable(chosen)})}
    stated = _stated(context, ranking, paired, rarity)
    contexts = {row: int(ranking.rows.contexts[row]) for row in stated if stated[row].topic}
    turns: Mapping[int, Statement] = {}
    if contexts:
        ids = np.unique(np.array([*contexts.values()], np.int64))
        turns = context.snapshot.statements(ids, context.scope)
    compared = []
    for (older, newer), cosine in chosen.items():
        before = turns.get(contexts.get(newer, 0))
        if before and carries_on(rarity, stated[older], stated[newer], before.text):
            retold.append((older, newer))
            continue
        features = pair_features(question, rarity, stated[older], stated[newer], cosine)
        if _tells_of_another(stated[older], stated[newer], features[_BOTH_COVER]):
            continue
        differs, says_change = features[_DIFFERS], features[_DIFFERS + 1]
        if differs or says_change:
            cues = stated[newer].cues
            why = "states another value" if differs else "says how it is now"
            if cues & BITS["changed"]:
                why = "says that it changed"
            elif cues & BITS["stopped"]:
                why = "says that it ended"
            compared.append(Rival(older, newer, features, why))
    return Compared(compared, retold, given_up, statements)


def _of_self(ranking: Ranking, best: IdArray) -> list[tuple[int, int]]:
    """Return pairs (older, newer) of rows by one person, of whom the older tells something."""
    rows, authors, cues = ranking.rows, ranking.rows.authors, ranking.rows.cues[best]
    own = best[(cues & BITS["of_self"]) != 0][:FIRST]
    newer = best[(cues & (_SAYS_NEW | BITS["of_self"])) != 0]
    later = np.argwhere(_later(rows, own, newer)).tolist()
    pairs = ((int(own[i]), int(newer[j])) for i, j in later)
    return [(i, j) for i, j in pairs if authors[i] and authors[i] == authors[j]][:MOST_PAIRS]


def _are_two_facts(one: Statement, other: Statement) -> bool:
    """Whether two memories have keys of different facts, such as two numbers of one contact."""
    return bool(one.fact_key and other.fact_key) and one.fact_key != other.fact_key


def _alike(context: QueryContext, ranking: Ranking, best: IdArray) -> list[tuple[int, int]]:
    """Return pairs (older, newer) of rows by one author that have most of their words in common."""
    rows, question = ranking.rows, context.plan.asked
    if question.asks_event or question.asks_all:
        return []
    words, moments, lengths = rows.words, rows.occurred_s.tolist(), rows.n_words.tolist()
    stems: dict[int, frozenset[int]] = {}

    def stems_of(row: int) -> frozenset[int]:
        if row not in stems:
            of_row = words.of_row(row)
            own = words.stems[of_row][words.in_body[of_row]].tolist()
            stems[row] = frozenset(own) - _stems_of(STOP_WORDS)
        return stems[row]

    pairs = []
    order = best.tolist()
    for place, one in enumerate(order[:FIRST]):
        for other in order[place + 1 :]:
            if (
                rows.authors[one] != rows.authors[other]
                or rows.sessions[one] == rows.sessions[other]
                or moments[one] == moments[other]
                or 2 * min(lengths[one], lengths[other]) < max(lengths[one], lengths[other])
                or (rows.cues[one] | rows.cues[other]) & _ASKS
            ):
                continue
            left, right = stems_of(one), stems_of(other)
            common = len(left & right)
            enough = common >= FEWEST_ALIKE or (common > 1 and left == right)
            if enough and common >= MOSTLY_ALIKE * max(len(left), len(right)):
                pairs.append((one, other) if moments[one] < moments[other] else (other, one))
    return pairs[:MOST_PAIRS]


def _tells_again(question: Question, older: str, newer: str) -> bool:
    """Whether a text is an older one with another value in it: not with somebody else in it."""
    before, after = (runs_in(lowered(text[:_MOST_READ])) for text in (older, newer))
    names = set[str]()
    if not question.asks_who:
        for text in (older, newer):
            names.update(
                *(name.split() for name in english.values_in(text, ["name"]).get("name", ()))
            )
    differ = [set[str](), set[str]()]
    for kind, start, end, start2, end2 in SequenceMatcher(None, before, after, False).get_opcodes():
        if kind != "equal":
            differ[0].update(before[start:end])
            differ[1].update(after[start2:end2])
    own = [words - other for words, other in (differ, differ[::-1])]
    return 0 < max(map(len, own)) <= MOST_DIFFERENT and names.isdisjoint(own[0] | own[1])


def probability(features: Sequence[float], *, has_changed: bool = False) -> float:
    """Return how probably the newer of a pair with these features replaces the older.

    ``has_changed``: whether the question says that something did; then it says nothing against
    that if little time lies between the two, as between a code and the next one on the same day.
    """
    if has_changed:
        features = (*features[:_GAP], _A_YEAR, *features[_GAP + 1 :])
    weights, _ = model()
    logit = sum([w * x for w, x in zip(weights, features, strict=True)])
    return 1.0 / (1.0 + math.exp(-min(max(logit, -40.0), 40.0)))


@functools.cache
def model() -> tuple[tuple[float, ...], float]:
    """Load the weights of :data:`FEATURES`, and the probability from which a memory is replaced."""
    text = resources.files("family_recall.recall.ranking").joinpath("supersession.json").read_text()
    record = json.loads(text)
    return tuple(record["weights"][name] for name in FEATURES), record["threshold"]


def _likely(context: QueryContext, ranking: Ranking, best: IdArray) -> dict[tuple[int, int], float]:
    """Choose pairs (older, newer) of rows by what their columns and vectors say.

    Returns:
        The cosine of each pair's vectors, the most relevant pair first.
    """
    rows = ranking.rows
    score, cues, sessions = ranking.score[best], rows.cues[best], rows.sessions[best]
    first = slice(FIRST)
    # [i, j]: whether j may replace i, one of the first.
    may = _later(rows, best[first], best) & (score >= LEAST_SCORE * score[first, None])
    may &= (cues & _ASKS) == 0
    question = context.plan.asked
    if question.asks_event:
        may &= (cues & _SAYS_CHANGE) != 0
    else:
        says_new = (cues & _SAYS_NEW) != 0
        may &= says_new | ((cues & cues[first, None] & mask_of_kinds(question.compared)) != 0)
        # Who names two days one after the other means both.
        may &= says_new | (sessions != sessions[first, None])
    if not may.any():
        return {}
    cosines = _cosines(context, rows, best)
    is_turn = (rows.contexts[best] > 0) & (rows.n_words[best] <= SHORT_TURN)
    pairs = np.argwhere(may & ((cosines >= LEAST_COSINE) | is_turn))
    relevance = score[pairs[:, 0]] + score[pairs[:, 1]]
    chosen = pairs[np.argsort(-relevance, kind="stable")[:MOST_PAIRS]]
    return {(int(best[i]), int(best[j])): float(cosines[i, j]) for i, j in chosen.tolist()}


def _cosines(context: QueryContext, rows: Rows, best: IdArray) -> FloatArray:
    """Return the cosines (first, n) of the first of some rows with all; likely ones if unknown."""
    if context.model_id is None:
        return np.full((len(best[:FIRST]), len(best)), _NO_COSINE, np.float32)
    bodies = context.snapshot.bodies(context.model_id, rows.ids, context.scope)[best]
    cosines = context.above_level(bodies[:FIRST].dot(bodies.T))
    has_none = np.vecdot(bodies, bodies) == 0.0
    cosines[has_none[:FIRST]] = _NO_COSINE
    cosines[:, has_none] = _NO_COSINE
    return cosines


def _later(rows: Rows, first: IdArray, best: IdArray) -> BoolArray:
    """Return whether row j of the best was said after row i of the first: at [i, j].

    By the moment; of two without one, in one partition, by the order of writing, if the later one
    says that something changed: what is imported at once came in any order.
    """
    occurred_s, ids = rows.occurred_s[best], rows.ids[best]
    first_s, first_ids = rows.occurred_s[first, None], rows.ids[first, None]
    later: BoolArray = occurred_s > first_s
    unknown = np.isnan(occurred_s)
    if unknown.any():
        together = unknown & np.isnan(first_s) & ((ids >> 40) == (first_ids >> 40))
        says_change = (rows.cues[best] & _SAYS_CHANGE) != 0
        later |= together & (ids > first_ids) & says_change
    return later


@dataclass(frozen=True, slots=True)
class Stated:
    """What a comparison reads of one memory.

    ``stems`` are the numbers of its content stems that the question lacks, ``covered`` those of the
    question's that it holds; both with ``topic``, the stems of the turn before one that may leave
    unsaid what it is about; ``near`` is its closeness to the question in meaning, in [0, 1];
    ``values`` are those of the kinds asked for.
    """

    statement: english.Statement
    author: str | None
    said_s: float
    cues: int
    stems: frozenset[int]
    covered: frozenset[int]
    near: float
    values: Values
    topic: frozenset[int] = frozenset()


def _statements_of(
    context: QueryContext, ranking: Ranking, rows: Sequence[int]
) -> dict[int, Statement]:
    """Load the statements of some rows, in their order, by row, of those that are there."""
    ids = ranking.rows.ids[rows]
    by_id = context.snapshot.statements(ids, context.scope)
    return {
        row: by_id[memory]
        for row, memory in zip(rows, ids.tolist(), strict=True)
        if memory in by_id
    }


def _stated(
    context: QueryContext,
    ranking: Ranking,
    statements: Mapping[int, Statement],
    rarity: Mapping[int, float],
) -> dict[int, Stated]:
    """Return what a comparison reads of some rows, ascending."""
    rows, at = ranking.rows, np.array(list(statements), np.int64)
    held = covers(rows, rarity, at).tolist()
    nearest = ranking.features[at][:, _NEARNESS].max(axis=1).tolist()
    words, numbers = rows.words, list(rarity)
    kinds = [(kind, BITS[f"kind:{kind}"]) for kind in context.plan.asked.compared]
    stated = {}
    for (row, statement), near, is_held in zip(statements.items(), nearest, held, strict=True):
        of_row = words.of_row(row)
        own = words.stems[of_row]
        stems = frozenset(own[words.in_body[of_row]].tolist())
        cues, read = int(rows.cues[row]), english.Statement(statement.text)
        covered = frozenset(itertools.compress(numbers, is_held))
        topic = frozenset[int]()
        if read.continues:
            topic = frozenset(own[words.columns[words.codes[of_row], 2] > 0].tolist())
            stems |= topic
            covered |= topic & rarity.keys()
        stated[row] = Stated(
            statement=read,
            author=rows.authors[row],
            said_s=statement.said_s,
            cues=cues,
            stems=stems - rarity.keys() - _stems_of(STOP_WORDS),
            covered=covered,
            near=near or _NO_NEARNESS,
            values=read.values([kind for kind, bit in kinds if cues & bit]),
            topic=topic,
        )
    return stated


def _says_now(older: Stated, newer: Stated, both_cover: float) -> bool:
    """Whether a memory says of what the question names that it changed, and what it is now."""
    if not newer.cues & BITS["changed"] or both_cover < NAMES_IT:
        return False
    if older.author != newer.author and newer.statement.speaks_of_own:
        return False
    return values_differ(older.values, newer.statement.values_now(newer.values))


def _tells_of_another(older: Stated, newer: Stated, both_cover: float) -> bool:
    """Whether a newer memory is about something else: another's *my*, or another topic."""
    own = older.statement.speaks_of_own and newer.statement.speaks_of_own
    if own and older.author != newer.author:
        return True
    is_far = older.near - newer.near > MUCH_FURTHER and not _says_now(older, newer, both_cover)
    return is_far and len(newer.stems - older.stems) >= ANOTHER_TOPIC


def features_of(
    context: QueryContext, ranking: Ranking, pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], tuple[float, ...]]:
    """Compare pairs (older, newer) of rows, whether or not they may be rivals, if they are there.

    Returns:
        :data:`FEATURES` of each pair.
    """
    rows = sorted({*itertools.chain.from_iterable(pairs)})
    statements = _statements_of(context, ranking, rows)
    rarity = _rarity(context)
    stated = _stated(context, ranking, statements, rarity)
    bodies = dict.fromkeys(rows, np.zeros(0, np.float32))
    if context.model_id is not None:
        found = context.snapshot.bodies(context.model_id, ranking.rows.ids[rows], context.scope)
        bodies = dict(zip(rows, found, strict=True))
    return {
        (older, newer): pair_features(
            context.plan.asked,
            rarity,
            stated[older],
            stated[newer],
            float(context.above_level(bodies[older].dot(bodies[newer]))),
        )
        for older, newer in pairs
        if {older, newer} <= stated.keys()
    }


def _rarity(context: QueryContext) -> dict[int, float]:
    """Return how rare each of the question's stems is, but for those that ask what was before."""
    rarity = question_weights(context)
    if context.plan.asked.moment == "before":
        earlier = _stems_of(_EARLIER)
        return {stem: weight for stem, weight in rarity.items() if stem not in earlier}
    return rarity


@functools.cache
def _stems_of(words: tuple[str, ...] | frozenset[str]) -> frozenset[int]:
    """Return the numbers of the stems of some words, and of the words as they are."""
    stems = {stem for word in words for _, stem in split(word)}
    return frozenset(map(stem_number, stems.union(words)))


def pair_features(
    question: Question, rarity: Mapping[int, float], older: Stated, newer: Stated, cosine: float
) -> tuple[float, ...]:
    """Compare two memories that a question found: :data:`FEATURES`, each in [0, 1] or near it.

    ``rarity`` is that of each of the question's stems, by number; ``cosine`` that of the vectors.
    """
    both = sum([rarity[stem] for stem in newer.covered & older.covered])
    both_cover = both / (sum(rarity.values()) or 1.0)
    fewer = min(len(older.stems), len(newer.stems))
    differs = values_differ(older.values, newer.values)
    gap_days = max(newer.said_s - older.said_s, 0.0) / _DAY_S
    gap = min(math.log1p(gap_days) / math.log(366.0), 1.2)
    if differs and _says_now(older, newer, both_cover):
        cosine, gap = 1.0, _A_YEAR
    # "I" is somebody else where somebody else says it.
    elif differs and (older.author == newer.author or not newer.statement.speaks_of_self):
        if is_repeated(older, newer):
            cosine, gap = 1.0, _A_YEAR  # but for the value they are one sentence, however soon
        elif newer.cues & BITS["changed"] and both_cover >= SPEAKS_OF_IT:
            gap = _A_YEAR
    return (
        1.0,
        both_cover,
        newer.near,
        len(older.stems & newer.stems) / fewer if fewer else 0.0,
        cosine,
        float(differs),
        float(newer.cues & _SAYS_NEW != 0),
        both_cover if newer.cues & BITS["stopped"] and question.asks_state else 0.0,
        float(newer.cues & BITS["for_now"] != 0),
        gap,
        min(len(newer.statement.text) / 300.0, 2.0),
        float(question.asks_event),
        float(question.asks_all),
    )


def carries_on(rarity: Mapping[int, float], older: Stated, newer: Stated, before: str) -> bool:
    """Return whether the newer tells another value of what the turn before it was about.

    *Did you try the shed code?*, and then *it's 9052 now*, of *the shed code is 4417*: not where
    that turn speaks of somebody whom the older does not name.

    Args:
        rarity: That of each of the question's stems, by number.
        older: What a comparison reads of the older memory.
        newer: The same of the newer.
        before: The text of the turn before the newer.
    """
    people = set(english.values_in(before, ["name"]).get("name", ()))
    people |= CALLED & set(runs_in(lowered(before)))
    if not older.statement.speaks_of_self:
        people.discard(newer.author or "")  # who was spoken to
    return (
        sum([rarity[stem] for stem in older.covered]) >= CARRIED * sum(rarity.values())
        and older.covered <= newer.covered
        and not newer.topic.isdisjoint(older.covered)
        and bool(newer.cues & _SAYS_NEW)
        and not newer.cues & BITS["for_now"]
        and values_differ(older.values, newer.values)
        and people <= set(older.statement.words)
    )


def values_differ(before: Values, after: Values) -> bool:
    """Return whether two texts have values of one kind and do not agree in them.

    They agree where a kind has a value in common, or two names of places share a word; in names
    where the newer has no other, and in numbers where one of the two texts has no other.
    """
    for kind in before.keys() & after.keys():
        if kind == "place":
            differ = _words(before[kind]).isdisjoint(_words(after[kind]))
        elif kind == "name":
            differ = bool(after[kind] - before[kind])
        elif kind == "number":
            differ = not (after[kind] <= before[kind] or before[kind] <= after[kind])
        else:
            differ = before[kind].isdisjoint(after[kind])
        if differ:
            return True
    return False


def is_repeated(older: Stated, newer: Stated) -> bool:
    """Return whether two memories say the same of what is asked, but for their values.

    *The code is 4711*, and then *the code is 8302 from today*.
    """
    return older.covered <= newer.covered and all(
        one.statement.repeats(other.statement, one.values)
        for one, other in ((newer, older), (older, newer))
    )


def _words(values: Iterable[str]) -> set[str]:
    return {word for value in values for word in value.split()}
