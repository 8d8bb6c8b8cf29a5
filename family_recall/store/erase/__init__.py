"""Erasure of memories with everything derived from them, and its verification."""
