"""Sources: each finds memories for a question in its own way; a ``Run`` comes out."""
