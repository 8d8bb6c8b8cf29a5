"""Texts in, what a graph gives out: one thread, one text a run, as the library runs it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

# One thread everywhere, so that sums are taken in one order; telemetry off before the import.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokenizers import Tokenizer

Floats = npt.NDArray[np.float32]
Inputs = dict[str, npt.NDArray[np.int64]]
LATENCY_RUNS = 200


def session(model: onnx.ModelProto | Path) -> ort.InferenceSession:
    """Open a session on one thread, like the library's."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run_each(
    model: onnx.ModelProto | ort.InferenceSession, inputs: Sequence[Inputs]
) -> list[dict[str, Floats]]:
    """Return every output of `model` for each input, by name."""
    opened = session(model) if isinstance(model, onnx.ModelProto) else model
    names = [output.name for output in opened.get_outputs()]
    return [dict(zip(names, opened.run(None, feed), strict=True)) for feed in inputs]


def encode(tokenizer: Tokenizer, text: str, max_tokens: int) -> Inputs:
    """Encode one text as a batch of one, [CLS] and [SEP] kept when it is cut."""
    ids = tokenizer.encode(text).ids
    ids = ids if len(ids) <= max_tokens else [*ids[: max_tokens - 1], ids[-1]]
    row = np.array([ids], dtype=np.int64)
    return {"input_ids": row, "attention_mask": np.ones_like(row)}


def encode_pair(tokenizer: Tokenizer, question: str, memory: str, max_tokens: int) -> Inputs:
    """Encode a question (type 0) and a memory (type 1) as a batch of one; the memory is cut."""
    left = tokenizer.encode(question).ids
    right = tokenizer.encode(memory, add_special_tokens=False).ids
    right = [*right[: max(max_tokens - len(left) - 1, 0)], left[-1]]
    row = np.array([[*left, *right]], dtype=np.int64)
    types = np.array([[0] * len(left) + [1] * len(right)], dtype=np.int64)
    return {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": types}


def latency_ms(opened: ort.InferenceSession, n_tokens: int) -> dict[str, float]:
    """Measure the wall milliseconds of one text, p50 and p95."""
    row = np.arange(2000, 2000 + n_tokens, dtype=np.int64)[None]
    wanted = {tensor.name for tensor in opened.get_inputs()}
    every = {
        "input_ids": row,
        "attention_mask": np.ones_like(row),
        "token_type_ids": np.zeros_like(row),
    }
    feed = {name: value for name, value in every.items() if name in wanted}
    took = []
    for _ in range(LATENCY_RUNS + 20):
        start = time.perf_counter()
        opened.run(None, feed)
        took.append((time.perf_counter() - start) * 1000.0)
    return {f"p{q}": round(float(np.percentile(took[20:], q)), 2) for q in (50, 95)}
