"""Make the small files under tests/fixtures: one household as each schema would have kept it.

A household of today is told a few things; then its rows are copied, as far as a schema has a place
for them, into a file that was brought no further than that schema. Files that are there already
stay as they are: what was released is never made again.

Examples:
  python -m tools.torture.old_schemas
  python -m tools.torture.old_schemas --to /tmp/fixtures
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import apsw

from family_recall import Memory, Relation
from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import words_table
from family_recall.stores.file.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION
from family_recall.stores.text import full_text
from family_recall.stores.vectors import tables
from tools.common import FIXTURES, parser_of
from tools.torture.household import HOME, move_in, open_home, told

KEY = "The spare key is under the red pot"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the files that are missing."""
    options = _parser().parse_args(arguments)
    options.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        today = Path(folder) / "today.db"
        _tell(today)
        for schema in range(1, SCHEMA_VERSION + 1):
            path = options.to / f"schema_{schema}.db"
            if not path.exists():
                _write(path, today, schema)
                print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


def _tell(path: Path) -> None:
    """Make a household of today: two versions of one thing, a talk, a relation, vectors."""
    with open_home(path) as home:
        # In plain tables, so that the files open without sqlite-vec too.
        home._engine.store._connections.vec0 = False  # noqa: SLF001
        move_in(home)
        home.remember(Memory("The spare key is under the blue pot", HOME, doc_id="key"))
        home.remember(Memory(KEY, HOME, doc_id="key", kind="fact"))
        home.remember_many([told(f"note-{number}", 0, 1) for number in range(6)])
        home.relations.add(Relation("Priya", "sister of", "Rajesh", HOME, evidence=("note-1",)))


def _write(path: Path, today: Path, schema: int) -> None:
    """Copy what a schema has a place for into a file of that schema."""
    file = apsw.Connection(str(path))
    for step in MIGRATIONS[:schema]:
        file.execute(step)
    file.execute("ATTACH ? AS today", (str(today),))
    here, there = _tables(file, "main"), _tables(file, "today")
    for table, columns in here.items():
        shared = ", ".join(column for column in columns if column in there[table])
        file.execute(f"INSERT INTO main.{table}({shared}) SELECT {shared} FROM today.{table}")
    for no, dim in sql.rows(file, "SELECT no, dim FROM embedding_model"):
        tables.create(file, tables.Model(no, "", dim, 0, "plain", ""))
        file.execute(f"INSERT INTO vectors_{no} SELECT * FROM today.vectors_{no}")
    for (partition,) in sql.rows(file, "SELECT no FROM partition"):
        for shelf in (partition * 2, partition * 2 + 1):
            full_text.create(file, shelf)
            file.execute(
                f"INSERT INTO {words_table(shelf)}(rowid, body, header, context)"
                " SELECT c.id, c.body, c.header, c.context FROM words_content c"
                " JOIN memory m ON m.id = c.id WHERE (m.superseded_s IS NOT NULL) = ?"
                " AND m.id >> 40 = ?",
                (shelf % 2, partition),
            )
    file.pragma("application_id", APPLICATION_ID)
    file.pragma("user_version", schema)
    file.execute("DETACH today")
    file.execute("VACUUM")
    file.close()


def _tables(file: apsw.Connection, schema: str) -> dict[str, list[str]]:
    """Name the tables that both have as rows, with their columns."""
    names = file.execute(
        f"SELECT name FROM {schema}.sqlite_schema WHERE type = 'table'"
        " AND name NOT GLOB 'words_*' AND name NOT GLOB 'vectors_*' AND name NOT GLOB 'sqlite_*'"
    ).fetchall()
    return {
        str(name): [
            str(column)
            for (column,) in file.execute(
                "SELECT name FROM pragma_table_info(?, ?)", (name, schema)
            ).fetchall()
        ]
        for (name,) in names
    }


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--to", type=Path, default=FIXTURES, metavar="DIR", help="where (default: tests/fixtures)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
