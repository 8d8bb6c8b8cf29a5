"""The memories that hold the question's words, by BM25: the source that always works."""

from __future__ import annotations

import itertools

import numpy as np

from family_recall.recall.dataflow import QueryContext, Run


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
    frequency = plan.statistics.document_frequency.tolist()
    occurring = [word for word, n in enumerate(frequency) if n > 0]
    chosen = sorted(occurring, key=frequency.__getitem__)[: config.max_question_words]
    n_matches = itertools.accumulate([frequency[word] for word in chosen])
    n_affordable = sum([n <= config.lexical_matches for n in n_matches])
    chosen = chosen[: max(n_affordable, 1)]
    limit = max(config.common_share * plan.statistics.n_memories, config.common_memories)
    rare = sorted([word for word in chosen if frequency[word] <= limit])
    common = sorted([word for word in chosen if frequency[word] > limit])
    if not rare and common:
        rarest = chosen[0]
        rare, common = [rarest], [word for word in common if word != rarest]
    words = [word for word, _ in plan.terms]
    return [words[at] for at in rare], [words[at] for at in common]
