"""What somebody would pick instead, each in an environment of its own; see run.py."""
