"""Near copies: sets of words that share nearly all of them, found without comparing all pairs.

Two sets with a Jaccard similarity of :data:`NEAR_COPY` differ in at most a ninth as many words as
the smaller one has. Divide both into one part more than that, by the words themselves, and at
least one part is the same in both. Only sets that share a part are compared: first by sketches,
in which sets differ in no more bits than in words, and then word by word.

Source: Arasu, Ganti & Kaushik, Efficient Exact Set-Similarity Joins, VLDB 2006 (PartEnum).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from family_recall.store.records import among
from family_recall.types import BoolArray, IdArray
from family_recall.types.record import record

NEAR_COPY = 0.9
"""Jaccard similarity of words from which two memories of one author and kind are copies."""
FEWEST_WORDS = 4
"""Shorter texts are never copies: "yes, please" is said every day."""

Stems = npt.NDArray[np.uint32]
_Numbers = npt.NDArray[np.uint64]

_FEW_SETS, _FEW_WORDS = 32, 2_048  # up to which comparing all pairs costs less than dividing
_SKETCH_BITS = 256
_WORDS_AT_ONCE = 1 << 16  # between two looks at the clock
_OF_WORD, _OF_PART, _OF_GROUP = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64
)  # odd, so that sums and products of them collide by chance alone


def _size_classes() -> IdArray:
    """Return the smallest size of each class: near copies are of one, or of two next to it."""
    smallest = [FEWEST_WORDS]
    while smallest[-1] < 1 << 32:
        smallest.append(smallest[-1] * 10 // 9 + 1)
    return np.array(smallest, np.int64)


_SMALLEST = _size_classes()
_N_PARTS = (_SMALLEST[1:] - 1) // 9 + 1


@record(frozen=True, slots=True)
class WordSets:
    """Sets of words, best first: set i is ``words[starts[i]:starts[i] + sizes[i]]``, ascending.

    Only sets of the same number in ``groups`` (n,) can be copies.
    """

    words: Stems
    starts: IdArray
    sizes: IdArray
    groups: IdArray

    def __len__(self) -> int:
        """Count the sets."""
        return len(self.sizes)

    def chosen(self, numbers: IdArray) -> WordSets:
        """Return some of the sets, by their numbers (m,) and in that order."""
        return WordSets(self.words, self.starts[numbers], self.sizes[numbers], self.groups[numbers])

    def joined(self) -> Stems:
        """Return the words of all sets, one set after the other."""
        # What each word's place in the result lacks to its place here.
        lacks = (self.starts - self.sizes.cumsum() + self.sizes).repeat(self.sizes)
        joined: Stems = self.words[lacks + np.arange(len(lacks))]
        return joined


def near_copies(sets: WordSets, stopped: Callable[[], bool]) -> dict[int, int]:
    """Map each near copy to the best set that it is a copy of, and that is itself no copy.

    Args:
        sets: Best first.
        stopped: Whether the time is up, asked often; then what was found so far is returned.
    """
    representative: dict[int, int] = {}
    left = (sets.sizes >= FEWEST_WORDS).nonzero()[0]
    comparable = sets.chosen(left)
    if len(left) <= _FEW_SETS and comparable.sizes.sum() <= _FEW_WORDS:
        left = left[_are_like_another(comparable)]
    else:
        left = left[_share_a_part(comparable, stopped)]
    if not len(left):
        return representative
    sketches = _sketches(sets.chosen(left))
    while len(left) > 1 and not stopped():
        best, sketch = int(left[0]), sketches[..., :1]
        left, sketches = left[1:], sketches[..., 1:]
        differing = np.bitwise_count(sketches ^ sketch).sum(axis=1, dtype=np.uint16).max(axis=0)
        near = np.flatnonzero(differing <= sets.sizes[best] // 9)
        if len(near):
            near = near[_are_copies(sets, best, left[near])]
            representative |= dict.fromkeys(left[near].tolist(), best)
            left, sketches = np.delete(left, near), np.delete(sketches, near, axis=2)
    return representative


def _are_copies(sets: WordSets, best: int, others: IdArray) -> BoolArray:
    """Whether each of some sets (m,) is a near copy of one: shape (m,)."""
    compared, size = sets.chosen(others), sets.sizes[best]
    words = sets.words[sets.starts[best] : sets.starts[best] + size].astype(np.int64)
    known = among(compared.joined().astype(np.int64), words, ordered=True)
    begins = np.cumsum(compared.sizes) - compared.sizes
    common = np.add.reduceat(known, begins, dtype=np.int64)
    alike: BoolArray = common >= NEAR_COPY * (compared.sizes + size - common)
    alike &= compared.groups == sets.groups[best]
    return alike


def _are_like_another(sets: WordSets) -> BoolArray:
    """Whether each set (n,) may be a near copy of another one: by sketches of 64 bits."""
    bits = np.left_shift(np.uint64(1), sets.joined() & 63)
    sketches = np.bitwise_or.reduceat(bits, sets.sizes.cumsum() - sets.sizes)
    differing = np.bitwise_count(sketches[:, None] ^ sketches)
    alike: BoolArray = (differing <= sets.sizes // 9).sum(axis=1) > 1
    return alike


def _share_a_part(sets: WordSets, stopped: Callable[[], bool]) -> BoolArray:
    """Whether each set (n,) has a part in common with another one; none does once stopped."""
    signatures = [np.zeros(0, np.uint64)]
    owners = [np.zeros(0, np.int64)]
    own = np.searchsorted(_SMALLEST, sets.sizes, side="right") - 1
    batch = np.cumsum(sets.sizes) // _WORDS_AT_ONCE
    # As the smaller set of a pair, and as the larger one of a pair whose smaller is a class below.
    for level in (own, own - 1):
        for number in np.unique(batch).tolist():
            if stopped():
                return np.zeros(len(sets), np.bool_)
            rows = np.flatnonzero((batch == number) & (level >= 0))
            of_parts, part_owners = _signatures(sets.chosen(rows), level[rows])
            signatures.append(of_parts)
            owners.append(rows[part_owners])
    _, part, n_owners = np.unique(
        np.concatenate(signatures), return_inverse=True, return_counts=True
    )
    shares = np.zeros(len(sets), np.bool_)
    shares[np.concatenate(owners)[n_owners[part] > 1]] = True
    return shares


def _signatures(sets: WordSets, level: IdArray) -> tuple[_Numbers, IdArray]:
    """Return a number for each part of each set (p,), equal for equal parts, and its set (p,).

    ``level`` (n,) is the class of sizes by which each set is divided.
    """
    n_parts = _N_PARTS[level]
    first = np.cumsum(n_parts) - n_parts
    owner = np.repeat(np.arange(len(sets)), n_parts)
    words = sets.joined().astype(np.int64)
    part = np.repeat(first, sets.sizes) + words % np.repeat(n_parts, sets.sizes)
    signatures = np.zeros(len(owner), np.uint64)
    np.add.at(signatures, part, words.astype(np.uint64) * _OF_WORD)
    divided_as = level[owner] << 32 | np.arange(len(owner)) - first[owner]
    signatures += divided_as.astype(np.uint64) * _OF_PART
    return signatures + sets.groups[owner].astype(np.uint64) * _OF_GROUP, owner


def _sketches(sets: WordSets) -> _Numbers:
    """Return two sketches of each set: shape (2, 4, n). Each word turns over one bit of 256.

    Two, since words of which two turn over the same bit of one rarely do so in the other.
    """
    begins = np.repeat(np.arange(len(sets)) * _SKETCH_BITS, sets.sizes)
    mixed = sets.joined().astype(np.uint64) * _OF_WORD >> 48
    sketches = []
    for bit in np.divmod(mixed.astype(np.int64), _SKETCH_BITS):
        turned = np.bincount(begins + bit, minlength=len(sets) * _SKETCH_BITS) & 1
        bits = turned.astype(np.uint8).reshape(len(sets), _SKETCH_BITS)
        sketches.append(np.ascontiguousarray(np.packbits(bits, axis=1).view(np.uint64).T))
    return np.stack(sketches)
