"""Watching: a household's file in; what is wrong with it, for answers to tell, out."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from family_recall.errors import FamilyRecallError
from family_recall.stores.store import Store

FIRST_AFTER_S = 60.0
"""How long a household has been open before its file is looked over the first time."""

AGAIN_AFTER_S = 86_400.0
"""How long after that it is looked over again."""

WHILE_DAMAGED_S = 3_600.0
"""The same, while something is wrong: somebody may have mended it."""

GIVE_UP_AFTER_S = 2.0
"""What looking a file over may take …"""

LARGEST_BYTES = 128 * 1024**2
"""… which is enough for a file of this size; larger ones are left to the doctor."""

logger = logging.getLogger("family_recall")


class Watch:
    """Looks a file over now and then, for rows and words that an index has lost."""

    def __init__(self, store: Store, wall_clock: Callable[[], float]) -> None:
        self._store = store
        self._wall_clock = wall_clock
        self._due_s = wall_clock() + FIRST_AFTER_S
        self._stopped = threading.Event()
        self._found: str | None = None

    def notice(self) -> str | None:
        """Say what is wrong with the file, as far as that was found; None where nothing was."""
        return self._found

    def is_due(self) -> bool:
        """Whether it is time to look; says so once."""
        now_s = self._wall_clock()
        due = now_s >= self._due_s
        if due:
            self._due_s = now_s + AGAIN_AFTER_S
        return due

    def soon(self) -> None:
        """Look again beside the next answer: the file was just made anew."""
        self._due_s = 0.0

    def look(self) -> None:
        """Look the file over; where there is no time for all of it, know what was known."""
        until_s = time.monotonic() + GIVE_UP_AFTER_S
        try:
            if self._store.path.stat().st_size > LARGEST_BYTES:
                return
            findings = self._store.check_quickly(
                lambda: self._stopped.is_set() or time.monotonic() > until_s
            )
        except (FamilyRecallError, OSError) as error:
            logger.warning("the file could not be looked over: %s", error)
            return
        if findings is None:
            return
        wrong = [finding.what for finding in findings if finding.problem]
        self._found = f"damaged ({', '.join(wrong)}); family-recall doctor" if wrong else None
        if wrong:
            self._due_s = self._wall_clock() + WHILE_DAMAGED_S

    def stop(self) -> None:
        """Give up looking."""
        self._stopped.set()
