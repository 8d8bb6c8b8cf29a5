"""``doctor``, ``backup``, ``restore``, ``export``, ``import``, ``migrate`` and ``rekey``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from family_recall.apps.cli import main


@pytest.fixture(autouse=True)
def _without_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAMILY_RECALL_MODELS", str(tmp_path / "none"))


def call(*arguments: str | Path) -> tuple[int, str]:
    """Call the command line; gives the exit code and all it said."""
    result = CliRunner().invoke(main, [str(one) for one in arguments], prog_name="family-recall")
    return result.exit_code, result.output


def done(*arguments: str | Path) -> str:
    """Call it and expect success."""
    code, said = call(*arguments)
    assert code == 0, said
    return said


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Return a household that remembers one thing."""
    path = tmp_path / "family.db"
    done("init", "--db", path, "--person", "alice")
    done("add", "--db", path, "The spare key is under the blue pot", "--id", "key")
    return path


def test_a_household_goes_out_and_comes_back(db: Path, tmp_path: Path) -> None:
    """Export, import into a file that is made, export: the same bytes; mixing is refused."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert "1 memory" in done("export", "--db", db, first)
    assert "1 memory" in done("import", "--db", tmp_path / "new.db", first)
    done("export", "--db", tmp_path / "new.db", second)

    assert first.read_bytes() == second.read_bytes()
    assert "where is" not in first.read_text(encoding="utf-8")
    code, said = call("import", "--db", db, first)
    assert (code, "has something in it" in said) == (1, True)
    assert call("export", "--db", db, first)[0] == 1
    done("export", "--db", db, first, "--force")


def test_a_backup_is_made_and_put_back(db: Path, tmp_path: Path) -> None:
    """The file from before the restore is kept, under a name that is said."""
    copy = tmp_path / "copy.db"
    made = json.loads(done("backup", "--db", db, copy, "--json"))
    assert (made["memories"], made["path"]) == (1, str(copy))
    assert call("backup", "--db", db, copy)[0] == 1
    done("add", "--db", db, "a later note")

    restored = json.loads(done("restore", "--db", db, copy, "--json"))
    assert restored["memories"] == 1
    assert Path(restored["kept"]).exists()
    assert json.loads(done("stats", "--db", db, "--json"))["memories"] == 1


def test_migrating_keeps_a_copy_where_wanted(db: Path) -> None:
    """The file is brought up to date, and the copy is one of before."""
    kept = db.with_name("kept.db")
    done("add", "--db", db, "a note")

    assert done("migrate", "--db", db, "--backup", kept) == "schema 14 already\n"
    assert json.loads(done("stats", "--db", kept, "--json"))["memories"] == 2


def test_the_doctor_says_what_is_wrong_and_the_exit_code_too(db: Path) -> None:
    """Without models something is wrong: a line each, how to fix it below, and exit code 1."""
    code, said = call("doctor", "--db", db)
    assert code == 1
    assert "WRONG models:" in said
    assert "fix: family-recall models verify" in said
    assert "ok pages:" in said
    report = json.loads(call("doctor", "--db", db, "--json")[1])
    assert {one["name"] for one in report["checks"] if not one["ok"]} == {"models"}


def test_rekey_wants_one_thing(db: Path) -> None:
    """A new key or none: neither and both are refused."""
    assert call("rekey", "--db", db)[0] == 2
    assert call("rekey", "--db", db, "--no-key", "--new-key-file", db)[0] == 2
    code, said = call("--key-file", db.with_name("no key"), "stats", "--db", db)
    assert (code, "cannot be read" in said) == (1, True)
