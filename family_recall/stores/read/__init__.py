"""stores/read."""
