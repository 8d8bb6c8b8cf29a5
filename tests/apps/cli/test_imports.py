"""``family-recall import``: files of both schemas and tables, and what a bad line costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.apps.cli.runner import ask, call, done, write_lines


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
        (256, {"text": "x", "mood": 1}, ":3: a memory has no field 'mood'"),
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
        (b"text\nHello, you\n", "t.csv:2: expected 1 cells, got 2; quote what holds a ','"),
        (b"text,importance\nx,much\n", "t.csv:2: expected importance to be a number, got 'much'"),
        (b"text\ncaf\xe9\n", "t.csv:2: expected UTF-8 or UTF-16, got byte 0xe9"),
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


CHAT = "30/10/2025, 18:05 - Mum: Who has the key?\n30/10/2025, 18:06 - Bob: I do\n"


def chat_of(folder: Path, text: str = CHAT) -> Path:
    """Write a chat of Mum and Bob."""
    path = folder / "WhatsApp Chat with Us.txt"
    path.write_text(text, "utf-8")
    return path


def test_a_chat_is_imported_as_a_source(db: Path, tmp_path: Path) -> None:
    """With people by their names or as is said; again, nothing changes; the file is named."""
    path = chat_of(tmp_path)

    first = done("import", "--db", db, path, "--author", "Mum=alice")

    assert first == (
        f"{path}: whatsapp, as 'whatsapp:Us' in shared:household\n"
        "  2 created\n"
        "  by: Mum (alice), Bob (bob)\n"
    )
    again = json.loads(done("import", "--db", db, path, "--author", "Mum=alice", "--json"))
    assert {name: again[name] for name in ("created", "updated", "unchanged", "withdrawn")} == {
        "created": 0, "updated": 0, "unchanged": 2, "withdrawn": 0,
    }  # fmt: skip
    assert again["files"][0]["authors"] == {"Mum": "alice", "Bob": "bob"}
    (best, *_) = ask(db, "Who has the key?", "--source", "whatsapp:Us")["results"]
    assert best["author"] in {"alice", "bob"}


def test_a_dry_run_shows_what_would_be(db: Path, tmp_path: Path) -> None:
    """Counts, what is left out and why, who is nobody, the first memories; nothing is stored."""
    path = chat_of(tmp_path, CHAT + "30/10/2025, 18:07 - Mum: <Media omitted>\n")
    lines = write_lines(tmp_path / "m.jsonl", {"text": "one", "space": "shared:moon"})

    shown = done("import", "--db", db, path, "--dry-run")

    assert "  nothing was stored; this would be: 2 created\n" in shown
    assert f"  left out: media without a text (1, first at {path}:3)\n" in shown
    assert 'Mum; if one is a person of the household: --author "Mum=ID"\n' in shown
    assert "  2025-10-30 18:05 Mum: Who has the key?\n" in shown
    both = done("import", "--db", db, lines, path, "--dry-run", "--add-spaces")
    assert both.startswith("would read 1 memory; nothing was stored\n  one\n")
    assert json.loads(done("stats", "--db", db, "--json"))["memories"] == 1
    assert "shared:moon" not in done("spaces", "--db", db)
    refused = call("import", "--db", db, lines, "--dry-run")
    assert "m.jsonl:1: expected a space of this household" in refused.stderr


def test_what_is_not_read_is_listed_and_the_exit_code_says_so(db: Path, tmp_path: Path) -> None:
    """The rest is stored; ``--strict`` stores nothing of the file."""
    (tmp_path / "n").mkdir()
    (tmp_path / "n" / "a.md").write_text("---\ntitle: Dinner: Tom\n---\nTom cooks", "utf-8")
    (tmp_path / "n" / "b.md").write_text("The tap drips", "utf-8")

    refused = call("import", "--db", db, tmp_path / "n", "--strict")
    result = call("import", "--db", db, tmp_path / "n")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "a.md:2: expected YAML between the lines ---, got: mapping values" in refused.stderr
    assert result.exit_code == 1
    assert "  2 created\n  not read: front matter" in result.stdout
    assert "(1, first at" in result.stdout
    assert "a.md:2: expected YAML" in result.stdout


def test_files_of_every_kind_are_imported_together(db: Path, tmp_path: Path) -> None:
    """Each as its own source; JSON Lines beside them; one that fails leaves the others."""
    lines = write_lines(tmp_path / "m.jsonl", {"text": "one"})
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "n.md").write_text("The tap drips", "utf-8")
    broken = tmp_path / "t.csv"
    broken.write_text("a,date\nx,soon\n", "utf-8")

    counts = json.loads(done("import", "--db", db, chat_of(tmp_path), notes, lines, "--json"))
    (notes / "m.md").write_text("The roof leaks", "utf-8")
    refused = call("import", "--db", db, notes, broken, "--strict")
    result = call("import", "--db", db, broken, notes)

    assert counts["created"] == 4
    stats = json.loads(done("stats", "--db", db, "--json"))
    assert stats["vectors"][stats["model"]] == stats["memories"]  # of those before it, too
    assert [file["source"] for file in counts["files"]] == ["whatsapp:Us", "markdown:notes"]
    assert refused.exit_code == result.exit_code == 1
    assert "t.csv:1: no column is the text" in refused.stderr
    assert "1 file before it stored" in refused.stderr
    assert "  2 unchanged\nrefused: " in result.stdout
    assert "t.csv:1: no column is the text" in result.stdout
    assert done("sources", "--db", db) == "markdown:notes: 2 memories\nwhatsapp:Us: 2 memories\n"


def test_columns_and_formats_are_what_is_said(db: Path, tmp_path: Path) -> None:
    """Also of a table that names a memory's fields: with --columns or --source it is a source."""
    table = tmp_path / "t.txt"
    table.write_text("What,When\nThe cake,3/4/2025\n", "utf-8")
    own = tmp_path / "own.csv"
    own.write_text("text\nThe key\n", "utf-8")
    options = ("--format", "csv", "--columns", "text=What, occurred_at=When", "--source", "cakes")

    ambiguous = call("import", "--db", db, table, *options)
    done("import", "--db", db, table, *options, "--month-first")
    done("import", "--db", db, own, "--source", "keys")

    assert "may be day/month or month/day" in ambiguous.stderr
    assert "--day-first or --month-first" in ambiguous.stderr
    (cake,) = ask(db, "cake", "--source", "cakes")["results"]
    assert cake["occurred_at"].startswith("2025-03-04")
    assert "keys: 1 memory" in done("sources", "--db", db)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--source", "x"), "--source names one file's source; import the files one by one"),
        ((), "several files are called 'WhatsApp Chat with Us.txt', and would be one source"),
        (("--author", "Mum"), "expected NAME=ID, such as Mum=sarah, got 'Mum'"),
        (("--columns", "author=a,text=b,author=c"), "expected author once, got 'a' and 'c'"),
        (("--author", "Mum=a", "--author", "Mum=b"), "expected one person for Mum, got 'a' and"),
        (("--columns", "Note"), "expected FIELD=HEADER, such as text=Note, got 'Note'"),
        (("--format", "pdf"), "'pdf' is not one of"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(
    db: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    """Before anything is stored."""
    path = chat_of(tmp_path)

    result = call("import", "--db", db, path, path, *options)

    assert result.exit_code
    assert message in " ".join(result.stderr.split())
    assert done("sources", "--db", db) == "no memory has a source\n"


def test_a_file_goes_to_a_space_that_is_there(db: Path, tmp_path: Path) -> None:
    """Another is added only when told to."""
    into = ("import", "--db", db, chat_of(tmp_path), "--space", "shared:moon")

    assert "expected a space of this household, got 'shared:moon'" in call(*into).stderr
    assert "in shared:moon" in call(*into, "--add-spaces").stdout


def test_a_file_of_two_people_is_each_ones_own(db: Path, tmp_path: Path) -> None:
    """Neither replaces the other's; each lists and withdraws their own, and others say which."""
    for person in ("alice", "tom"):
        done("people", "add", person, "--db", db)
        into = ("--space", f"private:{person}", "--person", person)
        assert "2 created" in done("import", "--db", db, chat_of(tmp_path), *into)
    at = ("whatsapp:Us", "--db", db)

    assert done("sources", "--db", db, "--person", "tom") == "whatsapp:Us: 2 memories\n"
    assert "whatsapp:Us in private:tom: 2 memories\n" in done("sources", "--db", db)
    unclear = call("sources", "withdraw", *at)
    assert "is in private:alice and private:tom; choose one with --space" in unclear.stderr
    assert done("sources", "withdraw", *at, "--person", "tom") == "withdrawn: 2 memories\n"
    assert "2 memories forgotten" in done(
        "sources", "forget", *at, "--space", "private:tom", "--yes"
    )
    assert done("sources", "--db", db) == "whatsapp:Us: 2 memories\n"
    for space in ("private:alice", "private:nobody"):
        into = ("--space", space, "--person", "tom")
        refused = call("import", "--db", db, chat_of(tmp_path), *into).stderr
        assert f"expected a space of this household, got {space!r}" in refused


def test_most_of_a_source_is_withdrawn_only_when_told_to(db: Path, tmp_path: Path) -> None:
    """Another file of the same name would withdraw the first."""
    text = "".join(f"30/10/2025, 18:{n} - Mum: Message {n}\n" for n in range(10, 30))
    done("import", "--db", db, chat_of(tmp_path, text))
    path = chat_of(tmp_path, "29/10/2025, 18:00 - Mum: Hi\n")

    refused = call("import", "--db", db, path)

    assert "20 of the 20 memories of 'whatsapp:Us' are not in this file" in refused.stderr
    assert "  1 created, 20 withdrawn\n" in done("import", "--db", db, path, "--withdraw-most")


def test_a_source_is_withdrawn_and_forgotten(db: Path, tmp_path: Path) -> None:
    """Withdrawing can be undone by importing again; forgetting leaves no byte, and asks first."""
    path = chat_of(tmp_path)
    done("import", "--db", db, path)

    assert done("sources", "withdraw", "whatsapp:Us", "--db", db) == "withdrawn: 2 memories\n"
    assert done("sources", "--db", db) == "whatsapp:Us: 0 memories, 2 withdrawn\n"
    done("import", "--db", db, path)
    asked = call("sources", "forget", "whatsapp:Us", "--db", db)
    assert "to forget 2 memories of 'whatsapp:Us', with their history, add --yes" in asked.stderr
    assert "2 memories forgotten" in done("sources", "forget", "whatsapp:Us", "--yes", "--db", db)
    for command in ("withdraw", "forget"):
        unknown = call("sources", command, "whatsapp:Us", "--db", db)
        assert "a source 'whatsapp:Us'; there are none" in unknown.stderr
    assert b"Who has the key" not in db.read_bytes()
