"""Learning from feedback: ranking weights of one's own, bounded and reversible."""

from family_recall.learning.learner import Feedback, Learner, Learning
from family_recall.learning.samples import why_not_learnable

__all__ = ["Feedback", "Learner", "Learning", "why_not_learnable"]
