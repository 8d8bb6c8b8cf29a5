"""tools/check_home_assistant.py: the tests of the component, in an environment of their own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.check_home_assistant import CHECKS, KIT, main, python_3_13, requirements
from tools.common import ROOT
from tools.environments import NOT_RUN


def test_it_installs_home_assistant_and_what_the_library_needs() -> None:
    """The core, and the one ONNX Runtime of the CPU."""
    installed = requirements(KIT)
    assert installed[0] == f"pytest-homeassistant-custom-component=={KIT}"
    assert [line for line in installed if line.startswith("onnxruntime")] == ["onnxruntime>=1.22"]
    assert any(line.startswith("apsw") for line in installed)
    assert any(line.startswith("tokenizers") for line in installed)


def test_what_it_checks_is_there() -> None:
    """Every path among the arguments exists."""
    named = {part for check in CHECKS for part in check if part.startswith(("tests_", "custom_"))}
    paths = {part.replace(".live", "/live.py") for part in named}
    assert paths >= {"tests_home_assistant", "custom_components"}
    assert all((ROOT / path).exists() for path in paths)


def test_without_python_3_13_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is run, and the status is one of its own."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert main(["--venv", str(tmp_path / "none")]) == NOT_RUN
    assert "no Python 3.13" in capsys.readouterr().out


def test_a_python_3_13_that_does_not_start_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pyenv's stand-in on PATH, which refuses while another version is selected."""
    installed = tmp_path / ".pyenv" / "versions" / "3.13.0" / "bin" / "python3.13"
    for python, status in ((tmp_path / "python3.13", 127), (installed, 0)):
        python.parent.mkdir(parents=True, exist_ok=True)
        python.write_text(f"#!/bin/sh\nexit {status}\n", "utf-8")
        python.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert python_3_13() == installed


def test_what_was_not_run_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the environment cannot be made, the status is one of its own and says so."""

    def fail(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", fail)
    assert main(["--venv", str(tmp_path / "none"), "--python", "python3.13"]) == NOT_RUN
    assert capsys.readouterr().out.startswith("NOT RUN: the tests of the Home Assistant component")


def test_the_first_failure_is_the_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A type error is not hidden by tests that pass."""
    (tmp_path / "ready").touch()
    ran = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(command, 1 if "mypy" in command else 0)

    monkeypatch.setattr(subprocess, "run", run)
    assert main(["--venv", str(tmp_path)]) == 1
    assert len(ran) == 1
