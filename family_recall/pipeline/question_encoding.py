"""The stages that encode a question, by the best embedder that there is time for."""

from __future__ import annotations

import dataclasses

import numpy as np

from family_recall.dataflow import Kind, QueryContext, QueryPlan
from family_recall.encoders.base import Encoder, Encoding
from family_recall.pipeline.gate import question_tokens
from family_recall.pipeline.runner import Runner
from family_recall.pipeline.understanding import static_wait_ms
from family_recall.query.text import normalise
from family_recall.ranking.bm25 import inverse_document_frequency
from family_recall.types import FloatArray


def encode(run: Runner, context: QueryContext) -> QueryContext:
    """Encode the question: by the transformer if it is ready and affordable, else the static one.

    The trace says which it was, and why it was not the other.
    """
    static = run.models.static(static_wait_ms(run))
    encoder = _transformer(run, context, static)
    if encoder is not None:
        n = question_tokens(context.searched_text)
        encoded = _encode_by(run, context, encoder, "embed", n)
        if encoded is not None:
            weights = run.run(
                "weigh", 0, lambda: token_weights(encoder, encoded, context.plan), None
            )
            return _encoded(context, encoder, encoded, "full", weights)
    if static is None or not run.can_start("embed_static"):
        return context
    encoding = _encode_by(run, context, static, "embed_static", 0)
    return context if encoding is None else _encoded(context, static, encoding, "static")


def is_encoded_at_once(run: Runner, context: QueryContext) -> bool:
    """Whether the transformer will not run: its answer is cached, or it has no time."""
    if _cached_by(run, context) is not None:
        return True
    n = question_tokens(context.searched_text)
    return not run.admitted.can_afford("embed", n, beside_ms=_words_beside_ms(run))


def token_weights(encoder: Encoder, encoding: Encoding, plan: QueryPlan) -> FloatArray:
    """Weigh the question's tokens by how rare they are: in English, and for names at home.

    A name is rare in English and common at home, so its tokens weigh no more than its idf in the
    visible memories. A word that begins with a capital is taken for a name.
    """
    weights = encoder.token_weights(encoding.token_ids)
    names = plan.name_words
    at_home = inverse_document_frequency(plan.statistics)
    for (word, _), idf in zip(plan.terms, at_home, strict=True):
        if word[0].isupper() or normalise(word) in names:
            tokens = np.isin(encoding.token_ids, encoder.token_ids(word))
            weights[tokens] = np.minimum(weights[tokens], idf)
    return weights


def _encode_by(
    run: Runner, context: QueryContext, encoder: Encoder, stage: str, n: int
) -> Encoding | None:
    """Encode the question by one embedder, or read it from the cache; None should it fail."""
    text, person_id = context.searched_text, context.request.ctx.person_id
    encoding = run.models.questions.get(person_id, encoder.model_id, text)
    if encoding is not None:
        with run.trace.span(stage, n) as span:
            span.n_out = n
    else:
        encoding = run.run(stage, n, lambda: encoder.encode_question(text), None)
        if encoding is None:
            return None
        run.models.questions.put(person_id, encoder.model_id, text, encoding)
    run.trace.embedder = encoder.model_id
    return encoding


def _encoded(
    context: QueryContext,
    encoder: Encoder,
    encoding: Encoding,
    kind: Kind,
    weights: FloatArray | None = None,
) -> QueryContext:
    return dataclasses.replace(
        context,
        model_id=encoder.model_id,
        question=encoding,
        kind=kind,
        question_weights=weights,
    )


def _transformer(run: Runner, context: QueryContext, static: Encoder | None) -> Encoder | None:
    """Return the transformer if there is time for it; where not, the trace says why."""
    cached = _cached_by(run, context)
    if cached is not None:
        return cached
    instead = "" if static is None else f"; {static.model_id} is asked instead"
    n = question_tokens(context.searched_text)
    refusal = run.admitted.refusal("embed", n, beside_ms=_words_beside_ms(run))
    if refusal is not None:
        run.trace.skip("embed", refusal.reason, refusal.detail + instead)
        run.admitted.count_refusal(refusal)
        return None
    # Half of the time is left for what follows, should the model not come.
    wait_ms = (context.deadline.remaining_ms() - run.admitted.expected_ms("embed", n)) / 2.0
    if static is not None and wait_ms < run.config.embedder_load_ms:
        wait_ms = 0.0
    encoder = run.models.encoder(min(wait_ms, run.config.load_wait_ms))
    if encoder is None:
        stage = "vector" if static is None else "embed"
        run.trace.degrade(stage, "no_model", (run.models.why or "no model") + instead)
    return encoder


def _cached_by(run: Runner, context: QueryContext) -> Encoder | None:
    """Return the transformer if it has encoded this question for this person: that is free."""
    encoder = run.models.encoder(0.0)
    if encoder is None:
        return None
    text, person_id = context.searched_text, context.request.ctx.person_id
    cached = run.models.questions.get(person_id, encoder.model_id, text)
    return None if cached is None else encoder


def _words_beside_ms(run: Runner) -> float:
    """Return how much longer than the transformer the search for words takes, which it hides."""
    return max(run.admitted.expected_ms("lexical") - run.admitted.expected_ms("embed"), 0.0)
