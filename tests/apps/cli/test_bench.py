"""``family-recall bench``: what it says, and that it leaves the household as it is."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.apps.cli.runner import call


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a household of alice and bob that remembers a few things."""
    path = tmp_path_factory.mktemp("household") / "family.db"
    assert call("init", "--db", path, "--person", "alice", "--person", "bob").exit_code == 0
    for text in ("The spare key hangs behind the blue ladder", "Grandma lands on Sunday evening"):
        assert call("add", "--db", path, text, "--author", "alice").exit_code == 0
    return path


def test_it_times_a_copy_and_writes_nothing(db: Path) -> None:
    """Stages, wall and processor time; not a byte of the file changes, and nothing is logged."""
    before = hashlib.sha256(db.read_bytes()).hexdigest()

    said = call("bench", "--db", db, "--person", "alice", "--questions", "4", "--no-rerank")

    assert said.exit_code == 0, said.output
    assert said.stdout.startswith("family.db: 2 memories, 2 of them visible, 4 questions of 60 ms")
    rows = {line.split()[0]: line.split() for line in said.stdout.splitlines() if line.strip()}
    for row in ("recall", "processor", "lexical", "rank", "answer"):
        assert all(float(cell) >= 0.0 for cell in rows[row][2:]), rows[row]
    assert hashlib.sha256(db.read_bytes()).hexdigest() == before
    assert [path.name for path in db.parent.iterdir()] == ["family.db"]
    assert call("audit", "--db", db, "--person", "alice").stdout == "nothing was recalled\n"


def test_questions_of_ones_own_are_asked(db: Path, tmp_path: Path) -> None:
    """One a line, empty lines left out; a file without any is refused."""
    asked, empty = tmp_path / "asked.txt", tmp_path / "empty.txt"
    asked.write_text("Where is the key?\n\nWhen does Grandma land?\n")
    empty.write_text("\n")
    line = ("bench", "--db", db, "--no-rerank", "--json", "--ask")

    assert json.loads(call(*line, asked).stdout)["questions"] == 2
    assert "expected questions, one a line, got none" in call(*line, empty).stderr
    assert "it cannot be read" in call(*line, tmp_path / "missing").stderr


def test_a_household_can_be_invented() -> None:
    """As many memories as wanted, without a file of one's own."""
    line = ("bench", "--invented", "60", "--questions", "9", "--no-rerank", "--json")
    found = json.loads(call(*line).stdout)

    assert (found["memories"], found["visible"], found["questions"]) == (60, 60, 9)
    assert found["total"]["ms"]["p50"] <= found["total"]["ms"]["p99"]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--db", "nowhere.db"), 1, "no such file; name another, or add --invented"),
        (("--db", "{db}", "--person", "zoe"), 1, "zoe"),
        (("--db", "{db}", "--space", "private:bob", "--person", "alice"), 1, "private:bob"),
        (("--invented", "9", "--ask", "x"), 2, "--ask is for a household of your own"),
        (("--invented", "0"), 2, "0 is not in the range"),
    ],
)
def test_what_cannot_be_timed_is_refused(
    db: Path, args: tuple[str, ...], code: int, message: str
) -> None:
    """In one line, before anything is measured."""
    result = call("bench", *(arg.format(db=db) for arg in args))

    assert (result.exit_code, message in result.stderr) == (code, True), result.stderr
    assert result.stdout == ""
