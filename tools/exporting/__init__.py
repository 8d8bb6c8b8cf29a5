"""Exporting of the models: float weights in, ONNX files and their manifest out."""
