"""tools/check.py: everything, in one command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "check.py"


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the tool from another folder than the repository's."""
    return subprocess.run(
        [sys.executable, str(TOOL), *arguments],
        capture_output=True,
        check=False,
        cwd=ROOT.parent,
        text=True,
    )


def test_help_names_every_check_in_order_and_ends_with_lines_to_copy() -> None:
    """Format, lint, types, layers and tests are all there is, and --help says how to repeat one."""
    shown = check("--help").stdout

    assert "format, lint, types, layers, tests" in shown
    assert shown.rstrip().endswith("python tools/check.py --only lint --only types")


def test_an_unknown_check_is_refused() -> None:
    """A misspelt name checks nothing, and says which names there are."""
    refused = check("--only", "tset")

    assert refused.returncode == 2
    assert "tset" in refused.stderr


def test_one_check_alone_runs_from_any_folder() -> None:
    """The layers are looked at in the repository's root, wherever the tool is started."""
    done = check("--only", "layers")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "layers: passed" in done.stdout
    assert "format:" not in done.stdout
