"""stores/file."""
