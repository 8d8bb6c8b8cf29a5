"""The pairs of candidates that may be rivals: chosen by what is stored of them, then compared."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from family_recall import english
from family_recall.english import BITS, mask_of, mask_of_kinds
from family_recall.english.text import STOP_WORDS
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking import supersession
from family_recall.recall.ranking.bm25 import covers, question_weights
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.supersession import Stated
from family_recall.store.memory_queries import Rows, Statement
from family_recall.store.words import split, stem_number
from family_recall.types import BoolArray, FloatArray, IdArray

LEAST_SCORE = 0.3
"""Share of the older's score below which a newer candidate is about something else."""
LEAST_COSINE = 0.42
"""Likeness of the vectors below which two memories tell of different things: one in a hundred of
those that replace another are less alike (`tools.fit.supersession`)."""
AS_GOOD = 0.8
"""Share of the first's score, and of its hold on the question's words, from which a candidate
answers as well."""
FIRST = 6
"""Candidates that a later one may replace: what stands below is not the answer."""
MOST_PAIRS = 8
"""Pairs whose texts are read."""
MOST_CHARS = 150
"""Length of a text that is compared in full; a longer one tells of several things."""

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


@dataclass(frozen=True, slots=True)
class Rival:
    """A pair that was compared: rows of the older and the newer, and why one may replace the other.

    ``features`` in the order of `supersession.FEATURES`.
    """

    older: int
    newer: int
    features: tuple[float, ...]
    reason: str


def rivals(
    context: QueryContext, ranking: Ranking, n: int
) -> tuple[list[Rival], dict[int, Statement]]:
    """Compare the pairs among the best n candidates that may be rivals.

    Returns:
        The pairs, and the statement of each memory in them and of each fact with a key, by row.
    """
    best = ranking.order[:n]
    chosen = _likely(context, ranking, best)
    keyed = best[(ranking.rows.cues[best] & BITS["fact"]) != 0].tolist()
    if not chosen and len(keyed) < 2:
        return [], {}
    rows = sorted({*itertools.chain.from_iterable(chosen), *keyed})
    ids = ranking.rows.ids[rows]
    by_id = context.snapshot.statements(ids, context.scope)
    statements = {
        row: by_id[memory]
        for row, memory in zip(rows, ids.tolist(), strict=True)
        if memory in by_id
    }
    short = {row for row, statement in statements.items() if len(statement.text) <= MOST_CHARS}
    chosen = {pair: cosine for pair, cosine in chosen.items() if short.issuperset(pair)}
    if not chosen:
        return [], statements
    question, rarity = context.plan.asked, _rarity(context)
    paired = {row: statements[row] for row in sorted({*itertools.chain.from_iterable(chosen)})}
    stated = _stated(context, ranking, paired, rarity)
    compared = []
    for (older, newer), cosine in chosen.items():
        features = supersession.pair_features(
            question, rarity, stated[older], stated[newer], cosine
        )
        if supersession.may_replace(features):
            why = supersession.reason(stated[newer], features)
            compared.append(Rival(older, newer, features, why))
    return compared, statements


def fact_rivals(
    ranking: Ranking, statements: Mapping[int, Statement]
) -> dict[tuple[int, int], str]:
    """Return the pairs (older, newer) of facts that contradict each other, with the reason.

    Facts of one space and key with different values do, however worded and no matter who said
    them: but not where they are about two people, as two birthdays are. The newer one holds from
    later on, or else happened or was recorded later; of two at one moment, the one written later.
    """
    by_key: dict[tuple[int, str], list[int]] = {}
    for row, fact in statements.items():
        if fact.fact_key:
            by_key.setdefault((fact.space, _plain(fact.fact_key)), []).append(row)
    authors, pairs = ranking.rows.authors, {}
    for rows in by_key.values():
        rows.sort(key=lambda row: (statements[row].said_s, int(ranking.rows.ids[row])))
        for older, newer in itertools.combinations(rows, 2):
            before, after = statements[older], statements[newer]
            of_one = authors[older] == authors[newer]
            if _value(before) != _value(after) and not _about_two(before, after, of_one=of_one):
                pairs[older, newer] = "states another value of the same fact"
    return pairs


