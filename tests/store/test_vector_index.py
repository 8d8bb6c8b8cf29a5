"""Vector indexes: vectors in memory, kept in step with the file segment by segment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import numpy as np
import pytest
import sqlite_vec
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.store import vector_index
from family_recall.store.file import schema
from family_recall.store.vector_index import Segment, VectorIndex, VectorIndexes, last_number
from family_recall.store.vector_search import n_candidates, search
from family_recall.store.vectors import Model, NewVector, Vectors
from family_recall.types import FloatArray, IdArray

DIM = 64
CURRENT, PAST = 2, 3
FIRST = 1 << 40
"""Row ids of the first partition start here."""
NO_TOKENS = np.zeros((0, 16), np.float32)


def drawn(n: int, seed: int, dim: int = DIM) -> FloatArray:
    """Draw unit vectors around two hundred centres, as the sessions of a household are spread."""
    centres = np.random.default_rng(0).standard_normal((200, dim), dtype=np.float32)
    random = np.random.default_rng(seed)
    rows = centres[random.integers(0, 200, n)] + random.standard_normal((n, dim), dtype=np.float32)
    unit: FloatArray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


@contextmanager
def opened(*, vec0: bool) -> Iterator[tuple[apsw.Connection, Model]]:
    """Open the tables of a model's vectors, in memory."""
    connection = apsw.Connection(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    schema.create(connection)
    model = Vectors(connection, vec0).register("m", DIM, 16)
    yield connection, model
    connection.close()


def stored(connection: apsw.Connection, model: Model, numbers: range, seed: int) -> None:
    """Write vectors of some memories to the current shard."""
    rows = drawn(len(numbers), seed)
    new = [NewVector(FIRST + at, row, NO_TOKENS) for at, row in zip(numbers, rows, strict=True)]
    Vectors(connection, vec0=True).add_to_shards(model, [(CURRENT, row) for row in new])


def as_dict(vector_index: VectorIndex) -> dict[int, bytes]:
    """Return every row of an index, and its sign bits, by id."""
    return {
        int(memory): segment.rows[at].tobytes() + segment.bits[:, at].tobytes()
        for segment in vector_index.segments
        for at, memory in enumerate(segment.ids)
    }


steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 90)),
        st.tuples(st.just("retire"), st.integers(0, 300)),
        st.tuples(st.just("again"), st.integers(0, 300)),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(steps, st.booleans(), st.sets(st.integers(0, 7)))
def test_an_updated_index_is_what_a_fresh_one_would_be(
    history: list[tuple[str, int]], vec0: bool, looked: set[int]
) -> None:
    """Rows added, moved from shard to shard, replaced: both shards follow the file."""
    with pytest.MonkeyPatch.context() as patched, opened(vec0=vec0) as (connection, model):
        patched.setattr(vector_index, "_SEGMENT", 64)
        held, n, rewrites = VectorIndexes(), 0, 0
        for at, (kind, number) in enumerate(history):
            if kind == "add":
                stored(connection, model, range(n, n + number), at)
                n += number
            elif n:
                memory = FIRST + number % n
                if kind == "retire":
                    Vectors(connection, vec0=True).move(memory, PAST)
                else:
                    Vectors(connection, vec0=True).remove([memory])
                    stored(connection, model, range(number % n, number % n + 1), 100 + at)
                rewrites += 1
            if at in looked or at + 1 == len(history):
                for shard in (CURRENT, PAST):
                    kept, fresh = (
                        indexes.get(connection, model, shard, rewrites, last_number(connection))
                        for indexes in (held, VectorIndexes())
                    )
                    assert as_dict(kept) == as_dict(fresh)
                    assert sum(len(segment.ids) for segment in kept.segments) == len(as_dict(kept))
                    (question,) = drawn(1, 999)
                    one, other = (
                        search([(segment, None) for segment in index.segments], question, 10)
                        for index in (kept, fresh)
                    )
                    assert one.ids.tolist() == other.ids.tolist()
                    assert one.scores == pytest.approx(other.scores, abs=1e-6)


