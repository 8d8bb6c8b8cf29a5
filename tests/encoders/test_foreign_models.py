"""Other people's models run as their authors meant them, compared with numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto

from family_recall.encoders.sentence_transformers import Overrides, import_model
from family_recall.encoders.transformer import BiEncoder, CrossEncoder
from family_recall.errors import ModelError
from tests.foreign_models import (
    ALL_INPUTS,
    BERT_INPUTS,
    DIM,
    Array,
    embedder_graph,
    hidden,
    ids_of,
    only_entry,
    roberta_tokenizer,
    save_folder,
    scorer_graph,
)

CLS, SEP = 2, 3
TEXT = "Grandma lands on Sunday"
POOLS = {
    "mean": lambda rows: rows.mean(axis=0),
    "cls": lambda rows: rows[0],
    "last": lambda rows: rows[-1],
}


def imported(folder: Path, given: Overrides | None = None, **files: Any) -> BiEncoder:
    """An embedder that went through import, from a folder with the given files."""
    source = save_folder(folder / "tiny", **files)
    import_model(source, folder / "models", given)
    return BiEncoder.load(folder / "models")


def expected(text: str, pooling: str = "mean", inputs: tuple[str, ...] = BERT_INPUTS) -> Array:
    """The unit vector of a text, by numpy."""
    ids = [CLS, *ids_of(text), SEP]
    pooled: Array = POOLS[pooling](hidden(ids, [0] * len(ids), inputs))
    unit: Array = pooled / np.linalg.norm(pooled)
    return unit


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_token_vectors_are_pooled_as_the_model_says(tmp_path: Path, pooling: str) -> None:
    """Mean of all tokens with the special ones, the first, or the last; then unit length."""
    encoder = imported(tmp_path, Overrides(pooling=pooling))

    assert encoder.encode_question(TEXT).pooled == pytest.approx(expected(TEXT, pooling), abs=1e-6)
    (memory,) = encoder.encode_memories([TEXT])
    assert memory.pooled.tobytes() == encoder.encode_question(TEXT).pooled.tobytes()


@pytest.mark.parametrize("inputs", [ALL_INPUTS[:2], BERT_INPUTS, ALL_INPUTS])
@pytest.mark.parametrize("kind", [TensorProto.INT64, TensorProto.INT32])
def test_a_graph_gets_the_inputs_it_asks_for(
    tmp_path: Path, inputs: tuple[str, ...], kind: int
) -> None:
    """With or without types and positions, in 64 or 32 bits."""
    encoder = imported(tmp_path, graph=embedder_graph(inputs=inputs, kind=kind))

    found = encoder.encode_question(TEXT).pooled
    assert found == pytest.approx(expected(TEXT, inputs=inputs), abs=1e-6)


@pytest.mark.parametrize("output", ["sentence_embedding", "hidden"])
def test_a_graph_that_pools_is_only_scaled(tmp_path: Path, output: str) -> None:
    """Beside token vectors, or as the only output under any name: 2 × mean, at unit length."""
    name = "token_embeddings" if output == "sentence_embedding" else "hidden"
    graph = embedder_graph(output=name, pooled="sentence_embedding" if name != "hidden" else "out")
    encoder = imported(tmp_path, graph=graph)

    assert encoder.encode_question(TEXT).pooled == pytest.approx(expected(TEXT), abs=1e-6)


def test_prefixes_go_before_questions_and_memories(tmp_path: Path) -> None:
    """A question is read as "query : …", a memory as "passage : …"."""
    encoder = imported(tmp_path, Overrides(query_prefix="query : ", memory_prefix="passage : "))

    asked = encoder.encode_question(TEXT).pooled
    (told,) = encoder.encode_memories([TEXT])
    assert asked == pytest.approx(expected(f"query : {TEXT}"), abs=1e-6)
    assert told.pooled == pytest.approx(expected(f"passage : {TEXT}"), abs=1e-6)


def test_a_long_text_is_cut_to_what_the_model_reads(tmp_path: Path) -> None:
    """Of a thousand words, thirty and two special tokens make 32; the file's own 4 is ignored."""
    encoder = imported(tmp_path)

    found = encoder.encode_memories(["milk " * 1000])[0].pooled
    assert found == pytest.approx(expected("milk " * 30), abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=40))
