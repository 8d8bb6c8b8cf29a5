"""Receipts of what was forgotten, undo, verification and retention rules."""

from __future__ import annotations

import datetime as dt
from typing import Literal, overload

from family_recall.api.engine import Embed, Engine
from family_recall.stores.records import epoch_s
from family_recall.types.erasure import (
    ForgetPlan,
    Receipt,
    RetentionRule,
    Verification,
)


class Erasure:
    """What was forgotten, and the rules by which memories expire."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def receipts(self) -> list[Receipt]:
        """List what was forgotten, the newest first."""
        return self._engine.forgetter.receipts()

    def undo(self, receipt_id: str, *, person_id: str, embed: Embed = "now") -> int:
        """Bring back what was forgotten with ``undo_for``; returns how many memories.

        Words, names and edges are made anew, vectors as with :meth:`remember`; judgements of them
        stay gone. Only who had it forgotten may bring it back.

        Raises:
            InvalidRequestError: If nothing is kept under that receipt for this person.
        """
        n = self._engine.forgetter.undo(receipt_id, person_id, wall_s=self._engine.wall_clock())
        if embed == "now":
            self._engine.embed_pending(
                self._engine.models.static(), self._engine.models.wait(), None
            )
        return n

    def verify(self, receipt: Receipt) -> Verification:
        """Look for what a receipt says was forgotten: in rows, indexes, and bytes of file and log.

        Raises:
            InvalidRequestError: If this household never forgot anything.
        """
        return self._engine.forgetter.verify(receipt)

    def rules(self) -> list[RetentionRule]:
        """List how long categories are kept, those that have a rule."""
        return self._engine.forgetter.rules()

    def set_rule(self, category: str, keep_days: float | None) -> None:
        """Set how many days memories of a category are kept; None keeps them for good.

        Counted from when it happened or was recorded, whichever is later. From then on nobody is
        shown it. It is forgotten by :meth:`apply_retention`, when the household is opened or
        closed, and, while it is open, beside the first answer after it has outlived its rule; after
        a new rule within the hour. Never inside a recall: until it is forgotten, its words still
        count for how rare a word is, and its names and links for how near other memories are. From
        then on an answer is what it would be had it never been told.

        Raises:
            InvalidRequestError: If there is no such category, or that is no number of days.
        """
        self._engine.forgetter.set_rule(category, keep_days)

    @overload
    def apply_rules(
        self, now: dt.datetime | None = None, *, dry_run: Literal[True]
    ) -> ForgetPlan: ...

    @overload
    def apply_rules(
        self, now: dt.datetime | None = None, *, dry_run: Literal[False] = False
    ) -> Receipt | None: ...

    def apply_rules(
        self, now: dt.datetime | None = None, *, dry_run: bool = False
    ) -> ForgetPlan | Receipt | None:
        """Forget what the household's rules keep no longer, and undos that have run out.

        Args:
            now: The moment that is reckoned from; the clock's, when left out.
            dry_run: Say what would go, and change nothing.

        Returns:
            The receipt, or None where nothing was due; what would go, with ``dry_run``.
        """
        now_s = epoch_s(now, self._engine.store.zone)
        now_s = self._engine.wall_clock() if now_s is None else now_s
        if dry_run:
            return self._engine.forgetter.plan_retention(now_s)
        return self._engine.forgetter.apply_retention(now_s)
