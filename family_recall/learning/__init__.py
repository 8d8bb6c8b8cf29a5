"""Learning: what a person accepts and rejects in, weights of their own out; reversible."""

from family_recall.learning.learner import Feedback, Learner, Learning
from family_recall.learning.samples import unteachable

__all__ = ["Feedback", "Learner", "Learning", "unteachable"]
