"""Models as other people publish them, but tiny: a graph, a tokeniser, and what numpy makes of it.

The graph is an embedding layer as BERT has it: words, types and positions added, then tanh.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from family_recall.encoders.manifest import ModelEntry, read_manifest

DIM = 8
MAX_POSITIONS = 64
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = (
    "query passage : the spare key is under blue pot grandma lands on sunday where when does "
    "land mia wants a cake for her birthday puppy weighs eleven kilos milk tea vet"
).split()
VOCABULARY = [*SPECIAL, *WORDS]
ALL_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
BERT_INPUTS = ALL_INPUTS[:3]

Array = npt.NDArray[Any]


def weights(seed: int = 7) -> dict[str, Array]:
    """The three tables of the embedding layer; another seed is another model."""
    random = np.random.default_rng(seed)
    sizes = {"words": len(VOCABULARY), "types": 2, "positions": MAX_POSITIONS}
    scales = {"words": 1.0, "types": 0.3, "positions": 0.02}
    return {
        name: (random.standard_normal((n, DIM)) * scales[name]).astype(np.float32)
        for name, n in sizes.items()
    }


def hidden(ids: list[int], types: list[int], inputs: tuple[str, ...], seed: int = 7) -> Array:
    """What the graph gives for one text, by numpy in double precision: (n_tokens, DIM)."""
    tables = {name: table.astype(np.float64) for name, table in weights(seed).items()}
    total = tables["words"][ids]
    if "token_type_ids" in inputs:
        total = total + tables["types"][types]
    if "position_ids" in inputs:
        total = total + tables["positions"][np.arange(len(ids))]
    return np.tanh(total)


def embedder_graph(
    *,
    inputs: tuple[str, ...] = BERT_INPUTS,
    output: str = "last_hidden_state",
    pooled: str | None = None,
    kind: int = TensorProto.INT64,
    seed: int = 7,
    extra: tuple[str, ...] = (),
) -> onnx.ModelProto:
    """Token vectors as `output`; as `pooled`, where named, twice the mean of them.

    `extra` outputs are copies of the token vectors.
    """
    tables = {"input_ids": "words", "token_type_ids": "types", "position_ids": "positions"}
    nodes = [
        helper.make_node("Gather", [table, name], [f"{table}_of"])
        for name, table in tables.items()
        if name in inputs
    ]
    parts = [node.output[0] for node in nodes]
    nodes.append(helper.make_node("Sum", parts, ["sum"]))
    nodes.append(helper.make_node("Tanh", ["sum"], ["tanh"]))
    # As in BERT, the mask takes part; here it is 1 throughout, so this adds nothing.
    nodes += [
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["mask_3d"]),
        helper.make_node("Mul", ["tanh", "mask_3d"], [output]),
    ]
    outputs = [(output, ["b", "s", DIM])]
    if pooled:
        nodes.append(helper.make_node("ReduceMean", [output, "tokens"], ["mean"], keepdims=0))
        nodes.append(helper.make_node("Add", ["mean", "mean"], [pooled]))
        outputs = [*outputs, (pooled, ["b", DIM])] if output != "hidden" else [(pooled, ["b", DIM])]
    for name in extra:
        nodes.append(helper.make_node("Identity", [output], [name]))
        outputs.append((name, ["b", "s", DIM]))
    constants = {"last": np.array([2]), "tokens": np.array([1])} | weights(seed)
    return _model(nodes, inputs, outputs, constants, kind)


def scorer_graph(*, inputs: tuple[str, ...] = BERT_INPUTS, n_labels: int = 1) -> onnx.ModelProto:
    """Logits = Σ id · (1 + type), in thousandths, for each label: a score to check by hand."""
    nodes = [helper.make_node("Identity", ["input_ids"], ["typed"])]
    if "token_type_ids" in inputs:
        nodes = [
            helper.make_node("Add", ["token_type_ids", "one"], ["factor"]),
            helper.make_node("Mul", ["input_ids", "factor"], ["typed"]),
        ]
    nodes += [
        helper.make_node("Mul", ["typed", "attention_mask"], ["masked"]),
        helper.make_node("Cast", ["masked"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["float", "tokens"], ["sum"], keepdims=1),
        helper.make_node("Mul", ["sum", "weight"], ["logits"]),
    ]
    constants = {
        "one": np.int64(1),
        "tokens": np.array([1]),
        "weight": np.full((1, n_labels), 1e-3, np.float32),
    }
    return _model(nodes, inputs, [("logits", ["b", n_labels])], constants, TensorProto.INT64)


def bert_tokenizer() -> Tokenizer:
    """Words of `VOCABULARY`; [CLS] a [SEP], or [CLS] a [SEP] b [SEP] with types 0 and 1."""
    ids = {token: i for i, token in enumerate(VOCABULARY)}
    tokenizer = _word_tokenizer(ids, "[UNK]", SPECIAL)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    tokenizer.enable_truncation(4)  # published files carry such things; they are not obeyed
    tokenizer.enable_padding(length=16)
    return tokenizer


def roberta_tokenizer() -> Tokenizer:
    """The same words; <s> a </s>, or <s> a </s></s> b </s>, all of type 0."""
    special = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    ids = {token: i for i, token in enumerate([*special, *WORDS])}
    tokenizer = _word_tokenizer(ids, "<unk>", special)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", ids["<s>"]), ("</s>", ids["</s>"])],
    )
    return tokenizer


def ids_of(text: str) -> list[int]:
    """Ids of the words of a text by hand, 1 for unknown ones; the numbers fit both tokenisers."""
    known = {word: VOCABULARY.index(word) for word in WORDS}
    return [known.get(word, 1) for word in text.lower().split()]


def save_folder(folder: Path, *, graph: onnx.ModelProto | None = None, **files: Any) -> Path:
    """Write a folder as sentence-transformers does: mean pooling, normalised, no prompts.

    A file is named by its path with ``__`` for ``/`` and without ``.json``; None leaves it out.
    """
    content: dict[str, Any] = {
        "config": {"architectures": ["BertModel"], "model_type": "bert", "hidden_size": DIM,
                   "max_position_embeddings": MAX_POSITIONS},
        "modules": modules("Transformer", "Pooling", "Normalize"),
        "1_Pooling__config": {"word_embedding_dimension": DIM, "pooling_mode_mean_tokens": True,
                              "pooling_mode_cls_token": False},
        "config_sentence_transformers": {"prompts": {}, "similarity_fn_name": "cosine"},
        "sentence_bert_config": {"max_seq_length": 32, "do_lower_case": False},
        "tokenizer_config": {"model_max_length": 1e30},
    } | files  # fmt: skip
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    onnx.save(graph or embedder_graph(), folder / "onnx" / "model.onnx")
    bert_tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "README.md").write_text("---\nlanguage: en\nlicense: apache-2.0\n---\n# Tiny\n")
    for name, value in content.items():
        if value is not None:
            path = folder / f"{name.replace('__', '/')}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(value))
    return folder


def modules(*kinds: str) -> list[dict[str, Any]]:
    """The content of modules.json."""
    return [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "",
         "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]  # fmt: skip


def only_entry(folder: Path) -> ModelEntry:
    """The one model of a models folder."""
    (entry,) = read_manifest(folder).entries
    return entry


def _word_tokenizer(ids: dict[str, int], unknown: str, special: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token=unknown))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(special)
    return tokenizer


def _model(
    nodes: list[onnx.NodeProto],
    inputs: tuple[str, ...],
    outputs: list[tuple[str, list[Any]]],
    constants: dict[str, Any],
    kind: int,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, kind, ["b", "s"]) for name in inputs],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in outputs],
        [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()],
    )
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)])
