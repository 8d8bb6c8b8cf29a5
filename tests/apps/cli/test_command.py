"""A question without a command: when it is one, and when a command was misspelt."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from family_recall.apps.cli import main
from family_recall.apps.cli.command import is_question


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a household that remembers one thing."""
    path = tmp_path_factory.mktemp("household") / "family.db"
    for line in (
        ["init", "--person", "alice"],
        ["add", "Grandma lands on Sunday at 6:40", "--author", "alice", "--id", "landing"],
    ):
        assert CliRunner().invoke(main, ["--db", str(path), *line]).exit_code == 0
    return path


def call(db: Path, *args: str) -> Result:
    """Call the command line with a household in the environment."""
    return CliRunner().invoke(
        main, list(args), prog_name="family-recall", env={"FAMILY_RECALL_DB": str(db)}
    )


MORE = ("--person", "alice", "--now", "2026-01-10", "--budget-ms", "60000", "--json")


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        (("when does grandma land?", *MORE), "when does grandma land?"),
        (("grandma lands", *MORE), "grandma lands"),
        (("landing?", *MORE), "landing?"),
        (("--", "landing", *MORE), "landing"),
        (("--", "recall", *MORE), "recall"),
        (("--", "--explain", *MORE), "--explain"),
        (("recall", "landing", *MORE), "landing"),
        (("recall", *MORE, "--", "-5 degrees"), "-5 degrees"),
    ],
)
def test_a_question_is_recalled(db: Path, line: tuple[str, ...], asked: str) -> None:
    """With the options of recall behind it, and whatever it is called after ``--``."""
    result = call(db, *line)

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["query_text"] == asked


def test_a_question_and_recall_are_one(db: Path) -> None:
    """Both answer alike, down to the last digit."""
    asked = ("when does grandma land?", *MORE)

    first, second = (json.loads(call(db, *line).stdout) for line in (asked, ("recall", *asked)))

    assert first["results"] == second["results"]
    assert first["results"][0]["doc_id"] == "landing"


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("recal", "Did you mean recall"),
        ("Recall", "Did you mean recall"),
        ("stat", "Did you mean stats"),
        ("forgot", "Did you mean forget"),
        ("grandmother", "To ask it as a question: family-recall -- grandmother"),
    ],
)
def test_a_misspelt_command_is_not_recalled(db: Path, word: str, meant: str) -> None:
    """It ends in exit code 2 with what may have been meant, and how to ask it."""
    result = call(db, word, *MORE)

    assert result.exit_code == 2
    assert f"there is no command {word!r}." in result.stderr
    assert meant in result.stderr
    assert result.stdout == ""


def test_nothing_is_help_and_an_unknown_option_is_told_of(db: Path) -> None:
    """Neither is a question."""
    assert call(db).stderr.startswith("Usage: family-recall [OPTIONS]")
    assert (call(db, "--nope").exit_code, call(db, "--nope what is it?").exit_code) == (2, 2)


@given(st.text())
def test_only_what_nobody_could_call_is_a_question(word: str) -> None:
    """No name of a command reads as one, and whatever has two words does."""
    assert not any(map(is_question, main.commands))
    assert is_question(f"{word} a b")
    assert is_question(f"{word}?")
    if len(word.split()) < 2 and not word.rstrip().endswith(("?", "\N{FULLWIDTH QUESTION MARK}")):
        assert not is_question(word)


def test_what_is_said_of_a_word_can_be_pasted(db: Path) -> None:
    """The way out is quoted for a shell, and recalls."""
    said = call(db, "rm;ls").stderr.splitlines()[-1]
    pasted = shlex.split(said.partition("To ask it as a question: family-recall ")[2])

    result = call(db, *pasted, *MORE)

    assert json.loads(result.stdout)["query_text"] == "rm;ls"
