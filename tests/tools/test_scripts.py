"""The scripts of tools/: each is in the table of its README, and explains itself."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
TABLE = re.findall(
    r"^\| `python -m ([\w.]+)` \|", (ROOT / "tools/README.md").read_text("utf-8"), re.MULTILINE
)


def test_the_readme_lists_every_script() -> None:
    """Every file that can be started is in the table, except the adapters of peers.run."""
    scripts = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "tools").rglob("*.py")
        if '__name__ == "__main__"' in path.read_text("utf-8")
    }
    adapters = {name for name in scripts if ".peers.peer_" in name}

    assert scripts - adapters - {"tools.check"} == set(TABLE)


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_every_script_explains_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Started with --help, each prints how it is called, with an example to copy."""
    silent = []
    for name in TABLE:
        monkeypatch.setattr(sys, "argv", [name, "--help"])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(name, run_name="__main__")
        shown = capsys.readouterr().out
        if ended.value.code or f"python -m {name}" not in shown:
            silent.append(name)

    assert silent == []
