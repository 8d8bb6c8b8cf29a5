"""What the scripts share: the repository's folders, and a command line made from a docstring."""

from __future__ import annotations

import argparse
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "models"
FIXTURES = ROOT / "tests" / "fixtures"


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is a docstring as it is laid out, its ``Examples:`` last."""
    about, examples = (doc or "").split("\nExamples:")
    return argparse.ArgumentParser(
        description=about,
        epilog="examples:" + examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
