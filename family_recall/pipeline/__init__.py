"""The broker: it decides which stages of recall run, and what an answer says of it."""

from family_recall.pipeline.broker import Broker
from family_recall.pipeline.question_encoding import routing_encoder
from family_recall.pipeline.warm_up import warm_up

__all__ = ["Broker", "routing_encoder", "warm_up"]
