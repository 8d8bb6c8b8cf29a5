"""What a page says of how a question was read."""

from __future__ import annotations

import datetime as dt

import pytest

from family_recall.apps.reports.results import time_text


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ("2025-06-03", "2025-06-04", "3 June 2025"),
        ("2025-06-03", "2025-06-10", "3 to 9 June 2025"),
        ("2025-06-28", "2025-07-05", "28 June to 4 July 2025"),
        ("2025-12-29", "2026-01-05", "29 December 2025 to 4 January 2026"),
        ("2025-08-01", "2025-09-01", "August 2025"),
        ("2025-06-01", "2025-09-01", "June to August 2025"),
        ("2025-12-01", "2026-03-01", "December 2025 to February 2026"),
        ("2024-01-01", "2025-01-01", "2024"),
        ("2020-01-01", "2025-01-01", "2020 to 2024"),
        ("2025-06-03T18:00", "2025-06-03T22:00", "3 June 2025, 18:00 to 22:00"),
        ("2025-06-03T22:00", "2025-06-04T06:30", "3 June 2025, 22:00 to 4 June 2025, 06:30"),
        ("2025-06-03", None, "since 3 June 2025"),
        (None, "2025-06-03", "before 3 June 2025"),
        (None, None, ""),
    ],
)
def test_a_time_is_named_as_people_do(start: str | None, end: str | None, words: str) -> None:
    """Its last day is the last one in it; whole months and years are called by their names."""
    ends = (None if text is None else dt.datetime.fromisoformat(text) for text in (start, end))

    assert time_text(*ends) == words
