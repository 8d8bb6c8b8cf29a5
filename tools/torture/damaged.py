"""Put values that make no sense into a household's file: it opens, works, and can be repaired.

Each round writes one to three values into rows of one column of one table, past the schema's
constraints, as a damaged disk or another program may. Then everything is called on it: the calls
may end with an error of errors.py, and with no other. Afterwards the doctor repairs the file, and
every call works but those that need what was damaged.

A round depends on --seed and its number alone; a finding is repeated with --first and --rounds 1.

Examples:
  python -m tools.torture.damaged --rounds 500
  python -m tools.torture.damaged --rounds 1 --first 4711
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import functools
import random
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from family_recall import Grant, Hidden, Person, RecallContext, Relation, Space
from family_recall.api import FamilyRecall
from family_recall.apps.cli.doctor import examine
from family_recall.errors import FamilyRecallError, StoreError
from family_recall.store.file.schema import SCHEMA
from tools.common import parser_of, write_json
from tools.torture.household import HOME, add_family, note, open_home

VALUES = (
    "NULL", "0", "-1", "1", "7", "2147483648", "9007199254740993", "9223372036854775807",
    "-9223372036854775808", "0.5", "-0.5", "30.0", "1e308", "-1e308", "9e999", "-9e999", "5e-324",
    "253402300800", "-62135596801", "1e20", "''", "' '", "char(9)", "'true'", "'NaN'", "'inf'",
    "'1e400'", "'-5'", "'30.0'", "'999999999999999999999'", "'0x1F'", "'2025-13-45'",
    "'9999-12-31T23:59:59'", "'owner'", "'nosuch'", "'[]'", "'{}'", "'[1]'", "'[[]]'",
    "'{\"a\":'", "'null'", "'[\"\\ud800\"]'", "printf('%.100000c', '[')",
    "printf('%.100000c', 'x')", "'a' || char(0) || 'b'", "CAST(x'eda080' AS TEXT)",
    "CAST(x'ff' AS TEXT)", "x''", "x'00ff'", "zeroblob(5000)",
)  # fmt: skip
"""SQL of values that most columns refuse."""
DERIVED = (
    "word_count", "identifier", "mentioned_time", "embedding", "mention", "edge", "vectors_1",
    "audit_memory",
)  # fmt: skip
"""Tables that are made from others, or log; :mod:`damage` names those of settings and records."""
UNSTOPPED = frozenset((
    "recall", "forget", "forget with undo", "apply rules", "learned", "unlearn", "unlearn all",
    "backup", "export", "export what is sound", "rebuild", "reset", "close",
))  # fmt: skip
"""Calls that no damage to what is derived stops; as doctor --repair does, they replace it."""
PRIMARY = ("memory", "person", "space", "access", "guardian", "partition", "redacted_view", "info")
_ABSENT = frozenset(("models", "onnxruntime"))  # checks of the doctor that are about models
_NO_MODELS = Path("a folder that is not there")
_LAST_YEAR = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
_QUESTION = "Who brought a cake?"
_PRIYA = RecallContext("priya", time_budget_ms=2_000.0)


def columns_of(*tables: str) -> list[tuple[str, str]]:
    """List the columns of some tables; no row can say which row it is in any other way."""
    connection = apsw.Connection(":memory:")
    connection.execute(SCHEMA)
    connection.execute("CREATE TABLE vectors_1(id INTEGER PRIMARY KEY, shard INTEGER, vector BLOB)")
    return [
        (table, name)
        for table in tables
        for name, kind, key in connection.execute(
            "SELECT name, type, pk FROM pragma_table_info(?)", (table,)
        )
        if not (kind == "INTEGER" and key and name in {"no", "id"})
    ]


_STRICT = (
    (") STRICT, WITHOUT ROWID", ") /* strict */ WITHOUT ROWID"),
    (") STRICT", ") /* strict */"),
)


@contextlib.contextmanager
def without_constraints(path: Path) -> Iterator[apsw.Connection]:
    """Lend a connection that takes any value, as a damaged disk does: no STRICT table, no CHECK."""
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        _edit_schema(connection, _STRICT)
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        yield connection
        _edit_schema(connection, [pair[::-1] for pair in _STRICT])


def put_values(
    connection: apsw.Connection,
    table: str,
    column: str,
    values: Sequence[str],
    *,
    chance: random.Random | None = None,
) -> int:
    """Put each value into a row of its own; return how many rows may take one.

    Rows are chosen by chance, or else the last row is the first, and the first row takes none.
    """
    keys = [
        name for name, key in connection.execute(
            "SELECT name, pk FROM pragma_table_info(?)", (table,)
        ) if key
    ] or ["rowid"]  # fmt: skip
    rows = connection.execute(
        f"SELECT {', '.join(keys)} FROM {table} ORDER BY {', '.join(f'{key} DESC' for key in keys)}"
    ).fetchall()
    if chance is None:
        rows = rows[: max(1, len(rows) - 1)]
    else:
        chance.shuffle(rows)
    where = " AND ".join(f"{key} IS ?" for key in keys)
    connection.execute("BEGIN")
    for value, key in zip(values, rows, strict=False):
        with contextlib.suppress(apsw.ConstraintError, apsw.MismatchError):  # kept out by SQLite
            connection.execute(
                f"UPDATE OR IGNORE {table} SET {column} = {value} WHERE {where}", key
            )
    connection.execute("COMMIT")
    return len(rows)


def _edit_schema(connection: apsw.Connection, changes: Sequence[tuple[str, str]]) -> None:
    connection.execute("PRAGMA writable_schema = ON")
    for change in changes:
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, ?)", change)
    version = connection.pragma("schema_version")
    connection.execute(f"PRAGMA schema_version = {version + 1}; PRAGMA writable_schema = OFF")


@dataclass(slots=True)
class Tally:
    """How calls ended, by class, and what was found."""

    ended: Counter[str] = field(default_factory=Counter)
    findings: list[dict[str, str]] = field(default_factory=list)

    def call(self, what: str, call: Callable[[], object], *, unstopped: bool = False) -> None:
        """Make a call, and count how it ended; no damage may stop one that is ``unstopped``."""
        try:
            call()
            self.ended["accepted"] += 1
        except FamilyRecallError as error:
            self.ended[type(error).__name__] += 1
            if unstopped and type(error) is StoreError:
                self.find(what, traceback.format_exc(limit=-7))
        except Exception as error:  # noqa: BLE001  what is searched for
            self.ended[type(error).__name__] += 1
            self.find(what, traceback.format_exc(limit=-7))

    def find(self, what: str, error: str) -> None:
        """Add a finding."""
        self.findings.append({"call": what, "error": error[-2000:]})


def main(arguments: Sequence[str] | None = None) -> int:
    """Damage files, and print how calls ended; 1 if anything was found."""
    options = _parser().parse_args(arguments)
    tally = Tally()
    for number in range(options.first, options.first + options.rounds):
        damage_once(tally, options.seed, number)
        if options.json:
            write_json(
                options.json,
                {"next": number + 1, "ended": dict(tally.ended), "findings": tally.findings},
            )
    print(f"{tally.ended.total():,} calls: {dict(tally.ended.most_common())}")
    for finding in tally.findings:
        print(f"\n{finding['call']}\n{finding['error']}")
    print(f"{len(tally.findings)} findings")
    return 1 if tally.findings else 0


def damage_once(tally: Tally, seed: int, number: int) -> None:
    """Damage a file, call everything on it, repair it, and call everything again."""
    chance = random.Random(f"{seed}/{number}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        path.write_bytes(household())
        work_and_repair(tally, path, chance, f"round {number}, {_damage(path, chance)}")


def work_and_repair(tally: Tally, path: Path, chance: random.Random, what: str) -> None:
    """Call everything on a damaged file, repair it, and call everything again."""
    call_all(tally, path, chance, what)
    report = examine(path, models=_NO_MODELS, repair=True)
    wrong = [check for check in report.checks if not check.ok and check.name not in _ABSENT]
    if wrong:
        tally.find(f"{what}: doctor --repair", str(wrong))
    before = tally.ended.copy()
    call_all(tally, path, chance, f"{what}: after the repair")
    if (tally.ended - before)["StoreError"]:
        tally.find(f"{what}: after the repair", str(tally.ended - before))


@functools.cache
def household() -> bytes:
    """Return a file with rows in every table, logged and forgotten ones included."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        with open_home(path) as home:
            add_family(home)
            home.people.add(Person("mia", "Mia", ("Mimi",)))
            home.people.add_guardian("priya", "mia")
            home.spaces.add(Space("private:priya", "private", "Priya's own"))
            home.spaces.grant(Grant("priya", "private:priya", "owner"))
            home.spaces.grant(Grant("mia", HOME, "child"))
            home.spaces.hide(Hidden(HOME, "child", ("author",)))
            home.remember_many([note(f"note-{number}", 0, 1) for number in range(12)])
            code = "INV-4711-22"
            home.remember(f"The code is {code}", space_id=HOME, doc_id="code", author="priya",
                          kind="fact", fact_key="code", fact_value=code)  # fmt: skip
            home.remember("A present for Mia, due on May 3 2025", space_id=HOME, doc_id="gift",
                          guardians_of="mia", category="task", occurred_at=_LAST_YEAR)  # fmt: skip
            home.remember("My diary: rain", space_id="private:priya", author="priya", doc_id="own")
            home.correct("note-1", person_id="priya", text="Grandma baked a red cake, with Mia")
            home.sources.write("calendar", "uid-1", "Swimming with Rajesh", space_id=HOME)
            home.relations.add(Relation("Priya", "sister of", "Rajesh", HOME, evidence=("note-1",)))
            answer = home.recall(_QUESTION, _PRIYA)
            home.feedback(answer, answer.results[0].doc_id, True, person_id="priya")
            home.feedback(answer, answer.results[1].doc_id, False, person_id="priya")
            home.erasure.set_rule("task", 36_000)
            home.forget("note-10", person_id="priya")
            home.forget("note-11", person_id="priya", undo_for=dt.timedelta(days=30_000))
        return path.read_bytes()


