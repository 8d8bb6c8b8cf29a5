"""The stages that encode a question, by the best embedder that there is time for."""

from __future__ import annotations

import functools

import numpy as np
from msgspec.structs import replace

from family_recall.encoders.base import Encoder, Encoding
from family_recall.english.text import normalise
from family_recall.recall.dataflow import Kind, QueryContext, QueryPlan
from family_recall.recall.gate import question_tokens
from family_recall.recall.ranking.bm25 import inverse_document_frequency
from family_recall.recall.runner import Runner
from family_recall.recall.understanding import static_wait_ms
from family_recall.types import FloatArray


def encode(run: Runner, context: QueryContext) -> QueryContext:
    """Encode the question: by the transformer if it is ready and affordable, else the static one.

    The trace says which it was, and why it was not the other.
    """
    static = run.models.static(static_wait_ms(run))
    n = question_tokens(context.searched_text)
    encoder = run.models.encoder(0.0)
    encoded = _cached(run, context, encoder)
    if encoded is None:
        encoder = _transformer(run, context, static, n)
    if encoder is not None:
        encoded = _encode_by(run, context, encoder, "embed", n, encoded)
        if encoded is not None:
            work = functools.partial(token_weights, encoder, encoded, context.plan)
            return _encoded(context, encoder, encoded, "full", run.run("weigh", 0, work, None))
    if static is None or not run.can_start("embed_static"):
        return context
    encoded = _encode_by(run, context, static, "embed_static", 0, _cached(run, context, static))
    return context if encoded is None else _encoded(context, static, encoded, "static")


def is_encoded_at_once(run: Runner, context: QueryContext) -> bool:
    """Whether the transformer will not run: its answer is cached, or it has no time."""
    if _cached(run, context, run.models.encoder(0.0)) is not None:
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
    named = [
        (at, word)
        for at, (word, _) in enumerate(plan.terms)
        if word[0].isupper() or (names and normalise(word) in names)
    ]
    if named:
        at_home = inverse_document_frequency(plan.statistics)
        for at, word in named:
            tokens = (encoding.token_ids[:, None] == encoder.token_ids(word)).any(axis=1)
            weights[tokens] = np.minimum(weights[tokens], at_home[at])
    return weights


def _encode_by(
    run: Runner,
    context: QueryContext,
    encoder: Encoder,
    stage: str,
    n: int,
    cached: Encoding | None,
) -> Encoding | None:
    """Encode the question by one embedder, unless that is cached; None should it fail."""
    encoding = cached
    if encoding is not None:
        with run.trace.span(stage, n) as span:
            span.n_out = n
    else:
        text, person_id = context.searched_text, context.request.ctx.person_id
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
    return replace(
        context,
        model_id=encoder.model_id,
        question=encoding,
        kind=kind,
        question_weights=weights,
    )


def _transformer(
    run: Runner, context: QueryContext, static: Encoder | None, n: int
) -> Encoder | None:
    """Return the transformer if there is time for n tokens; where not, the trace says why."""
    instead = "" if static is None else f"; {static.model_id} is asked instead"
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


def _cached(run: Runner, context: QueryContext, encoder: Encoder | None) -> Encoding | None:
    """Return the question as an embedder has encoded it for this person, if it has."""
    if encoder is None:
        return None
    person_id = context.request.ctx.person_id
    return run.models.questions.get(person_id, encoder.model_id, context.searched_text)


def _words_beside_ms(run: Runner) -> float:
    """Return how much longer than the transformer the search for words takes, which it hides."""
    return max(run.admitted.expected_ms("lexical") - run.admitted.expected_ms("embed"), 0.0)
