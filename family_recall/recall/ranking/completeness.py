"""How complete a list is: the share of what belongs to it that the results are estimated to hold.

A logistic model says how likely a candidate belongs to the list, by its score and its rank. What
the results are expected to hold, divided by what all candidates are and by what was never among
them, is the estimate. It was fitted on lists of three invented households of 450 memories.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources

import numpy as np

from family_recall.types import FloatArray


@dataclass(frozen=True, slots=True)
class ListModel:
    """What the scores of a list mean.

    Attributes:
        intercept: Of the logit that a candidate belongs, with …
        per_score: … what it gains by a score of 1, and …
        per_log_rank: … by each factor e of its rank.
        unseen: What belongs and is no candidate, as a share of what belongs and is one.
    """

    intercept: float
    per_score: float
    per_log_rank: float
    unseen: float


def completeness(score: FloatArray, n_shown: int, model: ListModel) -> float:
    """Estimate the share of a list that its first results hold.

    Args:
        score: Shape (n,), of all candidates, best first.
        n_shown: How many of them are results.
        model: What the scores mean.

    Returns:
        In [0, 1], below 1 as long as something is never found; 0 where nothing is shown.

    Two of four candidates as likely as each other, where nothing is ever missed:

    >>> even = ListModel(0.0, 0.0, 0.0, unseen=0.0)
    >>> completeness(np.zeros(4, np.float32), 2, even)
    0.5
    """
    if not n_shown or not len(score):
        return 0.0
    log_rank = np.log(np.arange(1, len(score) + 1))
    logit = model.intercept + model.per_score * score + model.per_log_rank * log_rank
    belongs = 1.0 / (1.0 + np.exp(-np.clip(logit, -40.0, 40.0)))
    return float(belongs[:n_shown].sum() / (belongs.sum() * (1.0 + model.unseen)))


@functools.cache
def list_model(*, reranked: bool = False) -> ListModel:
    """Load the fitted constants of ``list_model.json``, for lists that were reranked or not."""
    text = resources.files("family_recall.recall.ranking").joinpath("list_model.json").read_text()
    record = json.loads(text)["models"]["reranked" if reranked else "ranked"]
    return ListModel(
        intercept=record["intercept"],
        per_score=record["per_score"],
        per_log_rank=record["per_log_rank"],
        unseen=record["unseen"],
    )
