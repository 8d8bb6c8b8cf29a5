"""The memories nearest in meaning to the encoded question, by cosine.

A memory's body, title and summary each have a vector; the nearest of them counts.
"""

from __future__ import annotations

from family_recall.encoders.base import Encoding
from family_recall.recall.dataflow import QueryContext, Run


def search_vectors(context: QueryContext, question: Encoding, model_id: str) -> Run:
    """Return the nearest neighbours of the pooled question vector, within the scope."""
    k = context.pool_size(context.config.vector_pool)
    hits = context.snapshot.nearest(question.pooled, model_id, context.scope, k)
    return Run("vector", hits.ids, hits.scores)
