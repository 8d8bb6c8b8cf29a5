"""Learning from feedback: personal ranking weights, bounded and reversible."""

from family_recall.learn.learner import Feedback, Learner, Learning, learning_of
from family_recall.learn.samples import why_not_learnable

__all__ = ["Feedback", "Learner", "Learning", "learning_of", "why_not_learnable"]
