"""Memories that hold an identifier the question quotes: order numbers, addresses, links."""

from __future__ import annotations

from family_recall.recall.dataflow import QueryContext, Run


def look_up_identifiers(context: QueryContext) -> Run:
    """Return the memories that hold an identifier of the question.

    Whole matches score 1, partial ones 0.5; the newest first within a score.
    """
    k = context.pool_size(context.config.lexical_pool)
    hits = context.snapshot.identified(context.plan.identifiers, context.scope, k)
    return Run("identifier", hits.ids, hits.scores)
