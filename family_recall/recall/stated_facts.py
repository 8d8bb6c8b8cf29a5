"""The current facts that a question concerns, key by key: not of its results alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

import numpy as np

from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking.bm25 import covers, question_weights
from family_recall.store.ids import among
from family_recall.store.memories import MemoryRow, epoch_s
from family_recall.types import BoolArray, IdArray, parse_moment

MAX_FACTS = 32
"""Facts of an answer, and of the candidates past its results those that are read."""


def stated_facts(
    context: QueryContext,
    ranking: Ranking,
    results: Mapping[int, MemoryRow],
    zone: dt.tzinfo | None,
    *,
    is_sure: bool,
) -> dict[str, str]:
    """Collect what the candidates state, by key, the best candidate's first.

    Those count that share a word with the question, or all of them if it asks for whatever is
    known about somebody; and the first, if it surely answers. Of two facts of one key the newer is
    told.

    Args:
        context: The question; one that asks for no fact has none.
        ranking: All candidates.
        results: Those that are returned, by row id.
        zone: Where a naive moment is read.
        is_sure: Whether the first surely answers.
    """
    if context.plan.strategy != "FACTUAL" and context.plan.breadth == "one":
        return {}
    concerned = _concerned(context, ranking, is_sure=is_sure)
    more = concerned[~among(concerned, np.array(list(results), np.int64))]
    more = context.snapshot.having_facts(more, context.scope)[:MAX_FACTS]
    shown = [row for memory, row in results.items() if memory in concerned]
    memories = [*shown, *context.snapshot.memories(more, context.scope)]
    stating = {row.id for row in memories if row.fact_key}
    ids = ranking.rows.ids.tolist()
    # A successor that states a fact itself replaces those of its own key alone.
    replaced = {
        ids[row]
        for row, successor in ranking.superseded_by.items()
        if ids[successor.row] not in stating
    }
    newest: dict[str, tuple[float, int, str]] = {}
    for row in memories:
        if row.fact_key and row.fact_value and row.id not in replaced:
            fact = (_since_s(row, zone or dt.UTC), row.id, row.fact_value)
            newest[row.fact_key] = max(fact, newest.get(row.fact_key, fact))
    return {key: value for key, (_, _, value) in list(newest.items())[:MAX_FACTS]}


def _since_s(row: MemoryRow, zone: dt.tzinfo) -> float:
    """Return when a fact holds from, or else was said, or else was recorded."""
    if row.valid_from_s is not None:
        return row.valid_from_s
    occurred_s = epoch_s(parse_moment(row.occurred_at, "occurred_at"), zone)
    return row.recorded_s if occurred_s is None else occurred_s


def _concerned(context: QueryContext, ranking: Ranking, *, is_sure: bool) -> IdArray:
    """Return the row ids of the candidates that the question concerns, best first."""
    order = ranking.order
    if context.plan.breadth != "about":
        shares_word = _shares_word(context, ranking)
        if is_sure:
            shares_word[:1] = True
        order = order[shares_word]
    ids: IdArray = ranking.rows.ids[order]
    return ids


def _shares_word(context: QueryContext, ranking: Ranking) -> BoolArray:
    """Return which candidates (n), in order, share a word with the question.

    In their text or their labels. The name of somebody counts only where nothing else is asked, or
    each fact about Mira would concern what she is allergic to; and in their text alone, or whatever
    she wrote would concern a question about her.
    """
    weights, order = question_weights(context), ranking.order
    held = covers(ranking.rows, weights, order)
    names = context.plan.name_words
    is_name = np.array([word.casefold() in names for word, _ in context.plan.terms], np.bool_)
    if is_name.all():
        held = covers(ranking.rows, weights, order, header=False)
    return np.asarray(held[:, ~is_name | is_name.all()].any(axis=1))
