"""The memories that lie in the interval a question asks about."""

from __future__ import annotations

import numpy as np

from family_recall.recall.dataflow import QueryContext, Run

MOST_IN_PERIOD = 2000
"""Of a period with more memories than this, words and vectors find what was asked about."""


def search_timeline(context: QueryContext) -> Run:
    """Return as many as fit the candidate pool: the most important first, then the newest."""
    occurred = context.snapshot.occurred(context.scope)
    best = np.lexsort((-occurred.ids, -occurred.moments_s, -occurred.importance))
    best = best[: context.pool_size(context.config.candidate_pool)]
    return Run("timeline", occurred.ids[best], occurred.importance[best])


def search_period(context: QueryContext) -> Run:
    """Return what lies in the time named beside a topic: the nearest in meaning first.

    Without vectors the newest come first. A period that holds more than `MOST_IN_PERIOD` gives
    nothing: there a topic says more than the time does.
    """
    span, snapshot = context.plan.timespan_s, context.snapshot
    nothing = Run.empty("timeline")
    if span is None:
        return nothing
    ids = snapshot.lying_in(span, context.scope, MOST_IN_PERIOD + 1)
    if len(ids) > MOST_IN_PERIOD:
        return nothing
    nearness = np.arange(len(ids), dtype=np.float32)  # ascending by id
    if context.question is not None and context.model_id is not None:
        cosines = snapshot.cosines(context.question.pooled, context.model_id, ids, context.scope)
        nearness = np.nan_to_num(cosines, nan=-1.0)
    best = np.lexsort((-ids, -nearness))[: context.config.period_pool]
    return Run("timeline", ids[best], nearness[best].astype(np.float32))
