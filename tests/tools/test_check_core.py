"""tools/check_core.py, and that the core is the same code with fewer requirements."""

from __future__ import annotations

import subprocess
import tomllib
from typing import Any

import pytest

from tools import check_core
from tools.common import ROOT
from tools.environments import NOT_RUN


def project(path: str) -> dict[str, Any]:
    """Read the project table of a pyproject.toml."""
    read: dict[str, Any] = tomllib.loads((ROOT / path).read_text("utf-8"))["project"]
    return read


def test_the_core_asks_for_nothing_that_the_whole_does_not() -> None:
    """Its requirements are the whole's, and so is its extra; its version is read from there."""
    whole, core = project("pyproject.toml"), project("packaging/core/pyproject.toml")
    needed = {line.split(";")[0] for line in whole["dependencies"]}
    lacking = {line for line in needed if line.startswith(("onnxruntime", "sqlite-vec"))}

    assert {line.split(";")[0] for line in core["dependencies"]} == needed - lacking
    assert set(core["optional-dependencies"]["cpu"]) == {
        line for line in lacking if "gpu" not in line
    }
    assert core["scripts"] == whole["scripts"]
    assert core["dynamic"] == ["version"]


def test_what_was_not_run_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a package index the status is one of its own, and says so."""

    def fail(*arguments: object, **_: object) -> None:
        raise subprocess.CalledProcessError(1, str(arguments), stderr="no network")

    monkeypatch.setattr(subprocess, "run", fail)

    assert check_core.main([]) == NOT_RUN
    assert capsys.readouterr().out.startswith("NOT RUN: the core")
