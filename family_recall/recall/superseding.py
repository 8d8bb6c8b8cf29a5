"""The stage that puts the newest of rival statements directly above those it replaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from family_recall.recall.dataflow import QueryContext, Ranking, Successor
from family_recall.recall.ranking import supersession
from family_recall.recall.ranking.ranker import takes_over
from family_recall.recall.ranking.rivals import fact_rivals, latest, rivals
from family_recall.recall.runner import Runner
from family_recall.store.memory_queries import Statement

EARLIER_LIKELY = 0.5
"""Probability that one statement replaces another from which the older is what was before."""

CERTAIN = 0.8
"""Certainty from which a time in a question is the time it asks about."""


def supersede(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Place each candidate that replaces an older one directly above it, the newest first.

    Asked about a time that is over, the one that held then is placed above those that came later;
    asked what was before, the predecessor above its successor.
    """
    n = min(len(ranking), context.config.supersede_pool)
    if n < 2 or not run.can_start("supersede", n):
        return ranking
    return run.run("supersede", n, lambda: _superseded(context, ranking, n), ranking)


def _superseded(context: QueryContext, ranking: Ranking, n: int) -> Ranking:
    question = context.plan.asked
    if question.asks_last:
        ranking = takes_over(ranking, latest(context, ranking, n))
    compared, statements = rivals(context, ranking, n)
    reasons = fact_rivals(ranking, statements)
    if not compared and not reasons:
        return ranking
    before = question.moment == "before"
    # A question for what was before knows that it changed.
    likely_from = EARLIER_LIKELY if before else supersession.LIKELY
    likely = dict.fromkeys(reasons, 1.0)
    for pair in compared:
        probability = supersession.probability(pair.features, has_changed=before)
        if probability >= likely_from:
            likely.setdefault((pair.older, pair.newer), probability)
            reasons.setdefault((pair.older, pair.newer), pair.reason)
    until_s = _moment_asked(context)
    if until_s is None and not before:
        now_s = context.scope.as_of_s
        likely = {
            pair: sure for pair, sure in likely.items() if statements[pair[1]].said_s <= now_s
        }
    if not likely:
        return ranking
    ranking = takes_over(ranking, _held(before, until_s, likely, statements))
    least = supersession.model().threshold
    certain = {pair: reasons[pair] for pair, sure in likely.items() if sure >= least}
    successors = _newest(certain, statements)
    return replace(ranking, superseded_by={**ranking.superseded_by, **successors})


def _moment_asked(context: QueryContext) -> float | None:
    """Return the end of the time that is over by now and that a question asks about."""
    span = context.plan.timespan_s
    if span is None or context.plan.timespan_certainty < CERTAIN or span[1] > context.now_s:
        return None
    return span[1]


def _held(
    before: bool,
    until_s: float | None,
    pairs: Iterable[tuple[int, int]],
    statements: Mapping[int, Statement],
) -> list[tuple[int, int]]:
    """Return which row goes above which: what holds, or held when the question asks about.

    Of a chain the moves begin with the oldest, so that the newest ends up first; where the
    question asks about a time, what was said after it goes below what was said until then.
    """
    forward = sorted(
        pairs, key=lambda pair: (statements[pair[1]].said_s, statements[pair[0]].said_s)
    )
    if before:
        last = max((newer for _, newer in forward), key=lambda row: statements[row].said_s)
        earlier = [older for older, newer in forward if newer == last]
        return [(max(earlier, key=lambda row: statements[row].said_s), last)]
    if until_s is None:
        return [(newer, older) for older, newer in forward]
    held = [(older, newer) for older, newer in forward if statements[older].said_s < until_s]
    too_late = [pair for pair in held if statements[pair[1]].said_s >= until_s]
    return [*too_late, *((newer, older) for older, newer in held if (older, newer) not in too_late)]


def _newest(
    reasons: Mapping[tuple[int, int], str], statements: Mapping[int, Statement]
) -> dict[int, Successor]:
    """Return for each replaced row the newest that replaces it, and why."""
    successors: dict[int, Successor] = {}
    for older, newer in sorted(reasons, key=lambda pair: statements[pair[1]].said_s):
        successors[older] = Successor(newer, statements[newer].said_s, reasons[older, newer])
    return successors
