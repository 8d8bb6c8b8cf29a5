"""The audit log, as the owner of a space reads it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from family_recall.access import policy
from family_recall.api.engine import Engine
from family_recall.errors import InvalidRequestError
from family_recall.store.logs.audit import AuditRow
from family_recall.types import AuditEntry
from family_recall.types.checked import checked

_BATCH = 500


@checked
class Audit:
    """Who recalled what of which space."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def entries(
        self, person_id: str, *, of: str | None = None, limit: int = 100
    ) -> list[AuditEntry]:
        """List for a space's owner who recalled what of it, the newest first; ids, and no words.

        Owners see entries about the spaces they own, and nothing that was recalled elsewhere.

        Args:
            person_id: The owner who reads the log.
            of: Only what this person asked; everybody, when left out.
            limit: Entries wanted, 1 or more.

        Raises:
            InvalidRequestError: If this person owns no space, or ``limit`` is below 1.
            UnknownPersonError: If there is no such person.
        """
        if limit < 1:
            raise InvalidRequestError(f"limit must be 1 or more, got {limit}")
        self._engine.audit_log.flush()
        self._engine.audit_log.purge()
        entries: list[AuditEntry] = []
        with self._engine.store.reading() as tables:
            access = tables.household.access(person_id)
            partitions = tables.household.every_partition()
            owned = policy.owned_by(person_id, access, partitions, self._engine.wall_clock())
            if not owned:
                raise InvalidRequestError(
                    f"only a space's owners read its log, and {person_id!r} owns none; "
                    "make them one with a grant as owner"
                )
            before: int | None = None
            while len(entries) < limit and (rows := tables.audit.rows(_BATCH, before)):
                before = rows[-1][0]
                for _, row in rows:
                    entry = _visible_entry(row, owned, self._engine.store.zone)
                    if entry is not None and of in {None, entry.person_id}:
                        entries.append(entry)
        return entries[:limit]

    def keep_days(self, days: int) -> None:
        """Set how many days the log of recalls goes back: 30 at first; 0 deletes it for good.

        Raises:
            InvalidRequestError: If ``days`` is no whole number from 0 to 99,999.
        """
        self._engine.audit_log.keep_days(days)


def _visible_entry(row: AuditRow, owned: Mapping[int, str], zone: dt.tzinfo) -> AuditEntry | None:
    """Return an entry as far as it is about what the reader owns; None where it is not."""
    memories = tuple(
        (space_id, doc_id) for partition, space_id, doc_id in row.returned if partition in owned
    )
    asked_in = row.space_id if row.space_id in owned.values() else None
    if not memories and asked_in is None and row.call != "gap":
        return None
    at = dt.datetime.fromtimestamp(row.at_s, zone)
    return AuditEntry(at, row.call, row.person_id, asked_in, memories, row.lost)  # type: ignore[arg-type]  # a Call, as it was noted
