"""stores/graph."""
