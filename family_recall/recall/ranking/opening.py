"""What a conversation begins with: the best of what was said and of what lasts, recent first."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from family_recall.recall.dataflow import Ranking
from family_recall.recall.ranking.features import LASTING


def recent_first(ranking: Ranking, top_k: int) -> Ranking:
    """Choose the best conversations and key facts in equal parts; each part newest first.

    Conversations come first. Where there are too few of one part, the other has more; what has no
    moment counts as the oldest. Ties are in the order of the ranking.
    """
    lasts = np.isin(np.array(ranking.rows.kinds, dtype=str), LASTING)[ranking.order]
    said, facts = ranking.order[~lasts], ranking.order[lasts]
    n_facts = min(len(facts), max(top_k // 2, top_k - len(said)))
    n_said = min(len(said), top_k - n_facts)
    parts = [
        part[np.argsort(-np.nan_to_num(ranking.rows.occurred_s[part], nan=-np.inf), kind="stable")]
        for part in (said[:n_said], facts[:n_facts])
    ]
    order = np.concatenate([*parts, said[n_said:], facts[n_facts:]])
    return replace(ranking, order=order)