def test_any_string_has_the_vector_numpy_gives_it(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    """Whatever somebody wrote, special tokens included, is read as text: a unit vector."""
    folder = tmp_path_factory.getbasetemp() / "any-string"
    encoder = BiEncoder.load(folder / "models") if folder.exists() else imported(folder)

    pooled = encoder.encode_question(f"[CLS] {text} [SEP]").pooled

    assert np.linalg.norm(pooled) == pytest.approx(1.0, abs=1e-5)
    assert encoder.encode_question("[SEP] key").pooled == pytest.approx(
        expected("[unknown] key"), abs=1e-6
    )


def test_a_model_without_token_vectors_has_none_to_offer(tmp_path: Path) -> None:
    """Late interaction has nothing to compare: no rows, no ids, no weights."""
    encoder = imported(tmp_path)
    encoding = encoder.encode_question(TEXT)

    assert (encoder.dim, encoder.token_dim) == (DIM, 0)
    assert encoding.tokens.shape == (0, 0)
    assert encoding.token_ids.shape == encoder.token_ids(TEXT).shape == (0,)
    assert encoder.token_weights(encoding.token_ids).shape == (0,)


def test_a_graph_that_is_not_of_unit_length_is_noticed(tmp_path: Path) -> None:
    """Told that the graph normalises, a graph that does not is refused on import."""
    graph = embedder_graph(output="token_embeddings", pooled="sentence_embedding")

    with pytest.raises(ModelError, match="not of unit length; --normalise"):
        imported(tmp_path, Overrides(normalise=False), graph=graph)


def test_a_cross_encoder_reads_a_pair_as_bert_does(tmp_path: Path) -> None:
    """[CLS] tea [SEP] count once, milk [SEP] twice: Σ id · (1 + type) in thousandths."""
    config = {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}}
    source = save_folder(tmp_path / "ce", graph=scorer_graph(), config=config, modules=None)
    import_model(source, tmp_path / "models")
    scorer = CrossEncoder.load(tmp_path / "models")
    assert scorer is not None

    (tea,), (milk,) = ids_of("tea"), ids_of("milk")
    wanted = (CLS + tea + SEP + 2 * (milk + SEP)) / 1000
    assert scorer.score("tea", "milk") == pytest.approx(wanted, rel=1e-6)
    assert scorer.count_tokens("tea", "milk") == 5
    assert scorer.count_tokens("tea " * 99, "milk " * 99) == 32


def test_a_cross_encoder_reads_a_pair_as_roberta_does(tmp_path: Path) -> None:
    """<s> tea </s></s> milk </s>, four special tokens, and no input for types."""
    source = save_folder(
        tmp_path / "ce", graph=scorer_graph(inputs=ALL_INPUTS[:2]), modules=None,
        config={"architectures": ["XLMRobertaForSequenceClassification"],
                "model_type": "xlm-roberta", "max_position_embeddings": 26},
        sentence_bert_config=None,
    )  # fmt: skip
    roberta_tokenizer().save(str(source / "tokenizer.json"))
    import_model(source, tmp_path / "models")
    scorer = CrossEncoder.load(tmp_path / "models")
    assert scorer is not None

    (tea,), (milk,) = ids_of("tea"), ids_of("milk")
    wanted = (CLS + tea + SEP + SEP + milk + SEP) / 1000
    assert scorer.score("tea", "milk") == pytest.approx(wanted, rel=1e-6)
    assert scorer.count_tokens("", "") == 4
    # RoBERTa never uses two of its 26 positions.
    assert scorer.count_tokens("tea " * 99, "milk " * 99) == 24
    assert only_entry(tmp_path / "models").max_tokens.question == 12
