"""The memories that hold the question's words, by BM25: the source that always works."""

from __future__ import annotations

import numpy as np

from family_recall.dataflow import QueryContext, Run


def search_words(context: QueryContext) -> Run:
    """Return the best matches of each visible shard, scored by that shard's own BM25."""
    config = context.config
    rare, common = chosen_words(context)
    hits = context.snapshot.match(
        rare, common, context.scope, context.pool_size(config.lexical_pool), config.column_weights
    )
    order = np.lexsort((hits.ids, -hits.scores))
    return Run("lexical", hits.ids[order], hits.scores[order])


def chosen_words(context: QueryContext) -> tuple[list[str], list[str]]:
    """Choose which of the question's words to look up: (rare, common), in their order.

    Words that occur nowhere in scope are left out; of very many words the rarest are chosen, so
    that a question of any length costs the same. Words that more than a share of a large store
    holds are common; if all are, the rarest is looked up as a rare one. If the words together
    match more memories than can be read in time, the most common are left out: ranking counts
    them again in the candidates.
    """
    config, plan = context.config, context.plan
    frequency = plan.statistics.document_frequency
    occurring = np.flatnonzero(frequency > 0)
    chosen = occurring[np.argsort(frequency[occurring], kind="stable")][: config.max_question_words]
    limit = max(config.common_share * plan.statistics.n_memories, config.common_memories)
    affordable = np.cumsum(frequency[chosen]) <= config.lexical_matches
    affordable[:1] = True
    chosen = chosen[affordable]
    rare = sorted(word for word in chosen.tolist() if frequency[word] <= limit)
    common = sorted(word for word in chosen.tolist() if frequency[word] > limit)
    if not rare and common:
        rarest = int(chosen[0])
        rare, common = [rarest], [word for word in common if word != rarest]
    words = [word for word, _ in plan.terms]
    return [words[at] for at in rare], [words[at] for at in common]
