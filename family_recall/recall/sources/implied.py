"""The memories nearest to the remarks that bear on what a question prepares for.

The nearest of the remarks counts. A question that names people wants what one of them said, or what
was said of them, and nothing else; what mentions another thing that it names comes before the rest.
"""

from __future__ import annotations

import numpy as np

from family_recall.recall.dataflow import QueryContext, Run
from family_recall.types import FloatArray

ANYBODY = 0.5
"""What a memory counts that mentions nothing of what is named, where no person is."""

_OF_EACH_REMARK = 64
"""Memories that are looked up for each remark."""


def search_remarks(context: QueryContext, remarks: FloatArray, model_id: str) -> Run:
    """Return the memories nearest to any of the remarks (r, d), best first; ties to the later one.

    Scores are cosines, in [0, 1], halved for a memory that mentions nothing of what is named.
    """
    nearness: dict[int, float] = {}
    for hits in context.snapshot.nearest_to_each(remarks, model_id, context.scope, _OF_EACH_REMARK):
        for memory, cosine in zip(hits.ids.tolist(), hits.scores.tolist(), strict=True):
            nearness[memory] = max(cosine, nearness.get(memory, 0.0))
    share = _shares(context, list(nearness))
    scores = {memory: cosine * share[memory] for memory, cosine in nearness.items()}
    ids = sorted(
        (memory for memory, score in scores.items() if score > 0.0),
        key=lambda memory: (-scores[memory], -memory),
    )[: context.pool_size(context.config.vector_pool)]
    return Run("implied", np.array(ids, np.int64), np.array([scores[m] for m in ids], np.float32))


def _shares(context: QueryContext, memories: list[int]) -> dict[int, float]:
    """Return how surely each memory is about what the question names: 0, :data:`ANYBODY` or 1."""
    named = context.plan.entities
    if not named:
        return dict.fromkeys(memories, ANYBODY)
    # Who wrote a memory counts as mentioned by it.
    pairs = context.snapshot.mentions(
        np.array(memories, np.int64), [entity.id for entity in named], context.scope
    )
    about = {memory for memory, _ in pairs}
    others = 0.0 if any(entity.person_id for entity in named) else ANYBODY
    return {memory: 1.0 if memory in about else others for memory in memories}
