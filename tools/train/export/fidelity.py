"""Compare a quantised graph with its float parent: how close it is, and how long each takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tools.train.export.onnx_sessions import latency_ms, run_each, session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import onnx
    import onnxruntime as ort

    from tools.train.export.onnx_sessions import Floats, Inputs

LATENCY_LENGTHS = (8, 16, 32, 64, 128)
TEXTS_IN_A_BATCH = 64
NEAREST = 10


def embedder_fidelity(
    path: Path, parent: onnx.ModelProto, inputs: Sequence[Inputs]
) -> dict[str, object]:
    """Measure cosines of vectors, agreement on neighbours and independence of the batch."""
    opened = session(path)
    want, have = run_each(parent, inputs), run_each(opened, inputs)
    a = np.concatenate([out["embedding"] for out in want])
    b = np.concatenate([out["embedding"] for out in have])
    cosine = (a * b).sum(axis=1)
    tokens = np.concatenate(
        [(x["tokens"] * y["tokens"]).sum(axis=-1)[0] for x, y in zip(want, have, strict=True)]
    )
    together = opened.run(["embedding"], _padded(inputs[:TEXTS_IN_A_BATCH]))[0]
    return {
        **_facts(path, inputs),
        "cosine_mean": round(float(cosine.mean()), 5),
        "cosine_min": round(float(cosine.min()), 5),
        "top10_overlap": round(top_overlap(a, b, NEAREST), 4),
        "token_cosine_mean": round(float(tokens.mean()), 5),
        "token_cosine_p01": round(float(np.quantile(tokens, 0.01)), 5),
        "batch_max_abs_difference": float(np.abs(together - b[:TEXTS_IN_A_BATCH]).max()),
        **_latency(opened, parent),
    }


def cross_encoder_fidelity(
    path: Path, parent: onnx.ModelProto, inputs: Sequence[Inputs]
) -> dict[str, object]:
    """Measure correlation and distance of the logits."""
    opened = session(path)
    want, have = (
        np.concatenate([out["logit"][:, 0] for out in run_each(model, inputs)])
        for model in (parent, opened)
    )
    together = opened.run(["logit"], _padded(inputs[:TEXTS_IN_A_BATCH]))[0][:, 0]
    return {
        **_facts(path, inputs),
        "logit_correlation": round(float(np.corrcoef(want, have)[0, 1]), 5),
        "logit_spread": round(float(want.std()), 3),
        "logit_mean_abs_difference": round(float(np.abs(want - have).mean()), 4),
        "batch_max_abs_difference": float(np.abs(together - have[:TEXTS_IN_A_BATCH]).max()),
        **_latency(opened, parent),
    }


def top_overlap(a: Floats, b: Floats, k: int) -> float:
    """Return the mean share of each text's `k` nearest others that both sets of vectors share."""

    def nearest(x: Floats) -> npt.NDArray[np.intp]:
        similarity = x @ x.T
        np.fill_diagonal(similarity, -np.inf)
        return np.argsort(-similarity, axis=1, kind="stable")[:, :k]

    pairs = zip(nearest(a), nearest(b), strict=True)
    return float(np.mean([len(set(x.tolist()) & set(y.tolist())) / k for x, y in pairs]))


def _facts(path: Path, inputs: Sequence[Inputs]) -> dict[str, object]:
    lengths = [text["input_ids"].shape[1] for text in inputs]
    return {
        "file": path.name,
        "bytes": path.stat().st_size,
        "n_texts": len(inputs),
        "tokens_per_text_p50": float(np.median(lengths)),
        "tokens_per_text_max": max(lengths),
    }


def _latency(opened: ort.InferenceSession, parent: onnx.ModelProto) -> dict[str, object]:
    unrounded = session(parent)
    return {
        "latency_ms": {str(n): latency_ms(opened, n) for n in LATENCY_LENGTHS},
        "parent_latency_ms": {str(n): latency_ms(unrounded, n) for n in LATENCY_LENGTHS},
    }


def _padded(inputs: Sequence[Inputs]) -> Inputs:
    """Pad texts to one batch."""
    width = max(text["input_ids"].shape[1] for text in inputs)
    return {
        name: np.concatenate(
            [np.pad(text[name], ((0, 0), (0, width - text[name].shape[1]))) for text in inputs]
        )
        for name in inputs[0]
    }
