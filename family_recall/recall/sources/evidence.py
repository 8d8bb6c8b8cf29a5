"""The memories that say what a question asks for of who is what to whom."""

from __future__ import annotations

import numpy as np

from family_recall.recall.dataflow import QueryContext, Run


def evidence_of_relations(context: QueryContext) -> Run:
    """Return the evidence of the relations that answer; the surest comes first."""
    sure = sorted(context.plan.relation_evidence.items(), key=lambda item: (-item[1], item[0]))
    ids = np.array([memory for memory, _ in sure], np.int64)
    return Run("relation", ids, np.array([confidence for _, confidence in sure], np.float32))
