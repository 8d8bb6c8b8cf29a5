"""Run the tests of the Home Assistant component with the real Home Assistant.

It needs Python 3.13 and an environment of its own, which is made under build/, or used again;
making it takes about two minutes and 1.2 GB. The component's types and its coverage are checked
there too, and a real process is started, asked, restarted and restored from a backup. Exit status:
0 when all pass, 3 when the environment cannot be made and nothing was run, otherwise that of the
check that failed.

Examples:
  python -m tools.check_home_assistant
  python -m tools.check_home_assistant --python ~/.pyenv/versions/3.13.0/bin/python3.13
  python -m tools.check_home_assistant --kit 0.13.316 --venv build/home-assistant-2026.2
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.common import ROOT, parser_of
from tools.environments import (
    NOT_RUN,
    environment,
    first_failure,
    is_ready,
    library_requirements,
)

KIT = "0.13.236"
"""Version of the test kit, which requires the Home Assistant of the same day: 2025.4.4."""
INTEGRATIONS = ("conversation", "frontend", "local_calendar", "mcp")
"""Those that the tests set up, whose requirements Home Assistant installs when it loads them."""
COVERED_PERCENT = 95
CHECKS = (
    (
        "-m", "mypy", "--config-file", "tests_home_assistant/mypy.ini",
        "custom_components", "tests_home_assistant/live.py",
    ),
    (
        "-m", "pytest", "-c", "tests_home_assistant/pytest.ini", "--rootdir", ".",
        "-p", "no:cacheprovider", "-n", "2", "--dist", "worksteal", "--cov", "custom_components",
        "--cov-report", "term-missing", "--cov-fail-under", str(COVERED_PERCENT),
        "tests_home_assistant",
    ),
    ("-m", "tests_home_assistant.live"),
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the environment and run the checks in it."""
    options = _parser().parse_args(arguments)
    base = options.python
    if base is None and not is_ready(options.venv):
        base = python_3_13()
        if base is None:
            return _not_run(
                "no Python 3.13 on PATH or under ~/.pyenv/versions; name one by --python"
            )
    try:
        python = environment(options.venv, base, _installs(options.kit, options.venv))
    except (OSError, subprocess.CalledProcessError) as error:
        return _not_run(f"no environment for them: {error}")
    variables = {"COVERAGE_FILE": str(options.venv / "coverage")}
    if importlib.util.find_spec("mcp") is not None:
        # Home Assistant's client and the library's server need different versions of one package.
        variables["FAMILY_RECALL_PYTHON"] = sys.executable
    return first_failure(python, CHECKS, **variables)


def _installs(kit: str, venv: Path) -> Iterator[list[str]]:
    # Home Assistant asks for the newest patch of Python; it runs on the first.
    patch = ("--python-version", "3.13.99")
    yield [*patch, *requirements(kit)]
    yield [*patch, *integration_requirements(venv)]


def requirements(kit: str) -> list[str]:
    """Return what the environment needs: Home Assistant, and the core with its models."""
    return [f"pytest-homeassistant-custom-component=={kit}", *library_requirements(), "mypy>=1.15"]


def integration_requirements(venv: Path) -> list[str]:
    """Return what the integrations need, as the manifests of the installed version pin it."""
    found: list[str] = []
    for name in INTEGRATIONS:
        pattern = f"lib/*/site-packages/homeassistant/components/{name}/manifest.json"
        (manifest,) = venv.glob(pattern)
        found += json.loads(manifest.read_text("utf-8")).get("requirements", [])
    return found


def python_3_13() -> Path | None:
    """Return a Python 3.13 that starts; pyenv has one on PATH also where it refuses to."""
    installed = sorted((Path.home() / ".pyenv" / "versions").glob("3.13*/bin/python3.13"))
    on_path = shutil.which("python3.13")
    found = ([Path(on_path)] if on_path else []) + installed[::-1]
    return next((python for python in found if _starts(python)), None)


def _starts(python: Path) -> bool:
    asked = subprocess.run([str(python), "--version"], capture_output=True, check=False)
    return asked.returncode == 0


def _not_run(why: str) -> int:
    print(f"NOT RUN: the tests of the Home Assistant component; {why}")
    return NOT_RUN


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--venv",
        type=Path,
        default=ROOT / "build" / "home-assistant",
        metavar="DIR",
        help="the environment, made if missing (default: build/home-assistant)",
    )
    parser.add_argument(
        "--kit",
        default=KIT,
        metavar="VERSION",
        help="of pytest-homeassistant-custom-component; 0.13.316 brings Home Assistant 2026.2 "
        f"(default: {KIT}, Home Assistant 2025.4)",
    )
    parser.add_argument(
        "--python",
        type=Path,
        metavar="FILE",
        help="the Python 3.13 to make it with (default: python3.13, or one of pyenv)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
