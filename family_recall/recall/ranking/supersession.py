"""The stage that puts the newest of rival statements directly above those it replaces."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from family_recall import english
from family_recall.english import BITS
from family_recall.recall.dataflow import QueryContext, Ranking, Successor
from family_recall.recall.ranking.bm25 import covers, question_weights
from family_recall.recall.ranking.ranker import takes_over
from family_recall.recall.ranking.rivals import (
    FEATURES,
    Rival,
    model,
    probability,
    rivals,
)
from family_recall.recall.ranking.temporal import numbered
from family_recall.recall.runner import Runner
from family_recall.store.memory_queries import Statement

LIKELY = 0.7
"""Probability from which the newer is placed above the older; to say that it replaces it takes the
model's ``threshold``. Where nothing changed, the one costs the right answer its first place."""

EARLIER_LIKELY = 0.5
"""Probability that one statement replaces another from which the older is what was before."""

CERTAIN = 0.8
"""Certainty from which a time in a question is the time it asks about."""

HOLDS_S, OVER_S = 5 * 86_400.0, 14 * 86_400.0
"""Ages until which an exception for this week, or the next, holds, and after which it is over."""

AS_ALIKE = 0.6
"""Cosine from which an exception is one to what was said before."""

N_NEXT = 3
"""Occurrences of an event that are put in the order of time, above all others of it."""

AS_GOOD = 0.8
"""Share of the first's score, and of its hold on the question's words, from which a candidate
answers as well."""

_OCCURRENCE = re.compile(r"(.+@)\d{4}-\d\d-\d\d[\dT:.+/-]*")
_CANCELLED = numbered(["cancel"])


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
    compared, retold, given_up, statements = rivals(context, ranking, n)
    reasons = dict.fromkeys(retold, "is told again with another value")
    reasons |= dict.fromkeys(given_up, "says that it ended")
    reasons |= fact_rivals(ranking, statements)
    if not compared and not reasons:
        return ranking
    before = question.moment == "before"
    # A question for what was before knows that it changed.
    likely_from = EARLIER_LIKELY if before else LIKELY
    likely = dict.fromkeys(reasons, 1.0)
    exceptions = [pair for pair in compared if _is_exception(context, ranking, pair)]
    for pair in compared:
        if pair in exceptions:
            continue
        sure = probability(pair.features, has_changed=before)
        if sure >= likely_from:
            likely.setdefault((pair.older, pair.newer), sure)
            reasons.setdefault((pair.older, pair.newer), pair.reason)
    until_s = _end_of_past(context)
    if until_s is None and not before:
        now_s = context.scope.as_of_s
        likely = {
            pair: sure for pair, sure in likely.items() if statements[pair[1]].said_s <= now_s
        }
    ranking = takes_over(ranking, _by_now(context, exceptions, statements))
    if not likely:
        return ranking
    ranking = takes_over(ranking, _held(before, until_s, likely, statements))
    _, least = model()
    successors = dict(ranking.superseded_by)
    for older, newer in sorted(likely, key=lambda pair: statements[pair[1]].said_s):
        if likely[older, newer] >= least:  # the newest of those that replace it is the last
            since_s = statements[newer].said_s
            successors[older] = Successor(newer, since_s, reasons[older, newer])
    return replace(ranking, superseded_by=successors)


def _end_of_past(context: QueryContext) -> float | None:
    """Return the end of the time that the question asks about, if it is over by now."""
    span = context.plan.timespan_s
    is_past = span is not None and span[1] <= context.now_s
    return span[1] if span and is_past and context.plan.timespan_certainty >= CERTAIN else None


def _is_exception(context: QueryContext, ranking: Ranking, pair: Rival) -> bool:
    """Whether the newer of a pair holds for a while instead of the older, which replaces nothing.

    *Swimming is on Friday this week*, of *swimming is on Thursdays*; asked without a time.
    """
    compared = dict(zip(FEATURES, pair.features, strict=True))
    return (
        context.plan.timespan_s is None
        and context.plan.asked.moment == "now"
        and compared["for_now"] > 0.0
        and compared["value_differs"] > 0.0
        and compared["both_cover"] > 0.0
        and compared["cosine"] >= AS_ALIKE
        and not ranking.rows.cues[pair.older] & BITS["for_now"]
    )


def _by_now(
    context: QueryContext, exceptions: Sequence[Rival], statements: Mapping[int, Statement]
) -> list[tuple[int, int]]:
    """Return which row goes above which: an exception while it holds, the routine afterwards."""
    moves = []
    for pair in exceptions:
        age_s = context.scope.as_of_s - statements[pair.newer].said_s
        if 0.0 <= age_s < HOLDS_S:
            moves.append((pair.newer, pair.older))
        elif age_s > OVER_S:
            moves.append((pair.older, pair.newer))
    return moves


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
    """Return the newest by now of what answers as well as the first, as (row, row it goes above).

    For a question about the last time: the oil change of October is none of May's rival, and the
    answer all the same.
    """
    best = ranking.order[:n]
    weights = question_weights(context)
    share = covers(ranking.rows, weights, best).dot(np.array(list(weights.values()), np.float32))
    score, occurred_s = ranking.score[best], ranking.rows.occurred_s[best]
    alike = (score >= AS_GOOD * score[0]) & (share >= AS_GOOD * share[0])
    alike &= (ranking.rows.cues[best] & BITS["only_asks"]) == 0
    alike &= (occurred_s > occurred_s[0]) & (occurred_s <= context.now_s)
    if not alike.any():
        return []
    newest = np.flatnonzero(alike)[np.argmax(occurred_s[alike])]
    return [(int(best[newest]), int(best[0]))]


def next_first(_run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Place the next occurrences of the event that answers first, the very next above all.

    Where the question asks about the last time, the last one by now. Those that are cancelled stay
    where they are, and all do where another time is asked about.
    """
    plan, rows, now_s = context.plan, ranking.rows, context.now_s
    first, span = int(ranking.order[0]) if len(ranking) else -1, plan.timespan_s
    series = _series_of(rows.doc_ids[first]) if len(ranking) else ""
    is_past = plan.past_reference or plan.asked.asks_when_it_was or plan.asked.moment == "before"
    if not series or rows.categories[first] != "event" or (span and span[1] != np.inf):
        return ranking
    cancelled = set(rows.words.rows_with(_CANCELLED, rows.words.in_body).tolist())
    order = ranking.order.tolist()
    rows_of = [
        row for row in order if _series_of(rows.doc_ids[row]) == series and row not in cancelled
    ]
    rows_of.sort(key=lambda row: rows.occurred_s[row])
    if plan.asked.asks_last:
        chosen = [row for row in rows_of if rows.occurred_s[row] <= now_s][-1:]
    elif is_past:
        return ranking
    else:
        # An event of a whole day begins with the day.
        from_s = now_s if span is None else min(span[0], now_s)
        chosen = [row for row in rows_of if rows.occurred_s[row] >= from_s][:N_NEXT]
        # One with too many occurrences is there as a whole.
        chosen = chosen or [row for row in order if f"{rows.doc_ids[row]}@" == series]
    chain = [*chosen, first][: [*chosen, first].index(first) + 1]
    return takes_over(ranking, list(itertools.pairwise(chain))[::-1])


def _series_of(doc_id: str) -> str:
    """Return what the ids of all occurrences of one repeated event begin with; empty of others."""
    match = _OCCURRENCE.fullmatch(doc_id)
    return match[1] if match else ""


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
