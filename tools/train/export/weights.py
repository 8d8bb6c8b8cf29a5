"""Read the weights of a model from a safetensors file, and write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file, save_file

if TYPE_CHECKING:
    from pathlib import Path

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Linear:
    """``x @ weight + bias``; weight (n_in, n_out), bias (n_out,)."""

    weight: Floats
    bias: Floats


@dataclass(frozen=True, slots=True)
class Norm:
    """Layer normalisation over the last axis; both (n,)."""

    weight: Floats
    bias: Floats


@dataclass(frozen=True, slots=True)
class Layer:
    """One transformer layer; query, key and value packed in `qkv`, 1/√d merged into query."""

    qkv: Linear
    context: Linear
    context_norm: Norm
    intermediate: Linear
    output: Linear
    output_norm: Norm


@dataclass(frozen=True, slots=True)
class Bert:
    """A BERT encoder with the pooler left out."""

    words: Floats
    positions: Floats
    types: Floats
    norm: Norm
    layers: tuple[Layer, ...]
    n_heads: int


@dataclass(frozen=True, slots=True)
class EmbedderHead:
    """Outputs `embedding` (mean of tokens, unit length) and `tokens` (projected, unit length).

    ``projection`` is (hidden, token_dim).
    """

    projection: Floats


@dataclass(frozen=True, slots=True)
class ScoreHead:
    """Output `logit` [B, 1]: mean of tokens, then one linear unit; the input has two types."""

    linear: Linear


def read_bert(path: Path, n_heads: int = 12) -> Bert:
    """Read a Hugging Face BERT from a safetensors file; names may start with `bert.`."""
    tensors = {name.removeprefix("bert."): value for name, value in load_file(path).items()}

    def norm(name: str) -> Norm:
        return Norm(_f32(tensors[f"{name}.weight"]), _f32(tensors[f"{name}.bias"]))

    def linear(name: str) -> Linear:
        return Linear(_f32(tensors[f"{name}.weight"].T), _f32(tensors[f"{name}.bias"]))

    words = _f32(tensors["embeddings.word_embeddings.weight"])
    root_d = np.sqrt(np.float32(words.shape[1] / n_heads))

    def layer(name: str) -> Layer:
        query, key, value = (
            linear(f"{name}.attention.self.{p}") for p in ("query", "key", "value")
        )
        return Layer(
            qkv=Linear(
                np.concatenate([query.weight / root_d, key.weight, value.weight], axis=1),
                np.concatenate([query.bias / root_d, key.bias, value.bias]),
            ),
            context=linear(f"{name}.attention.output.dense"),
            context_norm=norm(f"{name}.attention.output.LayerNorm"),
            intermediate=linear(f"{name}.intermediate.dense"),
            output=linear(f"{name}.output.dense"),
            output_norm=norm(f"{name}.output.LayerNorm"),
        )

    n_layers = 1 + max(
        int(key.split(".")[2]) for key in tensors if key.startswith("encoder.layer.")
    )
    return Bert(
        words=words,
        positions=_f32(tensors["embeddings.position_embeddings.weight"]),
        types=_f32(tensors["embeddings.token_type_embeddings.weight"]),
        norm=norm("embeddings.LayerNorm"),
        layers=tuple(layer(f"encoder.layer.{i}") for i in range(n_layers)),
        n_heads=n_heads,
    )


def read_head(path: Path) -> EmbedderHead | ScoreHead:
    """Read the head trained with the encoder: `token_projection.weight`, or `classifier.*`.

    Raises:
        ValueError: If the file has neither.
    """
    tensors = load_file(path)
    if "token_projection.weight" in tensors:
        return EmbedderHead(_f32(tensors["token_projection.weight"].T))
    if "classifier.weight" in tensors:
        weight, bias = tensors["classifier.weight"], tensors["classifier.bias"]
        return ScoreHead(Linear(_f32(weight.T), _f32(bias)))
    raise ValueError(f"{path}: neither token_projection.weight nor classifier.weight is here")


def write_weights(path: Path, bert: Bert, head: EmbedderHead | ScoreHead) -> None:
    """Write what `read_bert` and `read_head` read, as the trainers do."""
    n = bert.words.shape[1]
    tensors: dict[str, Floats] = {
        "embeddings.word_embeddings.weight": bert.words,
        "embeddings.position_embeddings.weight": bert.positions,
        "embeddings.token_type_embeddings.weight": bert.types,
    }

    def put_norm(name: str, norm: Norm) -> None:
        tensors[f"{name}.weight"], tensors[f"{name}.bias"] = norm.weight, norm.bias

    def put_linear(name: str, weight: Floats, bias: Floats) -> None:
        tensors[f"{name}.weight"], tensors[f"{name}.bias"] = weight.T, bias

    put_norm("embeddings.LayerNorm", bert.norm)
    root_d = np.sqrt(np.float32(n / bert.n_heads))
    for i, layer in enumerate(bert.layers):
        name = f"encoder.layer.{i}"
        for k, part in enumerate(("query", "key", "value")):
            scale = root_d if part == "query" else np.float32(1.0)
            columns = slice(k * n, (k + 1) * n)
            put_linear(
                f"{name}.attention.self.{part}",
                layer.qkv.weight[:, columns] * scale,
                layer.qkv.bias[columns] * scale,
            )
        put_linear(f"{name}.attention.output.dense", layer.context.weight, layer.context.bias)
        put_norm(f"{name}.attention.output.LayerNorm", layer.context_norm)
        inner = layer.intermediate
        put_linear(f"{name}.intermediate.dense", inner.weight, inner.bias)
        put_linear(f"{name}.output.dense", layer.output.weight, layer.output.bias)
        put_norm(f"{name}.output.LayerNorm", layer.output_norm)
    if isinstance(head, EmbedderHead):
        tensors["token_projection.weight"] = head.projection.T
    else:
        put_linear("classifier", head.linear.weight, head.linear.bias)
    save_file({key: _f32(value) for key, value in tensors.items()}, path)


def _f32(array: npt.NDArray[np.generic]) -> Floats:
    return np.ascontiguousarray(array, dtype=np.float32)
