"""The command line of the fleet, without Ray."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from family_recall.apps.fleet import ray_engine
from tests.apps.cli.runner import call, done
from tests.apps.fleet.homes import make_homes, use_tiny_models
from tests.conftest import STORIES

HERE = ("--workers", "0")


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    use_tiny_models(monkeypatch)


def test_a_failure_is_named_and_is_the_exit_code(tmp_path: Path) -> None:
    """Which household failed, and why, in a line each; 1 at the end."""
    homes = make_homes(tmp_path / "homes", 2)
    (homes / "c.db").write_bytes(b"no household at all")

    result = call("fleet", "doctor", homes, "--ledger", tmp_path / "ledger", *HERE)

    assert result.exit_code == 1
    assert "doctor: 2 households of 3" in result.stdout
    assert "FAILED c: NotAStoreError:" in result.stderr


def test_a_finished_run_says_how_to_do_it_again(tmp_path: Path) -> None:
    """The same ledger does nothing more, and says so."""
    homes = make_homes(tmp_path / "homes", 2)
    line = ("fleet", "reembed", homes, "--ledger", tmp_path / "ledger", *HERE)

    assert f"made       {2 * len(STORIES)}" in done(*line)
    assert "all by an earlier run: to do it again, name another --ledger" in done(*line)


def test_a_backup_is_restored_by_its_moment(tmp_path: Path) -> None:
    """The moment that is printed is that of the backup."""
    homes, copies = make_homes(tmp_path / "homes", 1), tmp_path / "copies"
    done("fleet", "backup", homes, copies, "--ledger", tmp_path / "ledger", *HERE)
    (file,) = (copies / "a").iterdir()

    printed = done("fleet", "restore", copies, "a", tmp_path / "a.db")
    record = json.loads(done("fleet", "restore", copies, "a", tmp_path / "a.db", "--json"))

    assert f"{len(STORIES)} memories, as of {file.name[:4]}-" in printed
    assert record["backup_of"].replace("-", "").replace(":", "")[:15] == file.name[:15]
    assert record["kept"].endswith(".before-restore-1")
    refused = call("fleet", "restore", copies, "a", tmp_path / "a.db", "--at", "soon")
    assert refused.exit_code == 2
    assert "expected an ISO 8601 moment" in refused.stderr


def test_without_ray_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, with the command that installs it."""
    monkeypatch.setitem(sys.modules, "ray", None)
    homes = make_homes(tmp_path / "homes", 1)

    result = call("fleet", "doctor", homes, "--ledger", tmp_path / "ledger")

    assert result.exit_code == 1
    assert "pip install 'family-recall[fleet]'" in result.stderr
    assert ray_engine.TRIES == 4
