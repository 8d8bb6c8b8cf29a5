"""Types of explanations, features and profiles, for programs that show or measure them."""

from family_recall.learn import Learning
from family_recall.recall.explanation import Explanation, NearMiss
from family_recall.recall.ranking.features import FEATURES
from family_recall.recall.ranking.profiles import find_profile
from family_recall.types.trace import busy_ms

__all__ = ["FEATURES", "Explanation", "Learning", "NearMiss", "busy_ms", "find_profile"]
