"""Correct a stored memory, as its author or an owner of its space."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any

from family_recall.access.rights import editable_view
from family_recall.api.engine import Embed, Engine
from family_recall.errors import ConflictError, InvalidMemoryError
from family_recall.store.memories import epoch_s
from family_recall.types import FIXED, Corrected, Memory, RecallContext

CORRECTABLE = tuple(field.name for field in dataclasses.fields(Memory) if field.name not in FIXED)
"""Fields of a memory that a correction can change."""


def correct(
    engine: Engine,
    doc_id: str,
    changes: Mapping[str, Any],
    *,
    person_id: str,
    space_id: str | None,
    recorded_at: dt.datetime | None,
    embed: Embed,
) -> Corrected:
    """Store a memory with changed fields; see ``home.correct``."""
    for name in changes:
        if name in FIXED:
            raise InvalidMemoryError(
                f"{name} stays as it is; to move a memory, remember it there and forget it here"
            )
        if name not in CORRECTABLE:
            raise InvalidMemoryError(
                f"unknown field {name!r}; what can be corrected is {', '.join(CORRECTABLE)}"
            )
    encoder = engine.models.wait() if embed == "now" else None
    static, indexer = engine.models.static(), engine.indexer
    wall_s, zone = engine.wall_clock(), engine.store.zone
    with engine.store.writing() as writing:
        view = editable_view(writing.listings, person_id, space_id, wall_s=wall_s, zone=zone)
        visible = view.memory(doc_id)
        before = view.editable(visible, changes).memory
        current = dt.datetime.fromtimestamp(visible.recorded_s, zone)
        if recorded_at is not None and epoch_s(recorded_at, zone) != current.timestamp():
            raise ConflictError(
                f"{doc_id!r} was changed at {current.isoformat()}, after the version of "
                f"{recorded_at.isoformat()}; read it again, and correct what it says now"
            )
        after = dataclasses.replace(before, **changes)
        if after.author != before.author and after.space_id not in view.rights.own_spaces:
            raise InvalidMemoryError("only an owner of its space may change the author of a memory")
        if after.band != before.band:
            view.rights.check_band(after.space_id, after.band)
        changed = {
            name: (was, now)
            for name in CORRECTABLE
            if (was := getattr(before, name)) != (now := getattr(after, name))
        }
        if changed:
            indexer.remember_within(writing, [after], now_s=wall_s, static=static)
    if encoder is not None:
        indexer.embed(encoder, writing.changed)
    engine.audit_log.note("look", RecallContext(person_id), [(before.space_id, doc_id)])
    return Corrected(doc_id, before.space_id, changed)
