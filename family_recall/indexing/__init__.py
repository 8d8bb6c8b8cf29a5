"""Indexing: store memories with the words, entities, edges and vectors derived from them."""

from family_recall.indexing.embedding import embedded_text
from family_recall.indexing.indexer import Indexer, upgrade
from family_recall.indexing.preparation import header_of

__all__ = ["Indexer", "embedded_text", "header_of", "upgrade"]
