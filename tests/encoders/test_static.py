"""The static embedder: a text is the weighted mean of its tokens' rows, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.encoders.base import Floats
from family_recall.encoders.install import check
from family_recall.encoders.manifest import find_models, read_manifest
from family_recall.encoders.static import StaticEncoder, StaticTable, read_table, write_table
from family_recall.encoders.tokenizer import SubwordTokenizer
from family_recall.errors import ModelError
from tests.encoders.conftest import facts, write_manifest

N_IDS = 30_522
QUESTION = "when does grandma land?"


def drawn_table(dim: int, seed: int = 0) -> StaticTable:
    """Draw a row and a weight for every token of the shipped tokeniser."""
    drawn = np.random.default_rng(seed)
    vectors = drawn.standard_normal((N_IDS, dim)).astype(np.float32)
    return StaticTable.of(vectors, drawn.uniform(0.1, 9.0, N_IDS).astype(np.float32))


def static_folder(folder: Path, table: StaticTable, **changed: Any) -> Path:
    """Write a models folder with a static embedder and nothing else."""
    folder.mkdir(exist_ok=True)
    write_table(folder / "static.npz", table)
    tokenizer = folder / "tokenizer.json"
    tokenizer.write_bytes((find_models() / "tokenizer.json").read_bytes())
    entry = {
        "name": "drawn",
        "model_id": "drawn/1",
        "role": "static_embedder",
        **facts(folder / "static.npz"),
        "licence": "Apache-2.0",
        "precision": "int8",
        "dimensions": table.rows.shape[1],
        "max_tokens": {"question": 8, "memory": 12},
        "pooling": "mean",
        "query_prefix": "",
        "memory_prefix": "",
        "tokenizer": facts(tokenizer),
    }
    write_manifest(folder, [{**entry, **changed}])
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder with a drawn table of 24 dimensions."""
    return static_folder(tmp_path_factory.mktemp("static"), drawn_table(24))


@pytest.fixture(scope="module")
def static(folder: Path) -> StaticEncoder:
    """The encoder of that folder."""
    return StaticEncoder.load(folder)


@pytest.fixture(scope="module")
def by_hand(folder: Path) -> Callable[[str, int], Floats]:
    """The same vector the long way round: each token scaled back, weighted, added, in float64."""
    table = read_table(folder / "static.npz")
    tokenizer = SubwordTokenizer(folder / "tokenizer.json")

    def vector(text: str, max_tokens: int) -> Floats:
        summed = np.zeros(table.rows.shape[1])
        for token in tokenizer.ids(text, max_tokens):
            row = table.rows[token].astype(np.float64) * float(table.scales[token])
            summed += float(table.weights[token]) * row
        unit: Floats = summed / np.linalg.norm(summed)
        return unit

    return vector


@pytest.mark.parametrize("text", [QUESTION, "Grandma", "Priya: the spare key, under a blue pot!"])
def test_a_text_is_the_weighted_mean_of_its_tokens(
    static: StaticEncoder, by_hand: Callable[[str, int], Floats], text: str
) -> None:
    """Rows times scales times weights, summed and made unit length."""
    assert static.encode_question(text).pooled == pytest.approx(by_hand(text, 8), abs=1e-5)
    assert static.encode_memories([text])[0].pooled == pytest.approx(by_hand(text, 12), abs=1e-5)


def test_a_long_text_is_cut(static: StaticEncoder, by_hand: Callable[[str, int], Floats]) -> None:
    """A question has eight tokens here, a memory twelve; what comes after counts for nothing."""
    text = " ".join(f"{word} cake" for word in "one two three four five six seven eight".split())

    assert static.encode_question(text).pooled == pytest.approx(by_hand(text, 8), abs=1e-5)
    assert static.encode_memories([text])[0].pooled == pytest.approx(by_hand(text, 12), abs=1e-5)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=60))
def test_any_text_has_a_unit_vector(static: StaticEncoder, text: str) -> None:
    """Emojis, blanks, half a surrogate pair or nothing at all: finite, and of length 1."""
    pooled = static.encode_question(text).pooled

    assert pooled.shape == (24,)
    assert pooled.dtype == np.float32
    assert float(np.linalg.norm(pooled)) == pytest.approx(1.0, abs=1e-5)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=6), st.integers(0, 5))
def test_no_text_changes_anothers_vector(static: StaticEncoder, texts: list[str], at: int) -> None:
    """Alone or among others, first or last, now or later: the same bits."""
    texts = [*texts, "grandma lands on friday at six " * 4]
    text = texts[at % len(texts)]
    among = static.encode_memories(texts)[at % len(texts)].pooled

    assert among.tobytes() == static.encode_memories([text])[0].pooled.tobytes()
    assert (
        among.tobytes()
        == static.encode_memories(texts[::-1])[-1 - at % len(texts)].pooled.tobytes()
    )