def tables_of(path: Path) -> list[str]:
    """List the tables of a file, without virtual ones."""
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        return [name for (name,) in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            " AND sql NOT LIKE 'CREATE VIRTUAL %' ORDER BY name"
        )]  # fmt: skip


def _damage(path: Path, chance: random.Random) -> str:
    """Put values into the file; return what was done."""
    names = tables_of(path)
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(name.translate({ord(digit): "#" for digit in "0123456789"}), []).append(
            name
        )
    table = chance.choice(kinds[chance.choice(sorted(kinds))])
    with without_constraints(path) as connection:
        columns = connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        column = str(chance.choice(columns)[0])
        values = chance.sample(VALUES, chance.choice((1, 1, 3, 20)))
        put_values(connection, table, column, values, chance=chance)
    return f"{table}.{column} = {', '.join(values)[:300]}"


def call_all(
    tally: Tally, path: Path, chance: random.Random, what: str, only: Collection[str] = ()
) -> None:
    """Open the file and make every call, or some, in an order by chance; ``what`` is damaged."""
    try:
        home = open_home(path, create=False)
    except FamilyRecallError as error:
        tally.find(f"{what}: opening", f"{type(error).__name__}: {error}")
        return
    except Exception:  # noqa: BLE001  what is searched for
        tally.find(f"{what}: opening", traceback.format_exc(limit=-7))
        return
    is_derived = what.partition(".")[0].split()[-1] not in PRIMARY
    calls = [call for call in calls_of(home, path).items() if not only or call[0] in only]
    chance.shuffle(calls)
    for name, call in calls:
        tally.call(f"{what}: {name}", call, unstopped=is_derived and name in UNSTOPPED)
    tally.call(f"{what}: close", home.close, unstopped=is_derived)


