"""Warm up: a second of recalls, so that the first question finds loaded pages and true prices.

Nothing of the household is used: invented sentences, and questions that nobody asks.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterator

from family_recall.deadline import Deadline
from family_recall.encoders.base import Encoder, PairScorer
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
_LOADING_RUNS = 2  # the first runs of a model, which pay for loading it

_Job = tuple[str, int, Callable[[], object]]
"""A stage, its units, and the call that runs it."""


def warm_up(broker: Broker, now: dt.datetime, wall_s: float, for_ms: float) -> None:
    """Run models and recalls for so many milliseconds at most, and learn what they cost here."""
    deadline = Deadline.after(for_ms, broker.gate.clock)
    try:
        _time_models(broker, deadline, reserve_ms=for_ms * (1.0 - _ENCODING_SHARE))
        for number, text in enumerate((_QUESTIONS * _ROUNDS)[: broker.config.warm_up_recalls]):
            left_ms = deadline.remaining_ms()
            if left_ms <= 0.0:
                break
            ctx = RecallContext(time_budget_ms=max(left_ms, 1.0))
            broker.recall(RecallRequest(f"{text} {number}", ctx), now, wall_s)
    except FamilyRecallError as error:
        log.debug("warming up ended early", exc_info=error)


def _time_models(broker: Broker, deadline: Deadline, *, reserve_ms: float) -> None:
    """Run each model on short and long texts while there is time, and set its price."""
    models = broker.models
    static, encoder, scorer = models.static(), models.wait(), models.scorer()
    samples: dict[str, list[tuple[int, float]]] = {}
    for number in range(_ROUNDS):
        for text in (SHORT, LONG):
            # Other words each time, so that no cache knows the question.
            for stage, n, run in _jobs(f"{number} {text}", encoder, static, scorer):
                if deadline.remaining_ms() > reserve_ms:
                    start_ms = deadline.elapsed_ms()
                    run()
                    samples.setdefault(stage, []).append((n, deadline.elapsed_ms() - start_ms))
    for stage, runs in samples.items():
        broker.gate.costs.seed(stage, runs[_LOADING_RUNS:])


def _jobs(
    question: str, encoder: Encoder | None, static: Encoder | None, scorer: PairScorer | None
) -> Iterator[_Job]:
    if encoder is not None:
        yield "embed", question_tokens(question), lambda: encoder.encode_question(question)
    if static is not None:
        yield "embed_static", 0, lambda: static.encode_question(question)
    if scorer is not None:
        memory = MEMORY if question.endswith(LONG) else SHORT
        n_tokens = scorer.count_tokens(question, memory)
        yield "rerank", n_tokens, lambda: scorer.score(question, memory)
