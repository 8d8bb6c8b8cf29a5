"""stores/health."""
