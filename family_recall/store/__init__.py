"""Stores: the only code that speaks SQL. Rows and arrays come out, never cursors."""
