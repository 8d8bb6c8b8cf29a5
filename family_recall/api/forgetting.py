"""What is forgotten, brought back, and kept no longer."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Literal, overload

from family_recall.api.asking import Asking
from family_recall.api.opened import Embed
from family_recall.stores.records import epoch_s
from family_recall.types import RecallContext
from family_recall.types.erasure import (
    ForgetPlan,
    Receipt,
    RetentionRule,
    Selection,
    Verification,
)

_FORGOTTEN_AT_ONCE = 100  # memories a question may name to be forgotten
_NO_HURRY_MS = 60_000.0


class Forgetting(Asking):
    """The part of `FamilyRecall` that is about what is forgotten."""

    @overload
    def forget(
        self, what: Selection | str | Iterable[str], *, person_id: str, dry_run: Literal[True]
    ) -> ForgetPlan: ...

    @overload
    def forget(
        self,
        what: Selection | str | Iterable[str],
        *,
        person_id: str,
        dry_run: Literal[False] = False,
        token: str | None = None,
        undo_for: dt.timedelta | None = None,
    ) -> Receipt: ...

    def forget(
        self,
        what: Selection | str | Iterable[str],
        *,
        person_id: str,
        dry_run: bool = False,
        token: str | None = None,
        undo_for: dt.timedelta | None = None,
    ) -> ForgetPlan | Receipt:
        """Forget memories: afterwards no byte of them is in the file or its log.

        With them go their words, vectors, edges, mentions, identifiers, judgements, names that
        nobody else said, relations that rested on them alone, their place as another turn's
        context, and every earlier version of them. Backups and exports are files of their own,
        and are not touched.

        Args:
            what: Which memories; a text or several are ids.
            person_id: Who wants it. A person may forget what they said, what lies in a private
                space of their own, and all of a space they own; nothing that they may not see.
            dry_run: Say what would go, and change nothing.
            token: A dry run's, which confirms exactly what it showed; needed for more than one
                memory chosen by anything but ids.
            undo_for: How long to keep it aside in the file, unseen by any recall, for
                :meth:`undo_forget`; until then its bytes are there. Nothing is, when left out.

        Raises:
            InvalidRequestError: If the choice cannot be meant, or nobody in particular asks.
            UnknownPersonError: If there is no such person.
            UnknownMemoryError: If it means nothing that this person may see.
            NotTheirsError: If it is another's to forget.
            UnconfirmedError: If a token is needed, or confirms something else.
        """
        if not isinstance(what, Selection):
            what = Selection(doc_ids=(what,) if isinstance(what, str) else tuple(what))
        answered = self._answering(what, person_id)
        wall_s = self._wall_clock()
        if dry_run:
            return self._forgetter.plan(what, person_id, answered, wall_s=wall_s)
        self._models.questions.clear()  # a question may say what is to be forgotten
        return self._forgetter.forget(
            what, person_id, answered, token=token, undo_for=undo_for, wall_s=wall_s
        )

    def undo_forget(self, receipt_id: str, *, person_id: str, embed: Embed = "now") -> int:
        """Bring back what was forgotten with ``undo_for``; returns how many memories.

        Words, names and edges are made anew, vectors as with :meth:`remember`; judgements of them
        stay gone. Only who had it forgotten may bring it back.

        Raises:
            InvalidRequestError: If nothing is kept under that receipt for this person.
        """
        n = self._forgetter.undo(receipt_id, person_id, wall_s=self._wall_clock())
        if embed == "now":
            self._flush(self._models.static(), self._models.wait(), None)
        return n

    def receipts(self) -> list[Receipt]:
        """List what was forgotten, the newest first."""
        return self._forgetter.receipts()

    def verify_forgotten(self, receipt: Receipt) -> Verification:
        """Look for what a receipt says was forgotten: in rows, indexes, and bytes of file and log.

        Raises:
            InvalidRequestError: If this household never forgot anything.
        """
        return self._forgetter.verify(receipt)

    def set_retention(self, category: str, keep_days: float | None) -> None:
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
        self._forgetter.set_rule(category, keep_days)

    def retention(self) -> list[RetentionRule]:
        """List how long categories are kept, those that have a rule."""
        return self._forgetter.rules()

    @overload
    def apply_retention(
        self, now: dt.datetime | None = None, *, dry_run: Literal[True]
    ) -> ForgetPlan: ...

    @overload
    def apply_retention(
        self, now: dt.datetime | None = None, *, dry_run: Literal[False] = False
    ) -> Receipt | None: ...

    def apply_retention(
        self, now: dt.datetime | None = None, *, dry_run: bool = False
    ) -> ForgetPlan | Receipt | None:
        """Forget what the household's rules keep no longer, and undos that have run out.

        Args:
            now: The moment that is reckoned from; the clock's, when left out.
            dry_run: Say what would go, and change nothing.

        Returns:
            The receipt, or None where nothing was due; what would go, with ``dry_run``.
        """
        now_s = epoch_s(now, self._store.zone)
        now_s = self._wall_clock() if now_s is None else now_s
        if dry_run:
            return self._forgetter.plan_retention(now_s)
        return self._forgetter.apply_retention(now_s)

    def _answering(self, what: Selection, person_id: str) -> set[tuple[str, str]]:
        """Give what a selection's query finds for a person with enough confidence."""
        if what.query is None:
            return set()
        answer = self.recall(
            what.query,
            RecallContext(
                person_id=person_id,
                space_id=what.space_id,
                time_budget_ms=_NO_HURRY_MS,
                top_k=_FORGOTTEN_AT_ONCE,
            ),
        )
        return {
            (result.space_id, result.doc_id)
            for result in answer.results
            if result.confidence >= what.min_confidence
        }
