"""Memories as rows, with the full-text and identifier indexes made from them."""
