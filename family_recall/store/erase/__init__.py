"""Deletion of memories with all that was made from them, its record, and the proof in the bytes."""
