"""Run the tests of the Wyoming server and of the OVOS plugin with the real frameworks.

Each gets an environment of its own, which is made under build/, or used again; making both takes
about two minutes and 800 MB. There the integration is installed as its users do, its types are
checked, and a real server process or persona is asked. Exit status: 0 when all pass, 3 when an
environment cannot be made, otherwise that of the check that failed.

Examples:
  python -m tools.check_integrations
  python -m tools.check_integrations --only ovos
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from tools.common import ROOT, parser_of
from tools.environments import NOT_RUN, environment, first_failure, library_requirements

TESTED_WITH = {
    "wyoming": (),
    # The persona loads memory plugins from 0.8 on, of which there are only pre-releases yet.
    "ovos": ("ovos-persona==0.9.0a35",),
}
"""What the tests of an integration need beside what it needs itself."""
TOOLS = ("hatchling>=1.27", "mypy>=1.15", "pytest>=8.3", "pytest-timeout>=2.3")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make each environment and run the checks in it; go on where one cannot be made."""
    options = _parser().parse_args(arguments)
    ended = 0
    for name in options.only or TESTED_WITH:
        try:
            python = environment(options.venvs / name, sys.executable, [requirements(name)])
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"NOT RUN: the tests of integrations/{name}; no environment for them: {error}")
            ended = NOT_RUN
            continue
        status = first_failure(python, checks(name))
        if status:
            return status
    return ended


def requirements(name: str) -> list[str]:
    """Return what an integration's environment needs, the library and its models included."""
    file = ROOT / "integrations" / name / "pyproject.toml"
    needed = tomllib.loads(file.read_text("utf-8"))["project"]["dependencies"]
    return [*needed, *TESTED_WITH[name], *library_requirements(), *TOOLS]


def checks(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the checks of an integration, each the arguments of its environment's Python."""
    folder, tests = f"integrations/{name}", f"tests_integrations/test_{name}.py"
    pip = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation")
    return (
        (*pip, "--force-reinstall", f"./{folder}"),
        (
            "-m", "mypy", "--config-file", "tests_integrations/mypy.ini",
            folder, "tests_integrations/conftest.py", tests,
        ),
        (
            "-m", "pytest", "-c", "tests_integrations/pytest.ini", "--rootdir", ".",
            "-p", "no:cacheprovider", tests,
        ),
    )  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--only", action="append", choices=sorted(TESTED_WITH), help="this one (default: both)"
    )
    parser.add_argument(
        "--venvs",
        type=Path,
        default=ROOT / "build" / "integrations",
        metavar="DIR",
        help="where the environments are, made if missing (default: build/integrations)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
