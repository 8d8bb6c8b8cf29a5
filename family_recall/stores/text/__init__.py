"""stores/text."""
