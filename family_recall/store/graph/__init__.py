"""Entities, the relations between them, and the edges that tie memories together."""
