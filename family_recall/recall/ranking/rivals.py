"""The pairs of candidates that may be rivals: chosen cheaply, then read and compared in full."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from family_recall import english
from family_recall.english import BITS, mask_of, mask_of_kinds
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking.coverage import covers, question_weights
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.supersession import Asked, Stated, pair_features
from family_recall.store.memory_queries import Rows, Statement
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


@dataclass(frozen=True, slots=True)
class Rival:
    """A pair that was compared: rows of the older and the newer, and what they were compared in."""

    older: int
    newer: int
    features: tuple[float, ...]


def rivals(
    context: QueryContext,
    ranking: Ranking,
    n: int,
    asked_of: Callable[[QueryContext], Asked],
) -> tuple[list[Rival], dict[int, Statement]]:
    """Compare the pairs among the best candidates that may be rivals.

    Args:
        context: The question.
        ranking: Candidates in order.
        n: How many of the best.
        asked_of: Reads the question, once there is a pair to compare.

    Returns:
        The pairs, and what each memory in them and each fact with a key says, by row.
    """
    best = ranking.order[:n]
    chosen = _likely(context, ranking, best)
    keyed = best[(ranking.rows.cues[best] & BITS["fact"]) != 0].tolist()
    if not chosen and len(keyed) < 2:
        return [], {}
    rows = sorted({*itertools.chain.from_iterable(chosen), *keyed})
    ids = ranking.rows.ids[rows]
    by_id = context.snapshot.statements(ids, context.scope)
    said = {
        row: by_id[memory]
        for row, memory in zip(rows, ids.tolist(), strict=True)
        if memory in by_id
    }
    short = {row for row, statement in said.items() if len(statement.text) <= MOST_CHARS}
    chosen = {pair: cosine for pair, cosine in chosen.items() if short.issuperset(pair)}
    if not chosen:
        return [], said
    paired = sorted({*itertools.chain.from_iterable(chosen)})
    asked = asked_of(context)
    stated = _stated(ranking, {row: said[row] for row in paired}, asked)
    compared = [
        Rival(older, newer, pair_features(asked, stated[older], stated[newer], cosine))
        for (older, newer), cosine in chosen.items()
    ]
    return compared, said


def latest(context: QueryContext, ranking: Ranking, n: int) -> list[tuple[int, int]]:
    """Return the newest of what answers as well as the first, as (row, row it goes above), or none.

    For a question about the last time: the oil change of October is none of May's rival, and the
    answer all the same.
    """
    best = ranking.order[:n]
    weights = question_weights(context)
    share = covers(ranking.rows, weights, best).dot(np.array(list(weights.values()), np.float32))
    score, said = ranking.score[best], ranking.rows.occurred_s[best]
    alike = (score >= AS_GOOD * score[0]) & (share >= AS_GOOD * share[0])
    alike &= (ranking.rows.cues[best] & _ASKS) == 0
    alike &= said > said[0]
    if not alike.any():
        return []
    newest = np.flatnonzero(alike)[np.argmax(said[alike])]
    return [(int(best[newest]), int(best[0]))]


def _likely(context: QueryContext, ranking: Ranking, best: IdArray) -> dict[tuple[int, int], float]:
    """Choose pairs (older, newer) of rows by what their columns and vectors say.

    Returns:
        The cosine of each pair's vectors, the most relevant pair first.
    """
    rows = ranking.rows
    score, cues = ranking.score[best], rows.cues[best]
    first = best[:FIRST]
    # [i, j]: whether j may replace i, one of the first.
    may = _later(rows, first, best) & (score >= LEAST_SCORE * score[:FIRST, None])
    may &= (cues & _ASKS) == 0
    # As `supersession.is_excluded` wants it: a cue of change, or values of a kind asked for.
    question = context.plan.asked
    if question.asks_event:
        may &= (cues & _SAYS_CHANGE) != 0
    else:
        wanted = mask_of_kinds(question.compared)
        may &= ((cues & _SAYS_NEW) != 0) | ((cues & cues[:FIRST, None] & wanted) != 0)
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
    said, ids = rows.occurred_s[best], rows.ids[best]
    said_first, ids_first = rows.occurred_s[first, None], rows.ids[first, None]
    later: BoolArray = said > said_first
    unknown = np.isnan(said)
    if unknown.any():
        together = unknown & np.isnan(said_first) & ((ids >> 40) == (ids_first >> 40))
        says_change = (rows.cues[best] & _SAYS_CHANGE) != 0
        later |= together & (ids > ids_first) & says_change
    return later


def _stated(
    ranking: Ranking,
    said: Mapping[int, Statement],
    asked: Asked,
) -> dict[int, Stated]:
    """Return what the test reads of some rows, ascending."""
    rows, features, at = ranking.rows, ranking.features, np.array(list(said), np.int64)
    held = covers(rows, asked.weights, at)
    nearest = features[at][:, _NEARNESS].max(axis=1).tolist()
    words = rows.words
    numbers = list(asked.weights)
    kinds = [(kind, BITS[f"kind:{kind}"]) for kind in asked.question.compared]
    stated = {}
    each = zip(said.items(), nearest, held.tolist(), strict=True)
    for (row, statement), near, is_held in each:
        of_row = words.of_row(row)
        stems = frozenset(words.stems[of_row][words.in_body[of_row]].tolist())
        cues = int(rows.cues[row])
        read = english.Statement(statement.text)
        stated[row] = Stated(
            statement=read,
            author=rows.authors[row],
            said_s=statement.said_s,
            session=int(rows.sessions[row]),
            cues=cues,
            stems=stems - asked.weights.keys() - asked.ordinary,
            score=float(ranking.score[row]),
            near=near or _NO_NEARNESS,
            values=read.values([kind for kind, bit in kinds if cues & bit]),
            modifiers=read.modifiers(asked.forms, asked.words),
            covered=frozenset(itertools.compress(numbers, is_held)),
        )
    return stated
