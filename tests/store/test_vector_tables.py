"""Vectors: the scan in memory against brute force, and against sqlite-vec's own search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt
import pytest
import sqlite_vec
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from family_recall import FamilyRecall
from family_recall.errors import InvalidMemoryError, StoreError
from family_recall.store.file import connections
from family_recall.store.scope_sql import Hits
from family_recall.store.vector_arrays import pack_tokens, quantise, unpack_tokens
from family_recall.store.vector_index import VectorIndex, VectorIndexes, last_number
from family_recall.store.vector_search import search
from family_recall.store.vectors import NewVector, Vectors, find_views
from family_recall.types import BoolArray, FloatArray, IdArray
from tests.conftest import (
    HOME,
    TINY_STATIC,
    found,
    move_in,
    open_home,
    recall,
    remember,
    stories,
    written,
)

DIM, TOKEN_DIM, SHARD = 64, 16, 2
FIRST = 1 << 40
"""Row ids of the first partition start here."""


def unit(rows: npt.NDArray[np.floating]) -> FloatArray:
    """Scale rows to length 1."""
    units: FloatArray = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)
    return units


@contextmanager
def vec0_file(path: Path, vectors: FloatArray) -> Iterator[apsw.Connection]:
    """Store vectors in a file with the library's tables and sqlite-vec loaded."""
    with open_home(path):
        pass
    connection = apsw.Connection(str(path))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    tables = Vectors(connection, vec0=True)
    model = tables.register("oracle", vectors.shape[1], TOKEN_DIM)
    none = np.zeros((0, TOKEN_DIM), np.float32)
    with connection:
        rows = [NewVector(FIRST + n, row, none) for n, row in enumerate(vectors)]
        tables.add_to_shards(model, [(SHARD, row) for row in rows])
    yield connection
    connection.close()


def index_of(connection: apsw.Connection) -> VectorIndex:
    """Read the stored vectors as a search does."""
    (model,) = find_views(connection, "oracle")
    return VectorIndexes().get(connection, model, SHARD, 0, last_number(connection))


def closest(
    vector_index: VectorIndex,
    vector: FloatArray,
    k: int,
    allowed: Callable[[IdArray], BoolArray] | None = None,
) -> Hits:
    """Search one index as the library does."""
    return search([(segment, allowed) for segment in vector_index.segments], vector, k)


def clustered(n: int, seed: int, dim: int = DIM) -> FloatArray:
    """Draw unit vectors around forty centres, as the sessions of one household are spread."""
    centres = np.random.default_rng(0).standard_normal((40, dim))
    drawn = np.random.default_rng(seed)
    return unit(centres[drawn.integers(0, 40, n)] + drawn.standard_normal((n, dim)))


def nearest(vectors: FloatArray, question: FloatArray, k: int) -> list[int]:
    """Find the k nearest by brute force over rows rounded to int8."""
    peak = np.abs(vectors).max(axis=1, keepdims=True)
    stored = np.rint(vectors * (127.0 / peak)).astype(np.float64)
    cosine = stored @ question / np.linalg.norm(stored, axis=1)
    return [FIRST + int(at) for at in np.lexsort((np.arange(len(vectors)), -cosine))[:k]]


@pytest.mark.parametrize("n", [1, 7, 129, 999])
def test_a_small_shard_is_searched_exactly(path: Path, n: int) -> None:
    """Below a thousand rows the k nearest are those of brute force, in that order."""
    vectors = clustered(n, n)
    with vec0_file(path, vectors) as connection:
        vector_index = index_of(connection)
        for question in clustered(10, 1000 + n):
            hits = closest(vector_index, question, 24)
            assert hits.ids.tolist() == nearest(vectors, question, 24)
            assert (np.diff(hits.scores) <= 0).all()


def test_a_large_shard_loses_one_neighbour_in_a_hundred_at_most(path: Path) -> None:
    """At 5,000 rows of 384 dimensions 0.99 of the true nearest 24 are found."""
    vectors = clustered(5_000, 5, 384)
    with vec0_file(path, vectors) as connection:
        vector_index = index_of(connection)
        shared = [
            len({*closest(vector_index, question, 24).ids.tolist()}.intersection(
                nearest(vectors, question, 24)))
            for question in clustered(30, 6, 384)
        ]  # fmt: skip

    assert sum(shared) / (24 * 30) >= 0.99


