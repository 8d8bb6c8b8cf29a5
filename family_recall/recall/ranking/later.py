"""The cross-encoder reads what was said after the first candidate, which may be how it is now.

The test of pairs in :mod:`.rivals` compares words, values and vectors. What is told in passing, as
a negation, or without its topic (*she fetched it back wednesday*) is found further down, and takes
somebody who reads it. So the first candidate and the best of those that were said later are read,
and a logistic model of both readings and of what the two have in common says which to show first.

Source: the model is fitted by ``python -m tools.fit.later``.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from importlib import resources

import numpy as np
from msgspec.structs import replace

from family_recall.encoders.base import PairScorer
from family_recall.english import mask_of
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking import rivals
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.owners import read_owners
from family_recall.recall.ranking.ranker import rescored, takes_over
from family_recall.recall.ranking.reranker import logit_of, probability, read_in_time, readings
from family_recall.recall.runner import Runner, question_tokens

FEATURES = (
    "bias", "newer_answers", "first_answers", "score", "one_session", "newer_words", "first_words",
    "shared_words", "cosine", "value_differs", "gap",
)  # fmt: skip
"""What the first and a later candidate are compared in, in the order of the model's weights: the
logits of both, the later one's share of the first's score, whether one session holds both, their
words in twenties, and four features of the test of pairs."""

AMONG = 14
"""Best candidates of which those that were said after the first are read …"""
MOST = 3
"""… at most so many, the best first."""
LEAST_SCORE = 0.25
"""Share of the first one's score below which what was said later is about something else."""
_MOST_WORDS = 80
_READ = INDEX["cross_encoder"]
_ASKS = mask_of("only_asks")
_OF_PAIRS = [rivals.FEATURES.index(name) for name in FEATURES[-4:]]


def read_later(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Place above the first candidate the later one that answers the question rather than it.

    How probably the other of the two does is kept, as evidence of how sure the answer is.
    """
    scorer = run.models.scorer()
    if scorer is None or not context.request.ctx.allow_cross_encoder:
        return ranking
    later = said_later(context, ranking)
    if not later or run.is_disabled("later", len(later)):
        return ranking
    if not run.can_start("later", question_tokens(context.searched_text), left_out=len(later)):
        return ranking

    def compare() -> Ranking:
        first = int(ranking.order[0])
        rows = of_theirs(context, ranking, later)
        if not rows:
            return ranking
        logits = logits_of(run, context, ranking, scorer, [first, *rows])
        compared = features(context, ranking, logits, [row for row in rows if row in logits])
        weights, least = model()
        sure = {row: float(np.dot(weights, each)) for row, each in compared.items()}
        best = max(sure, key=sure.__getitem__, default=None)
        if best is None:
            return ranking
        answers = 1.0 / (1.0 + math.exp(-sure[best]))
        if sure[best] < least:
            return replace(ranking, outdated=answers)
        read = ranking.features.copy()
        read[best, _READ] = probability(logits[best])
        moved = takes_over(rescored(ranking, read), [(best, first)])
        return replace(moved, outdated=1.0 - answers)

    return run.run("later", len(later), compare, ranking, is_learned=False)


def said_later(context: QueryContext, ranking: Ranking) -> list[int]:
    """Return which rows may be how it is now, rather than the first; none if that is not asked.

    What is still to come was not said later.
    """
    question, order = context.plan.asked, ranking.order[:AMONG]
    asks_of_now = question.moment == "now" and context.plan.timespan_s is None
    if not len(order) or question.asks_event or question.asks_all or not asks_of_now:
        return []
    rows, score, first = ranking.rows, ranking.score, order[0]
    may = (rows.occurred_s[order] > rows.occurred_s[first]) & (rows.cues[order] & _ASKS == 0)
    may &= rows.occurred_s[order] <= context.now_s
    may &= score[order] >= LEAST_SCORE * score[first]
    later: list[int] = order[may][:MOST].tolist()
    return later


def of_theirs(context: QueryContext, ranking: Ranking, later: Sequence[int]) -> list[int]:
    """Return which later rows tell of those whom the question asks of, if it asks of somebody.

    Where the first does not, those that tell of nobody else; none if the first cannot be read.
    """
    if not context.plan.owners:
        return [*later]
    first = int(ranking.order[0])
    unread = [row for row in (first, *later) if row not in ranking.owned]
    owned = {**ranking.owned, **read_owners(context, ranking, unread)}
    readable = [row for row in later if row in owned]
    if first not in owned:
        return []
    if owned[first].telling != "theirs":
        return [row for row in readable if not owned[row].is_elsewhere]
    return [row for row in readable if owned[row].telling == "theirs"]


def logits_of(
    run: Runner, context: QueryContext, ranking: Ranking, scorer: PairScorer, rows: Sequence[int]
) -> dict[int, float]:
    """Return the logits of some rows, by row, as far as there is time; what was read is known."""
    known = {row: float(ranking.features[row, _READ]) for row in rows}
    logits = {row: logit_of(read) for row, read in known.items() if read}
    unread = [row for row in rows if row not in logits]
    texts = readings(context, ranking, unread) if unread else {}
    return logits | read_in_time(run, "later", scorer, context.searched_text, texts)


def features(
    context: QueryContext, ranking: Ranking, logits: Mapping[int, float], later: Sequence[int]
) -> dict[int, tuple[float, ...]]:
    """Return the :data:`FEATURES` of each later row and the first one, by row.

    Args:
        context: The question.
        ranking: The candidates; the first is the first of its order.
        logits: What the cross-encoder read, by row; without the first there is nothing to compare.
        later: Rows that were said after the first.
    """
    first, rows = int(ranking.order[0]), ranking.rows
    pairs = [(first, row) for row in later]
    if first not in logits or not pairs:
        return {}
    compared = {}
    for (_, row), of_pair in rivals.features_of(context, ranking, pairs).items():
        words = np.minimum(rows.n_words[[row, first]], _MOST_WORDS) / 20.0
        compared[row] = (
            1.0,
            logits[row],
            logits[first],
            float(ranking.score[row] / max(ranking.score[first], 1e-6)),
            float(rows.sessions[row] == rows.sessions[first]),
            *map(float, words),
            *(of_pair[at] for at in _OF_PAIRS),
        )
    return compared


@functools.cache
def model() -> tuple[tuple[float, ...], float]:
    """Load the weights of :data:`FEATURES`, and the logit from which the later goes first."""
    text = resources.files("family_recall.recall.ranking").joinpath("later.json").read_text()
    record = json.loads(text)
    least = record["threshold"]
    return tuple(record["weights"][name] for name in FEATURES), math.log(least / (1.0 - least))
