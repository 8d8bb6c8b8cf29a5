"""Command line: what each command prints, keeps, and says when it cannot."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from family_recall.cli import main
from family_recall.evaluation import evaluate
from family_recall.types import RecallContext
from tests.cli.every_command import commands
from tests.cli.runner import call, done

SNAPSHOT = Path(__file__).parents[1] / "snapshots" / "cli_help.txt"
UPDATE = "FAMILY_RECALL_UPDATE_SNAPSHOTS"


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a household of alice and bob that remembers one thing."""
    path = tmp_path_factory.mktemp("household") / "family.db"
    done("init", "--db", path, "--person", "alice", "--person", "bob=Robert", "--timezone", "UTC")
    done(
        *("add", "--db", path, "Grandma will land on Sunday at 6:40", "--author", "alice"),
        *("--id", "landing", "--at", "2026-01-08T13:00"),
    )
    return path


@pytest.fixture
def db(household: Path, tmp_path: Path) -> Path:
    """Return a household of one's own to change."""
    return shutil.copytree(household.parent, tmp_path / "home") / household.name


def ask(db: Path, question: str, *more: str) -> dict[str, Any]:
    """Recall on the command line with time enough, and give the JSON."""
    args = ("--person", "alice", "--budget-ms", "2000", "--now", "2026-01-10T18:00", "--json")
    answer = json.loads(done("recall", "--db", db, question, *args, *more))
    assert isinstance(answer, dict)
    return answer


def lines(path: Path, *records: object) -> Path:
    """Write records as JSON Lines; a text goes in as it is."""
    written = (r if isinstance(r, str) else json.dumps(r) for r in records)
    path.write_text("".join(f"{line}\n" for line in written), encoding="utf-8")
    return path


def test_init_gives_everybody_a_space_of_their_own_and_a_shared_one(db: Path) -> None:
    """Two people share the household, whose owner is the first, and own a private space each."""
    people = json.loads(done("people", "--db", db, "--json"))["people"]
    spaces = json.loads(done("spaces", "--db", db, "--json"))["spaces"]

    assert [(one["person_id"], one["name"], one["spaces"]) for one in people] == [
        ("alice", "Alice", {"private:alice": "owner", "shared:household": "owner"}),
        ("bob", "Robert", {"private:bob": "owner", "shared:household": "adult"}),
    ]
    assert {(one["space_id"], one["kind"]) for one in spaces} == {
        ("shared:household", "shared"),
        ("private:alice", "private"),
        ("private:bob", "private"),
    }


def test_a_household_grows_by_people_spaces_and_grants(db: Path) -> None:
    """A sitter with a nickname becomes a guest of the garden until March."""
    done("people", "add", "--db", db, "sitter", "--name", "Sam", "--alias", "Sammy")
    done("spaces", "add", "--db", db, "shared:garden")
    shown = done(
        "grant", "--db", db, "sitter", "shared:garden", "--role", "guest", "--until", "2026-03-01"
    )

    assert "sitter: Sam, also Sammy; in private:sitter (owner), shared:garden (guest" in shown
    assert "shared space shared:garden: seen by sitter (guest until 2026-03-01)" in shown
    assert "private space private:sitter: seen by sitter (owner)" in shown
    assert shown == done("people", "--db", db) + done("spaces", "--db", db)


def test_what_was_added_is_found(db: Path) -> None:
    """The answer carries the memory with its reasons; the text form says the same."""
    answer = ask(db, "when will grandma land?")

    assert answer["results"][0]["doc_id"] == "landing"
    assert answer["results"][0]["reasons"]
    shown = done("recall", "--db", db, "when will grandma land?", "--person", "alice", "--explain")
    assert shown.startswith(answer["status"])
    assert "1. Grandma will land on Sunday at 6:40" in shown
    assert "alice, 2026-01-08, in shared:household" in shown
    assert "  score" in shown
    assert "ran " in shown


def test_a_question_nothing_answers_is_no_failure(db: Path) -> None:
    """The exit code is 0 whatever the status; a private space stays closed to others."""
    done("add", "--db", db, "The alarm code is 4711", "--space", "private:alice", "--id", "alarm")

    answer = ask(db, "What is the alarm code?", "--person", "bob")

    assert answer["status"] in {"weak", "no_match"}
    assert "4711" not in json.dumps(answer)
    assert ask(db, "What is the alarm code?")["results"][0]["doc_id"] == "alarm"


def test_filters_narrow_what_is_found(db: Path) -> None:
    """An author who said nothing, a later day, or no shared spaces leave nothing."""
    for narrowing in (("--author", "bob"), ("--after", "2026-01-09"), ("--no-shared",)):
        assert ask(db, "when will grandma land?", *narrowing)["results"] == []


