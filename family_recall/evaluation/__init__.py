"""Evaluation: a folder of memories and judged questions in, measures with intervals out."""

from family_recall.evaluation.datasets import (
    Dataset,
    DatasetMemory,
    Query,
    load_dataset,
    to_memory,
)
from family_recall.evaluation.experiment import evaluate
from family_recall.evaluation.intervals import Interval, bootstrap_means
from family_recall.evaluation.report import Outcome, Report

__all__ = [
    "Dataset",
    "DatasetMemory",
    "Interval",
    "Outcome",
    "Query",
    "Report",
    "bootstrap_means",
    "evaluate",
    "load_dataset",
    "to_memory",
]
