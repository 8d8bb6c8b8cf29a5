"""Warm up: a second of recalls, so that the first question finds loaded models and true prices.

Nothing of the household is used: invented sentences, and questions that nobody asks.
"""

from __future__ import annotations

import datetime as dt
import logging

from family_recall.deadline import Deadline
from family_recall.encoders.base import batch_size_of, scores_of
from family_recall.errors import ClosedError, FamilyRecallError
from family_recall.recall.broker import Broker
from family_recall.types import RecallContext, RecallRequest

log = logging.getLogger("family_recall")

_QUESTIONS = (
    "Where is the key?",
    (
        "What did we say about the holiday by the sea in summer, the house with the garden, and "
        "who was going to bring the tent, the stove and the two blue bicycles along?"
    ),
    "When does grandma come?",
    "Who has the tickets?",
    "What is for dinner on Sunday?",
)


def warm_up(broker: Broker, now: dt.datetime, wall_s: float, for_ms: float) -> None:
    """Run models and recalls for so many milliseconds at most, and learn what they cost here.

    Raises:
        ClosedError: If the household is closed meanwhile.
    """
    deadline = Deadline.after(for_ms, broker.gate.clock)
    try:
        _run_models(broker)
        for number in range(broker.config.warm_up_recalls):
            left_ms = deadline.remaining_ms()
            if left_ms <= 0.0:
                break
            # Other words each time, so that no cache knows the question.
            question = f"{number} {_QUESTIONS[number % len(_QUESTIONS)]}"
            ctx = RecallContext(time_budget_ms=max(left_ms, 1.0))
            broker.recall(RecallRequest(question, ctx), now, wall_s)
    except ClosedError:
        raise
    except FamilyRecallError as error:
        log.debug("warming up ended early", exc_info=error)


def _run_models(broker: Broker) -> None:
    """Run each model on a short and a long text: the first runs are slow, and set no price."""
    models = broker.models
    encoder, scorer = models.wait(), models.scorer()
    for text in _QUESTIONS[:2]:
        for embedder in (models.static(), encoder):
            if embedder is not None:
                embedder.encode_question(text)
        if scorer is not None:
            scores_of(scorer, text, [text] * batch_size_of(scorer))
