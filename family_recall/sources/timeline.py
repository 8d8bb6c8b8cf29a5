"""Timeline source: a stretch of time in, what occurred in it out."""

from __future__ import annotations

import numpy as np

from family_recall.dataflow import QueryContext, Run


class TimelineSource:
    """What the scope's interval holds: the most important first, of those the newest."""

    name = "timeline"

    def __call__(self, context: QueryContext) -> Run:
        """Give as many as there is room for among the candidates."""
        occurred = context.snapshot.occurred(context.scope)
        best = np.lexsort((-occurred.ids, -occurred.moments_s, -occurred.importance))
        best = best[: context.room(context.config.candidate_pool)]
        return Run(self.name, occurred.ids[best], occurred.importance[best])
