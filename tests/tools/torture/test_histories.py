"""tools/torture/histories.py: random histories after which all works, and what is gone is gone."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import store_of
from tools.torture import histories, pages
from tools.torture.household import add_family, open_home


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> histories.Histories:
    """Make the households that histories begin with."""
    return histories.Histories(tmp_path_factory.mktemp("histories"), 1)


@settings(max_examples=6, deadline=None)
@given(number=st.integers(0, 100_000))
def test_after_any_history_all_works_and_what_is_gone_is_gone(
    lived: histories.Histories, number: int
) -> None:
    """A short run of what runs by the ten thousand before a release."""
    assert lived.live(number).findings == []


def test_what_is_left_is_a_finding(tmp_path: Path) -> None:
    """The tool finds what was stored once and stands in unused bytes."""
    path = tmp_path / "home" / "home.db"
    path.parent.mkdir()
    history = histories.History(random.Random(1), path, None)
    history.ever = histories.template(path, 1, None) | {"papaya"}
    with open_home(path) as home:
        history.store = store_of(home)
        histories.search(history)
        assert history.findings == []
        leave(path)
        histories.search(history)
    assert len(history.findings) == 1
    assert history.findings[0].startswith("'papaya' is left: unused bytes of pages [")


def leave(path: Path) -> None:
    """Drop a table as a program does that overwrites nothing."""
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("CREATE TABLE scrap AS SELECT 'papaya' AS fruit; DROP TABLE scrap")


@pytest.mark.parametrize("key", [None, bytes(range(32))])
def test_every_byte_of_a_page_is_stored_or_unused(tmp_path: Path, key: bytes | None) -> None:
    """Texts of many pages, rows, indexes, and what is left of a dropped table."""
    path = tmp_path / "home" / "family.db"
    path.parent.mkdir()
    with open_home(path, key=key) as home:
        add_family(home)
        home.remember("pineapple " * 3000, author="Priya")
    read, beside = pages.read(path, key)
    assert any(b"pineapple " * 3000 in payload for payload in read.payloads)
    assert (read.unreached, beside) == ([], b"")
    assert not any(b"papaya" in part for _, part in read.unused)
    if key is None:
        leave(path)
        assert any(b"papaya" in part for _, part in pages.read(path, key)[0].unused)
