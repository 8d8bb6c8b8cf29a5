"""Check for the packages that measuring needs and the library does not: the extra ``eval``."""

from __future__ import annotations

import importlib.util

PACKAGES = ("ir_measures", "scipy")


def check_extra() -> None:
    """Check that the packages of the extra ``eval`` are installed.

    Raises:
        ImportError: If one is missing; the message holds the command that installs it.
    """
    for name in PACKAGES:
        if importlib.util.find_spec(name) is None:
            raise ImportError(
                f"{name} is not installed; add it with: pip install 'family-recall[eval]'"
            )
