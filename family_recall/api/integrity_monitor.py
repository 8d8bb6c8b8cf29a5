"""Periodic checks of an open household's file, reported in its answers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from family_recall.errors import FamilyRecallError
from family_recall.store.store import Store

FIRST_AFTER_S = 60.0
"""How long after opening the file is checked first."""

AGAIN_AFTER_S = 86_400.0
"""How long after a check the next one is due."""

WHILE_DAMAGED_S = 3_600.0
"""The same, while something is wrong: it may have been repaired."""

TIME_LIMIT_S = 2.0
"""The longest a check may take …"""

LARGEST_BYTES = 128 * 1024**2
"""… which is enough for a file of this size; larger ones are left to the doctor."""

logger = logging.getLogger("family_recall")


class IntegrityMonitor:
    """Checks a file now and then for rows and words that an index has lost."""

    def __init__(self, store: Store, wall_clock: Callable[[], float]) -> None:
        self._store = store
        self._wall_clock = wall_clock
        self._due_s = wall_clock() + FIRST_AFTER_S
        self._stopped = threading.Event()
        self._damage = _damage(store.unreadable())

    def damage(self) -> str | None:
        """Return what the last check found wrong with the file; None where it found nothing."""
        return self._damage

    def is_due(self) -> bool:
        """Whether a check is due; True once for each."""
        now_s = self._wall_clock()
        due = now_s >= self._due_s
        if due:
            self._due_s = now_s + AGAIN_AFTER_S
        return due

    def check_soon(self) -> None:
        """Make the next check due now: the file was just rebuilt."""
        self._due_s = 0.0

    def check(self) -> None:
        """Check the file; where time runs out, keep the result of the check before."""
        until_s = time.monotonic() + TIME_LIMIT_S
        try:
            if self._store.path.stat().st_size > LARGEST_BYTES:
                return
            findings = self._store.check_quickly(
                lambda: self._stopped.is_set() or time.monotonic() > until_s
            )
        except (FamilyRecallError, OSError) as error:
            logger.warning("the file could not be checked: %s", error)
            return
        if findings is None:
            return
        wrong = [finding.what for finding in findings if finding.problem]
        self._damage = _damage([*self._store.unreadable(), *wrong])
        if wrong:
            self._due_s = self._wall_clock() + WHILE_DAMAGED_S

    def stop(self) -> None:
        """Stop a check that is running."""
        self._stopped.set()


def _damage(wrong: Sequence[str]) -> str | None:
    return f"damaged ({', '.join(wrong)}); family-recall doctor" if wrong else None
