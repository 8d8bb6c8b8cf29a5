"""Forget memories: erase them in one transaction, then clean their bytes from the file."""

from __future__ import annotations

import datetime as dt
import logging
import reprlib
import secrets
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import msgspec
import numpy as np

from family_recall.access.rights import rights_of
from family_recall.errors import (
    InvalidRequestError,
    NotTheirsError,
    StoreError,
    UnconfirmedError,
    UnknownMemoryError,
)
from family_recall.forget import entity_provenance, person_removal
from family_recall.forget.person_removal import Removal
from family_recall.forget.selection import (
    Choice,
    choose,
    expired,
    of_source,
    plan,
    token_for,
)
from family_recall.learn.learner import relearn
from family_recall.remember import Indexer
from family_recall.store.erase.byte_search import Words64, runs_of_erased, runs_of_texts
from family_recall.store.erase.eraser import Eraser, clear_copies
from family_recall.store.memories import MAX_MOMENT_S
from family_recall.store.store import Store
from family_recall.store.transaction import WriteTransaction
from family_recall.types.erasure import (
    About,
    ForgetPlan,
    Proof,
    Receipt,
    RemovalPlan,
    Said,
    Selection,
)

RETENTION = "retention"
"""The criterion in receipts of retention rules."""

logger = logging.getLogger("family_recall")


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
        """Return what would be forgotten, with a token to confirm it; change nothing."""
        with self.store.reading() as tables:
            rights = rights_of(tables.household, person_id, wall_s=wall_s)
            choice = choose(tables, selection, rights, self.store.zone, answered)
            return plan(tables, choice, token_for(rights.person_id, choice), rights.hidden)

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
        """Forget all that is selected, or nothing; see ``home.forget``."""
        until_s = _trash_until_s(undo_for, wall_s)
        with self.store.writing() as writing:
            rights = rights_of(writing.household, person_id, wall_s=wall_s)
            choice = choose(writing, selection, rights, self.store.zone, answered)
            _check_rights(selection, choice)
            expected = token_for(rights.person_id, choice)
            by_id_alone = selection.criteria == ("doc_ids",)
            _check_token(choice, token, expected, by_id_alone=by_id_alone)
            erased = self._erase(
                writing, choice, rights.person_id, selection.criteria, until_s, wall_s
            )
        return self._cleaned(*erased, wall_s)

    def forget_source(
        self,
        source: str,
        doc_id: str | None,
        space_id: str | None,
        person_id: str | None,
        *,
        wall_s: float,
    ) -> Receipt:
        """Forget the memories of a source, or one of them; see ``home.sources.forget``."""
        with self.store.writing() as writing:
            rights = None
            if person_id is not None:
                rights = rights_of(writing.household, person_id, wall_s=wall_s)
            choice = of_source(writing, source, doc_id, space_id, rights)
            if not choice.versions:
                if choice.held_back:
                    raise NotTheirsError(
                        f"what {source!r} wrote can be forgotten only by its authors or by an "
                        "owner of its space; nothing was forgotten"
                    )
                raise UnknownMemoryError(f"nothing is stored that {source!r} wrote")
            criteria = ("source",) if doc_id is None else ("source", "key")
            erased = self._erase(writing, choice, person_id, criteria, None, wall_s)
        return self._cleaned(*erased, wall_s)

    def plan_removal(self, person_id: str, said: Said, about: About) -> RemovalPlan:
        """Return what removing a person would do; change nothing."""
        with self.store.reading() as tables:
            removal = person_removal.removal_of(tables, person_id, said, about)
            return RemovalPlan(
                person_id=person_id,
                forgotten=plan(tables, removal.choice, _removal_token(removal), {}),
                n_said=len({version.memory for version in removal.authored}),
                n_mentioning=len({version.memory for version in removal.mentioning}),
                spaces=removal.spaces,
            )

    def remove_person(
        self, person_id: str, said: Said, about: About, *, token: str | None, wall_s: float
    ) -> Receipt:
        """Remove a person; see ``home.people.remove``."""
        with self.store.writing() as writing:
            removal = person_removal.removal_of(writing, person_id, said, about)
            _check_token(removal.choice, token, _removal_token(removal), by_id_alone=False)
            criteria = ("person", *(
                name for name, fate in (("said", said), ("about", about)) if fate == "forget"
            ))  # fmt: skip
            receipt, runs = self._erase(writing, removal.choice, None, criteria, None, wall_s)
            person_removal.remove_person(self.indexer, writing, removal, wall_s)
        names = runs_of_texts(
            (person_id, removal.person.name, *removal.person.aliases, *removal.spaces)
        )
        return self._cleaned(receipt, np.union1d(runs, names), wall_s)

    def undo(self, receipt_id: str, person_id: str | None, *, wall_s: float) -> int:
        """Restore memories from the trash; see ``home.erasure.undo``."""
        with self.store.writing() as writing:
            log = writing.erasure_log
            trash = log.trash(receipt_id)
            receipt = log.receipt(receipt_id)
            own = receipt if receipt is not None and receipt.person_id == person_id else None
            if trash is None and own is not None and _should_be_in_trash(own, wall_s):
                raise StoreError(
                    f"{self.store.path}: was damaged, and what the receipt {receipt_id!r} keeps in "
                    f"the trash until {own.undo_until} cannot be read; restore a backup that has "
                    f"it, and let family-recall doctor --db {self.store.path} name what else is"
                )
            if trash is None or trash[0] <= wall_s or own is None:
                raise InvalidRequestError(
                    f"the trash holds nothing under the receipt {receipt_id!r} for this person; "
                    "it was forgotten for good, restored, or its time has run out"
                )
            _, rows = trash
            eraser = Eraser(writing, self.indexer.config.next_weight)
            stored = eraser.restore(rows["memory"], self.store.zone)
            self.indexer.writer(writing).restore(stored)
            eraser.update_contexts_after([memory.id for memory in stored])
            entity_provenance.restore_relations(self.indexer, writing, rows["relation"])
            log.remove(receipt_id)
            log.set_rewrite_due()  # rows of a space that was removed meanwhile stay erased
        clean(self.store, wall_s)
        return len({(row.memory.space_id, row.memory.doc_id) for row in stored})

    def plan_retention(self, now_s: float) -> ForgetPlan:
        """Return what the retention rules would forget."""
        with self.store.reading() as tables:
            choice = expired(tables, now_s)
            return plan(tables, choice, token_for(RETENTION, choice), {})

    def apply_retention(self, now_s: float) -> Receipt | None:
        """Forget expired memories, and delete expired trash; None if nothing was forgotten."""
        with self.store.reading() as tables:
            log = tables.erasure_log
            if log.next_due_s(now_s) > now_s and not log.is_unclean():
                return None
        erased = None
        with self.store.writing() as writing:
            writing.erasure_log.empty_expired_trash(now_s)
            choice = expired(writing, now_s)
            if choice.versions:
                erased = self._erase(writing, choice, None, (RETENTION,), None, now_s)
        if erased is None:
            clean(self.store, now_s)
            return None
        return self._cleaned(*erased, now_s)

    def _cleaned(self, receipt: Receipt, runs: Words64, wall_s: float) -> Receipt:
        """Clean erased bytes from the file; a failure does not undo the erasure."""
        proof = None
        try:
            proof = clean(self.store, wall_s, receipt, runs)
        except StoreError as error:
            logger.warning("forgotten, but its bytes wait to be cleaned: %s", error)
        return msgspec.structs.replace(receipt, proof=proof)

    def _erase(
        self,
        writing: WriteTransaction,
        choice: Choice,
        person_id: str | None,
        criteria: tuple[str, ...],
        until_s: float | None,
        wall_s: float,
    ) -> tuple[Receipt, Words64]:
        """Erase a choice with everything derived from it, and store the receipt.

        Returns the receipt and the runs of erased bytes, which are held in memory alone.
        """
        eraser = Eraser(writing, self.indexer.config.next_weight)
        rows = eraser.raw_rows(choice.ids) if until_s else []
        entities = entity_provenance.entities_of_superseded(
            writing, (*choice.versions, *choice.views)
        )
        erased = eraser.erase(choice.ids)
        entity_provenance.update_entities(self.indexer, writing, erased.entities | entities)
        relearn(writing, erased.people, wall_s)
        counts = Counter(erased.counts)
        counts["memories"] = len(choice.memories)
        log = writing.erasure_log
        receipt = Receipt(
            receipt_id=secrets.token_hex(8),
            at=iso_of(wall_s),
            person_id=person_id,
            chosen_by=criteria,
            counts=dict(sorted(counts.items())),
            undo_until=None if until_s is None else iso_of(until_s),
            rows=tuple(choice.ids),
        )
        log.put(receipt, wall_s)
        if until_s is not None:
            log.move_to_trash(
                receipt.receipt_id, until_s, {"memory": rows, "relation": erased.relations}
            )
        return receipt, runs_of_erased(erased)


