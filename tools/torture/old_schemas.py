"""Write the small file of today's schema under tests/fixtures, for tests of the schemas to come.

It holds one household with two versions of a memory, a session, a relation and vectors. A file
that exists stays as it is: each was written when its schema was the newest, and a release that
migrates it must find it as it was.

Examples:
  python -m tools.torture.old_schemas
  python -m tools.torture.old_schemas --to /tmp/fixtures
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import apsw

from family_recall import Memory, Relation
from family_recall.store.file.schema import SCHEMA_VERSION
from tools.common import FIXTURES, parser_of
from tools.torture.household import HOME, add_family, note, open_home

KEY = "The spare key is under the red pot"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file if it is missing."""
    options = _parser().parse_args(arguments)
    options.to.mkdir(parents=True, exist_ok=True)
    path = options.to / f"schema_{SCHEMA_VERSION}.db"
    if not path.exists():
        _write(path)
        print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


def _write(path: Path) -> None:
    with open_home(path) as home:
        # In plain tables, so that the file opens without sqlite-vec too.
        home._engine.store._connections.vec0 = False  # noqa: SLF001
        add_family(home)
        home.remember(Memory("The spare key is under the blue pot", HOME, doc_id="key"))
        home.remember(Memory(KEY, HOME, doc_id="key", kind="fact"))
        home.remember_many([note(f"note-{number}", 0, 1) for number in range(6)])
        home.relations.add(Relation("Priya", "sister of", "Rajesh", HOME, evidence=("note-1",)))
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = DELETE; VACUUM")
    connection.close()


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--to", type=Path, default=FIXTURES, metavar="DIR", help="where (default: tests/fixtures)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