def calls_of(home: FamilyRecall, path: Path) -> Mapping[str, Callable[[], object]]:
    """Return calls of everything that reads or writes a household, with sound arguments."""

    def fed_back() -> None:
        answer = home.recall("What did Grandma bake?", _PRIYA)
        for result in answer.results[:2]:
            home.feedback(answer, result.doc_id, False, person_id="priya")

    def undone() -> None:
        for receipt in home.erasure.receipts():
            home.erasure.verify(receipt, ["The blue pot"])
            if receipt.undo_until:
                home.erasure.undo(receipt.receipt_id, person_id="priya")

    def browsed() -> None:
        for memory in home.memories.page(_PRIYA).memories:
            home.memories.get(str(memory.memory.doc_id), _PRIYA, space_id=memory.memory.space_id)

    def of(person_id: str | None) -> RecallContext:
        return RecallContext(person_id, time_budget_ms=2_000.0)

    return {
        "recall": lambda: home.recall(_QUESTION, _PRIYA),
        "recall of a child": lambda: home.recall("What is the code?", of("mia")),
        "recall of a stranger": lambda: home.recall("order INV-4711-22 in May 2025", of(None)),
        "recall as of": lambda: home.recall("cake", person_id="priya", known_at=_LAST_YEAR),
        "opening": lambda: home.opening(_PRIYA),
        "explain": lambda: home.explain(_QUESTION, "note-2", _PRIYA),
        "inspect": lambda: home.inspect(_QUESTION, _PRIYA),
        "understand": lambda: home.understand(_QUESTION, _PRIYA),
        "remember": lambda: home.remember("Rajesh painted the blue pot", space_id=HOME,
                                          author="rajesh", session_id="session-1"),
        "remember many": lambda: home.remember_many([note(f"new-{no}", 0, 1) for no in range(3)]),
        "replace": lambda: home.remember(note("note-3", 1, 1)),
        "correct": lambda: home.correct("note-4", person_id="priya", text="Rajesh lost the key"),
        "raise": lambda: home.correct("note-5", person_id="priya", band="red"),
        "forget": lambda: home.forget("note-6", person_id="priya"),
        "forget a plan": lambda: home.forget(about="Mia", person_id="priya", dry_run=True),
        "forget with undo": lambda: home.forget("note-7", person_id="priya",
                                                undo_for=dt.timedelta(days=1)),
        "undo": undone,
        "feedback": fed_back,
        "learned": home.learning.all,
        "unlearn": lambda: home.learning.undo(person_id="priya"),
        "unlearn all": home.learning.reset,
        "rules": home.erasure.rules,
        "set a rule": lambda: home.erasure.set_rule("event", 30_000),
        "apply rules": home.erasure.apply_rules,
        "people": lambda: (home.people.all(), home.people.all("mia"), home.people.guardians()),
        "add a person": lambda: home.people.add(Person("uma", "Uma", ("Umi",))),
        "rename": lambda: home.people.add(Person("rajesh", "Rajesh Rao", ("Raj",))),
        "guardian": lambda: home.people.add_guardian("rajesh", "mia"),
        "remove a person": lambda: home.people.remove("uma", said="keep"),
        "spaces": lambda: (home.spaces.all("priya"), home.spaces.grants(), home.spaces.hidden(),
                           home.spaces.accessible("mia")),
        "add a space": lambda: home.spaces.add(Space("shared:garden", "shared")),
        "grant": lambda: home.spaces.grant(Grant("rajesh", "private:priya", "guest")),
        "revoke": lambda: home.spaces.revoke("rajesh", "private:priya"),
        "hide": lambda: home.spaces.hide(Hidden(HOME, "guest", ("title",))),
        "show": lambda: home.spaces.hide(Hidden(HOME, "guest", ())),
        "browse": browsed,
        "entities": lambda: home.memories.entities(_PRIYA),
        "ids": lambda: home.memories.ids("priya"),
        "relations": lambda: home.relations.all(_PRIYA),
        "relate": lambda: home.relations.add(Relation("Mia", "niece of", "Rajesh", HOME)),
        "unrelate": lambda: home.relations.remove(Relation("Mia", "niece of", "Rajesh", HOME),
                                                  person_id="priya"),
        "sources": lambda: (home.sources.all(), home.sources.keys("calendar")),
        "write": lambda: home.sources.write("calendar", "uid-1", "Yoga", space_id=HOME),
        "withdraw": lambda: home.sources.withdraw("calendar", "uid-1"),
        "audit": lambda: home.audit.entries("priya"),
        "keep the log": lambda: home.audit.keep_days(7),
        "check": home.maintenance.check,
        "stats": home.maintenance.stats,
        "pending": home.maintenance.pending,
        "flush": home.flush,
        "backup": lambda: home.maintenance.backup(path.with_name("copy.db"), overwrite=True),
        "export": lambda: home.maintenance.export_to(path.with_name("all.jsonl"), log=True,
                                                     feedback=True, overwrite=True),
        "export what is sound": lambda: home.maintenance.export_to(
            path.with_name("all.jsonl"), skip_damaged=True, overwrite=True
        ),
        "rebuild": home.maintenance.rebuild,
        "reset": home.maintenance.reset_unreadable,
    }  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("--rounds", type=int, default=100, metavar="N", help="files to damage (default: 100)")
    add("--first", type=int, default=0, metavar="N", help="number of the first (default: 0)")
    add("--seed", type=int, default=1, metavar="N", help="of chance (default: 1)")
    add("--json", type=Path, metavar="FILE", help="write the result there after each round")
    return parser


if __name__ == "__main__":
    sys.exit(main())
