"""The audit log, for the owner of a space."""

from __future__ import annotations

from family_recall.api.engine import Engine
from family_recall.types import AuditEntry


class Audit:
    """Who recalled what of which space."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def entries(
        self, person_id: str, *, of: str | None = None, limit: int = 100
    ) -> list[AuditEntry]:
        """Tell a space's owner who recalled what of it, the newest first; ids, and no words.

        An owner is told of the spaces they own, and of nothing that was recalled elsewhere.

        Args:
            person_id: Who wants to know.
            of: Only what this person asked; everybody, when left out.
            limit: Entries wanted, 1 or more.

        Raises:
            InvalidRequestError: If this person owns no space.
            UnknownPersonError: If there is no such person.
        """
        return self._engine.audit_log.read(person_id, of, limit)

    def keep_days(self, days: int) -> None:
        """Set how many days the log of recalls goes back: 30 at first; 0 deletes it for good.

        Raises:
            InvalidRequestError: If ``days`` is below 0.
        """
        self._engine.audit_log.keep(days)
