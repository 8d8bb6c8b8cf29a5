"""BERT weights in, one ONNX graph out: float, or with the matrices in `sites` as int8.

The graph is written node by node, so that every operator is one the CPU provider of ONNX
Runtime runs fast: plain MatMul and Softmax attention, LayerNormalization, BiasGelu, and
MatMulIntegerToFloat for the 24 matrices of a six-layer model.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from tools.train.export.weights import (
    Bert,
    EmbedderHead,
    Floats,
    Layer,
    Linear,
    Norm,
    ScoreHead,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

OPSET = 18
IR_VERSION = 9
MASKED = -1e4
LAYER_NORM_EPSILON = 1e-12


@dataclass(frozen=True, slots=True)
class QuantisedLinear:
    """A `Linear` in integers: u8 activations with one scale, s8 weights with one per column.

    ``smoothing`` (n_in,) multiplies the input first; None where it is merged into another matrix.
    """

    smoothing: Floats | None
    input_scale: float
    input_zero_point: int
    weight: npt.NDArray[np.int8]
    weight_scale: Floats
    bias: Floats


def site_names(n_layers: int) -> list[str]:
    """Return the names of the matrices that may be quantised, in the graph's order."""
    parts = ("qkv", "context", "intermediate", "output")
    return [f"layer{i}.{part}" for i in range(n_layers) for part in parts]


def linear_at(bert: Bert, site: str) -> Linear:
    """Return the float matrix at `site`, one of `site_names`."""
    layer, part = site.split(".")
    linear: Linear = getattr(bert.layers[int(layer.removeprefix("layer"))], part)
    return linear


def with_linear(bert: Bert, site: str, linear: Linear) -> Bert:
    """Return `bert` with another float matrix at `site`."""
    name, part = site.split(".")
    i = int(name.removeprefix("layer"))
    changes: dict[str, Any] = {part: linear}
    changed = replace(bert.layers[i], **changes)
    return replace(bert, layers=(*bert.layers[:i], changed, *bert.layers[i + 1 :]))


def build(
    bert: Bert,
    head: EmbedderHead | ScoreHead | None,
    *,
    sites: Mapping[str, QuantisedLinear] | None = None,
    quantise_words: bool = False,
    probes: Sequence[str] = (),
    half: bool = False,
) -> onnx.ModelProto:
    """Write the graph.

    Inputs are `input_ids` and `attention_mask`, int64 [B, S], and `token_type_ids` with a
    `ScoreHead`. With no head the output is `hidden` [B, S, hidden].

    Args:
        bert: The float weights; used for each site that `sites` does not name.
        head: What comes out.
        sites: Matrices to run in integers.
        quantise_words: Keep the word table as int8 with one scale per row.
        probes: Sites whose float input is wanted as one more output, named like the site.
        half: Compute the encoder in fp16; the head stays fp32.
    """
    writer = _Writer(bert, dict(sites or {}), set(probes), half=half)
    hidden = writer.encoder(quantise_words=quantise_words, typed=isinstance(head, ScoreHead))
    outputs: list[tuple[str, list[str | int]]]
    if isinstance(head, EmbedderHead):
        writer.embedder_head(hidden, head)
        token_dim = head.projection.shape[1]
        outputs = [
            ("embedding", ["batch", bert.words.shape[1]]),
            ("tokens", ["batch", "sequence", token_dim]),
        ]
    elif isinstance(head, ScoreHead):
        writer.score_head(hidden, head)
        outputs = [("logit", ["batch", 1])]
    else:
        writer.node("Identity", [hidden], output="hidden")
        outputs = [("hidden", ["batch", "sequence", bert.words.shape[1]])]
    outputs += [
        (site, ["batch", "sequence", linear_at(bert, site).weight.shape[0]]) for site in probes
    ]
    inputs = ["input_ids", "attention_mask"]
    inputs += ["token_type_ids"] if isinstance(head, ScoreHead) else []
    graph = helper.make_graph(
        writer.nodes,
        "bert",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
            for name in inputs
        ],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in outputs],
        writer.initializers,
    )
    return helper.make_model(
        graph,
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)],
        producer_name="family_recall",
    )


