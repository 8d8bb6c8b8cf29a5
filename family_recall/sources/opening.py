"""Opening: nothing asked yet; recent talk and what lasts out, for a conversation to begin with."""

from __future__ import annotations

from family_recall.dataflow import QueryContext, Run


def opening_runs(context: QueryContext) -> list[Run]:
    """Give the newest memories, and the newest facts, profiles and milestones."""
    room = context.room(context.config.candidate_pool)
    newest = context.snapshot.newest(context.scope, room)
    lasting = context.snapshot.newest(context.scope, room, lasting=True)
    return [Run("newest", newest.ids, newest.scores), Run("lasting", lasting.ids, lasting.scores)]
