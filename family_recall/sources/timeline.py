"""The memories that occurred in the interval a question asks about."""

from __future__ import annotations

import numpy as np

from family_recall.dataflow import QueryContext, Run


def search_timeline(context: QueryContext) -> Run:
    """Return as many as fit the candidate pool: the most important first, then the newest."""
    occurred = context.snapshot.occurred(context.scope)
    best = np.lexsort((-occurred.ids, -occurred.moments_s, -occurred.importance))
    best = best[: context.pool_size(context.config.candidate_pool)]
    return Run("timeline", occurred.ids[best], occurred.importance[best])
