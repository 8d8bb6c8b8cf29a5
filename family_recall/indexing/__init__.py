"""Indexing: memories in; rows, words, mentions, edges and vectors out."""

from family_recall.indexing.embedding import embedded_text
from family_recall.indexing.indexer import Indexer
from family_recall.indexing.preparation import header_of

__all__ = ["Indexer", "embedded_text", "header_of"]
