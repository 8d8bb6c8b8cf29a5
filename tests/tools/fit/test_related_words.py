"""The table of words of like meaning, made from its list."""

from __future__ import annotations

from pathlib import Path

import pytest

from family_recall.store.words import split
from tools.fit import related_words


def test_the_table_that_ships_is_made_of_the_list(tmp_path: Path) -> None:
    """To the byte: a changed list needs the script to run again."""
    assert related_words.main(["--output", str(tmp_path / "table.json")]) == 0

    assert (tmp_path / "table.json").read_bytes() == related_words.OUTPUT.read_bytes()


def test_lines_of_one_word_are_joined() -> None:
    """Another line adds what is new, and comments and forms of the word itself add nothing."""
    lines = ["# doctor", "Tap faucet spigot", "", "taps faucets mixer", "call called"]

    assert related_words.table_of(lines, split) == {"tap": ["faucet", "spigot", "mixer"]}


def test_a_line_with_an_equals_sign_works_both_ways() -> None:
    """Each word stands for each other one, beside what a line of its own says of it."""
    lines = ["lift storey", "= lift elevator"]

    assert related_words.table_of(lines, split) == {
        "lift": ["storei", "elev"],
        "elev": ["lift"],
    }


@pytest.mark.parametrize("line", ["alone", "tap the", "tap stop-cock"])
def test_a_line_that_means_nothing_is_refused(line: str) -> None:
    """A word without others, and words that no search looks up."""
    with pytest.raises(ValueError, match="word"):
        related_words.table_of([line], split)
