"""The time grammar works without the rest of the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "family_recall" / "english" / "times"
PROGRAM = """
import datetime, importlib.util, sys
file, folder = sys.argv[1:]
spec = importlib.util.spec_from_file_location("grammar", file, submodule_search_locations=[folder])
grammar = importlib.util.module_from_spec(spec)
sys.modules["grammar"] = grammar
spec.loader.exec_module(grammar)
now = datetime.datetime(2026, 6, 17, tzinfo=datetime.UTC)
print(grammar.find_timespan("What did we do last week?", now=now).start.date())
print(*(name for name in sys.modules if name.startswith("family_recall")))
"""


def test_a_copy_of_the_folder_runs_alone() -> None:
    """Loaded from its folder under another name, it answers and imports nothing of ours."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(FOLDER / "__init__.py"), str(FOLDER)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip

    assert done.stdout.splitlines() == ["2026-06-08", ""]
