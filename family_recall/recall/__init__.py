"""The recall pipeline: it decides which stages run, runs them, and makes the answer."""

from family_recall.recall.broker import Broker
from family_recall.recall.understanding import routing_encoder

__all__ = ["Broker", "routing_encoder"]
