"""tools/check_crypto.py: the tests of encryption, in an environment of their own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.check_crypto import NOT_RUN, TESTS, main, requirements
from tools.common import ROOT


def test_its_tests_are_there_and_need_what_is_installed() -> None:
    """The files it runs exist; of the two packages that own apsw it installs the encrypting one."""
    assert all((ROOT / name).is_file() for name in TESTS)
    installed = requirements()
    assert [line for line in installed if line.startswith("apsw")] == ["apsw-sqlite3mc>=3.50"]
    assert any(line.startswith("pytest>") for line in installed)
    assert not any(line.startswith("onnxruntime") for line in installed)


def test_what_was_not_run_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the environment cannot be made, the status is one of its own and says so."""

    def fail(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", fail)

    assert main(["--venv", str(tmp_path / "none")]) == NOT_RUN
    assert capsys.readouterr().out.startswith("NOT RUN: the tests of encryption")
