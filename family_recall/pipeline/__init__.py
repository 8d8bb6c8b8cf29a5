"""The recall pipeline: it decides which stages run, runs them, and makes the answer."""

from family_recall.pipeline.broker import Broker
from family_recall.pipeline.understanding import routing_encoder
from family_recall.pipeline.warm_up import warm_up

__all__ = ["Broker", "routing_encoder", "warm_up"]
