"""Long operations on a whole household: export, import and re-embedding."""
