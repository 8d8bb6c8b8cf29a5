"""Keyed digests of erased memories, by which their remains can be looked for without their text."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from family_recall.stores.erase.byte_prefilter import RUN, Words64, marks_of, runs_of
from family_recall.stores.erase.eraser import Erased
from family_recall.types.erasure import Digests

DIGEST = 8  # bytes of an HMAC that are stored
MOST_RUNS = 50_000
_FEWEST_VALUES = 3  # different bytes a run must have: rows of spaces or zeros are everywhere
_PREFILTER_BITS = 32


@dataclass(frozen=True, slots=True)
class DigestKey:
    """The household's key, and the digests it makes: HMAC-SHA256, cut to 8 bytes."""

    key: bytes

    def digest(self, kind: str, value: bytes) -> bytes:
        """Digest a value among others of its kind."""
        return hmac.digest(self.key, kind.encode() + b"\0" + value, hashlib.sha256)[:DIGEST]

    def row(self, memory: int) -> str:
        """Digest a row id."""
        return self.digest("row", memory.to_bytes(8, "little")).hex()

    def document(self, space_id: str, doc_id: str) -> str:
        """Digest a memory's id in its space."""
        return self.digest("document", json.dumps([space_id, doc_id]).encode()).hex()

    def term(self, stem: str) -> str:
        """Digest a word as the index has it."""
        return self.digest("term", stem.encode()).hex()

    def run(self, run: bytes) -> bytes:
        """Digest a run of 8 bytes of a text or vector."""
        return self.digest("run", run)

    @property
    def multiplier(self) -> np.uint64:
        """The odd number by which runs are multiplied for the prefilter."""
        digest = self.digest("sieve", b"")  # earlier format
        return np.uint64(int.from_bytes(digest, "little") | 1)


def digests_of(key: DigestKey, erased: Erased) -> Digests:
    """Digest what was erased: rows, ids, words, and evenly spaced runs of texts and vectors."""
    sources = [source for row in erased.rows for source in (*row.texts, *row.vectors)]
    n_runs = sum(max(len(source) - RUN + 1, 0) for source in sources)
    stride = -(-max(n_runs, 1) // MOST_RUNS)
    parts = [_distinctive(runs_of(source)[::stride]) for source in sources]
    runs = np.unique(np.concatenate([np.zeros(0, np.uint64), *parts]))
    marks = np.unique(marks_of(runs, key.multiplier, _PREFILTER_BITS)).astype("<u4")
    return Digests(
        rows=tuple(sorted(key.row(row.id) for row in erased.rows)),
        documents=tuple(sorted({key.document(row.space_id, row.doc_id) for row in erased.rows})),
        terms=tuple(sorted(key.term(stem) for stem in erased.stems)),
        runs=_base64(sorted(key.run(run) for run in as_bytes(runs))),
        prefilter=_base64([marks.tobytes()]),
        prefilter_bits=_PREFILTER_BITS,
        stride=stride,
    )


def as_bytes(runs: Words64) -> list[bytes]:
    """Return runs as 8 bytes each."""
    packed = runs.astype("<u8").tobytes()
    return [packed[start : start + RUN] for start in range(0, len(packed), RUN)]


def _distinctive(runs: Words64) -> Words64:
    """Leave out runs of so few different bytes that they stand in any file."""
    ordered = np.sort(runs.astype("<u8").view(np.uint8).reshape(-1, RUN), axis=1)
    n_values = 1 + np.count_nonzero(np.diff(ordered, axis=1), axis=1)
    distinctive: Words64 = runs[n_values >= _FEWEST_VALUES]
    return distinctive


def _base64(parts: Sequence[bytes]) -> str:
    return base64.b64encode(b"".join(parts)).decode()
