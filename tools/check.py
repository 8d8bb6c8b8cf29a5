"""Check everything: format, lint, types, layers, tests. Stops at the first failure.

Examples:
  python tools/check.py
  python tools/check.py --fix
  python tools/check.py --only lint --only types
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LAYERS = "import sys; from importlinter.cli import lint_imports_command; sys.exit({call})"


@dataclass(frozen=True, slots=True)
class Check:
    """One check: arguments of the Python interpreter, and what to run first to fix things."""

    name: str
    arguments: tuple[str, ...]
    fix: tuple[str, ...] = ()


CHECKS = (
    Check("format", ("-m", "ruff", "format", "--check", "."), ("-m", "ruff", "format", ".")),
    Check("lint", ("-m", "ruff", "check", "."), ("-m", "ruff", "check", "--fix", ".")),
    Check("types", ("-m", "mypy")),
    # import-linter has no `python -m` of its own.
    Check("layers", ("-c", _LAYERS.format(call="lint_imports_command()"))),
    # A process for each processor, each with files of its own while there are any, so that what a
    # file sets up is set up once; what is skipped is printed, with the reason.
    Check(
        "tests", ("-m", "pytest", "-rs", "-n", "auto", "--maxprocesses", "8", "--dist", "worksteal")
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks; 0 when all pass, else the status of the first that does not."""
    options = _parser().parse_args(arguments)
    chosen = [check for check in CHECKS if not options.only or check.name in options.only]
    for check in chosen:
        fix = check.fix if options.fix else ()
        for run in filter(None, (fix, check.arguments)):
            print(f"{check.name}: {_shown(run)}", flush=True)
            start = time.monotonic()
            status = subprocess.run([sys.executable, *run], cwd=ROOT, check=False).returncode
            if run is check.arguments and status:
                print(f"\n{check.name} failed. Repeat with:\n  {_shown(run)}", file=sys.stderr)
                return status
        print(f"{check.name}: passed in {time.monotonic() - start:.1f} s\n", flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    description, _, examples = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [check.name for check in CHECKS]
    parser.add_argument(
        "--only",
        action="append",
        choices=names,
        metavar="NAME",
        help=f"run this check only, may be repeated: {', '.join(names)} (default: all)",
    )
    parser.add_argument(
        "--fix", action="store_true", help="format, and apply the linter's fixes, first"
    )
    return parser


def _shown(arguments: Sequence[str]) -> str:
    return shlex.join([sys.executable, *arguments])


if __name__ == "__main__":
    sys.exit(main())
