"""Environments of their own, for checks with a program that the development environment lacks."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.common import ROOT

NOT_RUN = 3
"""Exit status of a check whose environment cannot be made."""


def is_ready(folder: Path) -> bool:
    """Return whether there is a finished environment."""
    return (folder / "ready").exists()


def environment(folder: Path, base: str | Path | None, installs: Iterable[Sequence[str]]) -> Path:
    """Return the Python of an environment; made if missing, or left unfinished before.

    Args:
        folder: Where it lies, or is to lie.
        base: The Python to make it with; may be None if it is there.
        installs: Arguments of ``uv pip install``, one call after another; not read if it is there.

    Raises:
        OSError, subprocess.CalledProcessError: If it cannot be made.
    """
    folder = folder.absolute()
    python = folder / "bin" / "python"
    if not is_ready(folder):
        uv = [sys.executable, "-m", "uv", "--quiet"]
        subprocess.run(
            [*uv, "venv", "--clear", "--seed", "--python", str(base), str(folder)], check=True
        )
        for arguments in installs:
            into = [*uv, "pip", "install", "--python", str(python)]
            subprocess.run([*into, *arguments], check=True, cwd=ROOT)
        (folder / "ready").touch()
    return python


def library_requirements() -> list[str]:
    """Return what family_recall needs with its models: the core, and its extra ``cpu``."""
    core = tomllib.loads((ROOT / "packaging" / "core" / "pyproject.toml").read_text("utf-8"))
    return [*core["project"]["dependencies"], *core["project"]["optional-dependencies"]["cpu"]]


def first_failure(python: Path, checks: Iterable[Sequence[str]], **variables: str) -> int:
    """Run checks, arguments of a Python, from the repository's root; the first that fails ends it.

    They import family_recall from there. Variables are added to their environment.

    Returns:
        Its status; 0 when all pass.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    for check in checks:
        command = [str(python), *check]
        status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        if status:
            return status
    return 0
