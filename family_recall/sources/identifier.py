"""Identifier source: what a question quotes in, the memories that hold exactly that out."""

from __future__ import annotations

import numpy as np

from family_recall.dataflow import QueryContext, Run


class IdentifierSource:
    """Order numbers, addresses, telephone numbers and the like, looked up as they are."""

    name = "identifier"

    def __call__(self, context: QueryContext) -> Run:
        """Give memories that hold an identifier whole before those that hold it in part.

        Whole ones score 1, the others 0.5; within a score the newest come first.
        """
        quoted = context.plan.identifiers
        if not quoted:
            return Run(self.name, np.zeros(0, np.int64), np.zeros(0, np.float32))
        k = context.room(context.config.lexical_pool)
        hits = context.snapshot.identified(quoted, context.scope, k)
        return Run(self.name, hits.ids, hits.scores)
