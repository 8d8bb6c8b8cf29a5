"""``family-recall import``: files of both schemas and tables, and what a bad line costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.runner import ask, call, done, write_lines


def test_import_reads_both_schemas_and_tables(db: Path, tmp_path: Path) -> None:
    """Short names, a memory's own names, and CSV with labels arrive alike."""
    short = {"id": "s1", "text": "Bob fixed the gate", "speaker": "bob", "session": "S1"}
    short |= {"occurred_at": "2025-03-01", "space": "private:bob"}
    own = {"doc_id": "o1", "text": "The gate is green", "space_id": "shared:household"}
    jsonl = write_lines(tmp_path / "m.jsonl", short, own)
    table = tmp_path / "t.csv"
    table.write_text(
        'id,text,speaker,labels,importance,occurred_at\nc1,"Keys: hall, top",ann,keys;hall,0.9,\n',
        encoding="utf-8-sig",
    )

    assert json.loads(done("import", "--db", db, jsonl, table, "--json")) == {
        "created": 3,
        "updated": 0,
        "unchanged": 0,
        "duplicate": 0,
    }
    assert done("import", "--db", db, jsonl, table) == "3 unchanged\n"
    assert ask(db, "spare keys", "--label", "hall")["results"][0]["doc_id"] == "c1"
    (fixed,) = ask(db, "gate", "--person", "bob", "--author", "bob", "--space", "private:bob")[
        "results"
    ]
    assert (fixed["doc_id"], fixed["session_id"]) == ("s1", "S1")


@pytest.mark.parametrize(
    ("batch", "bad", "message"),
    [
        (1, "{oops", ":3: expected one JSON object"),
        (2, "{oops", ":3: expected one JSON object"),
        (256, "{oops", ":3: expected one JSON object"),
        (256, {"id": "x"}, ":3: a memory needs 'text'"),
        (256, {"text": "x", "mood": 1}, ":3: unknown field 'mood'"),
        (256, {"text": "x", "occurred_at": "soon"}, ":3: occurred_at must be an ISO 8601 day"),
        (256, {"text": "x", "importance": 7}, ":3: importance must be in [0, 1]"),
        (256, {"text": "x", "labels": 7}, ":3: "),
        (256, {"text": "x", "space": "shared:moon"}, ":3: expected a space of this household"),
        (256, {"text": "x", "id": "a", "doc_id": "b"}, ":3: 'doc_id' gives 'doc_id' twice"),
    ],
)
def test_a_bad_line_ends_the_import_and_loses_nothing_before_it(
    db: Path, tmp_path: Path, batch: int, bad: object, message: str
) -> None:
    """Two lines before it are kept, whatever the size of a batch; the one after is not read."""
    path = write_lines(
        tmp_path / "m.jsonl", {"text": "one"}, {"text": "two"}, bad, {"text": "four"}
    )

    result = call("import", "--db", db, path, "--batch", str(batch))

    assert result.exit_code == 1
    assert message in result.stderr
    assert "2 memories before it stored" in result.stderr
    assert result.stderr.count("\n") == 1
    assert json.loads(done("stats", "--db", db, "--json"))["memories"] == 3


def test_import_adds_spaces_only_when_told_to(db: Path, tmp_path: Path) -> None:
    """With --add-spaces the moon becomes a shared space nobody sees yet."""
    path = write_lines(tmp_path / "m.jsonl", {"text": "dust", "space": "shared:moon"})

    result = call("import", "--db", db, path, "--add-spaces")

    assert result.stdout == "1 created\n"
    assert result.stderr == "added space shared:moon; family-recall grant lets people in\n"
    assert "shared:moon: seen by nobody yet" in done("spaces", "--db", db)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"words\nx\n", "t.csv:1: no column is the text; say which with --columns text=HEADER"),
        (b"", "t.csv:1: expected a header of different names, 'text' among them, got nothing"),
        (b"text,text\na,b\n", "t.csv:1: expected a header of different names"),
        (b"text\nHello, you\n", "t.csv:2: expected 1 cells, got 2; quote what holds a separator"),
        (b"text,importance\nx,much\n", "t.csv:2: expected importance to be a number, got 'much'"),
        (b"text\ncaf\xe9\n", "t.csv: expected UTF-8"),
    ],
)
def test_a_table_that_cannot_be_read_is_named(
    db: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    """Header, cells, numbers and encoding each have their own message."""
    path = tmp_path / "t.csv"
    path.write_bytes(content)

    result = call("import", "--db", db, path)

    assert result.exit_code == 1
    assert message in result.stderr
