"""stores/access."""
