"""Run the tests of encryption in an environment that has the extra `crypto`, or measure its cost.

The package's own environment has plain apsw, and both packages own the module `apsw`, so a second
environment is made under build/, or used again. Exit status: 0 when the tests pass, 3 when the
environment cannot be made and nothing was run, otherwise that of the tests. --cost prints how much
longer an encrypted household takes to be filled and asked, in processor time and in one run.

Examples:
  python -m tools.check_crypto
  python -m tools.check_crypto --venv /tmp/crypto --cost
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from tools.common import ROOT, parser_of

TESTS = (
    "tests/stores/file/test_encryption.py",
    "tests/stores/file/test_rekeying.py",
    "tests/stores/file/test_copies.py",
    "tests/promises/test_killed.py",
)
NOT_RUN = 3
ROUNDS, MEMORIES, QUESTIONS = 8, 300, 60


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the environment and run the tests in it."""
    options = _parser().parse_args(arguments)
    if options.measure:
        _measure()
        return 0
    python = options.venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    ready = options.venv / "ready"
    if not ready.exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", str(options.venv)], check=True)
            pip = [str(python), "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, *requirements()], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"NOT RUN: the tests of encryption; no environment for them: {error}")
            return NOT_RUN
        ready.touch()
    command = [str(python), "-m", "pytest", "-rs", "-p", "no:cacheprovider", *TESTS]
    if options.cost:
        command = [str(python), "-m", "tools.check_crypto", "--measure"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def requirements() -> list[str]:
    """Return what the environment needs: the package's dependencies without models, and pytest."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    replaced = ("apsw", "onnxruntime")
    return [
        *(line for line in project["dependencies"] if not line.startswith(replaced)),
        *extras["crypto"],
        *(line for line in extras["dev"] if line.startswith(("pytest", "hypothesis"))),
    ]


def _measure() -> None:
    """Fill and ask a plain and an encrypted household alternately; print the ratios of medians."""
    from family_recall import RecallContext  # noqa: PLC0415 -- see above
    from tools.torture.household import add_family, note, open_home  # noqa: PLC0415 -- only in that environment

    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(-1, ROUNDS):  # the first warms up
            kinds = (("plain", None), ("encrypted", bytes(range(32))))
            for name, key in kinds if turn % 2 else reversed(kinds):
                started = time.process_time()
                with open_home(Path(folder) / f"{name}-{turn}.db", key=key) as home:
                    add_family(home)
                    home.remember_many([note(f"n{n}", 0, turn) for n in range(MEMORIES)])
                    filled = time.process_time()
                    for n in range(QUESTIONS):
                        home.recall(note(f"n{n}", 0, turn).text, RecallContext())
                    answered = time.process_time()
                if turn >= 0:
                    times.setdefault(f"ingest {name}", []).append(filled - started)
                    times.setdefault(f"recall {name}", []).append(answered - filled)
    for what in ("ingest", "recall"):
        plain, encrypted = (
            statistics.median(times[f"{what} {name}"]) for name in ("plain", "encrypted")
        )
        print(f"{what}: encrypted / plain = {encrypted / plain:.2f} (processor time, medians)")


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--venv",
        type=Path,
        default=ROOT / "build" / "crypto",
        metavar="DIR",
        help="the environment, made if missing (default: build/crypto)",
    )
    parser.add_argument("--cost", action="store_true", help="measure instead of testing")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
