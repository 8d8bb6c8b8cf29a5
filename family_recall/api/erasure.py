"""Receipts of what was forgotten, undo, verification and retention rules."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Literal, overload

from family_recall.api.engine import Embed
from family_recall.api.keywords import Part
from family_recall.store.memories import epoch_s
from family_recall.types.erasure import ForgetPlan, Receipt, RetentionRule, Verification


class Erasure(Part):
    """What was forgotten, and the rules by which memories expire."""

    def receipts(self) -> list[Receipt]:
        """List what was forgotten, the newest first."""
        with self._engine.store.reading() as tables:
            return tables.erasure_log.receipts()

    def undo(self, receipt_id: str, *, person_id: str, embed: Embed = "now") -> int:
        """Restore what was forgotten with ``undo_for``; return how many memories.

        Words, entities and edges are made again, vectors as with ``home.remember``; feedback on
        them stays deleted. A memory stored under the same id meanwhile stays current, and the
        restored one becomes an earlier version of it. Only the person who forgot may undo it.

        Raises:
            InvalidRequestError: If nothing is in the trash under that receipt for this person.
        """
        n = self._engine.forgetter.undo(receipt_id, person_id, wall_s=self._engine.wall_clock())
        if embed == "now":
            self._engine.embed_pending()
        return n

    def verify(self, receipt: Receipt, texts: Iterable[str] = ()) -> Verification:
        """Check that what a receipt lists is gone, as far as that can be seen without its text.

        A receipt holds nothing that is made from a text, so two things are proven at two times.

        *When it was forgotten*, and while its text was still in memory: every run of 8 bytes of its
        texts, as written and in lower case, and of its words, and evenly spaced ones of its
        vectors, was looked for in every byte of the file and its log, and was in none, but where
        what is stored has it too. ``receipt.proof`` says so; where it was not ``searched``, the
        file was rewritten from what it holds instead.

        *By this call*: no row of any table and no entry of any index has the number of its rows;
        no index holds a word, whole or in part, that no memory has; no unused page of the file has
        anything on it; no journal, and no log from before the cleaning, lies beside the file. With
        ``texts``, all their runs are looked for again, as when it was forgotten. A forgotten text
        that somebody puts into the file afterwards is found only by that.

        Args:
            receipt: What :meth:`home.forget` returned, or one of :meth:`receipts`.
            texts: What was forgotten, where the caller still has it: 8 bytes or more each.

        Raises:
            InvalidRequestError: If there is no such receipt in this household, or a text is too
                short.
        """
        return self._engine.store.verify(receipt, tuple(texts))

    def rules(self) -> list[RetentionRule]:
        """List how long categories are kept, those that have a rule."""
        with self._engine.store.reading() as tables:
            return tables.erasure_log.rules()

    def set_rule(self, category: str, keep_days: float | None) -> None:
        """Set how many days memories of a category are kept; None keeps them for good.

        Counted from when it happened or was recorded, whichever is later. An expired memory is
        shown to nobody. It is erased by :meth:`apply_rules`, when the household is opened or
        closed, and while it is open: in the background of the first answer after it expired, or
        within the hour after a new rule. Never inside a recall: until it is erased, its words
        still count for how rare a word is, and its entities and links for how near other memories
        are. From then on an answer is what it would be had the memory never been stored.

        Raises:
            InvalidRequestError: If there is no such category, or that is no number of days.
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
        """Erase what has expired by the household's rules, and the trash that ran out of time.

        Args:
            now: The moment to count from; the clock's, when left out.
            dry_run: Report what would go, and change nothing.

        Returns:
            The receipt, or None where nothing was due; what would go, with ``dry_run``.
        """
        now_s = epoch_s(now, self._engine.store.zone)
        now_s = self._engine.wall_clock() if now_s is None else now_s
        if dry_run:
            return self._engine.forgetter.plan_retention(now_s)
        return self._engine.forgetter.apply_retention(now_s)
