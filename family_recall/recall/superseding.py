"""The stage that puts the newest of rival statements directly above those it replaces."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from family_recall.english.text import STOP_WORDS
from family_recall.recall.dataflow import QueryContext, Ranking, Successor
from family_recall.recall.ranking import facts, supersession
from family_recall.recall.ranking.coverage import question_weights
from family_recall.recall.ranking.rivals import latest, rivals
from family_recall.recall.ranking.supersession import Asked
from family_recall.recall.ranking.takeover import takes_over
from family_recall.recall.runner import Runner
from family_recall.store.memory_queries import Statement
from family_recall.store.words import split, stem_number

EARLIER_LIKELY = 0.5
"""Probability that one statement replaces another from which the older is what was before."""

CERTAIN = 0.8
"""Certainty from which a time in a question is the time it asks about."""

_EARLIER = (
    "before", "beforehand", "earlier", "first", "former", "formerly", "last", "old", "original",
    "originally", "past", "previous", "previously", "use", "used",
)  # fmt: skip


def supersede(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Place each candidate that replaces an older one directly above it, the newest first.

    Asked about a time that is over, the one that held then is placed above those that came later;
    asked what was before, the predecessor above its successor.
    """
    n = min(len(ranking), context.config.supersede_pool)
    if n < 2 or not run.can_start("supersede", n):
        return ranking
    return run.run("supersede", n, lambda: _superseded(context, ranking, n), ranking)


def asked_of(context: QueryContext) -> Asked:
    """Return what the test of rivals reads of a question."""
    question = context.plan.asked
    words = frozenset([word.casefold() for word, _ in context.plan.terms])
    longer = [word for word in words if len(word) > 2]
    weights = question_weights(context)
    if question.moment == "before":  # no memory of the old code need say that it is old
        weights = {stem: weight for stem, weight in weights.items() if stem not in _earlier_stems()}
    return Asked(
        question=question,
        weights=weights,
        words=words,
        forms={form: word for word in longer for form in (word[:-1], word)},
        ordinary=_ordinary_stems(),
        names=question.names,
        asker=context.scope.person_id,
        about_asker=question.speaks_of_self,
    )


@functools.cache
def _earlier_stems() -> frozenset[int]:
    """Return the numbers of the words by which a question asks what was before."""
    return frozenset(stem_number(stem) for word in _EARLIER for _, stem in split(word))


@functools.cache
def _ordinary_stems() -> frozenset[int]:
    """Return the numbers of words that say nothing about a topic."""
    return frozenset(stem_number(word) for word in STOP_WORDS)


def _superseded(context: QueryContext, ranking: Ranking, n: int) -> Ranking:
    question = context.plan.asked
    if question.asks_last:
        ranking = takes_over(ranking, latest(context, ranking, n))
    before = question.moment == "before"
    # A question for what was before knows that it changed.
    likely_from = EARLIER_LIKELY if before else supersession.LIKELY
    compared, said = rivals(context, ranking, n, asked_of)
    reasons = facts.rivals(ranking, said)
    likely = dict.fromkeys(reasons, 1.0)
    for pair in compared:
        probability = supersession.probability(pair.features, has_changed=before)
        if probability >= likely_from:
            likely.setdefault((pair.older, pair.newer), probability)
            reasons.setdefault((pair.older, pair.newer), supersession.reason(pair.features))
    until_s = _moment_asked(context)
    if until_s is None and not before:
        now_s = context.scope.as_of_s
        likely = {pair: sure for pair, sure in likely.items() if said[pair[1]].said_s <= now_s}
    if not likely:
        return ranking
    ranking = takes_over(ranking, _held(before, until_s, likely, said))
    least = supersession.model().threshold
    certain = {pair: reasons[pair] for pair, sure in likely.items() if sure >= least}
    successors = _newest(certain, said)
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
    said: Mapping[int, Statement],
) -> list[tuple[int, int]]:
    """Return which row goes above which: what holds, or held when the question asks about.

    Of a chain the moves begin with the oldest, so that the newest ends up first; where the
    question asks about a time, what was said after it goes below what was said until then.
    """
    forward = sorted(pairs, key=lambda pair: (said[pair[1]].said_s, said[pair[0]].said_s))
    if before:
        last = max((newer for _, newer in forward), key=lambda row: said[row].said_s)
        earlier = [older for older, newer in forward if newer == last]
        return [(max(earlier, key=lambda row: said[row].said_s), last)]
    if until_s is None:
        return [(newer, older) for older, newer in forward]
    held = [(older, newer) for older, newer in forward if said[older].said_s < until_s]
    too_late = [pair for pair in held if said[pair[1]].said_s >= until_s]
    return [*too_late, *((newer, older) for older, newer in held if (older, newer) not in too_late)]


def _newest(
    reasons: Mapping[tuple[int, int], str], said: Mapping[int, Statement]
) -> dict[int, Successor]:
    """Return for each replaced row the newest that replaces it, and why."""
    successors: dict[int, Successor] = {}
    for older, newer in sorted(reasons, key=lambda pair: said[pair[1]].said_s):
        successors[older] = Successor(newer, said[newer].said_s, reasons[older, newer])
    return successors
