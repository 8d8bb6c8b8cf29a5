"""Convert an int8 graph to fp16, in memory, for processors without integer kernels.

Every weight is multiplied by its scale, and activations are no longer rounded. `onnx`, which comes
with `family-recall[cuda]`, is required, so this module is imported only where it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from family_recall.encoders.base import Floats
from family_recall.encoders.session import import_runtime
from family_recall.errors import ModelError

# Divides weights whose scale is applied after the product: sums of products with up to 127 would
# exceed the range of fp16. A power of two adds no rounding.
_SHARE = 256.0
_INTEGERS = re.compile(r"^(Q|Dynamic)|Integer")
_ON_ANY_PROCESSOR = ("QuantizeLinear", "DequantizeLinear")


def half_precision(path: Path) -> bytes:
    """Return an fp16 graph of a verified int8 file, with the same types of inputs and outputs.

    Operators after the last layer normalisation, which pool and scale to unit length, stay fp32.
    It takes about a second for the shipped models.

    Raises:
        ModelError: If the graph cannot be converted.
    """
    try:
        content: bytes = _halved(dequantised(onnx.load(path))).SerializeToString()
    except Exception as error:  # onnx, protobuf and ONNX Runtime share no base but this one
        raise ModelError(f"{path}: cannot be converted to fp16: {error}") from error
    return content


def dequantised(model: Any) -> Any:
    """Return an `onnx.ModelProto` with float32 products instead of integer ones.

    With constant weights it replaces ``DynamicQuantizeMatMul``, and ``MatMulIntegerToFloat`` and
    ``MatMulInteger`` after ``QuantizeLinear`` or ``DynamicQuantizeLinear``. A table that rows are
    gathered from stays int8, since its rows are scaled afterwards.

    Raises:
        ModelError: If other integer operators remain.
    """
    rewriter = _Rewriter(model.graph)
    for node in model.graph.node:
        rewriter.add(node)
    nodes = rewriter.used_nodes()
    operators = {node.op_type for node in nodes}.difference(_ON_ANY_PROCESSOR)
    if left := sorted(filter(_INTEGERS.search, operators)):
        raise ModelError(f"only the CPU runs {', '.join(left)}")
    return _part(model, nodes, model.graph.output, rewriter.constants)


class _Rewriter:
    """Collects the nodes of a graph, with integer products replaced.

    Attributes:
        constants: Constants of the graph and of new nodes, by name.
    """

    def __init__(self, graph: Any) -> None:
        self.constants = _constants(graph)
        self._outputs = {output.name for output in graph.output}
        self._nodes: list[Any] = []
        # By integer tensor: the float tensor that it was rounded from …
        self._source: dict[str, str] = {}
        # … and its scale.
        self._scale: dict[str, str] = {}

    def add(self, node: Any) -> None:
        """Add a node or its replacement."""
        inputs = [*node.input, *[""] * (7 - len(node.input))]
        source, has_weight = self._source.get(inputs[0]), inputs[1] in self.constants
        if node.op_type == "MatMulIntegerToFloat" and source and has_weight:
            _, weight, _, scale, _, zero_point, bias = inputs
            self._multiply(node, source, self._weight(weight, scale, zero_point), bias)
        elif node.op_type == "DynamicQuantizeMatMul" and has_weight:
            floats, weight, scale, zero_point, bias, *_ = inputs
            self._multiply(node, floats, self._weight(weight, scale, zero_point), bias)
        elif node.op_type == "MatMulInteger" and inputs[0] in self._scale and source and has_weight:
            _, weight, _, zero_point, *_ = inputs
            self._add_constant(self._scale[inputs[0]], np.array(_SHARE, np.float32))
            self._multiply(node, source, self._weight(weight, "", zero_point) / _SHARE, "")
        else:
            if node.op_type in {"QuantizeLinear", "DynamicQuantizeLinear"}:
                self._source[node.output[0]] = inputs[0]
            if node.op_type == "DynamicQuantizeLinear":
                self._scale[node.output[0]] = node.output[1]
            self._nodes.append(node)

    def used_nodes(self) -> list[Any]:
        """Return the nodes without roundings that no node reads any more."""
        read = {name for node in self._nodes for name in node.input} | self._outputs
        return [
            node
            for node in self._nodes
            if node.output[0] in read or node.output[0] not in self._source
        ]

    def _weight(self, name: str, scale: str, zero_point: str) -> Floats:
        """Return (weight − zero point) · scale; an empty name leaves a part out."""
        weight: Floats = self._value(name) - (self._value(zero_point) if zero_point else 0)
        return weight * self._value(scale) if scale else weight

    def _value(self, name: str) -> Floats:
        value: Floats = numpy_helper.to_array(self.constants[name]).astype(np.float32)
        return value

    def _add_constant(self, name: str, value: Floats) -> None:
        self.constants[name] = numpy_helper.from_array(value, name)

    def _multiply(self, node: Any, floats: str, weight: Floats, bias: str) -> None:
        """Add the product of a tensor and a weight, plus a bias if it has a name."""
        (output,) = node.output
        product, name = f"{output}/product" if bias else output, f"{output}/weight"
        self._add_constant(name, weight)
        self._nodes.append(helper.make_node("MatMul", [floats, name], [product]))
        if bias:
            self._nodes.append(helper.make_node("Add", [product, bias], [output]))


def _halved(model: Any) -> Any:
    """Return a float32 model converted to fp16 up to its last layer normalisation."""
    import_runtime()
    from onnxruntime.transformers import float16  # noqa: PLC0415  after the switch is set

    types, nodes = _tensor_types(model), list(model.graph.node)
    for node in nodes:
        node.name = node.output[0]  # the conversion identifies nodes by name
    norms = [at for at, node in enumerate(nodes) if node.op_type.endswith("LayerNormalization")]
    end = norms[-1] + 1 if norms else len(nodes)
    body, rest = nodes[:end], nodes[end:]
    read = {name for node in rest for name in node.input} | {out.name for out in model.graph.output}
    outputs = [types[name] for node in body for name in node.output if name in read]
    half = float16.convert_float_to_float16(
        _part(model, body, outputs, _constants(model.graph), types),
        keep_io_types=True,
        disable_shape_infer=True,
        op_block_list=[*float16.DEFAULT_OP_BLOCK_LIST, *_ON_ANY_PROCESSOR],
    )
    # Where two fp32 nodes read one tensor, the conversion adds the same cast twice.
    body = list({node.name: node for node in half.graph.node}.values())
    # The conversion keeps names, so the fp32 constants of the rest get new ones.
    renamed = {name: f"{name}/fp32" for name in _constants(model.graph)}
    for node in rest:
        node.input[:] = [renamed.get(name, name) for name in node.input]
    constants = _constants(half.graph)
    for tensor in model.graph.initializer:
        tensor.name = renamed[tensor.name]
        constants[tensor.name] = tensor
    return _part(model, [*body, *rest], model.graph.output, constants)


def _part(
    model: Any,
    nodes: Iterable[Any],
    outputs: Iterable[Any],
    constants: Mapping[str, Any],
    types: Mapping[str, Any] | None = None,
) -> Any:
    """Return a copy of a model with these nodes and the constants that they read."""
    nodes = list(nodes)
    read = dict.fromkeys(name for node in nodes for name in node.input)
    graph = helper.make_graph(
        nodes,
        model.graph.name,
        model.graph.input,
        outputs,
        [constants[name] for name in read if name in constants],
        value_info=[types[name] for node in nodes for name in node.output if types and name],
    )
    return helper.make_model(
        graph,
        ir_version=model.ir_version,
        opset_imports=model.opset_import,
        functions=model.functions,
    )


def _constants(graph: Any) -> dict[str, Any]:
    return {tensor.name: tensor for tensor in graph.initializer}


def _tensor_types(model: Any) -> dict[str, Any]:
    """Return the `onnx.ValueInfoProto` of each node's outputs, by name.

    ONNX Runtime infers them: onnx stops at the first non-standard operator.
    """
    runtime = import_runtime()
    names = {name for node in model.graph.node for name in node.output if name}
    outputs = [onnx.ValueInfoProto(name=name) for name in sorted(names)]
    inferred = _part(model, model.graph.node, outputs, _constants(model.graph))
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(
        inferred.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    kinds = {output.name: output.type for output in session.get_outputs()}
    return {
        name: helper.make_tensor_value_info(name, _element(kind), None)
        for name, kind in kinds.items()
    }


def _element(kind: str) -> int:
    """Return the ONNX number of an element type such as ``tensor(float)``."""
    number: int = onnx.TensorProto.DataType.Value(kind.removeprefix("tensor(")[:-1].upper())
    return number
