"""Fuse runs into candidates, score them with reasons, and calibrate the scores."""
