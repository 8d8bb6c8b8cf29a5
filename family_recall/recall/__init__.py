"""The recall pipeline: it decides which stages run, runs them, and makes the answer."""

from family_recall.recall.broker import Broker
from family_recall.recall.understanding import routing_encoder
from family_recall.recall.warm_up import warm_up

__all__ = ["Broker", "routing_encoder", "warm_up"]