def test_explain_says_why_a_memory_is_there(db: Path) -> None:
    """The lines are for people, the JSON for programs."""
    asked = ("--db", db, "when will grandma land?", "landing", "--person", "alice")

    assert done("explain", *asked).strip()
    assert isinstance(json.loads(done("explain", *asked, "--json")), dict)


def test_add_reads_standard_input_and_names_what_it_kept(db: Path) -> None:
    """The same id with the same words again is unchanged."""
    args = ("add", "--db", db, "-", "--id", "pump", "--at", "2026-01-09", "--json")

    assert json.loads(done(*args, stdin="The pump squeaks\n"))["outcome"] == "created"
    assert json.loads(done(*args, stdin="The pump squeaks\n")) == {
        "doc_id": "pump",
        "outcome": "unchanged",
    }


def test_stats_count_what_is_there(db: Path) -> None:
    """One memory, in JSON and in text."""
    assert json.loads(done("stats", "--db", db, "--json"))["memories"] == 1
    assert "memories" in done("stats", "--db", db)


def test_import_reads_both_schemas_and_tables(db: Path, tmp_path: Path) -> None:
    """Short names, a memory's own names, and CSV with labels arrive alike."""
    short = {"id": "s1", "text": "Bob fixed the gate", "speaker": "bob", "session": "S1"}
    short |= {"occurred_at": "2025-03-01", "space": "private:bob"}
    own = {"doc_id": "o1", "text": "The gate is green", "space_id": "shared:household"}
    jsonl = lines(tmp_path / "m.jsonl", short, own)
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
    path = lines(tmp_path / "m.jsonl", {"text": "one"}, {"text": "two"}, bad, {"text": "four"})

    result = call("import", "--db", db, path, "--batch", str(batch))

    assert result.exit_code == 1
    assert message in result.stderr
    assert "2 memories before it stored" in result.stderr
    assert result.stderr.count("\n") == 1
    assert json.loads(done("stats", "--db", db, "--json"))["memories"] == 3


def test_import_adds_spaces_only_when_told_to(db: Path, tmp_path: Path) -> None:
    """With --add-spaces the moon becomes a shared space nobody sees yet."""
    path = lines(tmp_path / "m.jsonl", {"text": "dust", "space": "shared:moon"})

    result = call("import", "--db", db, path, "--add-spaces")

    assert result.stdout == "1 created\n"
    assert result.stderr == "added space shared:moon; family-recall grant lets people in\n"
    assert "shared:moon: seen by nobody yet" in done("spaces", "--db", db)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"words\nx\n", "t.csv:1: expected a header of different names, 'text' among them"),
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


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (
            ("recall", "--db", "nowhere.db", "x"),
            1,
            "no such file; make one with: family-recall init",
        ),
        (("stats", "--db", "nowhere.db"), 1, "no such file"),
        (("import", "--db", "{db}", "nowhere.jsonl"), 1, "nowhere.jsonl: cannot be read"),
        (("recall", "--db", "{db}", "x", "--top-k", "0"), 1, "top_k must be 1 or more, got 0"),
        (
            ("recall", "--db", "{db}", "x", "--budget-ms", "-5"),
            1,
            "time_budget_ms must be a number",
        ),
        (("recall", "--db", "{db}", "x", "--person", "zoe"), 1, "zoe"),
        (("add", "--db", "{db}", "x", "--kind", "rumour"), 1, "kind must be one of fact, episode"),
        (("add", "--db", "{db}", "x", "--at", "soon"), 2, "'soon' is not an ISO day or moment"),
        (("recall", "--db", "{db}"), 2, "Missing argument 'QUESTION'"),
        (("eval", "nowhere"), 1, "cannot be read"),
        (
            ("grant", "--db", "{db}", "alice", "shared:household", "--role", "king"),
            2,
            "'king' is not one",
        ),
    ],
)
def test_errors_are_one_line_with_an_exit_code(
    db: Path, args: tuple[str, ...], code: int, message: str
) -> None:
    """1 for what the library refuses, 2 for what the command line does; stdout stays empty."""
    result = call(*(arg.format(db=db) for arg in args))

    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""
    if code == 1:
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1


def test_a_file_that_is_no_household_is_refused(tmp_path: Path) -> None:
    """A text file is left as it was."""
    path = tmp_path / "notes.db"
    path.write_text("just some notes, long enough to be no empty file\n" * 50)

    result = call("recall", "--db", path, "x")

    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert path.read_text().startswith("just some notes")


