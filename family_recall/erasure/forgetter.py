"""Forgetter: a choice in; in one transaction all of it gone; then no byte of it, and a receipt."""

from __future__ import annotations

import datetime as dt
import secrets
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from family_recall.access.rights import asker
from family_recall.erasure import entity_names, relearning
from family_recall.erasure.selection import Choice, choose, outlived, plan, token_for
from family_recall.errors import (
    InvalidRequestError,
    NotTheirsError,
    UnconfirmedError,
    UnknownMemoryError,
)
from family_recall.indexing import Indexer
from family_recall.stores.erase import verification
from family_recall.stores.store import Store
from family_recall.stores.write.transaction import WriteTransaction
from family_recall.types.erasure import (
    ForgetPlan,
    Receipt,
    RetentionRule,
    Selection,
    Verification,
)

RETENTION = "retention"
"""What a receipt says it was chosen by where a rule of the household chose."""


@dataclass(frozen=True, slots=True)
class Forgetter:
    """Forgets in one store. Safe to share between threads."""

    store: Store
    indexer: Indexer

    def plan(
        self,
        selection: Selection,
        person_id: str | None,
        answered: Collection[tuple[str, str]],
        *,
        wall_s: float,
    ) -> ForgetPlan:
        """Say what would go, and give the token that confirms it; nothing is changed.

        Raises:
            InvalidRequestError: If nobody in particular asks.
            UnknownPersonError: If there is no such person.
        """
        key = self._key()
        with self.store.reading() as tables:
            who = asker(tables.household, person_id, wall_s=wall_s)
            choice = choose(tables, selection, who, self.store.zone, answered)
            return plan(tables.erasure_log, choice, token_for(key, who.person_id, choice))

    def forget(
        self,
        selection: Selection,
        person_id: str | None,
        answered: Collection[tuple[str, str]],
        *,
        token: str | None,
        undo_for: dt.timedelta | None,
        wall_s: float,
    ) -> Receipt:
        """Forget what is chosen; all of it goes, or nothing does.

        Raises:
            InvalidRequestError: If nobody in particular asks, or ``undo_for`` is no time.
            UnknownPersonError: If there is no such person.
            UnknownMemoryError: If nothing that this person may see is chosen.
            NotTheirsError: If all that is chosen is another's to forget, or an id is.
            UnconfirmedError: If a token is needed, or confirms another set.
        """
        until_s = _until(undo_for, wall_s)
        with self.store.writing() as writing:
            log = writing.erasure_log
            who = asker(writing.household, person_id, wall_s=wall_s)
            choice = choose(writing, selection, who, self.store.zone, answered)
            _check(selection, choice)
            expected = token_for(log.make_key(), who.person_id, choice)
            by_id_alone = selection.criteria == ("doc_ids",)
            if token is not None and token != expected:
                raise UnconfirmedError(
                    "the token confirms another set of memories; what is stored has changed "
                    "since, or something else was chosen: ask for a dry run again"
                )
            if token is None and not by_id_alone and len(choice.memories) > 1:
                raise UnconfirmedError(
                    f"{len(choice.memories)} memories would be forgotten; look at a dry run "
                    "(dry_run=True), and give its token"
                )
            receipt = self._erase(
                writing, choice, who.person_id, selection.criteria, until_s, wall_s
            )
        self.clean()
        return receipt

    def undo(self, receipt_id: str, person_id: str | None, *, wall_s: float) -> int:
        """Bring back what was kept aside; returns how many memories, whose vectors are pending.

        Judgements of them stay gone. What was said under the same id since stays as it is, and
        what comes back is an earlier version of it.

        Raises:
            InvalidRequestError: If nothing is kept under that receipt, or not by this person.
        """
        with self.store.writing() as writing:
            log, eraser = writing.erasure_log, writing.eraser(self.indexer.config.next_weight)
            kept = log.aside(receipt_id)
            mine = [one for one in log.receipts() if one.receipt_id == receipt_id]
            if kept is None or kept[0] <= wall_s or not mine or mine[0].person_id != person_id:
                raise InvalidRequestError(
                    f"nothing is kept aside under the receipt {receipt_id!r} for this person; "
                    "it was forgotten for good, brought back, or its time has run out"
                )
            stored = eraser.restore(kept[1]["memory"], self.store.zone)
            self.indexer.restore(writing, stored)
            eraser.follow_again([one.id for one in stored])
            entity_names.relate_again(self.indexer, writing, kept[1]["relation"])
            log.remove(receipt_id)
        self.clean()
        return len({(one.memory.space_id, one.memory.doc_id) for one in stored})

    def set_rule(self, category: str, keep_days: float | None) -> None:
        """Set how long a category is kept; None keeps it for good."""
        if keep_days is not None:
            RetentionRule(category, keep_days)
        with self.store.writing() as writing:
            writing.erasure_log.set_rule(category, keep_days)

    def rules(self) -> list[RetentionRule]:
        """List how long categories are kept, those that have a rule."""
        with self.store.reading() as tables:
            return tables.erasure_log.rules()

    def plan_retention(self, now_s: float) -> ForgetPlan:
        """Say what the household's rules would let go of."""
        key = self._key()
        with self.store.reading() as tables:
            log = tables.erasure_log
            choice = outlived(log, now_s)
            return plan(log, choice, token_for(key, RETENTION, choice))

    def apply_retention(self, now_s: float) -> Receipt | None:
        """Forget what the household's rules keep no longer, and undos that have run out.

        Returns:
            The receipt; None where nothing was forgotten.
        """
        with self.store.reading() as tables:
            log = tables.erasure_log
            due = outlived(log, now_s).versions or log.has_expired(now_s) or log.unclean()
        if not due:
            return None
        receipt = None
        with self.store.writing() as writing:
            log = writing.erasure_log
            log.drop_expired(now_s)
            choice = outlived(log, now_s)
            if choice.versions:
                receipt = self._erase(writing, choice, None, (RETENTION,), None, now_s)
        self.clean()
        return receipt

    def next_due_s(self, now_s: float) -> float:
        """Give the moment before which nothing is due, whatever is told from now on.

        Infinite where there is no rule and no undo.
        """
        with self.store.reading() as tables:
            return tables.erasure_log.next_due_s(now_s)

    def receipts(self) -> list[Receipt]:
        """List what was forgotten, the newest first."""
        with self.store.reading() as tables:
            return tables.erasure_log.receipts()

    def verify(self, receipt: Receipt) -> Verification:
        """Look for what a receipt says was forgotten."""
        return self.store.verify(receipt)

    def clean(self) -> bool:
        """Clean the bytes of what was erased and not cleaned yet; whether none is left over.

        A reader that holds on to an old view, or a process that was killed, leaves this for the
        next time; opening the household is one.
        """
        with self.store.reading() as tables:
            unclean = tables.erasure_log.unclean()
        if not unclean:
            return self.store.empty_log()
        if not self.store.clean(unclean):
            return False
        with self.store.writing() as writing:
            writing.erasure_log.set_clean([one.receipt_id for one in unclean])
        return True

    def _erase(
        self,
        writing: WriteTransaction,
        choice: Choice,
        person_id: str | None,
        chosen_by: tuple[str, ...],
        until_s: float | None,
        wall_s: float,
    ) -> Receipt:
        log, eraser = writing.erasure_log, writing.eraser(self.indexer.config.next_weight)
        raw = eraser.raw_rows(choice.ids) if until_s else []
        touched = entity_names.named_in_the_past(writing, choice)
        erased = eraser.erase(choice.ids)
        entity_names.settle(self.indexer, writing, erased.entities | touched)
        erased.stems = eraser.unsaid(erased.stems)
        relearning.relearn(writing, erased.judges, wall_s)
        counts = Counter(erased.counts)
        counts["memories"] = len(choice.memories)
        receipt = Receipt(
            receipt_id=secrets.token_hex(8),
            at=dt.datetime.fromtimestamp(wall_s, dt.UTC).isoformat(),
            person_id=person_id,
            chosen_by=chosen_by,
            counts=dict(sorted(counts.items())),
            undo_until=_moment(until_s),
            digests=verification.digests(verification.Keyring(log.make_key()), erased),
        )
        log.put(receipt, wall_s)
        if until_s is not None:
            log.move_to_trash(
                receipt.receipt_id, until_s, {"memory": raw, "relation": erased.relations}
            )
        return receipt

    def _key(self) -> bytes:
        with self.store.reading() as tables:
            key = tables.erasure_log.key()
        if key is None:
            with self.store.writing() as writing:
                key = writing.erasure_log.make_key()
        return key


def _check(selection: Selection, choice: Choice) -> None:
    """Refuse what finds nothing, and what is another's."""
    if not choice.versions and not choice.held_back:
        raise UnknownMemoryError("nothing that this person may see is meant by that")
    if not choice.versions or (choice.held_back and selection.doc_ids):
        raise NotTheirsError(
            f"{choice.held_back} of the chosen memories may be forgotten only by whoever said "
            "them, or by an owner of their space; nothing was forgotten"
        )


def _until(undo_for: dt.timedelta | None, wall_s: float) -> float | None:
    if undo_for is None:
        return None
    if undo_for <= dt.timedelta(0):
        raise InvalidRequestError(f"undo_for must be above 0, got {undo_for}")
    return wall_s + undo_for.total_seconds()


def _moment(moment_s: float | None) -> str | None:
    return None if moment_s is None else dt.datetime.fromtimestamp(moment_s, dt.UTC).isoformat()
