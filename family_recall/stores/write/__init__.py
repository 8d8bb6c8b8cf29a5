"""stores/write."""
