"""A models folder to break: the shipped tokeniser beside a cross-encoder of three nodes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from family_recall.encoders.manifest import find_models
from family_recall.encoders.transformer import BiEncoder

ID_WEIGHT = 1e-3


@pytest.fixture(autouse=True)
def no_models_of_ones_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nobody's own models take part in these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        patch.setattr("sys.platform", "linux")
        patch.delenv("FAMILY_RECALL_MODELS", raising=False)
        yield


@pytest.fixture(scope="session")
def encoder() -> BiEncoder:
    """The shipped embedder, loaded once."""
    return BiEncoder.load(find_models())


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder with one entry, the tiny cross-encoder."""
    shutil.copyfile(find_models() / "tokenizer.json", tmp_path / "tokenizer.json")
    onnx.save(tiny_cross_encoder(), tmp_path / "tiny.onnx")
    write_manifest(tmp_path, [tiny_entry(tmp_path)])
    return tmp_path


def tiny_cross_encoder() -> onnx.ModelProto:
    """Logit = Σ id · (1 + type) · mask, in thousandths: a score to check by hand."""
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    nodes = [
        helper.make_node("Add", ["token_type_ids", "one"], ["factor"]),
        helper.make_node("Mul", ["input_ids", "factor"], ["typed"]),
        helper.make_node("Mul", ["typed", "attention_mask"], ["masked"]),
        helper.make_node("Cast", ["masked"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["float", "axis"], ["sum"], keepdims=1),
        helper.make_node("Mul", ["sum", "weight"], ["logit"]),
    ]
    constants = {
        "one": np.int64(1),
        "axis": np.array([1], dtype=np.int64),
        "weight": np.float32(ID_WEIGHT),
    }
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "s"]) for n in inputs],
        [helper.make_tensor_value_info("logit", TensorProto.FLOAT, ["b", 1])],
        [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()],
    )
    opset = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, ir_version=9, opset_imports=opset)


def tiny_entry(folder: Path) -> dict[str, Any]:
    """The tiny model's entry, true to the files in `folder`."""
    return {
        "name": "tiny",
        "model_id": "tiny/1",
        "role": "cross_encoder",
        **facts(folder / "tiny.onnx"),
        "licence": "Apache-2.0",
        "precision": "int8",
        "max_tokens": {"question": 8, "memory": 12},
        "query_prefix": "",
        "memory_prefix": "",
        "tokenizer": facts(folder / "tokenizer.json"),
    }


def facts(path: Path) -> dict[str, Any]:
    """Name, hash and size."""
    data = path.read_bytes()
    return {"file": path.name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def write_manifest(folder: Path, entries: list[dict[str, Any]]) -> None:
    """Write a manifest of format 1."""
    content = {"format": 1, "models": entries}
    (folder / "manifest.json").write_text(json.dumps(content), "utf-8")
