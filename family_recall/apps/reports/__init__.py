"""Pages in files, without scripts: a recall looked into, and what was measured."""
