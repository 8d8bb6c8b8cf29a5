"""The memories about somebody, for a question that asks for whatever is known of them."""

from __future__ import annotations

import numpy as np

from family_recall.recall.dataflow import QueryContext, Run
from family_recall.store.text.about import OWN


def search_about(context: QueryContext) -> Run:
    """Return facts, profiles and milestones about those asked about, then what mentions them.

    About the family they are all facts, profiles and milestones in scope, the newest first.
    """
    k = context.pool_size(context.config.candidate_pool)
    snapshot, scope, plan = context.snapshot, context.scope, context.plan
    if plan.about_family:
        newest = snapshot.newest(scope, k, lasting=True)
        return Run("about", newest.ids[:k], np.ones(len(newest.ids[:k]), np.float32))
    hits = snapshot.about([entity.id for entity in plan.about], scope, k)
    # What says whom they are related to is about them, whether it names them or not.
    evidence = np.array(sorted(set(plan.relation_evidence) - set(hits.ids.tolist())), np.int64)
    said = np.full(len(evidence), OWN, np.float32)
    return Run("about", np.append(hits.ids, evidence), np.append(hits.scores, said))
