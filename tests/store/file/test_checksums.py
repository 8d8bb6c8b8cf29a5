"""Checksums: what was stored passes, in every form it can have, and what was changed does not."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from family_recall import FamilyRecall, Memory
from family_recall.store.file import checksums
from tests.conftest import HOME, found, recall

ODD: tuple[dict[str, Any], ...] = (
    {"text": "a\x00b \u202e 👩‍👩‍👧 ﬃ \ufffd None"},
    {"title": "None", "summary": "\x00"},
    {"importance": 1, "valence": -1, "arousal": 0},
    {"importance": -0.0, "valence": -0.0},
    {"valence": 0.1 + 0.2, "arousal": 1 / 3},
    {"occurred_at": "0003-01-01", "valid_from": "2025-01-01T00:00:00.000001+05:30"},
    {"occurred_at": dt.datetime(9997, 1, 1, tzinfo=dt.UTC), "valid_until": "9997-01-01"},
    {"labels": ("a", "b\x00"), "url": "https://example.org/ß", "fact_key": "k", "fact_value": "1"},
)


def beside(path: Path) -> apsw.Connection:
    """Open the file beside the household, which may be writing its log."""
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(5_000)
    return connection


@pytest.mark.parametrize("fields", ODD, ids=range(len(ODD)))
def test_every_value_that_can_be_stored_passes(home: FamilyRecall, fields: Any) -> None:
    """Whole numbers, minus zero, moments without a zone, letters of any kind: no false alarm."""
    values = {"text": "something odd", "space_id": HOME, "doc_id": "odd", **fields}
    home.remember(Memory(**values))

    assert [finding for finding in home.maintenance.check() if finding.problem] == []
    assert recall(home, values["text"], "priya", top_k=20).degraded == ()


def test_a_row_without_a_checksum_does_not_pass(home: FamilyRecall, path: Path) -> None:
    """Every row gets a checksum when it is written: a row without one has lost it."""
    connection = beside(path)
    connection.execute("UPDATE memory SET checksum = NULL WHERE doc_id = 'key'")
    assert len(checksums.damaged(connection)) == 1
    assert "key" not in found(recall(home, "where is the spare key?", "priya"))

    checksums.fill(connection)
    assert checksums.damaged(connection) == []
    connection.close()


def test_rows_are_named_as_far_as_they_can_be_read(home: FamilyRecall, path: Path) -> None:
    """By space and id; damaged letters are shown as such."""
    connection = beside(path)
    connection.execute("UPDATE memory SET doc_id = CAST(x'6bff79' AS TEXT) WHERE doc_id = 'key'")
    names = checksums.describe(connection, checksums.damaged(connection))
    assert checksums.describe(connection, []) == []
    assert checksums.damaged(connection, np.zeros(0, np.int64)) == []
    connection.close()

    assert names == [f"{HOME}/k\ufffdy"]
    assert "key" not in found(recall(home, "where is the spare key?", "priya"))
