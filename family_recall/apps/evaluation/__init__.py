"""Measure recall on a folder of memories and questions, with intervals."""

from family_recall.apps.evaluation.alternatives import Ablation, BaselineComparison, BudgetResult
from family_recall.apps.evaluation.comparison import Comparison, compare, load_pair, sentence
from family_recall.apps.evaluation.datasets import (
    Dataset,
    DatasetMemory,
    Query,
    load_dataset,
    to_memory,
)
from family_recall.apps.evaluation.experiment import evaluate
from family_recall.apps.evaluation.measures import Interval, bootstrap_means, check_extra
from family_recall.apps.evaluation.outcomes import Outcome, plain
from family_recall.apps.evaluation.report import EvaluationReport
from family_recall.apps.evaluation.trec import write_qrels, write_run

__all__ = [
    "Ablation",
    "BaselineComparison",
    "BudgetResult",
    "Comparison",
    "Dataset",
    "DatasetMemory",
    "EvaluationReport",
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
