"""stores/vectors."""
