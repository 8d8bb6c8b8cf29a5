"""Tables: columns by their headers or as is said, separators, dates and ids."""

from __future__ import annotations

import dataclasses
import datetime as dt

import pytest

from family_recall.apps.importing.tables import read_table
from family_recall.errors import DatasetError
from tests.importing_settings import SETTINGS, moments, reasons, texts


def test_headers_tell_the_columns() -> None:
    """Whatever separates them; day and month are told by the column."""
    reading = read_table(
        'Date;Who;Note;Mood\n30.10.2025;Anna;"Mia lost;\na tooth";glad\n'
        "02.11.2025;;Sold the car\n;;;\n03.11.2025;Tom;;sad\n",
        "t.csv",
        SETTINGS,
    )

    assert texts(reading) == ["Mia lost;\na tooth", "Sold the car"]
    assert [draft.author_names for draft in reading.drafts] == [("Anna",), ()]
    assert [draft.where for draft in reading.drafts] == ["t.csv:2", "t.csv:4"]
    assert moments(reading.drafts) == [dt.datetime(2025, 10, 30), dt.datetime(2025, 11, 2)]  # noqa: DTZ001
    assert [(item.where, item.reason) for item in reading.left_out] == [
        ("t.csv:6", "rows without a text")
    ]


def test_columns_are_what_is_said() -> None:
    """Before what their headers would tell; any field of a memory may be named."""
    columns = {"text": "Entry", "title": "Note", "importance": "How much", "labels": "Tags"}
    settings = dataclasses.replace(SETTINGS, columns=columns)

    reading = read_table("Note,Entry,How much,Tags\nN,E,0.9,a; b\n", "t.csv", settings)

    assert texts(reading) == ["E"]
    assert reading.drafts[0].fields == {"title": "N", "importance": 0.9, "labels": ["a", "b"]}


def test_a_rows_key_is_its_id_or_what_it_says() -> None:
    """So a row with an id may change, and equal rows are two."""
    with_ids = read_table("id,text\n7,a\n8,b\n", "t.csv", SETTINGS)
    without = read_table("text\na\na\n", "t.csv", SETTINGS)

    assert [draft.key for draft in with_ids.drafts] == ["7", "8"]
    assert len({draft.key for draft in without.drafts}) == 2


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("a,b\n1,2\n", {}, "t.csv:1: no column is the text; say which with --columns"),
        ("a,b\n1,2\n", {}, "the headers are 'a', 'b'"),
        ("", {}, "the headers are nothing"),
        ("a,b\n1,2\n", {"text": "c"}, "t.csv:1: no column 'c' for text; the headers are 'a', 'b'"),
        ("a,b\n1,2\n", {"text": "a", "mood": "b"}, "got 'mood'; there are arousal, author"),
        ("text,date\nx,soon\n", {}, "t.csv:2: expected a day or moment"),
        ("text,date\nx,3/4/2026\n", {}, "t.csv:2: 3/4/2026 may be day/month"),
        ("text\nHello, you\n", {}, "t.csv:2: expected 1 cells, got 2"),
        ('text,b\n"a"x,1\n', {}, "t.csv:2: expected CSV"),
        ("text,importance\nx,much\n", {"importance": "importance"}, "t.csv:2: expected importance"),
    ],
)
def test_a_table_that_cannot_be_read_is_an_error(
    text: str, columns: dict[str, str], message: str
) -> None:
    """With its line, or with the headers that are there."""
    with pytest.raises(DatasetError) as error:
        read_table(text, "t.csv", dataclasses.replace(SETTINGS, columns=columns))

    assert message in str(error.value)


@pytest.mark.parametrize(
    ("cell", "moment"),
    [
        ("2026-10-30T18:04", dt.datetime(2026, 10, 30, 18, 4)),  # noqa: DTZ001
        ("30/10/2026 18:04", dt.datetime(2026, 10, 30, 18, 4)),  # noqa: DTZ001
        ("10/30/2026 6:04 PM", dt.datetime(2026, 10, 30, 18, 4)),  # noqa: DTZ001
        ("October 30, 2026", dt.datetime(2026, 10, 30)),  # noqa: DTZ001
        ("0001-01-01", None),
    ],
)
def test_dates_are_read_as_people_write_them(cell: str, moment: dt.datetime | None) -> None:
    """An impossible one is left out, and said to be."""
    reading = read_table(f'text,date\nx,"{cell}"\n', "t.csv", SETTINGS)

    assert moments(reading.drafts) == [moment]
    assert reasons(reading) == ([] if moment else ["impossible dates of rows"])
