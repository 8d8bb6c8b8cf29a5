"""stores/erase."""
