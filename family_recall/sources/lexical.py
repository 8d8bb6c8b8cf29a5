"""Lexical source: the question's words in, the memories that hold them out, by BM25."""

from __future__ import annotations

import numpy as np

from family_recall.dataflow import QueryContext, Run


class LexicalSource:
    """OR-connected BM25 within each visible shelf: the path that always works."""

    name = "lexical"

    def __call__(self, context: QueryContext) -> Run:
        """Give each shelf's best, ordered by that shelf's own BM25.

        The question's rarest words are kept where it has very many, so that a text of any
        length costs the same.
        """
        config = context.config
        rare, common = chosen_words(context)
        hits = context.snapshot.match(
            rare, common, context.scope, context.room(config.lexical_pool), config.column_weights
        )
        order = np.lexsort((hits.ids, -hits.scores))
        return Run(self.name, hits.ids[order], hits.scores[order])


def chosen_words(context: QueryContext) -> tuple[list[str], list[str]]:
    """Choose which of the question's words to look up: (rare, common), in their order.

    Words that occur nowhere in scope find nothing. Of very many the rarest are kept. In a
    large store words that a good part of the memories hold are common; where all are, the
    rarest is looked up all the same. Where all together stand in more memories than can be read in
    time, the most common are left out: ranking counts them again in what is found.
    """
    config, plan = context.config, context.plan
    frequency = plan.statistics.document_frequency
    occurring = np.flatnonzero(frequency > 0)
    kept = occurring[np.argsort(frequency[occurring], kind="stable")][: config.max_question_words]
    limit = max(config.common_share * plan.statistics.n_memories, config.common_memories)
    affordable = np.cumsum(frequency[kept]) <= config.lexical_matches
    affordable[:1] = True
    kept = kept[affordable]
    rare = sorted(at for at in kept.tolist() if frequency[at] <= limit)
    common = sorted(at for at in kept.tolist() if frequency[at] > limit)
    words = [word for word, _ in plan.terms]
    if not rare and common:
        rarest = int(kept[0])
        rare, common = [rarest], [at for at in common if at != rarest]
    return [words[at] for at in rare], [words[at] for at in common]
