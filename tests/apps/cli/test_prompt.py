"""The prompt: one question after another, and changes that can be undone."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import family_recall as fr
from family_recall.apps.cli import main
from family_recall.apps.cli.prompt import Prompt


def session(path: Path, *lines: str, person: str | None = "alice") -> list[str]:
    """Return what the prompt prints for some lines, without marks of empty answers."""
    words = ["prompt", "--db", str(path), *(["--person", person] if person else [])]
    done = CliRunner().invoke(main, words, input="\n".join(lines) + "\n")
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def test_a_question_is_answered_and_its_memories_are_numbered(diary: Path) -> None:
    """The answer comes first, with its number; /why says how it was ranked."""
    first, *_ = session(diary, "who mended the gate?")
    why = session(diary, "who mended the gate?", "/why 1")

    assert re.fullmatch(r"Bob mended the gate — Bob, 9 January 2026  \[1\]", first)
    assert any(line.strip().endswith("score") for line in why)


def test_each_change_is_undone_in_turn(diary: Path) -> None:
    """Added, corrected, rejected and forgotten; then all of it back, the last first."""
    asked = "what does the cat eat?"
    shown = session(
        diary,
        *("/add The cat eats salmon at night", asked, "/correct 1 The cat eats trout at night"),
        *(asked, "/not 1", asked, "/undo", asked, "/forget 1", asked, "/undo", asked),
        *("/undo", asked, "/undo", asked, "/undo"),
    )
    firsts = [line for line in shown if "The cat eats" in line or line.startswith("Nothing stored")]

    assert [re.sub(" — .*", "", line) for line in firsts] == [
        "The cat eats salmon at night",
        "The cat eats trout at night",
        "Nothing stored answers that.",
        "The cat eats trout at night",
        "Forgotten: The cat eats trout at night (/undo brings it back)",
        *([] if "Nothing" not in firsts[5] else [firsts[5]]),
        "The cat eats trout at night",
        "The cat eats salmon at night",
        *([] if "Nothing" not in firsts[-1] else [firsts[-1]]),
    ]
    assert shown[-1] == "there is nothing to undo"


def test_an_error_is_one_line_and_the_next_line_is_read(diary: Path) -> None:
    """A number that is not there, an unknown command, a memory of another's, an empty text."""
    shown = session(
        diary,
        "/why 1",
        "/foo",
        "/add",
        "",
        "who mended the gate?",
        "/correct 1 ",
        "/forget x",
        "/help",
    )

    assert shown[0] == "which memory of the last answer? there are: none: ask a question first"
    assert shown[1] == "there is no /foo; /help lists what there is"
    assert shown[2].startswith("Error: ")
    assert any(line.startswith("Error: ") for line in shown[4:7])
    assert "which memory of the last answer? there are: 1" in "\n".join(shown)
    assert shown[-1].startswith("/quit")


def test_nobody_in_particular_asks_and_changes_nothing(diary: Path) -> None:
    """What needs a person says so."""
    shown = session(diary, "who mended the gate?", "/forget 1", "who mended the gate?", person=None)

    assert "only a person who lives here changes that: --person ID" in shown
    assert sum("Bob mended the gate" in line for line in shown) == 2


def test_without_a_household_it_says_how_to_begin(tmp_path: Path) -> None:
    """A newcomer who types the name alone gets the help, and the first command."""
    shown = session(tmp_path / "none.db", person=None)

    assert shown[-1] == "to begin: family-recall init --db family.db --person alice=Alice"


def test_the_name_alone_opens_the_prompt_at_a_terminal(diary: Path) -> None:
    """In a pipe it prints the help instead."""
    pty = pytest.importorskip("pty")
    command = [sys.executable, "-m", "family_recall"]
    env = {**os.environ, "FAMILY_RECALL_DB": str(diary), "FAMILY_RECALL_PERSON": "alice"}
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as running:
        os.close(theirs)
        os.write(ours, b"who mended the gate?\n/quit\n")
        shown = b""
        with contextlib.suppress(OSError):  # Linux says so that the other side is closed
            while part := os.read(ours, 65_536):
                shown += part
        os.close(ours)
    assert running.returncode == 0
    assert "Bob mended the gate" in shown.decode()
    piped = subprocess.run(command, env=env, capture_output=True, check=False, text=True)
    assert "Usage: family-recall" in piped.stdout + piped.stderr


def test_names_and_commands_complete(diary: Path) -> None:
    """Tab offers what begins so, and then no more."""
    readline = pytest.importorskip("readline")
    with fr.FamilyRecall.open(diary, create=False) as home:
        Prompt(home, fr.RecallContext(person_id="alice")).complete()
    complete = readline.get_completer()

    assert [complete("/co", 0), complete("/co", 1)] == ["/correct", None]
    assert complete("Al", 0) == "Alice"


def test_a_follow_up_goes_on_from_the_question_before(tmp_path: Path) -> None:
    """And the next one from what that was understood to ask."""
    path = tmp_path / "family.db"
    with fr.FamilyRecall.open(path) as home:
        for text in ("Ivo's judo class is on Tuesday", "Mara's judo class is on Friday"):
            home.remember(text)
        shown = Prompt(home, fr.RecallContext(time_budget_ms=5_000.0))
        asked = ("When is Ivo's judo class?", "and Mara's?", "/help", "and Ivo's?", "and Mara's?")
        firsts = [next(iter(shown.handle(line)))[0] for line in asked]
    assert ["Tuesday" in first for first in firsts] == [True, False, False, True, False]
    assert ["Friday" in first for first in firsts] == [False, True, False, False, True]
