"""Models: texts to vectors and pair scores. No other package runs a model."""
