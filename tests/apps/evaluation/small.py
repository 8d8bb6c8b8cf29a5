"""A small dataset and a testbed for it, with tiny models and time enough."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

from family_recall.apps.evaluation.datasets import Dataset, DatasetMemory, Query
from family_recall.apps.evaluation.testbed import EVALUATOR, Testbed
from family_recall.config import RecallConfig
from family_recall.types import RecallContext
from tests.conftest import PLENTY_MS, TINY, TINY_STATIC, TinyScorer

TURNS = (
    "Shall we paint the fence this weekend",
    "Blue would look lovely beside the roses",
    "Then I will buy brushes on Saturday",
    "The plumber mends the boiler on Thursday",
    "Grandma lands on Friday at six in the evening",
    "Mia wants a chocolate cake for her birthday",
    "The spare key is under the flower pot",
)


def memories(space: str = "home") -> tuple[DatasetMemory, ...]:
    """Return one session of a space, a minute between two turns."""
    start = dt.datetime(2025, 6, 1, 18, 0, tzinfo=dt.UTC)
    return tuple(
        DatasetMemory(
            f"{space}/{at}",
            text,
            space,
            speaker="Mia" if at % 2 else "Priya",
            occurred_at=start + dt.timedelta(minutes=at),
            session="S1",
        )
        for at, text in enumerate(TURNS)
    )


QUERIES = (
    Query("q0", "Who mends the boiler?", "home", "plain", ("home/3",)),
    Query("q1", "When does grandma land?", "home", "when", ("home/4",)),
    Query("q2", "Which cake does Mia want for her birthday?", "home", "plain", ("home/5",)),
    Query("q3", "What is the capital of Peru?", "home", "none", ()),
)


def small_testbed(folder: Path, *, space: str = "home", **fields: Any) -> Testbed:
    """Return a testbed of one space; nothing is in its store before ``fill``."""
    known: dict[str, Any] = {
        "dataset": Dataset("small", (*memories(space), *memories("office")), QUERIES),
        "context": RecallContext(EVALUATOR, time_budget_ms=PLENTY_MS, top_k=10),
        "config": RecallConfig(),
        "encoder": TINY,
        "scorer": TinyScorer(),
        "static": TINY_STATIC,
        **fields,
    }
    return Testbed(folder=folder, **known)
