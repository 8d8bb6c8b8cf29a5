"""Call the command line in this process."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from click.testing import CliRunner, Result

from family_recall.cli import main

FAMILY_RECALL = (sys.executable, "-m", "family_recall")
"""The command in a process of its own."""


def call(
    *args: str | Path, stdin: str | None = None, env: Mapping[str, str] | None = None
) -> Result:
    """Call the command line; return exit code and output."""
    return CliRunner().invoke(
        main, [str(arg) for arg in args], input=stdin, prog_name="family-recall", env=env
    )


def done(*args: str | Path, stdin: str | None = None, env: Mapping[str, str] | None = None) -> str:
    """Call the command line, expect success, and return what it printed."""
    result = call(*args, stdin=stdin, env=env)
    assert result.exit_code == 0, (args, result.output, result.exception)
    return result.stdout