class _Writer:
    """Collects nodes and constants; each method adds some and returns the name of its output."""

    def __init__(
        self, bert: Bert, sites: dict[str, QuantisedLinear], probes: set[str], *, half: bool
    ) -> None:
        self.float: type[np.floating[Any]] = np.float16 if half else np.float32
        self.bert = bert
        self.sites = sites
        self.probes = probes
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def constant(self, value: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> str:
        name = f"c{len(self.initializers)}"
        array = np.ascontiguousarray(np.asarray(value, dtype=dtype or self.float))
        array = array.reshape(np.asarray(value).shape)  # ascontiguousarray makes 0-d into 1-d
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    @property
    def onnx_float(self) -> int:
        return int(TensorProto.FLOAT16 if self.float is np.float16 else TensorProto.FLOAT)

    def node(
        self,
        op: str,
        inputs: Sequence[str],
        *,
        output: str | None = None,
        domain: str = "",
        **attributes: float | Sequence[int],
    ) -> str:
        name = output or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], domain=domain, **attributes))
        return name

    def encoder(self, *, quantise_words: bool, typed: bool) -> str:
        """Write embeddings and every layer; return the last hidden state [B, S, hidden]."""
        mask = self.node("Cast", ["attention_mask"], to=self.onnx_float)
        absent = self.node("Sub", [self.constant(1.0), mask])
        bias = self.node("Mul", [absent, self.constant(MASKED)])
        bias = self.node("Unsqueeze", [bias, self.constant([1, 2], np.int64)])
        hidden = self.embeddings(quantise_words=quantise_words, typed=typed)
        for i in range(len(self.bert.layers)):
            hidden = self.layer(i, hidden, bias)
        if self.float is np.float16:
            self.float = np.float32
            hidden = self.node("Cast", [hidden], to=TensorProto.FLOAT)
        return hidden

    def embeddings(self, *, quantise_words: bool, typed: bool) -> str:
        bert = self.bert
        if quantise_words:
            scale = np.abs(bert.words).max(axis=1, keepdims=True) / 127.0
            scale = np.maximum(scale, 1e-8).astype(np.float32)
            table = np.clip(np.rint(bert.words / scale), -127, 127)
            rows = self.node("Gather", [self.constant(table, np.int8), "input_ids"])
            rows = self.node("Cast", [rows], to=TensorProto.FLOAT)
            words = self.node(
                "Mul", [rows, self.node("Gather", [self.constant(scale), "input_ids"])]
            )
        else:
            words = self.node("Gather", [self.constant(bert.words), "input_ids"])
        length = self.node("Shape", ["input_ids"], start=1, end=2)
        table_name = self.constant(bert.positions if typed else bert.positions + bert.types[0])
        zero, axis = self.constant([0], np.int64), self.constant([0], np.int64)
        places = self.node("Slice", [table_name, zero, length, axis])
        summed = self.node("Add", [words, places])
        if typed:
            kinds = self.node("Gather", [self.constant(bert.types), "token_type_ids"])
            summed = self.node("Add", [summed, kinds])
        return self.norm(summed, bert.norm)

    def layer(self, i: int, hidden: str, bias: str) -> str:
        layer = self.bert.layers[i]
        mixed = self.attention(self.linear(f"layer{i}.qkv", hidden), bias)
        mixed = self.linear(f"layer{i}.context", mixed)
        hidden = self.norm(self.node("Add", [mixed, hidden]), layer.context_norm)
        wide = self.linear(f"layer{i}.intermediate", hidden, biased=False)
        gelu_bias = self.constant(self.bias_at(f"layer{i}.intermediate"))
        wide = self.node("BiasGelu", [wide, gelu_bias], domain="com.microsoft")
        narrow = self.linear(f"layer{i}.output", wide)
        return self.norm(self.node("Add", [narrow, hidden]), layer.output_norm)

    def attention(self, qkv: str, bias: str) -> str:
        hidden, heads = self.bert.words.shape[1], self.bert.n_heads
        split = [f"{qkv}.{part}" for part in "qkv"]
        self.nodes.append(
            helper.make_node("Split", [qkv, self.constant([hidden] * 3, np.int64)], split, axis=2)
        )
        by_head = self.constant([0, 0, heads, hidden // heads], np.int64)
        query, key, value = (self.node("Reshape", [part, by_head]) for part in split)
        query = self.node("Transpose", [query], perm=[0, 2, 1, 3])
        key = self.node("Transpose", [key], perm=[0, 2, 3, 1])
        value = self.node("Transpose", [value], perm=[0, 2, 1, 3])
        scores = self.node("Add", [self.node("MatMul", [query, key]), bias])
        mixed = self.node("MatMul", [self.node("Softmax", [scores], axis=-1), value])
        mixed = self.node("Transpose", [mixed], perm=[0, 2, 1, 3])
        return self.node("Reshape", [mixed, self.constant([0, 0, hidden], np.int64)])

    def linear(self, site: str, x: str, *, biased: bool = True) -> str:
        if site in self.probes:
            x = self.node("Identity", [x], output=site)
        if site not in self.sites:
            product = self.node("MatMul", [x, self.constant(linear_at(self.bert, site).weight)])
            return (
                self.node("Add", [product, self.constant(self.bias_at(site))])
                if biased
                else product
            )
        q = self.sites[site]
        if q.smoothing is not None:
            x = self.node("Mul", [x, self.constant(q.smoothing)])
        scale = self.constant(q.input_scale)
        zero = self.constant(q.input_zero_point, np.uint8)
        x = self.node("QuantizeLinear", [x, scale, zero])
        inputs = [x, self.constant(q.weight, np.int8), scale, self.constant(q.weight_scale), zero]
        inputs += ["", self.constant(q.bias)] if biased else []
        return self.node("MatMulIntegerToFloat", inputs, domain="com.microsoft")

    def bias_at(self, site: str) -> Floats:
        return self.sites[site].bias if site in self.sites else linear_at(self.bert, site).bias

    def norm(self, x: str, norm: Norm) -> str:
        inputs = [x, self.constant(norm.weight), self.constant(norm.bias)]
        return self.node("LayerNormalization", inputs, axis=-1, epsilon=LAYER_NORM_EPSILON)

    def pooled(self, hidden: str) -> str:
        """Write the mean over the mask, [B, hidden]."""
        mask = self.node("Cast", ["attention_mask"], to=TensorProto.FLOAT)
        row = self.node("Unsqueeze", [mask, self.constant([1], np.int64)])
        summed = self.node("MatMul", [row, hidden])
        summed = self.node("Squeeze", [summed, self.constant([1], np.int64)])
        count = self.node("ReduceSum", [mask, self.constant([1], np.int64)], keepdims=1)
        return self.node("Div", [summed, count])

    def unit(self, x: str, output: str) -> str:
        length = self.node("ReduceL2", [x, self.constant([-1], np.int64)], keepdims=1)
        length = self.node("Max", [length, self.constant(1e-12)])
        return self.node("Div", [x, length], output=output)

    def embedder_head(self, hidden: str, head: EmbedderHead) -> None:
        self.unit(self.pooled(hidden), "embedding")
        tokens = self.node("MatMul", [hidden, self.constant(head.projection)])
        self.unit(tokens, "tokens")

    def score_head(self, hidden: str, head: ScoreHead) -> None:
        product = self.node("MatMul", [self.pooled(hidden), self.constant(head.linear.weight)])
        self.node("Add", [product, self.constant(head.linear.bias)], output="logit")


def read_built(path: Path, n_heads: int = 12) -> tuple[Bert, EmbedderHead | ScoreHead]:
    """Read the float weights of an int8 file of `build`, every scale multiplied back.

    Raises:
        ValueError: If the file was not written by `build` with every site and the words quantised.
    """
    model = onnx.load(path)
    values = {
        initializer.name: numpy_helper.to_array(initializer)
        for initializer in model.graph.initializer
    }
    makers = {output: node for node in model.graph.node for output in node.output}
    nodes: dict[str, deque[onnx.NodeProto]] = {}
    for node in model.graph.node:
        nodes.setdefault(node.op_type, deque()).append(node)
    if model.producer_name != "family_recall" or "MatMulIntegerToFloat" not in nodes:
        raise ValueError(f"{path}: not an int8 graph of this project")

    def norm() -> Norm:
        _, weight, bias = nodes["LayerNormalization"].popleft().input
        return Norm(values[weight], values[bias])

    def linear() -> Linear:
        inputs = [*nodes["MatMulIntegerToFloat"].popleft().input, "", ""][:7]
        weight = values[inputs[1]].astype(np.float32) * values[inputs[3]]
        scaled = makers[makers[inputs[0]].input[0]]
        if scaled.op_type == "Mul" and scaled.input[1] in values:
            weight = weight * values[scaled.input[1]][:, None]
        bias = inputs[6] or nodes["BiasGelu"].popleft().input[1]
        return Linear(weight, values[bias])

    gathers = [values[node.input[0]] for node in nodes["Gather"]]
    words = gathers[0].astype(np.float32) * gathers[1]
    positions = values[nodes["Slice"][0].input[0]]
    types = gathers[2] if len(gathers) > 2 else np.zeros((2, words.shape[1]), np.float32)
    first = norm()
    layers = []
    while nodes["MatMulIntegerToFloat"]:
        qkv, context = linear(), linear()
        context_norm = norm()
        intermediate, output = linear(), linear()
        layers.append(Layer(qkv, context, context_norm, intermediate, output, norm()))
    weights = [values[n.input[1]] for n in nodes["MatMul"] if n.input[1] in values]
    bert = Bert(words, positions, types, first, tuple(layers), n_heads)
    if len(gathers) > 2:
        return bert, ScoreHead(Linear(weights[-1], values[nodes["Add"][-1].input[1]]))
    return bert, EmbedderHead(weights[-1])
