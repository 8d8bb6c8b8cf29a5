"""The fp16 graph of an int8 model: it says what the int8 graph says, and pads without harm."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from family_recall.encoders.half_precision import dequantised, half_precision
from family_recall.encoders.manifest import find_models
from family_recall.encoders.session import import_runtime
from family_recall.encoders.transformer import BiEncoder, CrossEncoder
from family_recall.errors import ModelError

TEXTS = (
    "milk",
    "The spare key is under the blue flower pot.",
    "Priya: I told you that we can do March for the vacation, if the school agrees.",
    "Leo is allergic to peanuts and carries an inhaler. " * 5,
)
QUESTION = "Where is the spare key?"
ROWS, COLUMNS = 6, 5


def outputs_of(session: Any, feed: Mapping[str, Any]) -> list[np.ndarray]:
    """Run a graph on its own inputs among some."""
    names = {node.name for node in session.get_inputs()}
    results: list[np.ndarray] = session.run(None, {n: v for n, v in feed.items() if n in names})
    return results


def opened(graph: bytes | Path) -> Any:
    """Open a graph on the CPU, which casts what it has no fp16 kernel for."""
    runtime = import_runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    source = graph if isinstance(graph, bytes) else str(graph)
    return runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def in_floats(role: str) -> dict[str, Any]:
    """Open the shipped model of a role in fp32 and in fp16."""
    path = find_models() / f"{role}.int8.onnx"
    exact = dequantised(onnx.load(path)).SerializeToString()
    return {"fp32": opened(exact), "fp16": opened(half_precision(path))}


def whole_batch(read: list[tuple[list[int], list[int]]]) -> dict[str, np.ndarray]:
    """Ids, types and mask of texts, padded at the end."""
    longest = max(len(ids) for ids, _ in read)
    pad = [[0] * (longest - len(ids)) for ids, _ in read]
    return {
        "input_ids": np.array([[*r[0], *p] for r, p in zip(read, pad, strict=True)]),
        "token_type_ids": np.array([[*r[1], *p] for r, p in zip(read, pad, strict=True)]),
        "attention_mask": np.array(
            [[*[1] * len(r[0]), *p] for r, p in zip(read, pad, strict=True)]
        ),
    }


def test_the_embedders_vectors_stay_where_they_were(encoder: BiEncoder) -> None:
    """Cosine of 0.99 or more to the int8 vectors of texts, 0.98 of tokens; padding changes none."""
    path = find_models() / "embedder.int8.onnx"
    read = [encoder._tokenizer.alone(text, 256) for text in TEXTS]
    rounded = [outputs_of(opened(path), whole_batch([text])) for text in read]
    for session in in_floats("embedder").values():
        pooled, tokens = outputs_of(session, whole_batch(read))
        for row, (expected, by_token) in enumerate(rounded):
            n = len(read[row][0])
            assert expected[0] @ pooled[row] >= 0.99
            assert np.einsum("td,td->t", by_token[0], tokens[row, :n]).min() >= 0.98
            assert np.linalg.norm(pooled[row]) == pytest.approx(1.0, abs=1e-5)
            alone, _ = outputs_of(session, whole_batch([read[row]]))
            assert alone[0] @ pooled[row] == pytest.approx(1.0, abs=1e-4)


def test_the_cross_encoders_logits_stay_where_they_were() -> None:
    """Within 0.3 of the int8 logits, which spread by 2.6; within 0.02 in a padded batch."""
    scorer = CrossEncoder.load(find_models())
    read = [scorer._pair(QUESTION, text) for text in TEXTS]
    for session in in_floats("cross_encoder").values():
        (logits,) = outputs_of(session, whole_batch(read))
        for row, pair in enumerate(read):
            assert logits[row, 0] == pytest.approx(scorer.score(QUESTION, TEXTS[row]), abs=0.3)
            (alone,) = outputs_of(session, whole_batch([pair]))
            assert logits[row, 0] == pytest.approx(alone[0, 0], abs=0.02)


def test_no_integer_product_is_left() -> None:
    """The CUDA provider has a kernel for every operator; the word table is still int8."""
    model = onnx.load_from_string(half_precision(find_models() / "embedder.int8.onnx"))
    of_products = [node.input[1] for node in model.graph.node if node.op_type == "MatMul"]
    kinds = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    in_half = [name for name in of_products if kinds.get(name) == TensorProto.FLOAT16]

    assert not {node.op_type for node in model.graph.node} & {
        "QuantizeLinear", "MatMulInteger", "MatMulIntegerToFloat",
    }  # fmt: skip
    assert len(in_half) == 24
    assert TensorProto.INT8 in kinds.values()
    assert {out.type.tensor_type.elem_type for out in model.graph.output} == {TensorProto.FLOAT}


def integers(rng: np.random.Generator, low: int, high: int, *shape: int) -> np.ndarray:
    """Whole numbers in [low, high]."""
    return rng.integers(low, high + 1, shape)


def saved(path: Path, nodes: list[Any], constants: dict[str, np.ndarray]) -> Path:
    """Write a graph from floats "x" (1, ROWS) to floats "y" (1, COLUMNS)."""
    graph = helper.make_graph(
        nodes,
        "products",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, ROWS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, COLUMNS])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=opsets), path)
    return path


def integer_products(kind: str) -> list[Any]:
    """The nodes of y = x · (b − zero) · scale + bias, as exporters write them."""
    rounded = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "q_scale", "q_zero"])
    if kind == "MatMulInteger":
        return [
            rounded,
            helper.make_node("MatMulInteger", ["q", "b", "q_zero", "zero"], ["whole"]),
            helper.make_node("Cast", ["whole"], ["floats"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["q_scale", "scale"], ["both"]),
            helper.make_node("Mul", ["floats", "both"], ["scaled"]),
            helper.make_node("Add", ["scaled", "bias"], ["y"]),
        ]
    inputs = ["q", "b", "q_scale", "scale", "q_zero", "zero", "bias"]
    if kind == "DynamicQuantizeMatMul":
        rounded, inputs = None, ["x", "b", "scale", "zero", "bias"]
    product = helper.make_node(kind, inputs, ["y"], domain="com.microsoft")
    return [rounded, product] if rounded else [product]


@pytest.mark.parametrize("kind", ["MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul"])
def test_every_kind_of_product_is_the_one_of_floats(tmp_path: Path, kind: str) -> None:
    """The result is x · (b − zero) · scale + bias as numpy has it, in either precision."""
    rng = np.random.default_rng(7)
    x = rng.normal(0.0, 30.0, (1, ROWS)).astype(np.float32)
    constants: dict[str, np.ndarray] = {
        "b": integers(rng, -127, 127, ROWS, COLUMNS).astype(np.int8),
        "zero": integers(rng, -9, 9, COLUMNS).astype(np.int8),
        "scale": rng.uniform(0.01, 0.02, COLUMNS).astype(np.float32),
        "bias": rng.normal(0.0, 1.0, COLUMNS).astype(np.float32),
    }
    path = saved(tmp_path / "product.onnx", integer_products(kind), constants)
    weight = (constants["b"].astype(np.float32) - constants["zero"]) * constants["scale"]
    expected = x @ weight + constants["bias"]
    (exact,) = outputs_of(opened(dequantised(onnx.load(path)).SerializeToString()), {"x": x})
    (half,) = outputs_of(opened(half_precision(path)), {"x": x})

    assert exact == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert half == pytest.approx(expected, rel=5e-3, abs=0.2)


def test_an_operator_that_only_the_cpu_runs_is_named(tmp_path: Path) -> None:
    """A product of two tensors in integers is not rewritten, and so not run in fp16 either."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "q_scale", "q_zero"]),
        helper.make_node("DynamicQuantizeLinear", ["w"], ["b", "b_scale", "b_zero"]),
        helper.make_node("MatMulInteger", ["q", "b", "q_zero", "b_zero"], ["whole"]),
        helper.make_node("Cast", ["whole"], ["y"], to=TensorProto.FLOAT),
    ]
    path = saved(tmp_path / "two.onnx", nodes, {"w": np.ones((ROWS, COLUMNS), np.float32)})

    with pytest.raises(ModelError, match=r"two\.onnx: .*only the CPU runs .*MatMulInteger"):
        half_precision(path)


def test_a_file_that_is_no_graph_is_a_model_error(tmp_path: Path) -> None:
    """The libraries' own errors do not leave this package."""
    (tmp_path / "poem.onnx").write_text("roses are red")

    with pytest.raises(ModelError, match=r"poem\.onnx: cannot be converted"):
        half_precision(tmp_path / "poem.onnx")
