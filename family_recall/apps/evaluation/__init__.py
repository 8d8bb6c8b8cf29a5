"""Measure recall on a folder of memories and questions, with intervals."""

from family_recall.apps.evaluation.alternatives import Ablation, BaselineComparison, BudgetResult
from family_recall.apps.evaluation.comparison import Comparison, compare, load_pair, sentence
from family_recall.apps.evaluation.datasets import Dataset, load_dataset
from family_recall.apps.evaluation.experiment import evaluate
from family_recall.apps.evaluation.measures import Interval, check_extra
from family_recall.apps.evaluation.outcomes import plain
from family_recall.apps.evaluation.report import EvaluationReport
from family_recall.apps.evaluation.trec import write_qrels, write_run

__all__ = [
    "Ablation",
    "BaselineComparison",
    "BudgetResult",
    "Comparison",
    "Dataset",
    "EvaluationReport",
    "Interval",
    "check_extra",
    "compare",
    "evaluate",
    "load_dataset",
    "load_pair",
    "plain",
    "sentence",
    "write_qrels",
    "write_run",
]
