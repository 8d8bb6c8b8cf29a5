"""What a conversation begins with, before anything is asked: recent memories and lasting ones."""

from __future__ import annotations

from family_recall.recall.dataflow import QueryContext, Run


def opening_runs(context: QueryContext) -> list[Run]:
    """Return the newest memories, and the newest facts, profiles and milestones."""
    k = context.pool_size(context.config.candidate_pool)
    newest = context.snapshot.newest(context.scope, k)
    lasting = context.snapshot.newest(context.scope, k, lasting=True)
    return [Run("newest", newest.ids, newest.scores), Run("lasting", lasting.ids, lasting.scores)]
