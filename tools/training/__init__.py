"""Training of the models: data in, float weights out. Needs torch, which the package never does."""