def test_a_filter_never_hides_what_it_allows(path: Path) -> None:
    """Where one row in five hundred is allowed, the nearest of those are found."""
    vectors = clustered(3_000, 7)

    def allowed(ids: IdArray) -> BoolArray:
        return np.asarray((ids - FIRST) % 500 == 0)

    with vec0_file(path, vectors) as connection:
        vector_index = index_of(connection)
        for question in clustered(5, 8):
            hits = closest(vector_index, question, 5, allowed)
            kept = [at for at in nearest(vectors, question, 3_000) if (at - FIRST) % 500 == 0]
            assert hits.ids.tolist() == kept[:5]


def test_sqlite_vec_finds_the_same(path: Path) -> None:
    """vec0's own KNN gives the same neighbours, at a cosine distance of 1 − score."""
    vectors = clustered(600, 9)
    with vec0_file(path, vectors) as connection:
        vector_index = index_of(connection)
        for question in clustered(10, 10):
            # As the stored rows are, so that both measure the same angle.
            asked = quantise([question], DIM)[0]
            rows: list[Any] = connection.execute(
                "SELECT id, distance FROM vectors_1 WHERE vector MATCH vec_int8(?)"
                " AND k = 24 AND shard = ?",
                (asked.tobytes(), SHARD),
            ).fetchall()
            hits = closest(vector_index, unit(asked.astype(np.float32)), 24)
            assert hits.scores == pytest.approx([1.0 - distance for _, distance in rows], abs=1e-5)
            assert set(hits.ids.tolist()) == {memory for memory, _ in rows}


def test_rows_added_later_are_found_like_the_rest(path: Path) -> None:
    """An index that grew with the file holds what a fresh one holds."""
    vectors = clustered(300, 11)
    with vec0_file(path, vectors[:100]) as connection:
        (model,) = find_views(connection, "oracle")
        blocks = VectorIndexes()
        blocks.get(connection, model, SHARD, 0, last_number(connection))
        none = np.zeros((0, TOKEN_DIM), np.float32)
        Vectors(connection, vec0=True).add_to_shards(
            model, [(SHARD, NewVector(FIRST + n, vectors[n], none)) for n in range(100, 300)]
        )
        grown = blocks.get(connection, model, SHARD, 0, last_number(connection))
        fresh = index_of(connection)
        for question in clustered(5, 12):
            one, other = closest(grown, question, 20), closest(fresh, question, 20)
            assert one.ids.tolist() == other.ids.tolist() == nearest(vectors, question, 20)


finite = st.floats(-1.0, 1.0, width=32)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(hnp.arrays(np.float32, 32, elements=finite).filter(lambda row: np.abs(row).max() > 1e-6))
def test_quantising_moves_no_part_by_more_than_half_a_step(row: FloatArray) -> None:
    """Scaled back, each part is within half of 1/127 of the largest."""
    peak = float(np.abs(row).max())
    back = quantise([row], 32)[0].astype(np.float64) * peak / 127.0

    assert np.abs(back - row).max() <= 0.5 * peak / 127.0 + 1e-6 * peak


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 6), st.integers(0, 1000))
def test_packed_tokens_come_back_as_unit_rows(n: int, seed: int) -> None:
    """Four bits a part keep a token's direction: each part within half of 1/7 of the largest."""
    tokens = unit(np.random.default_rng(seed).standard_normal((n, TOKEN_DIM)).astype(np.float32))
    packed = pack_tokens(tokens)
    back = unpack_tokens(packed, TOKEN_DIM)

    assert len(packed) == n * TOKEN_DIM // 2
    assert back.shape == tokens.shape
    assert np.linalg.norm(back, axis=1) == pytest.approx(np.ones(n), abs=1e-5)
    for token, found_back in zip(tokens, back, strict=True):
        peak = np.abs(token).max()  # stored as 7, and so without an error
        worst = np.abs(peak / np.abs(found_back).max() * found_back - token).max()
        assert worst <= 0.5 / 7.0 * peak + 1e-5
        assert float(token @ found_back) > 0.98


@pytest.mark.parametrize(
    "row",
    [np.full(DIM, np.nan), np.zeros(DIM), np.full(DIM, np.inf), np.full(DIM, -np.inf),
     np.ones(DIM - 1), np.ones((1, DIM)), np.zeros(0)],
    ids=["nan", "zero", "inf", "-inf", "short", "matrix", "empty"],
)  # fmt: skip
def test_what_has_no_direction_is_refused(row: FloatArray) -> None:
    """NaN, zero, infinity and a wrong dimension raise InvalidMemoryError."""
    with pytest.raises(InvalidMemoryError):
        quantise([row.astype(np.float32)], DIM)


