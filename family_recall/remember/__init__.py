"""Indexing: store memories with the words, entities, edges and vectors derived from them."""

from family_recall.remember.derived import upgrade
from family_recall.remember.embedding import embedded_text
from family_recall.remember.indexer import Indexer
from family_recall.remember.preparation import header_of

__all__ = ["Indexer", "embedded_text", "header_of", "upgrade"]
