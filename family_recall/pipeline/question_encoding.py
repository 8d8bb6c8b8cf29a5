"""Embedding: a question in; its vectors, by the best embedder that there is time for, out."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from family_recall.dataflow import Kind, QueryContext
from family_recall.encoders.base import Encoder
from family_recall.encoders.loader import Models
from family_recall.pipeline.gate import question_tokens
from family_recall.pipeline.runner import AFTER_SOURCES, AFTER_STATIC, Attempts
from family_recall.query.text import normalise
from family_recall.ranking.bm25 import inverse_document_frequency
from family_recall.types import FloatArray


@dataclass(frozen=True, slots=True)
class Embedding(Attempts):
    """How one recall's question is encoded."""

    models: Models

    def encoded(self, context: QueryContext) -> QueryContext:
        """Encode the question: by the transformer if it is ready and affordable, else the static.

        Whichever it was is in the trace, and why it was not the other.
        """
        static = self.models.static(self.wait_ms())
        encoder = self._encoder(context, static)
        if encoder is not None:
            n = question_tokens(context.request.query_text)
            asked = self._asked(context, encoder, "embed", "full", n)
            if asked is not None:
                weights = self._attempt(
                    "weigh", 0, lambda _: token_weights(encoder, asked), None, reads=False
                )
                return dataclasses.replace(asked, question_weights=weights)
        if static is None or self._refused("embed_static", after=AFTER_STATIC):
            return context
        return self._asked(context, static, "embed_static", "static", 0) or context

    def _asked(
        self, context: QueryContext, encoder: Encoder, stage: str, kind: Kind, n: int
    ) -> QueryContext | None:
        """Encode the question by one embedder, or remember it; None should it fail."""
        text, person_id = context.request.query_text, context.request.ctx.person_id
        encoding = self.models.questions.get(person_id, encoder.model_id, text)
        if encoding is not None:
            with self.trace.span(stage, n) as span:
                span.n_out = n
        else:
            encoding = self._attempt(
                stage,
                n,
                lambda _: encoder.encode_question(text),
                None,
                after=AFTER_SOURCES,
                reads=False,
            )
            if encoding is None:
                return None
            self.models.questions.put(person_id, encoder.model_id, text, encoding)
        self.trace.embedder = encoder.model_id
        return dataclasses.replace(context, model_id=encoder.model_id, question=encoding, kind=kind)

    def _encoder(self, context: QueryContext, static: Encoder | None) -> Encoder | None:
        known = self._known_by(context)
        if known is not None:
            return known
        instead = "" if static is None else f"; {static.model_id} is asked instead"
        n = question_tokens(context.request.query_text)
        why = self.admitted.refusal("embed", n, tail_ms=self._tail_of_embedding())
        if why is not None:
            self.trace.skip("embed", why.reason, why.detail + instead)
            return None
        wait_ms = context.deadline.remaining_ms() - self.admitted.expected_ms("embed", n)
        if static is not None and wait_ms < self.config.embedder_load_ms:
            wait_ms = 0.0
        encoder = self.models.encoder(min(wait_ms, self.config.load_wait_ms))
        if encoder is None:
            stage = "vector" if static is None else "embed"
            self.trace.degrade(stage, "no_model", (self.models.why or "no model") + instead)
        return encoder

    def _known_by(self, context: QueryContext) -> Encoder | None:
        """Give the transformer if it has read this question for this person: that is free."""
        encoder = self.models.encoder(0.0)
        if encoder is None:
            return None
        text, person_id = context.request.query_text, context.request.ctx.person_id
        known = self.models.questions.get(person_id, encoder.model_id, text)
        return None if known is None else encoder

    def is_encoded_at_once(self, context: QueryContext) -> bool:
        """Whether the transformer will not run: its answer is known, or it has no time."""
        if self._known_by(context) is not None:
            return True
        n = question_tokens(context.request.query_text)
        return self.admitted.refusal("embed", n, tail_ms=self._tail_of_embedding()) is not None

    def _tail_of_embedding(self) -> float:
        """Give what must follow the transformer: words that it does not hide, and the search."""
        words_ms = self.admitted.expected_ms("lexical") - self.admitted.expected_ms("embed")
        return max(words_ms, 0.0) + self.admitted.tail_ms(*AFTER_STATIC)

    def wait_ms(self) -> float:
        """How long to wait for the static embedder: half of what is left is for what follows."""
        return min(self.trace.deadline.remaining_ms() / 2.0, self.config.load_wait_ms)


def routing_encoder(static: Encoder | None) -> Callable[[str], FloatArray] | None:
    """Give what encodes short texts for the router: the same object for the same model."""
    # Encoders are hashed by identity; a protocol cannot say so.
    return None if static is None else _pooled_by(static)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=4)
def _pooled_by(encoder: Encoder) -> Callable[[str], FloatArray]:
    return lambda text: encoder.encode_question(text).pooled


def token_weights(encoder: Encoder, context: QueryContext) -> FloatArray | None:
    """Weigh the question's tokens by how rare they are: in English, and for names at home.

    A name is rare in English and on everybody's lips at home, so its tokens weigh no more
    than its idf in the visible memories. What begins with a capital is taken for a name.
    """
    encoding = context.question
    if encoding is None:
        return None
    weights = encoder.token_weights(encoding.token_ids)
    spoken = {word for name in context.plan.names for word in name.split(" ")}
    at_home = inverse_document_frequency(context.plan.statistics)
    for (word, _), idf in zip(context.plan.terms, at_home, strict=True):
        if word[0].isupper() or normalise(word) in spoken:
            at = np.isin(encoding.token_ids, encoder.token_ids(word))
            weights[at] = np.minimum(weights[at], idf)
    return weights
