"""``family-recall recall``, ``explain`` and ``timeline``: what they print, and their errors."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.apps.cli.runner import FAMILY_RECALL, ask, call, call_in, done, done_in

NOW = ("--now", "2026-01-11T18:00", "--budget-ms", "60000")


def test_what_was_added_is_found(db: Path) -> None:
    """The answer carries the memory with its reasons; the text form says the same."""
    answer = ask(db, "when will grandma land?")

    assert answer["results"][0]["doc_id"] == "landing"
    assert answer["results"][0]["reasons"]
    shown = done("recall", "--db", db, "when will grandma land?", "--person", "alice", "--explain")
    assert shown.startswith(answer["status"])
    assert "1. Grandma will land on Sunday at 6:40" in shown
    assert "Alice, 2026-01-08, in shared:household" in shown
    assert "  score" in shown
    assert "ran " in shown


def test_what_answers_stands_first(db: Path) -> None:
    """With who said it and when, then how sure that is; nothing is said that a person would not."""
    first, sure, *_ = done(
        "recall", "--db", db, "when will grandma land?", "--person", "alice", *NOW
    ).splitlines()
    assert first == "Grandma will land on Sunday at 6:40 — Alice, 8 January 2026"
    assert sure.startswith(("Sure (", "Probably ("))

    nothing = done("recall", "--db", db, "what is the capital of France?", *NOW)
    assert nothing.startswith("Nothing stored answers that.\nNothing about France.\n")
    assert "conf" not in nothing


def test_a_relation_is_the_first_line_of_an_answer(db: Path) -> None:
    """Who is what to whom stands before the memories, and in the JSON with its evidence."""
    done("relate", "Otto", "swimming coach of", "Alice", "--db", db, "--evidence", "landing")

    shown = done("recall", "--db", db, "Who is Alice's coach?", "--person", "alice", *NOW)
    answer = ask(db, "Who is my coach?")

    assert shown.startswith("Otto swimming coach of Alice\nSure (9")
    (relation,) = answer["relations"]
    assert (relation["asked_for"], relation["evidence"]) == ("Otto", ["landing"])


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
        (("recall", "--db", "{db}", "x", "--top-k", "0"), 1, "--top-k must be 1 or more, got 0"),
        (
            ("recall", "--db", "{db}", "x", "--budget-ms", "-5"),
            1,
            "--budget-ms must be a number",
        ),
        (("recall", "--db", "{db}", "x", "--person", "zoe"), 1, "zoe"),
        (("add", "--db", "{db}", "x", "--kind", "rumour"), 1, "kind must be one of fact, episode"),
        (("add", "--db", "{db}", "x", "--at", "soon"), 2, "'soon' is no moment; write an ISO day"),
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


def test_a_process_of_its_own_prints_plain_text_in_a_pipe(db: Path) -> None:
    """No escape code reaches a pipe, and the module is the same command."""
    args = [
        *FAMILY_RECALL,
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


def test_a_time_is_told_in_order(diary: Path) -> None:
    """A heading for each day that holds something, in order, and a word for those that do not."""
    shown = done_in(diary, "timeline", "from 2026-01-06 to 2026-01-10", "--person", "alice", *NOW)

    assert shown.splitlines() == [
        "nothing stored on 6 January 2026",
        "Wednesday 7 January 2026",
        "  Alice: Alice baked a cake (cake)",
        "nothing stored on 8 January 2026",
        "Friday 9 January 2026",
        "  10:30 Bob: Bob mended the gate (gate)",
        "nothing stored on 10 January 2026",
        "2 shown",
    ]


def test_a_longer_stretch_names_each_day(diary: Path) -> None:
    """Under a week or month as heading, a line says which day of it is meant."""
    shown = done_in(diary, "timeline", "from 2025-06-01 to 2026-01-10", "--person", "alice", *NOW)

    assert "  2025-06-01 The roof was painted (old)" in shown.splitlines()
    assert "  2026-01-09 10:30 Bob: Bob mended the gate (gate)" in shown.splitlines()


def test_a_time_is_told_as_the_asker_may_see_it(diary: Path) -> None:
    """Bob sees his own day, too, in JSON as in text; a stranger what is shared."""
    told = {
        who: [
            one["doc_id"]
            for one in json.loads(done_in(diary, "timeline", "this week", *person, *NOW, "--json"))[
                "results"
            ]
        ]
        for who, person in {"bob": ("--person", "bob"), "a stranger": ()}.items()
    }

    assert told == {"bob": ["cake", "diary", "gate"], "a stranger": ["cake", "gate"]}


def test_less_than_is_stored_says_so(diary: Path) -> None:
    """A time of which a part is shown, one that holds nothing, and a filter."""
    week = ("timeline", "this week", "--person", "bob", *NOW)

    assert done_in(diary, *week, "--top-k", "1").endswith("1 of 3 shown\n")
    assert "mended" not in done_in(diary, *week, "--author", "alice")
    assert done_in(diary, "timeline", "in March 2024", *NOW).endswith(
        "nothing is remembered of that time\n"
    )


def test_words_that_name_no_time_are_refused(diary: Path) -> None:
    """The message shows some that do."""
    result = call_in(diary, "timeline", "the blue pot", *NOW)

    assert result.exit_code == 1
    assert "PERIOD must be words for a time, such as 'last week'" in result.stderr


def test_a_question_needs_no_quotes(db: Path) -> None:
    """Several words that read as a question are one; those that do not are no command."""
    asked = done("when", "will", "grandma", "land", "--db", db, "--person", "alice")
    assert asked == done("when will grandma land", "--db", db, "--person", "alice")
    wrong = call("forgt", "landing", "--db", db)
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "Did you mean forget" in wrong.stderr


def test_somebody_unknown_is_told_who_there_is(db: Path, tmp_path: Path) -> None:
    """By id, with who may be meant: by a name, an alias, or a letter more."""
    done("people", "add", "mia", "--name", "Mia Rose", "--alias", "Mimi", "--db", db)
    here = "people here: alice, bob, mia"
    for said, meant in (("Alice", "alice"), ("bobb", "bob"), ("mimi", "mia"), ("Mia Rose", "mia")):
        error = call("recall", "--db", db, "x", "--person", said).stderr
        assert error == f"Error: no person {said!r}; {here}. Did you mean {meant}?\n"
    assert call("recall", "--db", db, "x", "--person", "zq").stderr.endswith(f"; {here}\n")
    empty = tmp_path / "empty.db"
    done("init", "--db", empty)
    assert "nobody lives here yet" in call("recall", "--db", empty, "x", "--person", "zq").stderr
