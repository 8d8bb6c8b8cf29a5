"""tools/check_integrations.py: the tests of the integrations, in environments of their own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.check_integrations import TESTED_WITH, checks, main, requirements
from tools.common import ROOT
from tools.environments import NOT_RUN


def test_it_checks_every_integration() -> None:
    """Each is installed, typed and tested, and what that names is there."""
    assert set(TESTED_WITH) == {file.parent.name for file in ROOT.glob("integrations/*/*.toml")}
    for name in TESTED_WITH:
        install, types, tests = checks(name)
        assert (install[2], types[1], tests[1]) == ("install", "mypy", "pytest")
        named = [
            part for check in (install, types, tests) for part in check if "integration" in part
        ]
        assert len(named) == 7
        assert all((ROOT / path).exists() for path in named)


def test_it_installs_the_framework_and_what_the_library_needs() -> None:
    """The integration's own requirements, and the core with its models."""
    assert any(line.startswith("wyoming") for line in requirements("wyoming"))
    ovos = requirements("ovos")
    for package in ("ovos-plugin-manager", "ovos-persona==", "apsw", "onnxruntime>="):
        assert any(line.startswith(package) for line in ovos), package


def test_what_was_not_run_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line for each environment that cannot be made, and a status of its own."""

    def fail(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", fail)
    assert main(["--venvs", str(tmp_path)]) == NOT_RUN
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(";")[0] for line in lines] == [
        f"NOT RUN: the tests of integrations/{name}" for name in TESTED_WITH
    ]


def test_what_can_be_run_is_run_beside_what_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a failure is the status, not that something was not run."""
    (tmp_path / "ovos").mkdir()
    (tmp_path / "ovos" / "ready").touch()
    statuses = iter((0, 0, 1))

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        if "venv" in command:
            raise subprocess.CalledProcessError(1, command)
        return subprocess.CompletedProcess(command, next(statuses))

    monkeypatch.setattr(subprocess, "run", run)
    assert main(["--venvs", str(tmp_path)]) == 1
