"""Cleans a file of the bytes of what was erased from it, and records the proof in the receipts."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from family_recall.store.erase.byte_search import Words64, runs_of_texts
from family_recall.store.store import Store
from family_recall.types.erasure import Proof, Receipt


@dataclass(frozen=True, slots=True)
class Erasure:
    """A receipt as it was stored, and the runs of erased bytes, which lie in memory alone."""

    receipt: Receipt
    runs: Words64


def clean(store: Store, wall_s: float, erasure: Erasure | None = None) -> Proof | None:
    """Remove the bytes of what was erased from a file, and record how.

    What was erased just now is searched for. Anything else that is not cleaned yet (a reader
    needed earlier pages, a process was killed, the trash was emptied) has no text to search for
    any more, so the file is rewritten for it.

    Returns:
        The proof for ``erasure``, or for what was left from before. None where a reader still
        needs earlier pages, and where nothing was to be cleaned, what is in the trash included.
    """
    with store.reading() as tables:
        others = tables.erasure_log.not_cleaned()
        rewrite_due = tables.erasure_log.rewrite_due()
    own = erasure if erasure is not None and erasure.receipt.undo_until is None else None
    if own is not None:
        others -= {own.receipt.receipt_id}
    rewrite = rewrite_due or bool(others)
    if own is None and not rewrite:
        store.empty_log()
        return None
    if rewrite_due:
        with store.writing() as writing:
            writing.words.rewrite_if_stale()
    runs = runs_of_texts(()) if own is None else own.runs
    proof = store.clean(runs, iso_of(wall_s), rewrite=rewrite)
    if proof is None:
        return None
    with store.writing() as writing:
        for receipt_id in others:
            writing.erasure_log.set_proof(receipt_id, Proof(proof.at, rewritten=True))
        if own is not None:
            writing.erasure_log.set_proof(own.receipt.receipt_id, proof)
        writing.erasure_log.set_rewritten()
    return proof


def iso_of(wall_s: float) -> str:
    """Return a moment as receipts have it."""
    return dt.datetime.fromtimestamp(wall_s, dt.UTC).isoformat()
