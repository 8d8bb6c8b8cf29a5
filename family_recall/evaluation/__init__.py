"""Evaluation: a folder of memories and judged questions in, measures with intervals out."""

from family_recall.evaluation.ablation import Ablation
from family_recall.evaluation.baseline import Baseline
from family_recall.evaluation.budgets import Within
from family_recall.evaluation.comparison import Comparison, compare, sentence
from family_recall.evaluation.datasets import (
    Dataset,
    DatasetMemory,
    Query,
    load_dataset,
    to_memory,
)
from family_recall.evaluation.experiment import evaluate
from family_recall.evaluation.faithfulness import Faithfulness
from family_recall.evaluation.intervals import Interval, bootstrap_means
from family_recall.evaluation.outcomes import Outcome
from family_recall.evaluation.report import Report
from family_recall.evaluation.saved import load_pair
from family_recall.evaluation.trec import write_qrels, write_run

__all__ = [
    "Ablation",
    "Baseline",
    "Comparison",
    "Dataset",
    "DatasetMemory",
    "Faithfulness",
    "Interval",
    "Outcome",
    "Query",
    "Report",
    "Within",
    "bootstrap_means",
    "compare",
    "evaluate",
    "load_dataset",
    "load_pair",
    "sentence",
    "to_memory",
    "write_qrels",
    "write_run",
]
