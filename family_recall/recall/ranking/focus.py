"""What nearness to the memory that is being talked about means for an answer."""

from __future__ import annotations

from family_recall.recall.dataflow import Ranking
from family_recall.recall.ranking.features import INDEX

_NEAR = 0.3


def first_is_near_focus(ranking: Ranking) -> bool:
    """Whether the first candidate belongs to what is being talked about."""
    return bool(len(ranking)) and ranking.features[ranking.order[0], INDEX["near_focus"]] >= _NEAR
