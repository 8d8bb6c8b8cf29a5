"""Pages of the documentation that need Ray: what they show is what happens."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import ray

from tools.common import ROOT
from tools.docs import run_examples

GUIDES = ROOT / "docs" / "how-to"


@pytest.mark.parametrize("page", ["run-a-fleet.md"])
def test_a_page_prints_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command, those with Ray too, prints what stands below it."""
    command, folder = tmp_path / "bin" / "family-recall", tmp_path / "page"
    command.parent.mkdir()
    folder.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m family_recall "$@"\n')
    command.chmod(0o700)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    try:
        ran = run_examples.run((GUIDES / page).read_text("utf-8"), folder, here={"needs Ray"})
    finally:
        ray.shutdown()

    for result in ran:
        assert result.as_shown, f"{result.block.source}printed\n{result.printed}"
    assert any(result.block.why == "needs Ray" for result in ran)
