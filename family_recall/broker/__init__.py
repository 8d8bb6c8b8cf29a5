"""The broker: it decides which stages of recall run, and what an answer says of it."""

from family_recall.broker.embedding import routing_encoder
from family_recall.broker.read_path import Broker
from family_recall.broker.warming import practise

__all__ = ["Broker", "practise", "routing_encoder"]
