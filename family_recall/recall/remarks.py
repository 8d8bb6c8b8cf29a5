"""The vectors of the remarks that bear on an occasion, made once for each embedder."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from family_recall.encoders.base import Encoder
from family_recall.recall.dataflow import QueryContext
from family_recall.recall.gate import question_tokens
from family_recall.recall.question.occasions import occasions
from family_recall.recall.runner import Runner
from family_recall.types import FloatArray


def n_remarks(names: Sequence[str]) -> int:
    """Count the remarks of some occasions."""
    return sum(len(occasions()[name].remarks) for name in names)


def encoded_remarks(run: Runner, context: QueryContext) -> FloatArray | None:
    """Return the vectors (r, d) of the remarks that bear on the question's occasions.

    By the embedder that encoded the question. None where they are still to be made and there is no
    time for it, which the trace says, or where that failed.
    """
    encoder = run.models.static(0.0) if context.kind == "static" else run.models.encoder(0.0)
    if encoder is None or encoder.model_id != context.model_id:
        return None
    made = vectors_by(encoder)
    missing = [name for name in context.plan.occasions if name not in made]
    if missing:
        n = sum(question_tokens(text) for name in missing for text in occasions()[name].remarks)
        stage = "embed_static" if context.kind == "static" else "embed"
        refusal = run.admitted.refusal(stage, n)
        if refusal is not None:
            run.trace.skip("occasions", refusal.reason, refusal.detail)
            run.admitted.count_refusal(refusal)
            return None
        # No span: the same question again, which finds them made, has the same trace.
        run.look_up("occasions", functools.partial(encode_remarks, encoder, missing), None)
    vectors = [made[name] for name in context.plan.occasions if name in made]
    return np.concatenate(vectors) if vectors else None


def encode_remarks(encoder: Encoder, names: Sequence[str]) -> None:
    """Make the vectors of some occasions' remarks that are still missing, and keep them."""
    made = vectors_by(encoder)
    for name in [name for name in names if name not in made]:
        encodings = encoder.encode_memories(occasions()[name].remarks)
        made[name] = np.stack([encoding.pooled for encoding in encodings])


def vectors_by(encoder: Encoder) -> dict[str, FloatArray]:
    """Return the vectors (r, d) of remarks that an embedder has made so far, by occasion."""
    # Encoders are hashed by identity; a protocol cannot say so.
    return _vectors_by(encoder)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=4)
def _vectors_by(_encoder: Encoder) -> dict[str, FloatArray]:
    return {}
