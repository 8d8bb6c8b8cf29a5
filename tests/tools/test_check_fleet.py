"""tools/check_fleet.py: the tests with Ray, in an environment of their own."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

from tools.check_fleet import CHECKS, main, requirements
from tools.common import ROOT
from tools.environments import NOT_RUN

CI = (ROOT / ".ci" / "run").read_text("utf-8")


def test_it_installs_the_extra_and_what_the_library_needs() -> None:
    """Ray with its parts, and the core with its models; what is named is there, and CI runs it."""
    needed = requirements()
    for package in ("ray[data,serve]", "pyarrow", "fsspec", "apsw", "onnxruntime>=", "moto"):
        assert any(line.startswith(package) for line in needed), package
    named = [part for check in CHECKS for part in check if part.startswith("tests_fleet")]
    assert len(named) == 4
    assert all((ROOT / path).exists() for path in named)
    assert "check_fleet" in CI


def test_neither_the_base_nor_the_tests_install_ray() -> None:
    """The base install has what it had; Ray and Parquet are in the extra alone."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    heavy = ("ray", "pyarrow")
    for name, listed in {"base": project["dependencies"], **extras}.items():
        assert (name == "fleet") == any(line.startswith(heavy) for line in listed), name
    assert not any(line.startswith("fsspec") for line in project["dependencies"])


def test_what_was_not_run_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the environment cannot be made, a line and a status of its own."""

    def fail(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", fail)
    assert main(["--venv", str(tmp_path / "none")]) == NOT_RUN
    assert capsys.readouterr().out.startswith("NOT RUN: the tests of the fleet;")


def test_a_failure_is_the_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Types are checked first, then the tests run."""
    (tmp_path / "ready").touch()
    statuses = iter((0, 5))

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, next(statuses))

    monkeypatch.setattr(subprocess, "run", run)
    assert main(["--venv", str(tmp_path)]) == 5
