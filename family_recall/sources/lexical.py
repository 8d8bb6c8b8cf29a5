"""Lexical source: the question's words in, the memories that hold them out, by BM25."""

from __future__ import annotations

import numpy as np

from family_recall.stage import QueryContext, Run


class LexicalSource:
    """OR-connected BM25 within each visible shelf: the path that always works."""

    name = "lexical"

    def __call__(self, context: QueryContext) -> Run:
        """Give each shelf's best, ordered by that shelf's own BM25.

        The question's rarest words are kept where it has very many, so that a text of any
        length costs the same.
        """
        config = context.config
        terms = rarest_terms(context)
        hits = context.snapshot.match(
            [word for word, _ in terms], context.scope, config.lexical_pool, config.column_weights
        )
        order = np.lexsort((hits.ids, -hits.scores))
        return Run(self.name, hits.ids[order], hits.scores[order])


def rarest_terms(context: QueryContext) -> tuple[tuple[str, str], ...]:
    """Keep the question's words that occur in scope, at most the configured number."""
    terms = context.plan.terms
    frequency = context.plan.statistics.document_frequency
    occurring = np.flatnonzero(frequency > 0)
    rarest = occurring[np.argsort(frequency[occurring], kind="stable")]
    kept = sorted(rarest[: context.config.max_question_words].tolist())
    return tuple(terms[at] for at in kept)
