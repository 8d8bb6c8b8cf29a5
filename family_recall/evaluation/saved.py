"""Read two files that ``eval`` wrote as outcomes to compare."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from family_recall.errors import DatasetError
from family_recall.evaluation import trec
from family_recall.evaluation.outcomes import Outcome

UNKNOWN = "unknown"
"""The category of a question that only a run and its qrels know."""


def load_pair(
    first: Path, second: Path, qrels: Path | None = None
) -> tuple[list[Outcome], list[Outcome]]:
    """Return the outcomes of two saved reports (``.json``) or TREC runs (any other name).

    A run has no gold and no categories: the gold comes from ``qrels``, or else from the report
    it is compared with, and so do the categories. A question that a run does not name got no
    result.

    Raises:
        DatasetError: If a file cannot be read, or two runs come without qrels.
    """
    reports = {path: read_report(path) for path in (first, second) if path.suffix == ".json"}
    known = [outcome for outcomes in reports.values() for outcome in outcomes]
    category = {outcome.query_id: outcome.category for outcome in known}
    if qrels is not None:
        gold: Mapping[str, tuple[str, ...]] = trec.read_qrels(qrels)
    elif known:
        gold = {outcome.query_id: outcome.gold for outcome in known}
    else:
        raise DatasetError(f"{first}: a run has no gold of its own; name its qrels with --qrels")

    def outcomes_of(path: Path) -> list[Outcome]:
        if path in reports:
            return reports[path]
        run = trec.read_run(path)
        return [
            Outcome(name, category.get(name, UNKNOWN), wanted, run.get(name, ()), "", 0.0, 0.0)
            for name, wanted in gold.items()
        ]

    return outcomes_of(first), outcomes_of(second)


def read_report(path: Path) -> list[Outcome]:
    """Return the outcomes of a report that ``eval --save`` wrote.

    Raises:
        DatasetError: If the file cannot be read, or holds no outcomes.
    """
    try:
        record: Any = json.loads(path.read_text(encoding="utf-8"))
        return [Outcome.from_json(outcome) for outcome in record["outcomes"]]
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except (ValueError, TypeError, LookupError, RecursionError):
        raise DatasetError(
            f"{path}: expected a report with its outcomes; make one with: "
            f"family-recall eval DIR --save {path.name}"
        ) from None
