"""Without the extra ``eval`` the commands that measure name it, and nothing else changes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from family_recall.apps.cli import main
from family_recall.apps.evaluation import check_extra, evaluate


@pytest.mark.parametrize("name", ["ir_measures", "scipy"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before anything is read or asked, by the library and by both commands."""
    check_extra()
    monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(ImportError, match=rf"{name} is not installed.*family-recall\[eval\]"):
        evaluate(tmp_path / "not there")
    for command in (["eval", "not-there"], ["compare", "a.run", "b.run"]):
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 1
        assert f"{name} is not installed" in result.output