def test_one_more_memory_copies_no_large_segment() -> None:
    """A large segment stays the same object: a recall after each of many additions is cheap."""
    with opened(vec0=True) as (connection, model):
        stored(connection, model, range(2_000), 1)
        held = VectorIndexes()
        before = held.get(connection, model, CURRENT, 0, last_number(connection))
        stored(connection, model, range(2_000, 2_001), 2)
        after = held.get(connection, model, CURRENT, 0, last_number(connection))

    assert after.segments[0] is before.segments[0]
    assert [len(segment.ids) for segment in after.segments] == [2_000, 1]


def test_one_memory_less_copies_one_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many segments only the one that held it is replaced, and no vector is read."""
    monkeypatch.setattr(vector_index, "_SEGMENT", 512)
    with opened(vec0=True) as (connection, model):
        stored(connection, model, range(2_048), 1)
        held = VectorIndexes()
        before = held.get(connection, model, CURRENT, 0, last_number(connection))
        Vectors(connection, vec0=True).move(FIRST + 700, PAST)

        def unread(*given: Any) -> Any:
            raise AssertionError(given)

        monkeypatch.setattr(vector_index, "_read", unread)
        after = held.get(connection, model, CURRENT, 1, last_number(connection))

    same = sum(any(one is other for other in before.segments) for one in after.segments)
    n_after = sum(len(segment.ids) for segment in after.segments)
    assert (n_after, same, len(before.segments)) == (2_047, 3, 4)


def exact(rows: FloatArray, question: FloatArray, k: int) -> IdArray:
    """Find the k nearest of all by cosine of float32 vectors."""
    cosines = np.einsum("nd,d->n", rows, question)
    return np.argsort(-cosines, kind="stable")[:k]


@pytest.mark.parametrize("n", [20_000, 60_000])
def test_ninety_nine_of_a_hundred_neighbours_are_found(n: int) -> None:
    """Against brute force over float32 vectors, in several segments of 384 dimensions."""
    rows = drawn(n, 3, 384)
    peaks = np.abs(rows).max(axis=1, keepdims=True)
    int8 = np.rint(rows * (127.0 / peaks)).astype(np.int8)
    cuts = range(0, n, 16_384)
    segments = [
        Segment.of(np.arange(at, min(at + 16_384, n)), int8[at : at + 16_384]) for at in cuts
    ]
    questions = drawn(25, 4, 384)
    shared = sum(
        len(
            np.intersect1d(
                search([(each, None) for each in segments], question, 48).ids,
                exact(rows, question, 48),
            )
        )
        for question in questions
    )

    assert shared / (25 * 48) >= 0.99


def test_more_memories_have_more_candidates_and_a_smaller_part() -> None:
    """All of a small shard are scored; of a million 0.6 %, and never fewer than of fewer."""
    sizes = [0, 1, 999, 1_000, 50_000, 100_000, 300_000, 1_000_000]
    pools = [n_candidates(n) for n in sizes]

    assert pools == sorted(pools)
    assert pools[:4] == [0, 1, 999, 1_000]
    assert (n_candidates(100_000), n_candidates(1_000_000)) == (2_000, 6_324)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([64, 100, 256, 384]),
    st.lists(st.integers(0, 1_500), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_candidates_are_the_closest_by_sign_bits(
    dim: int, sizes: list[int], seed: int, alike: float
) -> None:
    """Of several indexes together, under one threshold; whether rows differ much or not at all."""
    random = np.random.default_rng(seed)
    vector = random.normal(size=dim).astype(np.float32)
    vector /= np.linalg.norm(vector)
    n = sum(sizes)
    rows = random.integers(-127, 128, (n, dim)).astype(np.int8)
    copies = random.random(n) < alike
    rows[copies] = np.where(vector > 0, -1, 1)  # as far as can be
    ids = np.arange(1, n + 1)
    ends = np.cumsum(sizes)
    segments = [
        Segment.of(ids[end - size : end], rows[end - size : end])
        for size, end in zip(sizes, ends, strict=True)
    ]

    hits = search([(segment, None) for segment in segments if len(segment.ids)], vector, 40)

    distances = ((rows > 0) != (vector > 0)).sum(axis=1)
    n_scored = max(n_candidates(n), 160)
    closest = ids
    if n_scored < n:
        closest = ids[distances <= np.sort(distances)[n_scored - 1]]
    cosines = np.concatenate([segment.cosines(vector) for segment in segments])[closest - 1]
    best = np.lexsort((closest, -cosines))[:40]
    assert hits.ids.tolist() == closest[best].tolist()
    assert hits.scores.tolist() == cosines[best].tolist()
