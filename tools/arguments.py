"""A tool's docstring in, its command line out."""

from __future__ import annotations

import argparse


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Give a parser whose help is a docstring as it is laid out, its `Examples:` at the end."""
    about, examples = (doc or "").split("\nExamples:")
    return argparse.ArgumentParser(
        description=about,
        epilog="examples:" + examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
