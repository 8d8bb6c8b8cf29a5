"""Ranking: runs are fused into candidates, and candidates become an order with reasons."""
