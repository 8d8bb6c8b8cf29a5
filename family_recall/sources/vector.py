"""Vector source: the encoded question in, the memories of nearest meaning out, by cosine.

A memory's body, title and summary each have a vector, and the nearest of them counts.
"""

from __future__ import annotations

import numpy as np

from family_recall.dataflow import QueryContext, Run


class VectorSource:
    """Nearest neighbours of the pooled question vector, within the scope."""

    name = "vector"

    def __call__(self, context: QueryContext) -> Run:
        """Give the nearest memories; none where the question has not been encoded."""
        if context.question is None or context.model_id is None:
            return Run(self.name, np.zeros(0, np.int64), np.zeros(0, np.float32))
        k = context.room(context.config.vector_pool)
        hits = context.snapshot.nearest(context.question.pooled, context.model_id, context.scope, k)
        return Run(self.name, hits.ids, hits.scores)