def test_one_name_has_one_pair_of_dimensions_and_one_role(path: Path) -> None:
    """A model registered again with other dimensions or as static is refused, with the way out."""
    with vec0_file(path, clustered(3, 1)) as connection:
        tables = Vectors(connection, vec0=True)
        with pytest.raises(InvalidMemoryError, match="give it a new model_id"):
            tables.register("oracle", DIM + 8, TOKEN_DIM)
        with pytest.raises(InvalidMemoryError, match="give it a new model_id"):
            tables.register("oracle", DIM, TOKEN_DIM, "static")


def test_static_vectors_are_searched_in_a_plain_table(path: Path) -> None:
    """They need no extension, and the nearest are those of brute force, added to or not."""
    vectors = clustered(300, 13)
    with open_home(path):
        pass
    connection = apsw.Connection(str(path))
    tables = Vectors(connection, vec0=True)
    model = tables.register("table", DIM, 0, "static")
    none = np.zeros((0, 0), np.float32)
    rows = [(SHARD, NewVector(FIRST + n, row, none)) for n, row in enumerate(vectors)]
    held = VectorIndexes()
    for start in (0, 200):
        with connection:
            tables.add_to_shards(model, rows[start : start + 200])
        vector_index = held.get(connection, model, SHARD, 0, last_number(connection))
        for question in clustered(5, 14):
            expected = nearest(vectors[: start + 200], question, 20)
            again = VectorIndexes().get(connection, model, SHARD, 0, last_number(connection))
            assert closest(vector_index, question, 20).ids.tolist() == expected
            assert closest(again, question, 20).ids.tolist() == expected
    connection.close()

    assert model.storage == "plain"


def test_without_sqlite_vec_static_vectors_are_written_and_moved(
    path: Path, without_vec0: Callable[[], None]
) -> None:
    """A file begun with sqlite-vec takes static vectors where it has no wheel, and moves them."""
    with open_home(path, static=TINY_STATIC) as home:
        move_in(home)
        home.remember_many(stories())
    without_vec0()
    with open_home(path, encoder=None, static=TINY_STATIC) as home:
        for text in ("The plumber is Otto", "The cobbler is Otto"):
            remember(home, text, HOME, doc_id="trade")
        answer = recall(home, "cobblery", "mia", top_k=50)

        assert found(answer)[0] == "trade"
        assert answer.trace.counts["vectors_pending"] == 0
        assert answer.results[0].text == "The cobbler is Otto"


@pytest.fixture
def without_vec0(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that hides sqlite-vec from connections opened from then on."""
    return lambda: monkeypatch.setattr(connections, "load_vec0", lambda _: False)


def test_without_sqlite_vec_a_file_is_read_all_the_same(
    path: Path, without_vec0: Callable[[], None]
) -> None:
    """A file written with sqlite-vec gives the same answer where it cannot be loaded."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
        before = written(recall(home, "when does grandma land?", "mia"))
    without_vec0()
    with open_home(path) as home:
        assert written(recall(home, "when does grandma land?", "mia")) == before


def test_without_sqlite_vec_vectors_are_kept_in_a_plain_table(tmp_path: Path) -> None:
    """A file begun without sqlite-vec answers as one begun with it, and goes on with it later."""

    def answers(home: FamilyRecall) -> str:
        return written(recall(home, "when does grandma land?", "mia"))

    def live(home: FamilyRecall) -> None:
        move_in(home)
        home.remember_many(stories())
        remember(home, "Grandma lands on Sunday", HOME, doc_id="grandma", author="Priya")

    with open_home(tmp_path / "vec0.db") as home:
        live(home)
        expected = answers(home)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(connections, "load_vec0", lambda _: False)
        with open_home(tmp_path / "plain.db") as home:
            live(home)
            assert answers(home) == expected
    with open_home(tmp_path / "plain.db") as home:
        assert answers(home) == expected
        remember(home, "The plumber is Otto", HOME, doc_id="otto")
        assert "otto" in recall(home, "plumber", "mia").trace.runs["vector"]
        home.maintenance.rebuild()
        assert "otto" in recall(home, "plumber", "mia").trace.runs["vector"]


def test_without_sqlite_vec_a_file_can_still_be_written(
    path: Path, without_vec0: Callable[[], None]
) -> None:
    """Where sqlite-vec is missing, what is told to a file written with it is kept and found.

    Its vector may have to wait; the caller hears of it, if at all, in the library's own words.
    """
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
    without_vec0()
    with open_home(path) as home:
        for text in ("The plumber is Otto", "The plumber is Hanna"):
            try:
                remember(home, text, HOME, doc_id="plumber")
            except StoreError:
                continue
        answer = recall(home, "who is the plumber?", "mia", profile="neural")

        assert found(answer)[0] == "plumber"
        assert answer.results[0].text == "The plumber is Hanna"
