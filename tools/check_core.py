"""Build family-recall-core, resolve it for each platform, and run the demo with nothing else.

The core (packaging/core) is the same code with the dependencies that have wheels for glibc and for
musl, on x86-64 and on aarch64, as Home Assistant OS needs. For each platform every wheel is
downloaded and the sizes are printed; then the demo runs in a new environment that has no ONNX
Runtime and no sqlite-vec. Exit status: 3 when the package index cannot be reached, 1 when a
platform lacks a wheel or the demo fails.

Examples:
  python -m tools.check_core
  python -m tools.check_core --python 3.14 --whole
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.common import ROOT, parser_of, say
from tools.environments import NOT_RUN

PLATFORMS = {
    f"{libc} {machine}": [f"{tag}_{machine}" for tag in tags]
    for machine in ("x86_64", "aarch64")
    for libc, tags in (
        ("musl", ("musllinux_1_1", "musllinux_1_2")),
        ("glibc", ("manylinux2014", "manylinux_2_17", "manylinux_2_27", "manylinux_2_28")),
    )
}
"""What pip takes for each kind of system, `any` included."""

PYTHON = "3.13"  # of Home Assistant
DEMO_ENDS = "── 9. "


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, resolve and run."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            pip("download", "--no-deps", "--dest", folder / "reached", "hatchling")
        except subprocess.CalledProcessError as error:
            print(f"NOT RUN: the core; the package index cannot be reached: {error.stderr[-200:]}")
            return NOT_RUN
        pip("wheel", "--no-deps", "--wheel-dir", folder / "core", ROOT / "packaging" / "core")
        (wheel,) = (folder / "core").glob("*.whl")
        lacking = [
            each for each in PLATFORMS if not resolved(wheel, each, options.python, folder / each)
        ]
        if options.whole:
            pip("download", "--only-binary=:all:", "--dest", folder / "whole", ROOT)
            print(f"family-recall, here: {megabytes(folder / 'whole'):.0f} MB of wheels")
        ran = runs_demo(wheel, folder / "env")
    return int(bool(lacking) or not ran)


def resolved(wheel: Path, platform: str, python: str, folder: Path) -> bool:
    """Download all that the core needs on a platform and print the size; False if that fails."""
    tags = [f"--platform={tag}" for tag in PLATFORMS[platform]]
    for extra in ("", "[cpu]"):
        into = folder / (extra or "core")
        try:
            pip("download", "--only-binary=:all:", f"--python-version={python}", *tags,
                f"--dest={into}", f"{wheel}{extra}")  # fmt: skip
        except subprocess.CalledProcessError as error:
            found = error.stderr.strip().splitlines()[-1]
            print(f"{platform}, Python {python}: family-recall-core{extra}: {found}")
            if not extra:
                return False
        else:
            size = megabytes(into)
            print(
                f"{platform}, Python {python}: family-recall-core{extra}: {size:.0f} MB of wheels"
            )
    return True


def runs_demo(wheel: Path, environment: Path) -> bool:
    """Install the core alone, and run the demo and the doctor there."""
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pip("install", wheel, python=python)
    for arguments in (("-m", "family_recall.demo"), ("-m", "family_recall", "doctor")):
        done = subprocess.run(
            [python, *arguments], cwd=environment, capture_output=True, text=True, check=False
        )
        whole = DEMO_ENDS in done.stdout or "doctor" in arguments
        print(f"{' '.join(arguments[1:])}: {'ran' if done.returncode == 0 and whole else 'FAILED'}")
        if done.returncode or not whole:
            print(done.stdout[-2000:], done.stderr[-2000:])
            return False
    return True


def megabytes(folder: Path) -> float:
    """Return the size of a folder's wheels."""
    return sum(file.stat().st_size for file in folder.glob("*.whl")) / 1e6


def pip(*arguments: str | Path, python: str | Path = sys.executable) -> None:
    """Run pip.

    Raises:
        subprocess.CalledProcessError: If it fails.
    """
    say(f"pip {arguments[0]} {Path(arguments[-1]).name}")
    command = [python, "-m", "pip", "--quiet", *arguments]
    subprocess.run(command, check=True, capture_output=True, text=True)


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument("--python", default=PYTHON, help=f"to resolve for (default: {PYTHON})")
    parser.add_argument("--whole", action="store_true", help="the size of family-recall, too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
