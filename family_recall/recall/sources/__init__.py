"""Search functions: each returns one ``Run`` of memories for a question."""
