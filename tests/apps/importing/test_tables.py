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
        ("t.csv:2", "cells of the column 'Mood'"),
        ("t.csv:6", "rows without a text"),
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
        ("text,date\nx,3/4/2026\n", {}, "t.csv:2: 3/4/2026 may be day/month"),
        (
            "text,a\n1,2\n",
            {"text": "text", "title": ["a", "text"]},
            "one column for title, got a, t",
        ),
        ('"text"x,b\na,1\n', {}, "t.csv:1: expected CSV"),
    ],
)
def test_a_table_that_cannot_be_read_is_an_error(
    text: str, columns: dict[str, str | list[str]], message: str
) -> None:
    """With its line, or with the headers that are there."""
    with pytest.raises(DatasetError) as error:
        read_table(text, "t.csv", dataclasses.replace(SETTINGS, columns=columns))

    assert message in str(error.value)


@pytest.mark.parametrize(
    ("row", "read", "message"),
    [
        ("x,soon,1", ["x"], "t.csv:3: expected a day or moment such as"),
        ("x,1/2/85,1", ["x"], "t.csv:3: expected a day or moment"),
        ("x,10/30/2026,1", ["x"], "t.csv:3: expected a day or moment"),
        ("x,,much", ["x"], "t.csv:3: expected importance to be a number, got 'much'"),
        ("Hello, you,,1,", [], "t.csv:3: expected 3 cells, got 5; quote what holds a ','"),
        ('"a"x,,1', [], "t.csv:3: expected CSV"),
        ('"never closed,,1', [], "t.csv:3: expected CSV, got unexpected end of data"),
    ],
)
def test_what_is_not_understood_of_a_row_is_listed(row: str, read: list[str], message: str) -> None:
    """With its line; all other rows are read, and no cell takes them in."""
    table = f"text,date,importance\na,30/10/2026,1\n{row}\nb,31/10/2026,0.5\nc,2/11/2026,\n"

    reading = read_table(
        table, "t.csv", dataclasses.replace(SETTINGS, columns={"importance": "importance"})
    )

    assert texts(reading) == ["a", *read, "b", "c"]
    (unread,) = reading.left_out
    assert f"{unread.where}: {unread.problem}".startswith(message)


@pytest.mark.parametrize(
    ("columns", "read"),
    [
        (["Item", "Place", "Details"], ["Passport: safe, code 7", "Tent: loft"]),
        (
            "{item} is in the {Place} ({details}).",
            ["Passport is in the safe (code 7).", "Tent: loft"],
        ),
    ],
)
def test_an_inventory_becomes_sentences(columns: str | list[str], read: list[str]) -> None:
    """Its cells joined, or in a template where it has all of them; other columns are counted."""
    settings = dataclasses.replace(SETTINGS, columns={"text": columns})
    table = "Item,Place,Details,Colour\nPassport,safe,code 7,red\nTent,loft,,green\n"

    reading = read_table(table, "t.csv", settings)

    assert texts(reading) == read
    assert [(item.where, item.reason, item.n) for item in reading.left_out][:1] == [
        ("t.csv:2", "cells of the column 'Colour'", 2)
    ]


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
