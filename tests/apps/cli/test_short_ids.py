"""Ids are printed short, and taken short wherever an id is taken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.apps.cli.runner import call_in, done, done_in


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a household of alice and bob with three memories, one of them bob's own."""
    path = tmp_path / "family.db"
    done_in(path, "init", "--person", "alice", "--person", "bob", "--timezone", "UTC")
    for doc_id, text, *more in (
        ("4f1c09aa2b7d41e09c55d0ab", "The alarm code is 4402"),
        ("4f1c09bb2b7d41e09c55d0ab", "The gate squeaks"),
        ("77aa31cc2b7d41e09c55d0ab", "Bob hid a watch in the attic", "--space", "private:bob"),
    ):
        done_in(path, "add", text, "--id", doc_id, "--author", "bob", *more)
    return path


def test_an_id_is_printed_as_short_as_it_is_unique(tmp_path: Path) -> None:
    """Six characters of what the library made; what is added can be forgotten by them."""
    path = tmp_path / "family.db"
    done_in(path, "init", "--person", "alice", "--timezone", "UTC")
    added = done_in(path, "add", "The gate squeaks", "--author", "alice")
    (short,) = re.findall(r"^created ([0-9a-f]{6})$", added, re.MULTILINE)

    forgotten = done_in(path, "forget", short, "--person", "alice")

    assert "1 memory forgotten by alice" in forgotten


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("explain", "alarm code?", "4f1c09a", "--person", "alice"), "4f1c09a was returned"),
        (("correct", "4f1c09b", "The gate is quiet", "--person", "bob"), "corrected 4f1c09b"),
        (("feedback", "alarm?", "4f1c09a", "--accept", "--person", "alice"), "It answers this"),
        (("forget", "4f1c09a", "--person", "bob", "--dry-run"), "  4f1c09a  Bob: The alarm"),
        (
            (
                *("relate", "Bob", "hates", "squeaking", "--person", "alice"),
                "--evidence",
                "4f1c09b",
            ),
            "evidence 4f1c09b",
        ),
        (("recall", "alarm code", "--explain", "--person", "alice"), "id 4f1c09a\n"),
        (("recall", "what about it", "--focus", "4f1c09a", "--person", "alice"), "alarm code"),
        (("timeline", "today", "--person", "alice"), "The gate squeaks (4f1c09b)"),
        (("forget", "77aa31", "--person", "bob", "--dry-run"), "Bob hid a watch"),
    ],
)
def test_commands_take_and_print_short_ids(home: Path, words: tuple[str, ...], shown: str) -> None:
    """Of every command with an id."""
    assert shown in done_in(home, *words)


def test_an_ambiguous_beginning_lists_what_it_may_mean(home: Path) -> None:
    """On one line, with ids to copy; nothing is changed."""
    refused = call_in(home, "forget", "4f1c", "--person", "bob")

    assert refused.exit_code == 1
    assert refused.stderr == (
        "Error: '4f1c' may mean 2 memories: 4f1c09a, 4f1c09b; write more of the id\n"
    )


def test_the_beginning_of_anothers_private_id_reads_as_none(home: Path) -> None:
    """The same words for it and for an id that nobody has."""
    errors = [
        call_in(home, "forget", doc_id, "--person", "alice").stderr.replace(doc_id, "ID")
        for doc_id in ("77aa31", "000000")
    ]

    assert errors[0] == errors[1] == "Error: no memory 'ID' that you can see\n"


def test_the_prompt_takes_ids_of_memories_that_were_not_answered(home: Path) -> None:
    """Also to say why one is not in the answer; a number is a rank of the answer."""
    lines = (
        "alarm code?\n/why 4f1c09b\n/forget 4f1c09b\n/undo\n/correct 4f1c09b The gate is quiet\n"
    )
    shown = done("prompt", "--person", "bob", "--db", home, stdin=lines)

    assert "4f1c09b was" in shown or "The gate squeaks" in shown
    assert "Forgotten: The gate squeaks (/undo brings it back)" in shown
    assert "Undone: the forgetting." in shown
    assert "Corrected; /undo brings the earlier text back." in shown
