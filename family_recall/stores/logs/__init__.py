"""stores/logs."""