@pytest.mark.parametrize("dim", [8, 40])
def test_the_file_says_how_long_a_vector_is(tmp_path: Path, dim: int) -> None:
    """A table of any width is read as it is."""
    static = StaticEncoder.load(static_folder(tmp_path, drawn_table(dim)))

    assert static.dim == dim
    assert static.encode_question(QUESTION).pooled.shape == (dim,)


def test_it_has_no_token_vectors(static: StaticEncoder) -> None:
    """Late interaction has nothing to do with it."""
    found = static.encode_question(QUESTION)

    assert (static.token_dim, found.tokens.size, found.token_ids.size) == (0, 0, 0)
    assert static.token_ids(QUESTION).size == 0


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 1000), st.floats(1e-4, 1e4))
def test_rounding_moves_no_part_by_more_than_half_a_step(seed: int, size: float) -> None:
    """Scaled back, each part is within half of 1/127 of its row's largest."""
    vectors = np.random.default_rng(seed).standard_normal((5, 16)).astype(np.float32) * size
    table = StaticTable.of(vectors.astype(np.float32), np.ones(5, np.float32))
    back = table.rows.astype(np.float64) * table.scales[:, None]
    peak = np.abs(vectors).max(axis=1, keepdims=True)

    assert (np.abs(back - vectors) <= (0.5 / 127.0 + 1e-6) * peak).all()


def test_the_same_table_gives_the_same_file(tmp_path: Path) -> None:
    """Nothing of when or where it was written is in the file, so its name can be its hash."""
    for name in ("one.npz", "other.npz"):
        write_table(tmp_path / name, drawn_table(8))

    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "other.npz").read_bytes()


_WITHOUT_ONNX = """
import sys
from pathlib import Path
sys.modules["onnxruntime"] = None  # as where it has no wheel
from family_recall.encoders.static import StaticEncoder
vector = StaticEncoder.load(Path(sys.argv[1])).encode_question("when does grandma land?").pooled
print(vector.shape, [name for name in ("apsw", "torch") if name in sys.modules])
"""


def test_it_needs_no_onnx_runtime(folder: Path) -> None:
    """Where ONNX Runtime cannot be imported the static embedder answers all the same."""
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_ONNX, str(folder)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert (done.returncode, done.stdout.strip()) == (0, "(24,) []"), done.stderr[-400:]


def test_what_the_manifest_does_not_promise_is_refused(tmp_path: Path) -> None:
    """An altered file, another width, another role or no entry at all: a ModelError says which."""
    folder = static_folder(tmp_path / "altered", drawn_table(8))
    write_table(folder / "static.npz", drawn_table(8, seed=1))
    with pytest.raises(ModelError, match="sha256"):
        StaticEncoder.load(folder)
    with pytest.raises(ModelError, match="rows of 8, expected 16"):
        StaticEncoder.load(static_folder(tmp_path / "width", drawn_table(8), dimensions=16))
    embedder = static_folder(tmp_path / "role", drawn_table(8), role="embedder")
    with pytest.raises(ModelError, match="no static_embedder"):
        StaticEncoder.load(embedder)
    with pytest.raises(ModelError, match="role 'embedder'"):
        StaticEncoder(read_manifest(embedder).entries[0])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"rows": np.zeros((4, 8), np.float32)}, "expected int8"),
        ({"rows": np.zeros(4, np.int8)}, "expected int8"),
        ({"scales": np.ones(3, np.float32)}, "expected int8"),
        ({"scales": np.full(4, np.nan, np.float32)}, "finite"),
        ({"weights": np.full(4, -1.0, np.float16)}, "0 or more"),
        ({"weights": None}, "weights"),
    ],
)
def test_a_table_that_does_not_fit_together_is_refused(
    tmp_path: Path, parts: dict[str, Any], message: str
) -> None:
    """Kinds, shapes and ranges are checked before anything is computed with them."""
    good = {
        "rows": np.zeros((4, 8), np.int8),
        "scales": np.ones(4, np.float32),
        "weights": np.ones(4, np.float16),
    }
    given = {name: part for name, part in {**good, **parts}.items() if part is not None}
    np.savez(tmp_path / "static.npz", **given)

    with pytest.raises(ModelError, match=message):
        read_table(tmp_path / "static.npz")


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    """A file of another kind, cut short, or with one bare array is a ModelError, not numpy's."""
    path = tmp_path / "static.npz"
    write_table(path, drawn_table(8))
    whole = path.read_bytes()
    np.save(tmp_path / "bare.npy", np.zeros(3))
    for content in (b"not a table", b"", whole[:1000], (tmp_path / "bare.npy").read_bytes()):
        path.write_bytes(content)
        with pytest.raises(ModelError, match=r"static\.npz"):
            read_table(path)


def test_the_check_of_a_model_runs_it(tmp_path: Path) -> None:
    """`models check` reads a static embedder's files and encodes with it."""
    good = read_manifest(static_folder(tmp_path / "good", drawn_table(8))).entries[0]
    wide = read_manifest(static_folder(tmp_path / "wide", drawn_table(8), dimensions=9)).entries[0]

    assert [finding.problem for finding in check(good)] == [None, None, None]
    assert "expected 9" in str(check(wide)[-1].problem)
