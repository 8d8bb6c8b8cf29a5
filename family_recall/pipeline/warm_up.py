"""Warming up: a second of practice, so that the first question finds loaded pages and true prices.

What is practised is nobody's: invented sentences, and questions that nobody in particular asks.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable

from family_recall.deadline import Deadline
from family_recall.errors import FamilyRecallError
from family_recall.pipeline.broker import Broker
from family_recall.pipeline.gate import question_tokens
from family_recall.types import RecallContext, RecallRequest

log = logging.getLogger("family_recall")

SHORT = "Where is the key?"
LONG = (
    "What did we say about the holiday by the sea in summer, the house with the garden, and who "
    "was going to bring the tent, the stove and the two blue bicycles along?"
)
MEMORY = "We said that the tent is in the attic, and that the bicycles go on the roof of the car."
_QUESTIONS = ("Where is the key?", "When does grandma come?", "What did we say about the holiday?",
              "Who has the tickets?", "What is for dinner on Sunday?")  # fmt: skip
_ROUNDS = 5
_ENCODING_SHARE = 0.6  # of the time, for models; the rest is for whole recalls


def warm_up(broker: Broker, now: dt.datetime, wall_s: float, for_ms: float) -> None:
    """Run models and recalls for so many milliseconds at most, and learn what they cost here."""
    deadline = Deadline.after(for_ms, broker.gate.clock)
    costs, models = broker.gate.costs, broker.models
    reserve_ms = for_ms * (1.0 - _ENCODING_SHARE)
    static, encoder, scorer = models.static(), models.wait(), models.scorer()
    samples: dict[str, list[tuple[int, float]]] = {}

    def timed(stage: str, n: int, run: Callable[[], object]) -> None:
        if deadline.remaining_ms() > reserve_ms:
            start_ms = deadline.elapsed_ms()
            run()
            samples.setdefault(stage, []).append((n, deadline.elapsed_ms() - start_ms))

    try:
        for at in range(_ROUNDS):
            for text in (SHORT, LONG):
                # A question that is asked with other words each time: nothing is remembered.
                said = f"{at} {text}"
                if encoder is not None:
                    read = encoder.encode_question
                    timed("embed", question_tokens(said), lambda: read(said))  # noqa: B023
                if static is not None:
                    look_up = static.encode_question
                    timed("embed_static", 0, lambda: look_up(said))  # noqa: B023
                if scorer is not None:
                    score, memory = scorer.score, MEMORY if text is LONG else SHORT
                    n = scorer.count_tokens(said, memory)
                    timed("rerank", n, lambda: score(said, memory))  # noqa: B023
        for stage, found in samples.items():
            costs.seed(stage, found[2:])  # the first two paid for loading
        for at, text in enumerate(_QUESTIONS * _ROUNDS):
            left_ms = deadline.remaining_ms()
            if left_ms <= 0.0 or at >= broker.config.warm_up_recalls:
                break
            request = RecallRequest(f"{text} {at}", RecallContext(time_budget_ms=max(left_ms, 1.0)))
            broker.recall(request, now, wall_s)
    except FamilyRecallError as error:
        log.debug("practice ended early", exc_info=error)
