"""Indexing: store memories with the words, entities, edges and vectors derived from them."""

from family_recall.remember.derived import header_of, upgrade
from family_recall.remember.embedding import embedded_text
from family_recall.remember.indexer import Indexer

__all__ = ["Indexer", "embedded_text", "header_of", "upgrade"]