def latest(context: QueryContext, ranking: Ranking, n: int) -> list[tuple[int, int]]:
    """Return the newest of what answers as well as the first, as (row, row it goes above), or none.

    For a question about the last time: the oil change of October is none of May's rival, and the
    answer all the same.
    """
    best = ranking.order[:n]
    weights = question_weights(context)
    share = covers(ranking.rows, weights, best).dot(np.array(list(weights.values()), np.float32))
    score, occurred_s = ranking.score[best], ranking.rows.occurred_s[best]
    alike = (score >= AS_GOOD * score[0]) & (share >= AS_GOOD * share[0])
    alike &= (ranking.rows.cues[best] & _ASKS) == 0
    alike &= occurred_s > occurred_s[0]
    if not alike.any():
        return []
    newest = np.flatnonzero(alike)[np.argmax(occurred_s[alike])]
    return [(int(best[newest]), int(best[0]))]


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
    pairs = np.argwhere(may & (cosines >= LEAST_COSINE))
    relevance = score[pairs[:, 0]] + score[pairs[:, 1]]
    chosen = pairs[np.argsort(-relevance, kind="stable")[:MOST_PAIRS]]
    return {(int(best[i]), int(best[j])): float(cosines[i, j]) for i, j in chosen.tolist()}


def _cosines(context: QueryContext, rows: Rows, best: IdArray) -> FloatArray:
    """Return the cosines (first, n) of the first of some rows with all of them.

    As of likely rivals where one has no vector.
    """
    if context.model_id is None:
        return np.full((len(best[:FIRST]), len(best)), _NO_COSINE, np.float32)
    bodies = context.snapshot.bodies(context.model_id, rows.ids, context.scope)[best]
    cosines: FloatArray = bodies[:FIRST].dot(bodies.T)
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


def _stated(
    context: QueryContext,
    ranking: Ranking,
    statements: Mapping[int, Statement],
    rarity: Mapping[int, float],
) -> dict[int, Stated]:
    """Return what the test reads of some rows, ascending."""
    rows, at = ranking.rows, np.array(list(statements), np.int64)
    held = covers(rows, rarity, at).tolist()
    nearest = ranking.features[at][:, _NEARNESS].max(axis=1).tolist()
    words, numbers = rows.words, list(rarity)
    kinds = [(kind, BITS[f"kind:{kind}"]) for kind in context.plan.asked.compared]
    stated = {}
    for (row, statement), near, is_held in zip(statements.items(), nearest, held, strict=True):
        of_row = words.of_row(row)
        stems = frozenset(words.stems[of_row][words.in_body[of_row]].tolist())
        cues, read = int(rows.cues[row]), english.Statement(statement.text)
        stated[row] = Stated(
            statement=read,
            author=rows.authors[row],
            said_s=statement.said_s,
            cues=cues,
            stems=stems - rarity.keys() - _stems_of(STOP_WORDS),
            covered=frozenset(itertools.compress(numbers, is_held)),
            near=near or _NO_NEARNESS,
            values=read.values([kind for kind, bit in kinds if cues & bit]),
        )
    return stated


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


def _plain(text: str) -> str:
    return " ".join(text.replace("_", " ").casefold().split())


def _value(fact: Statement) -> str:
    return _plain(fact.fact_value or fact.text)


def _about_two(older: Statement, newer: Statement, *, of_one: bool) -> bool:
    """Whether two facts are about two people: by the names they have, or as two people's own."""
    names = [
        {
            name.split("'")[0]
            for name in english.Statement(fact.text).values(("name",)).get("name", ())
            if name not in _value(fact)
        }
        for fact in (older, newer)
    ]
    if names[0] and names[1]:
        return names[0].isdisjoint(names[1])
    own = [english.Statement(fact.text).speaks_of_self for fact in (older, newer)]
    return own[0] and own[1] and not of_one