def clean(
    store: Store, wall_s: float, receipt: Receipt | None = None, runs: Words64 | None = None
) -> Proof | None:
    """Clean erased bytes from a file, and record the proof in the receipts.

    The file is rewritten, then searched for the ``runs`` that ``receipt`` has just erased. Of
    earlier erasures that are not cleaned yet (a reader needed earlier pages, a process was killed,
    the trash was emptied) the text is gone.

    Returns:
        The proof for ``receipt`` or for earlier erasures. None if a reader still needs earlier
        pages, or nothing is to be cleaned.
    """
    with store.reading() as tables:
        unclean = tables.erasure_log.not_cleaned()
        mark = tables.erasure_log.rewrite_due()
    own = {receipt.receipt_id} & unclean if receipt is not None else set()
    if not unclean and mark is None:
        store.empty_log()
        return None
    with store.writing() as writing:
        clear_copies(writing)
    sought = runs if own and runs is not None else runs_of_texts(())
    proof = store.clean(sought, iso_of(wall_s))
    if proof is None:
        return None
    with store.writing() as writing:
        for receipt_id in unclean:
            own_proof = proof if receipt_id in own else Proof(proof.at, rewritten=True)
            writing.erasure_log.set_proof(receipt_id, own_proof)
        writing.erasure_log.set_rewritten(mark)
    return proof


