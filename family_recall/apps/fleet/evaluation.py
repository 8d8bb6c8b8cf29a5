"""One report over the households of a fleet, and their questions as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from family_recall.apps.evaluation.outcomes import DEEPEST_K, Outcome
from family_recall.apps.evaluation.report import EvaluationReport, summarise
from family_recall.apps.fleet.steps import Options, Row, loaded_models

OUTCOMES = "outcomes"
"""The value of a row that holds the household's questions."""


def report(
    catalogue: str, rows: Sequence[Row], options: Options, *, seed: int = 0
) -> EvaluationReport:
    """Return the report over every question of the households that were evaluated.

    It is the one that a single process makes of them, in the order of the rows, but for what
    answers took.

    Raises:
        DatasetError: If nothing was evaluated.
    """
    outcomes = [Outcome.from_json(record) for row in rows for record in row.get(OUTCOMES, ())]
    return EvaluationReport(
        **summarise(outcomes, seed=seed),
        n_memories=sum(row.get("memories", 0) for row in rows),
        config={
            "dataset": catalogue,
            "profile": options.profile,
            "budget_ms": options.budget_ms,
            "top_k": DEEPEST_K,
            "limit": None,
            "rerank": options.rerank,
            "seed": seed,
            "model": loaded_models(options.models).embedder_id(),
        },
        outcomes=tuple(outcomes),
    )


def without_outcomes(row: Row) -> Row:
    """Return a row of the table of households."""
    return {name: value for name, value in row.items() if name != OUTCOMES}


def questions(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a row for each question: its household, its gold and what it got."""
    table = []
    for row in rows:
        for record in row.get(OUTCOMES, ()):
            outcome = Outcome.from_json(record)
            table.append(
                {
                    "household": row["household"],
                    "question": outcome.query_id,
                    "category": outcome.category,
                    "status": outcome.status,
                    "confidence": outcome.confidence,
                    "answerable": outcome.answerable,
                    "first_is_right": outcome.first_is_right,
                    "is_found": outcome.is_found,
                    "used_time_ms": outcome.used_time_ms,
                    "gold": list(outcome.gold),
                    "ranking": list(outcome.ranking),
                }
            )
    return table
