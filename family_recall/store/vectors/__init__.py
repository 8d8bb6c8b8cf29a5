"""Vectors of memories on disk, and the index of them held in memory."""