def iso_of(wall_s: float) -> str:
    """Return a moment as ISO 8601 in UTC."""
    return dt.datetime.fromtimestamp(wall_s, dt.UTC).isoformat()


def _check_rights(selection: Selection, choice: Choice) -> None:
    """Refuse a choice that is empty, or that the person may not forget."""
    if not choice.versions and not choice.held_back:
        if selection.criteria == ("doc_ids",):
            ids = " or ".join(map(reprlib.repr, selection.doc_ids))
            raise UnknownMemoryError(f"no memory {ids} that you can see")
        raise UnknownMemoryError("nothing that you can see matches what was asked")
    if not choice.versions or (choice.held_back and selection.doc_ids):
        raise NotTheirsError(
            f"{choice.held_back} of the selected memories can be forgotten only by their author "
            "or by an owner of their space; nothing was forgotten"
        )


def _removal_token(removal: Removal) -> str:
    return token_for(f"{removal.person.person_id}\0{removal.said}\0{removal.about}", removal.choice)


def _check_token(choice: Choice, token: str | None, expected: str, *, by_id_alone: bool) -> None:
    """Refuse another set's token, and several memories without a token unless chosen by id."""
    if token is not None and token != expected:
        raise UnconfirmedError(
            "the token confirms another set of memories; what is stored has changed since, or "
            "something else was selected: ask for a dry run again"
        )
    if token is None and not by_id_alone and len(choice.memories) > 1:
        raise UnconfirmedError(
            f"{len(choice.memories)} memories would be forgotten; look at a dry run "
            "(dry_run=True), and pass its token"
        )


def _should_be_in_trash(receipt: Receipt, wall_s: float) -> bool:
    """Return whether neither its time has run out, nor its bytes were cleaned from the file."""
    until = receipt.undo_until if receipt.proof is None else None
    return until is not None and dt.datetime.fromisoformat(until).timestamp() > wall_s


def _trash_until_s(undo_for: dt.timedelta | None, wall_s: float) -> float | None:
    if undo_for is None:
        return None
    if undo_for <= dt.timedelta(0):
        raise InvalidRequestError(f"undo_for must be above 0, got {undo_for}")
    until_s = wall_s + undo_for.total_seconds()
    if until_s > MAX_MOMENT_S:
        raise InvalidRequestError(f"undo_for must end before the year 9999, got {undo_for}")
    return until_s