def test_a_memory_cannot_steer_the_terminal(db: Path) -> None:
    """Escape codes in a memory are shown as marks in text, and escaped in JSON."""
    done("add", "--db", db, "Grandma \x1b[31mred\x1b[0m \x07kettle", "--id", "kettle")

    shown = done("recall", "--db", db, "red kettle", "--person", "alice")

    assert "kettle" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_eval_prints_a_table_and_json(tmp_path: Path) -> None:
    """The keys of the JSON are the report's; the table names every category."""
    folder = tmp_path / "set"
    folder.mkdir()
    memory = {"id": "h/1", "text": "The plumber comes on Thursday", "space": "h"}
    lines(folder / "memories.jsonl", memory)
    asked = {"id": "q1", "text": "When does the plumber come?", "space": "h"}
    lines(
        folder / "queries.jsonl",
        {**asked, "category": "plain", "gold": ["h/1"]},
        {**asked, "id": "q2", "text": "Who won the cup?", "category": "none", "gold": []},
    )

    report = json.loads(done("eval", folder, "--no-rerank", "--json"))
    shown = done("eval", folder, "--no-rerank")

    assert list(report) == [
        *("overall", "by_category", "segments", "shares", "calibration", "abstention"),
        *("latency_ms", "n_queries", "n_hurried", "n_memories", "config"),
        *("ablation", "baseline", "without_gold", "faithfulness", "budgets"),
    ]
    assert report["config"]["rerank"] is False
    for row in ("plain", "overall", "95 % from", "95 % to"):
        assert any(row in line and "1.000" in line for line in shown.splitlines())
    assert "unanswerable: " in shown
    assert "2 questions, 1 memories" in shown


@pytest.mark.parametrize("words", commands())
def test_help_says_what_it_is_for_and_ends_in_examples(words: str) -> None:
    """The last lines of every --help can be copied; every option has a word to say."""
    shown = done(*words.split(), "--help")
    command = commands()[words]

    examples = shown.partition("\nexamples:\n")[2].splitlines()
    assert 2 <= len(examples) <= 3
    assert examples[0].startswith(f"  family-recall {words}".rstrip())
    assert all(line.startswith("  family-recall ") for line in examples)
    assert all(o.help for o in command.params if isinstance(o, click.Option))
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize("words", commands())
def test_every_default_is_in_the_help(words: str) -> None:
    """An option with a value says its default, or that it repeats."""
    for option in commands()[words].params:
        if isinstance(option, click.Option) and not option.is_flag:
            said = option.help or ""
            assert "default: " in said or "repeat" in said, option.name


def test_defaults_are_those_of_the_python_twin() -> None:
    """Both recall and eval start from what the library itself starts from."""
    recall = {option.name: option.default for option in main.commands["recall"].params}
    assert RecallContext().top_k == recall["top_k"]
    assert RecallContext().time_budget_ms == recall["time_budget_ms"]
    budget = next(p for p in main.commands["eval"].params if p.name == "budget_ms")
    assert inspect.signature(evaluate).parameters["budget_ms"].default == budget.default


def test_help_reads_as_reviewed() -> None:
    """The help of all commands is a snapshot, changed like a sentence is changed."""
    shown = "\n".join(
        f"$ {' '.join(['family-recall', *path, '--help'])}\n{done(*path, '--help')}"
        for path in map(str.split, commands())
    )
    if os.environ.get(UPDATE):
        SNAPSHOT.write_text(shown, encoding="utf-8")

    assert shown == SNAPSHOT.read_text(encoding="utf-8"), f"to accept: {UPDATE}=1 pytest {__file__}"


def test_a_process_of_its_own_prints_plain_text_in_a_pipe(db: Path) -> None:
    """No escape code reaches a pipe, and the module is the same command."""
    args = [
        sys.executable,
        "-m",
        "family_recall",
        "recall",
        "--db",
        str(db),
        "grandma",
        "--person",
        "alice",
    ]
    ran = subprocess.run(args, capture_output=True, text=True, encoding="utf-8", check=True)

    assert "Grandma will land on Sunday" in ran.stdout
    assert "\x1b" not in ran.stdout
    assert ran.stderr == ""


def test_help_loads_no_database_model_or_table() -> None:
    """The modules behind each --help are click's and ours alone, so it is there at once."""
    code = (
        "import contextlib, io, sys\n"
        "from family_recall.cli import main\n"
        "for words in sys.argv[1:]:\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "        main([*words.split(), '--help'], 'family-recall', standalone_mode=False)\n"
        "    assert out.getvalue().startswith('Usage: '), words\n"
        "heavy = {'apsw', 'numpy', 'onnxruntime', 'tokenizers', 'rich', 'mcp'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *commands()],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )

    assert ran.stdout.strip() == "[]"
