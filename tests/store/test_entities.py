"""Entities: found by their names, in the order of the partitions and then of the names."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import apsw

from family_recall.store.file.schema import PARTITION_SHIFT
from family_recall.store.reader import ReadCaches
from family_recall.store.transaction import Snapshot
from family_recall.types import Scope
from tests.conftest import open_home


@contextlib.contextmanager
def household(path: Path) -> Iterator[Snapshot]:
    """Store three entities under five names, in two partitions; yields what reads them."""
    with open_home(path):
        pass
    connection = apsw.Connection(str(path))
    for partition, number, name, aliases in (
        (1, 1, "Priya", ["priya", "aunt priya"]),
        (1, 2, "Uncle Otto", ["uncle otto", "otto"]),
        (2, 1, "Priya", ["priya"]),
    ):
        entity = -(partition << PARTITION_SHIFT | number)
        connection.execute("INSERT INTO entity(id, name) VALUES(?, ?)", (entity, name))
        connection.executemany(
            "INSERT INTO alias(partition, alias, entity) VALUES(?, ?, ?)",
            [(partition, alias, entity) for alias in aliases],
        )
    yield Snapshot(connection, dt.UTC, ReadCaches())
    connection.close()


def scope(partitions: list[int]) -> Scope:
    """Return the scope of some partitions."""
    return Scope(None, tuple(partitions), 0.0)


def test_entities_are_found_in_the_order_of_partitions_and_names(tmp_path: Path) -> None:
    """Whatever else begins like a name is not found."""
    with household(tmp_path / "family.db") as entities:

        def names(partitions: list[int], *aliases: str) -> list[tuple[str, int]]:
            found = entities.entities(aliases, scope(partitions))
            return [(alias, -entity.id >> PARTITION_SHIFT) for alias, entity in found]

        assert names([1, 2], "otto", "aunt", "priya") == [("otto", 1), ("priya", 1), ("priya", 2)]
        assert names([1, 2], "priya", "otto") == [("priya", 1), ("otto", 1), ("priya", 2)]
        assert names([2], "otto", "aunt priya", "priya") == [("priya", 2)]
        assert names([1]) == names([], "priya") == []


def test_names_in_a_text_are_runs_of_its_words(tmp_path: Path) -> None:
    """Neither a part of a word is a name, nor words that something stands between."""
    with household(tmp_path / "family.db") as entities:

        def names(partitions: list[int], text: str) -> list[tuple[str, int]]:
            found = entities.entities_in(text.split(), scope(partitions))
            return [(alias, -entity.id >> PARTITION_SHIFT) for alias, entity in found]

        assert names([1, 2], "may otto see priya") == [("otto", 1), ("priya", 1), ("priya", 2)]
        assert sorted(names([1], "uncle otto")) == [("otto", 1), ("uncle otto", 1)]
        assert names([1], "uncle of otto and aunt") == [("otto", 1)]
        assert names([1, 2], "lotto aunt priyas") == []
        assert names([1], "") == names([], "priya") == []


def test_names_like_a_word_begin_as_it_does(tmp_path: Path) -> None:
    """With its first letter, or with the second and the first, and in one word."""
    with household(tmp_path / "family.db") as entities:
        assert entities.aliases_like("pirya", 1, scope([1, 2])) == ["priya"]
        assert entities.aliases_like("rpiya", 1, scope([1, 2])) == ["priya"]
        assert entities.aliases_like("oto", 1, scope([2])) == []
        assert entities.aliases_like("oto", 1, scope([1])) == ["otto"]
