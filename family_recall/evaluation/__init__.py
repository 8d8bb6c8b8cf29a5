"""Measure recall on a folder of memories and questions, with intervals."""

from family_recall.evaluation.ablation import Ablation
from family_recall.evaluation.baseline import BaselineComparison
from family_recall.evaluation.budgets import BudgetResult
from family_recall.evaluation.comparison import Comparison, compare, sentence
from family_recall.evaluation.datasets import (
    Dataset,
    DatasetMemory,
    Query,
    load_dataset,
    to_memory,
)
from family_recall.evaluation.experiment import evaluate
from family_recall.evaluation.extra import check_extra
from family_recall.evaluation.faithfulness import Faithfulness
from family_recall.evaluation.intervals import Interval, bootstrap_means
from family_recall.evaluation.outcomes import Outcome, plain
from family_recall.evaluation.report import EvaluationReport
from family_recall.evaluation.saved import load_pair
from family_recall.evaluation.trec import write_qrels, write_run

__all__ = [
    "Ablation",
    "BaselineComparison",
    "BudgetResult",
    "Comparison",
    "Dataset",
    "DatasetMemory",
    "EvaluationReport",
    "Faithfulness",
    "Interval",
    "Outcome",
    "Query",
    "bootstrap_means",
    "check_extra",
    "compare",
    "evaluate",
    "load_dataset",
    "load_pair",
    "plain",
    "sentence",
    "to_memory",
    "write_qrels",
    "write_run",
]
