"""Receipts of what was forgotten, undo, verification and retention rules."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Literal, overload

from family_recall.api.arguments import Part
from family_recall.api.engine import Embed
from family_recall.store.memories import epoch_s
from family_recall.types.erasure import ForgetPlan, Receipt, RetentionRule, Verification


class Erasure(Part):
    """Receipts, undo and verification of forgetting, and retention rules."""

    def receipts(self) -> list[Receipt]:
        """List the receipts, the newest first."""
        with self._engine.store.reading() as tables:
            return tables.erasure_log.receipts()

    def undo(self, receipt_id: str, *, person_id: str, embed: Embed = "now") -> int:
        """Restore memories forgotten with ``undo_for``; return how many.

        Words, entities and edges are derived again, vectors as with ``home.remember``; feedback
        stays deleted. If a memory was stored under the same id meanwhile, it stays current, and the
        restored one becomes its earlier version. Only the person who forgot may undo it.

        Raises:
            InvalidRequestError: If the trash has nothing under that receipt for this person.
            StoreError: If the file was damaged there.
        """
        wall_s, forgetter = self._engine.wall_clock(), self._engine.forgetter
        n = self._engine.despite_damage(
            lambda: forgetter.undo(receipt_id, person_id, wall_s=wall_s)
        )
        if embed == "now":
            self._engine.embed_pending()
        return n

    def verify(self, receipt: Receipt, texts: Iterable[str] = ()) -> Verification:
        """Check that the memories of a receipt are gone, without their text.

        A receipt holds nothing that derives from a text, so the proof has two parts.

        *When it was forgotten*, the file was rewritten from its remaining rows. Then, with the text
        still in memory, every run of 8 bytes of its texts, as written and in lower case, and of its
        words, and evenly spaced runs of its vectors were searched for in every byte of the file and
        its log. ``receipt.proof`` has the result. If it was not ``searched``, the text was gone.

        *This call* checks that no table or index refers to the row ids; that no index holds a word,
        whole or in part, that no memory has; that unused pages are empty; and that there is no
        journal, and no log from before the cleaning. With ``texts`` it searches for all their runs
        again, which also finds texts that were put into the file afterwards.

        Args:
            receipt: A receipt of :meth:`home.forget` or :meth:`receipts`.
            texts: The forgotten texts, if known: 8 bytes or more each.

        Raises:
            InvalidRequestError: If this household has no such receipt, or a text is too short.
        """
        return self._engine.store.verify(receipt, tuple(texts))

    def rules(self) -> list[RetentionRule]:
        """List the retention rules."""
        with self._engine.store.reading() as tables:
            return tables.erasure_log.rules()

    def set_rule(self, category: str, keep_days: float | None) -> None:
        """Set how many days memories of a category are kept; None keeps them for good.

        The days count from when a memory happened or was recorded, whichever is later. An expired
        memory is not shown any more. It is erased by :meth:`apply_rules`, when the household is
        opened or closed, in the background of the first answer after it expired, or within an hour
        after a new rule; never inside a recall. Until it is erased, its words, entities and links
        still count in statistics. Afterwards answers are as if it had never been stored.

        Raises:
            InvalidRequestError: If there is no such category, or the number of days is invalid.
        """
        if keep_days is not None:
            RetentionRule(category, keep_days)
        with self._engine.store.writing() as writing:
            writing.erasure_log.set_rule(category, keep_days)

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
        """Erase expired memories, and delete expired trash.

        Args:
            now: The moment to count from; the current one, when left out.
            dry_run: Return what would be forgotten, and change nothing.

        Returns:
            The receipt, or None if nothing was due; with ``dry_run`` the plan.
        """
        now_s = epoch_s(now, self._engine.store.zone)
        now_s = self._engine.wall_clock() if now_s is None else now_s
        if dry_run:
            return self._engine.forgetter.plan_retention(now_s)
        return self._engine.forget_expired(now_s)
