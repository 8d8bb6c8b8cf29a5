"""Texts in, vectors and pair scores out: the only part of the library that runs a model.

Importing this package loads neither ONNX Runtime nor the tokeniser; opening an encoder does.
"""

from family_recall.encoders.base import (
    Batched,
    BatchScorer,
    Encoder,
    Encoding,
    Floats,
    Ints,
    PairScorer,
)
from family_recall.encoders.manifest import Manifest, ModelEntry, find_models, read_manifest
from family_recall.encoders.static import StaticEncoder
from family_recall.encoders.transformer import BiEncoder, CrossEncoder

__all__ = [
    "BatchScorer",
    "Batched",
    "BiEncoder",
    "CrossEncoder",
    "Encoder",
    "Encoding",
    "Floats",
    "Ints",
    "Manifest",
    "ModelEntry",
    "PairScorer",
    "StaticEncoder",
    "find_models",
    "read_manifest",
]
