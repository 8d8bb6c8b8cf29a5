"""tools/torture/damaged.py: a household works with values that make no sense, and is repaired."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import apsw
import pytest

from family_recall import Memory, Space
from family_recall.errors import StoreError
from tests.conftest import engine_of
from tools.torture import damaged
from tools.torture.household import HOME, open_home


@pytest.mark.parametrize("number", range(3))
def test_a_damaged_file_meets_clear_errors_and_is_repaired(number: int) -> None:
    """A short run of what runs by the hundred before a release."""
    tally = damaged.Tally()
    damaged.damage_once(tally, seed=7, number=number)

    assert tally.findings == []
    assert tally.ended["accepted"] > 50


def test_nothing_that_is_derived_stops_forgetting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor opening, recall, rules, export, backup, learned, unlearn, rebuild and closing.

    Whatever is in a column of any table but those of what was stored, and who may see it.
    """
    path, tally = tmp_path / "family.db", damaged.Tally()
    path.write_bytes(damaged.household())
    tables = [name for name in damaged.tables_of(path) if name not in damaged.PRIMARY]
    for first in range(0, len(tables), 3):
        some = tables[first : first + 3]
        path.write_bytes(damaged.household())
        chance = random.Random(str(some))
        with damaged.without_constraints(path) as connection:
            for table in some:
                columns = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
                column = str(chance.choice(columns.fetchall())[0])
                values = chance.sample(damaged.VALUES, 8)
                damaged.put_values(connection, table, column, values, chance=chance)
        damaged.call_all(tally, path, chance, f"{some}.all", damaged.UNSTOPPED)

    assert tally.findings == []
    assert "was damaged" in caplog.text


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("vectors_1_vector_chunks00", "vectors", "'null'"),
        ("vectors_1_chunks", "validity", "7"),
        ("vectors_2", "vector", "0.5"),
        ("audit_memory", "rank", "0.5"),
        ("alias", "partition", "7"),
        ("partition", "space", "-5"),
        ("entity", "id", "0"),
    ],
)
def test_every_kind_of_damage_is_repaired(
    tmp_path: Path, table: str, column: str, value: str
) -> None:
    """What was found once: vectors that crashed, logs and names that stayed damaged."""
    path, tally = tmp_path / "family.db", damaged.Tally()
    path.write_bytes(damaged.household())
    with damaged.without_constraints(path) as connection:
        damaged.put_values(connection, table, column, [value] * 20, chance=random.Random(1))

    damaged.work_and_repair(tally, path, random.Random(1), f"{table}.{column}")

    assert tally.findings == []


def test_damaged_vectors_are_rebuilt(tmp_path: Path) -> None:
    """The extension leaves its tables locked, and crashes when they are dropped then."""
    path = tmp_path / "family.db"
    path.write_bytes(damaged.household())
    with damaged.without_constraints(path) as connection:
        connection.execute("UPDATE vectors_1_vector_chunks00 SET vectors = 'x'")

    with open_home(path, create=False) as home:
        for call in (home.correct, home.forget):
            with contextlib.suppress(StoreError):
                call("note-4", person_id="priya")
        home.maintenance.rebuild()
        home.correct("note-5", person_id="priya", text="Rajesh found the key")
        home.flush()
        assert [one for one in home.maintenance.check() if one.problem] == []


def test_chunks_of_vectors_go_with_their_last_one(tmp_path: Path) -> None:
    """Other vectors stay as they are."""
    path = tmp_path / "family.db"
    with open_home(path) as home, contextlib.closing(apsw.Connection(str(path))) as reader:
        home.spaces.add(Space(HOME, "shared"))
        home.remember_many([Memory(f"Number {no}", HOME, doc_id=str(no)) for no in range(300)])
        for last, n_chunks in ((128, 2), (200, 2), (256, 1), (300, 0)):
            with engine_of(home).store.writing() as writing:
                writing.vectors.remove([1 << 40 | no for no in range(1, last + 1)])
            left = [
                [*reader.execute(f"SELECT count(*) FROM vectors_1_{part}")]
                for part in ("chunks", "vector_chunks00", "rowids")
            ]
            assert left == [[(n_chunks,)], [(n_chunks,)], [(300 - last,)]]
            assert [one.what for one in home.maintenance.check() if one.problem] == []
