"""Notes: front matter, names with a day, sections of long ones, and folders."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from pathlib import Path

import pytest

from family_recall.apps.importing import Draft, read
from family_recall.apps.importing.notes import LONG_NOTE_CHARS, read_note, read_notes
from family_recall.errors import DatasetError
from tests.importing_settings import SETTINGS, reasons, texts


def one(text: str, key: str = "note.md") -> Draft:
    """Read a note that is one draft."""
    (draft,) = read_note(text, key, key, SETTINGS)
    assert isinstance(draft, Draft)
    return draft


def test_front_matter_says_what_a_note_is() -> None:
    """Title, date, tags and author; the text is what stands below."""
    draft = one(
        "---\ntitle: Pancakes\ndate: 2025-12-24\ntags: [recipe, '#sweet']\nauthor: Sarah\n---\n"
        "\n3 eggs\n"
    )

    assert (draft.text, draft.author_names) == ("3 eggs", ("Sarah",))
    assert draft.fields == {
        "title": "Pancakes",
        "labels": ("recipe", "sweet"),
        "occurred_at": dt.datetime(2025, 12, 24),  # noqa: DTZ001 -- in the household's zone
    }


def test_without_it_heading_and_name_do() -> None:
    """A journal's file begins with its day."""
    draft = one("# A day out\n\nWe saw a gaur.", "trips/2026-08-03.md")

    assert draft.fields["title"] == "A day out"
    assert draft.fields["occurred_at"] == dt.datetime(2026, 8, 3)  # noqa: DTZ001
    assert one("## Water ##\nTap").fields["title"] == "Water"
    assert one("# C#\nTap").fields["title"] == "C#"
    assert one("We saw it", "Zoo.md").fields["title"] == "Zoo"


def test_a_long_note_is_its_sections() -> None:
    """Each below its headings, with the note as their session; code is no heading."""
    body = "# House\n\n## Water\n\nValve\n```\n# no heading\n```\n\n## Heat\n\n" + "Warm. " * 800
    assert len(body) > LONG_NOTE_CHARS

    drafts = [d for d in read_note(body, "house.md", "house.md", SETTINGS) if isinstance(d, Draft)]

    assert [draft.key for draft in drafts] == ["house.md#House > Water", "house.md#House > Heat"]
    assert [draft.where for draft in drafts] == ["house.md:4", "house.md:11"]
    assert drafts[0].text == "Valve\n```\n# no heading\n```"
    assert drafts[0].fields["section"] == "House > Water"
    assert {draft.fields["session_id"] for draft in drafts} == {"house.md"}
    assert one(body[:LONG_NOTE_CHARS]).key == "note.md"


def test_a_folder_is_all_its_notes_but_what_is_hidden(tmp_path: Path) -> None:
    """In order of their paths; links are not followed, and other files listed."""
    for name in ("b.md", "a/c.markdown", ".git/d.md", "a/.e.md", "f.txt", "empty.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("" if name == "empty.md" else f"Note {name}", "utf-8")
    (tmp_path / "link.md").symlink_to(tmp_path / "b.md")

    reading = read_notes(tmp_path, SETTINGS)

    assert [draft.key for draft in reading.drafts] == ["b.md", "a/c.markdown"]
    assert reasons(reading) == [
        "notes without a text", "files that are no notes", "links to files",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("---\ntitle: [\n---\nx", "note.md:3: expected YAML"),
        ("---\ntitle: b\ndate: soon\n---\nx", "note.md:3: expected a day or moment"),
        ("---\ndate: 3/4/2026\n---\nx", "note.md:2: 3/4/2026 may be day/month or month/day"),
    ],
)
def test_front_matter_that_cannot_be_read_is_listed(
    tmp_path: Path, text: str, message: str
) -> None:
    """With file and line; the note's text and the other notes are read. ``strict`` refuses all."""
    (tmp_path / "note.md").write_text(text, "utf-8")
    (tmp_path / "other.md").write_text("The wifi password is marmalade", "utf-8")

    reading = read_notes(tmp_path, SETTINGS)

    assert texts(reading) == ["x", "The wifi password is marmalade"]
    (left_out,) = reading.left_out
    assert message in f"{left_out.where}: {left_out.problem}"
    with pytest.raises(DatasetError, match=re.escape(message)):
        read_notes(tmp_path, dataclasses.replace(SETTINGS, strict=True))


def test_a_note_that_cannot_be_read_stays_as_it_was(tmp_path: Path) -> None:
    """It is listed, and what an earlier import read there is not withdrawn; other notes are."""
    (tmp_path / "bad.md").write_bytes(b"caf\xe9")

    reading = read(tmp_path, "markdown", SETTINGS)

    assert [(item.reason, item.key) for item in reading.left_out] == [
        ("memories with bytes that are no text", "bad.md")
    ]
    assert reading.missing(["bad.md", "bad.md#A section", "gone.md"]) == ["gone.md"]


def test_values_that_are_not_kept_are_listed() -> None:
    """With their lines: what is no field of a memory, or no word where one is expected."""
    text = "---\ntitle: A\nmood: good\ncreated: 2026-01-02\nauthor: [Tom]\nday:\n---\nHi"

    items = list(read_note(text, "n.md", "n.md", SETTINGS))

    assert [item.where for item in items] == ["n.md:3", "n.md:5", "n.md:1"]


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    """What stands between two lines --- is lost only where it names values."""
    for text in ("---\n- a\n---\nx", "---\nHello\n---\nx", "---\nopen", "--- x\n"):
        assert one(text).text == text.strip()
    assert one("---\n---\nx").text == "x"


def test_an_impossible_date_is_left_out() -> None:
    """0001-01-01, as some programs write for none."""
    items = list(read_note("---\ndate: 0001-01-01\n---\nHi", "n.md", "n.md", SETTINGS))

    assert [type(item).__name__ for item in items] == ["LeftOut", "Draft"]
    assert "occurred_at" not in one("Hi").fields


def test_a_note_is_read_as_a_folder_of_one(tmp_path: Path) -> None:
    """Its key is its name."""
    (tmp_path / "n.md").write_text("Hi", "utf-8")

    assert texts(read_notes(tmp_path / "n.md", SETTINGS)) == ["Hi"]
