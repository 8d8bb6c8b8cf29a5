"""Texts in, vectors and pair scores out: the only part of the library that runs a model."""
