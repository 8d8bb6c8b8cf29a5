"""The memories near the one that is being talked about: its session, its links, what it mentions.

Nearness is in [0, 1]. The focus itself has 1; of its session the next memory has 0.9, each one
further away 0.9 of that, and none less than 0.4. Memories linked to it directly have 0.7. One that
mentions what the focus mentions has 0.6 of the share it has in that, in which something that few
memories mention weighs more: each entity by 1 / √(its links).
"""

from __future__ import annotations

import numpy as np

from family_recall.recall.dataflow import QueryContext, Run

NEXT, LAST_OF_SESSION, LINKED, SHARED = 0.9, 0.4, 0.7, 0.6

_AROUND = 12  # memories of its session before and after it
_SHARING = 48  # edges out of each thing that it mentions


def near_focus(context: QueryContext) -> Run:
    """Return the memories near the focus, nearest first; ties to the later one.

    The focus itself is among them, unless the question asks for more than it says.
    """
    focus, plan = context.plan.focus_id, context.plan
    if focus is None:
        return Run.empty("focus")
    nearness: dict[int, float] = {}

    def add(memory: int, value: float) -> None:
        nearness[memory] = max(value, nearness.get(memory, 0.0))

    for before in (True, False):
        around = context.snapshot.session_around(focus, context.scope, _AROUND, before=before)
        for distance, memory in enumerate(around.tolist(), start=1):
            add(memory, max(NEXT**distance, LAST_OF_SESSION))
    edges = context.snapshot.edges(
        np.array([focus], np.int64), context.scope, context.config.graph_cap
    )
    for dst, kind in zip(edges.dst, edges.kinds, strict=True):
        if dst > 0 and kind != "next":
            add(dst, LINKED)
    for memory, share in _sharing(context).items():
        add(memory, SHARED * share)
    nearness.pop(focus, None)
    if plan.about_focus != "more":
        nearness[focus] = 1.0
    ids = sorted(nearness, key=lambda memory: (-nearness[memory], -memory))
    scores = [nearness[memory] for memory in ids]
    return Run("focus", np.array(ids, np.int64), np.array(scores, np.float32))


def _sharing(context: QueryContext) -> dict[int, float]:
    """Return the share, in (0, 1], that memories have in what the focus mentions."""
    scope, snapshot = context.scope, context.snapshot
    shares: dict[int, float] = {}
    total = 0.0
    for same in context.plan.focus_mentions:
        nodes = np.array(same, np.int64)
        weight = 1.0 / float(np.sqrt(max(float(snapshot.degrees(nodes, scope).sum()), 1.0)))
        total += weight
        edges = snapshot.edges(nodes, scope, _SHARING)
        sharing = {
            dst
            for dst, kind in zip(edges.dst, edges.kinds, strict=True)
            if dst > 0 and kind == "mention"
        }
        for memory in sharing:
            shares[memory] = shares.get(memory, 0.0) + weight
    return {memory: share / total for memory, share in shares.items()}
