"""Live random histories of a household: everything works after each, and what is gone is gone.

A history is a few steps by chance on a copy of a small household: remember, correct, give feedback,
relate, rename, import, share, set retention rules, forget, undo, unlearn, remove a person; some are
interrupted at a statement of theirs. A third of the households are encrypted. After each step that
removes something, and at the end, no text, name, identifier or word that a table once held and
holds no more may be anywhere in the household's bytes (unused ones of the decrypted pages, log and
other files included; tools/torture/pages.py reads them without SQLite). At the end open, recall,
forget, export, import and check must work, and the export of an import be the same.

A history depends on --seed and its number alone: a finding is repeated with --first and --count 1.

Examples:
  python -m tools.torture.histories --count 200
  python -m tools.torture.histories --count 10000 --seed 3 --json histories.json
  python -m tools.torture.histories --first 4711 --count 1 --steps
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import functools
import json
import random
import re
import shutil
import sys
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import apsw

from family_recall import Grant, Hidden, Memory, Person, Relation, Selection, Space
from family_recall.api import FamilyRecall
from family_recall.api.engine import Engine
from family_recall.encoders.loader import Models
from family_recall.errors import FamilyRecallError
from family_recall.remember import upgrade
from family_recall.store.file import connection
from family_recall.store.file.encryption import key_of
from family_recall.store.file.schema import SCHEMA
from family_recall.store.store import Store
from family_recall.types.memory import CATEGORIES
from tools.common import parser_of, say, write_json
from tools.torture import pages
from tools.torture.household import HOME, HashEncoder

START = dt.datetime(2025, 6, 15, 12, 0, tzinfo=dt.UTC)
KEY = bytes(range(32))
PRIVATE = "private:mira"
LONG = 6  # bytes: a shorter string may be by chance in a vector
_SHORT = 3
_ROW_IDS = "10995116"  # the first partition's, in JSON
_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zy".split()
_WORD = re.compile(r"[^\W_]+")
_TEMPLATE = 60  # memories
_PAGE = 512  # bytes, of files that are not encrypted: so small an index has several pages
_KINDS = ("episode", "fact", "milestone", "chunk")


class Interrupted(KeyboardInterrupt):
    """An interruption by the tool."""


class Wall:
    """A wall clock that steps move."""

    def __init__(self) -> None:
        self.now_s = START.timestamp()

    def __call__(self) -> float:
        """Seconds since 1970 UTC."""
        return self.now_s


@dataclass(slots=True)
class History:
    """One history: its chance, its household, and every string that its tables ever held."""

    chance: random.Random
    path: Path
    key: bytes | None
    wall: Wall = field(default_factory=Wall)
    ever: set[str] = field(default_factory=set)
    told: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    is_pending: bool = False
    store: Store = field(init=False)
    receipts: list[Any] = field(default_factory=list)

    def word(self) -> str:
        """Make up a word or number."""
        chance = self.chance
        if chance.random() < 0.25:
            return f"{chance.randrange(10 ** chance.randint(4, 9))}"
        return "".join(chance.choices(_SYLLABLES, k=chance.randint(2, 5)))

    def name(self) -> str:
        """Make up a name, short or long, of one word or two."""
        words = [self.word().strip("0123456789") or "Ot" for _ in range(self.chance.randint(1, 2))]
        return " ".join(word[: self.chance.randint(2, 9)].capitalize() for word in words)

    def text(self) -> str:
        """Make up a text, often with an identifier or a name in it."""
        words = [self.word() for _ in range(self.chance.randint(2, 12))]
        extra = self.chance.choice((
            "", "", f"invoice INV-{self.word()}", f"call +49 30 {self.chance.randrange(10**7):07d}",
            f"mail {self.word()}@{self.word()}.org", f"see https://{self.word()}.net/{self.word()}",
            f"file /home/{self.word()}/{self.word()}.txt", "on Thursday", "with Mira", "Jo said",
        ))  # fmt: skip
        if self.chance.random() < 0.03:
            words *= 200
        return " ".join((*words, extra, self.word())).strip()

    def memory(self, doc_id: str | None = None) -> Memory:
        """Make up a memory."""
        pick = self.chance.choice
        return Memory(
            self.text(),
            pick((HOME, HOME, HOME, PRIVATE)),
            doc_id=doc_id or f"d{self.chance.randrange(10**9)}",
            author=pick(("mira", "jo", "Jo", self.name(), self.name(), None)),
            session_id=pick((f"s{self.chance.randrange(9)}", None)),
            title=pick((None, None, self.text()[:40])),
            kind=pick(_KINDS),
            category=pick((*CATEGORIES, *("casual",) * 7)),
            labels=pick(((), (self.word(),))),
            fact_key=pick((None, None, self.word())),
            occurred_at=pick((None, START - dt.timedelta(hours=self.chance.randrange(900)))),
        )

    def doc_ids(self, most: int = 1) -> list[str]:
        """Pick ids of current memories."""
        statement = "SELECT doc_id FROM memory WHERE superseded_s IS NULL ORDER BY doc_id, id"
        with self.store.reading() as tables:
            ids = [*dict.fromkeys(doc_id for (doc_id,) in tables.connection.execute(statement))]
        return self.chance.sample(ids, min(len(ids), self.chance.randint(1, most)))


Step = Callable[[History, FamilyRecall], object]
REMOVING: dict[str, Step] = {}
"""Steps after which somebody was told that something is gone."""
OTHER: dict[str, Step] = {}


def _step(table: dict[str, Step]) -> Callable[[Step], Step]:
    def add(step: Step) -> Step:
        table[step.__name__.strip("_")] = step
        return step

    return add


@_step(OTHER)
def _remember(history: History, home: FamilyRecall) -> None:
    home.remember_many([history.memory() for _ in range(history.chance.choice((1, 3, 20)))])


@_step(OTHER)
def _remember_again(history: History, home: FamilyRecall) -> None:
    home.remember(history.memory(history.doc_ids()[0]))


@_step(OTHER)
def _correct(history: History, home: FamilyRecall) -> None:
    changes: list[dict[str, Any]] = [
        {"text": history.text()}, {"author": history.name()},
        {"band": "red"}, {"title": history.word()},
    ]  # fmt: skip
    change = history.chance.choice(changes)
    home.correct(history.doc_ids()[0], person_id="mira", **change)


@_step(OTHER)
def _feedback(history: History, home: FamilyRecall) -> None:
    who = history.chance.choice(("mira", "jo"))
    (doc_id,) = history.doc_ids()
    asked = history.chance.choice(("list all appointments", "what is there of Jo?", history.text()))
    home.feedback(asked, doc_id, history.chance.random() < 0.5, person_id=who, space_id=HOME)


@_step(OTHER)
def _relate(history: History, home: FamilyRecall) -> None:
    pick = history.chance.choice
    evidence = pick(((), tuple(history.doc_ids())))
    ends = (pick(("Mira", "Jo", history.name())), history.word(), history.name())
    home.relations.add(Relation(*ends, HOME, evidence=evidence))


@_step(OTHER)
def _recall(history: History, home: FamilyRecall) -> None:
    home.recall(history.text(), person_id=history.chance.choice(("mira", "jo")))


@_step(OTHER)
def _rule(history: History, home: FamilyRecall) -> None:
    home.erasure.set_rule(history.chance.choice(CATEGORIES), history.chance.choice((3.0, 30.0)))


@_step(OTHER)
def _import(history: History, home: FamilyRecall) -> None:
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / f"{history.chance.choice(('notes', history.word()))}.md"
        notes.write_text("\n\n".join(f"# {history.word()}\n\n{history.text()}" for _ in range(3)))
        home.sources.import_file(notes, space_id=HOME)


@_step(OTHER)
def _write_source(history: History, home: FamilyRecall) -> None:
    source = history.chance.choice(("calendar", "mail"))
    key = history.chance.choice("abc")
    home.sources.write(source, key, history.text(), space_id=HOME)


@_step(OTHER)
def _share(history: History, home: FamilyRecall) -> None:
    space_id = history.chance.choice((HOME, PRIVATE))
    home.spaces.grant(Grant("jo", space_id, history.chance.choice(("adult", "child", "owner"))))


@_step(OTHER)
def _hide(history: History, home: FamilyRecall) -> None:
    fields = history.chance.choice((("author",), ("title", "labels"), ()))
    home.spaces.hide(Hidden(HOME, "guest", fields))


@_step(OTHER)
def _add_person(history: History, home: FamilyRecall) -> None:
    name = history.name()
    home.people.add(Person(f"p{history.chance.randrange(4)}", name, (history.name(),)))


@_step(OTHER)
def _trash(history: History, home: FamilyRecall) -> None:
    ids = history.doc_ids(3)
    undo_for = dt.timedelta(days=1)
    history.receipts.append(home.forget(ids, person_id="mira", undo_for=undo_for))


@_step(OTHER)
def _undo(history: History, home: FamilyRecall) -> None:
    if history.receipts:
        home.erasure.undo(history.receipts.pop().receipt_id, person_id="mira")


@_step(OTHER)
def _rebuild(history: History, home: FamilyRecall) -> None:
    del history
    home.maintenance.rebuild()


@_step(OTHER)
def _reopen(history: History, home: FamilyRecall) -> None:
    del history, home  # the loop opens it again


@_step(REMOVING)
def _forget(history: History, home: FamilyRecall) -> None:
    receipt = home.forget(history.doc_ids(5), person_id="mira")
    _verified(history, home, receipt)


@_step(REMOVING)
def _forget_about(history: History, home: FamilyRecall) -> None:
    selection = history.chance.choice((
        Selection(about="jo"), Selection(by="jo"), Selection(space_id=PRIVATE),
        Selection(session_id=f"s{history.chance.randrange(9)}"),
        Selection(query=history.chance.choice(("Jo", "on Thursday")), min_confidence=0.1),
    ))  # fmt: skip
    plan = home.forget(selection, person_id="mira", dry_run=True)
    receipt = home.forget(selection, person_id="mira", token=plan.token)
    _verified(history, home, receipt)


@_step(REMOVING)
def _apply_rules(history: History, home: FamilyRecall) -> bool:
    history.wall.now_s += history.chance.choice((1, 5, 40)) * 86_400.0
    return home.erasure.apply_rules() is not None


@_step(REMOVING)
def _unrelate(history: History, home: FamilyRecall) -> bool:
    relations = home.relations.all(person_id="mira")
    return bool(relations) and home.relations.remove(
        history.chance.choice(relations), person_id="mira"
    )


@_step(REMOVING)
def _rename(history: History, home: FamilyRecall) -> None:
    person = history.chance.choice(home.people.all())
    aliases = history.chance.choice(((), person.aliases, (history.name(),)))
    home.people.add(Person(person.person_id, history.name(), aliases))


@_step(REMOVING)
def _rename_space(history: History, home: FamilyRecall) -> bool:
    names = {space.space_id: space.name for space in home.spaces.all()}
    home.spaces.add(Space(HOME, "shared", history.name()))
    return names[HOME] is not None


@_step(REMOVING)
def _remove_person(history: History, home: FamilyRecall) -> bool:
    others = [who.person_id for who in home.people.all() if who.person_id != "mira"]
    if others:
        said = history.chance.choice(("keep", "nobody", "forget"))
        about = history.chance.choice(("keep", "forget"))
        remove = functools.partial(
            home.people.remove, history.chance.choice(others), said=said, about=about
        )
        remove(token=remove(dry_run=True).forgotten.token)
    return bool(others)


@_step(REMOVING)
def _forget_source(history: History, home: FamilyRecall) -> bool:
    sources = [count.source for count in home.sources.all()]
    if sources:
        home.sources.forget(history.chance.choice(sources))
    return bool(sources)


@_step(REMOVING)
def _unlearn(history: History, home: FamilyRecall) -> None:
    home.learning.reset(history.chance.choice((None, "mira")))


@_step(REMOVING)
def _clear_audit(history: History, home: FamilyRecall) -> None:
    home.audit.keep_days(0)
    home.audit.keep_days(history.chance.choice((0, 30)))


def _verified(history: History, home: FamilyRecall, receipt: Any) -> None:
    verification = home.erasure.verify(receipt)
    if receipt.proof is None or not verification.forgotten:
        history.findings.append(f"not forgotten: {verification}")


def live(history: History, n_steps: int) -> None:
    """Live a history; its findings are in it."""
    chance = history.chance
    steps = chance.choices([*OTHER, *REMOVING], [1] * len(OTHER) + [2] * len(REMOVING), k=n_steps)
    home = _opened(history)
    try:
        _note(history)
        for name in (*steps, "forget"):
            history.wall.now_s += 60.0
            done = _take(history, home, name)
            if name == "reopen" or (history.is_pending and history.chance.random() < 0.5):
                home.close()
                home = _opened(history)
                history.told.append("reopened")
                history.is_pending = False
            _note(history)
            if name in REMOVING and done:
                search(history)
            if history.findings:
                return
        _works(history, home)
    finally:
        home.close()
    if not history.findings:
        with _opened(history):
            search(history)


def _take(history: History, home: FamilyRecall, name: str) -> bool:
    """Take a step; return whether all that was removed must be gone by now.

    Not where there was nothing to remove. What an interruption left is cleaned after reopening.
    """
    step, after = {**OTHER, **REMOVING}[name], None
    if history.chance.random() < 0.2:
        after = int(history.chance.expovariate(1 / 15))
    history.told.append(name if after is None else f"{name}, interrupted after {after}")
    writer = history.store._connections._writer  # noqa: SLF001  to interrupt it
    if after is not None:
        writer.exec_trace = _interruption(after)
    try:
        done = step(history, home)
    except FamilyRecallError as error:
        history.told[-1] += f" ({type(error).__name__}: {str(error)[:120]})"
    except Interrupted:
        history.told[-1] += " (interrupted)"
        history.is_pending = True
    except Exception:  # noqa: BLE001  what is searched for
        history.findings.append(f"{name}: {traceback.format_exc(limit=-6)}")
    else:
        return done is not False and not history.is_pending
    finally:
        with contextlib.suppress(apsw.ConnectionClosedError):  # an interrupted one is replaced
            writer.exec_trace = None
    return False


def _interruption(after: int) -> Callable[..., bool]:
    left = after

    def trace(*_: object) -> bool:
        nonlocal left
        if threading.current_thread() is threading.main_thread():
            left -= 1
            if left == 0:
                raise Interrupted
        return True

    return trace


def _opened(history: History) -> FamilyRecall:
    store = Store(history.path, create=True, key=key_of(history.key))
    upgrade(store)
    models = Models(Path("a folder that is not there"), encoder=HashEncoder())
    engine = Engine(store, models, wall_clock=history.wall)
    history.store = store
    engine.start()
    return FamilyRecall(engine)


def stored_texts(file: apsw.Connection) -> Iterator[str]:
    """Yield every text in every table; of JSON the texts within it."""
    tables = file.execute(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0"
        " AND name NOT LIKE 'sqlite_stat%'"
    ).fetchall()
    for (name,) in tables:
        for row in file.execute(f'SELECT * FROM main."{name}"'):
            for value in row:
                if isinstance(value, str):
                    yield from _within(value) if value[:1] in {"[", "{"} else (value,)


def _within(value: str) -> Iterator[str]:
    try:
        waiting = [json.loads(value)]
    except ValueError:
        yield value
        return
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield from _within(part) if part[:1] in {"[", "{"} else (part,)
        elif isinstance(part, dict):
            waiting += [*part, *part.values()]
        elif isinstance(part, list):
            waiting += part


def _now(history: History) -> set[str]:
    with history.store.reading() as tables:
        return set(stored_texts(tables.connection))


def _note(history: History) -> None:
    """Add what is stored now to what ever was: values, and words as the index has them."""
    for value in _now(history):
        history.ever.add(value)
        history.ever.update(_WORD.findall(value))
        history.ever.update(_WORD.findall(value.casefold()))


def _is_word(needle: bytes, among: bytes) -> bool:
    """Whether a text stands alone: a log of receipts counts bytes, as in 138752."""
    alone = rb"(?<![0-9A-Za-z])" + re.escape(needle) + rb"(?![0-9A-Za-z])"
    return len(needle) >= LONG or re.search(alone, among) is not None


def search(history: History) -> None:
    """Search the household's bytes for what was stored and is not any more."""
    now = _now(history)
    stored = "\n".join((*now, SCHEMA, "rewrite_due", "hash/1#passage", "infovectors"))
    stored += stored.casefold()
    gone = [
        text
        for text in history.ever - now - {*_WORD.findall(stored)}
        if len(text) >= _SHORT and text not in stored and not text.startswith(_ROW_IDS)
    ]
    try:
        read, beside = pages.read(history.path, history.key)
    except ValueError as error:
        history.findings.append(f"pages: {error}")
        return
    if read.unreached:
        history.findings.append(f"pages of nothing: {read.unreached}")
    used = b"\0".join(read.payloads)
    unused = b"\0".join(part for _, part in read.unused)
    for text in gone:
        needle = text.encode()[:200]
        is_beside = needle in beside and _is_word(needle, beside)
        is_left = (needle in unused or is_beside) and needle not in used
        if not is_left and len(needle) >= LONG and needle in used:
            # Within a column: the end of one and the beginning of the next may be it too.
            rows = (
                columns for row in read.payloads if needle in row for columns in pages.columns(row)
            )
            is_left = any(needle in value for _, value in rows)
        if is_left:
            where = [no for no, part in read.unused if needle in part]
            history.findings.append(
                f"{text[:80]!r} is left: unused bytes of pages {where}, "
                f"beside {is_beside}, stored {needle in used}"
            )
            if len(history.findings) > 5:
                break


def _works(history: History, home: FamilyRecall) -> None:
    """Ask, check, export, import, and export again."""
    try:
        home.recall("What did Jo say?", person_id="mira", time_budget_ms=60_000.0)
        wrong = [finding.what for finding in home.maintenance.check() if finding.problem]
        home.maintenance.reset_unreadable()
        with tempfile.TemporaryDirectory() as folder:
            first, second = Path(folder) / "first.jsonl", Path(folder) / "second.jsonl"
            home.maintenance.export_to(first)
            other = History(history.chance, Path(folder) / "other.db", None, history.wall)
            with _opened(other) as imported:
                imported.maintenance.import_from(first)
                imported.maintenance.export_to(second)
            before, after = first.read_text().splitlines(), second.read_text().splitlines()
            differing = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
            if len(before) != len(after) or differing:
                wrong.append(f"exports differ: {len(before)}, {len(after)} lines {differing[:2]}")
        history.findings += wrong
    except Exception:  # noqa: BLE001  what is searched for
        history.findings.append(f"at the end: {traceback.format_exc(limit=-6)}")


def template(path: Path, seed: int, key: bytes | None) -> set[str]:
    """Make the household that histories begin with; return what its tables ever held."""
    history = History(random.Random(f"{seed}/template"), path, key)
    pragmas = connection.PRAGMAS if key else {"page_size": _PAGE, **connection.PRAGMAS}
    with mock.patch.object(connection, "PRAGMAS", pragmas), _opened(history) as home:
        for space in (Space(HOME, "shared"), Space(PRIVATE, "private")):
            home.spaces.add(space)
        for person, roles in (
            (Person("mira", "Mira"), (HOME, PRIVATE)),
            (Person("jo", "Jo"), (HOME,)),
        ):
            home.people.add(person)
            for space_id in roles:
                home.spaces.grant(Grant(person.person_id, space_id, "owner"))
        for start in range(0, _TEMPLATE, 10):  # batch by batch, so that pages are split
            home.remember_many([history.memory(f"m{start + n}") for n in range(10)])
        for _ in range(10):
            with contextlib.suppress(FamilyRecallError):  # of evidence elsewhere
                _relate(history, home)
        _note(history)
    return history.ever


class Histories:
    """The histories of a seed, each on a copy of a template."""

    def __init__(self, folder: Path, seed: int) -> None:
        """Make the templates."""
        self._folder, self._seed = folder, seed
        self._templates = []
        for name, key in (("plain.db", None), ("encrypted.db", KEY)):
            ever = template(folder / name, seed, key)
            self._templates.append((folder / name, ever, key))

    def live(self, number: int) -> History:
        """Live one history."""
        chance = random.Random(f"{self._seed}/{number}")
        path, ever, key = self._templates[chance.random() < 1 / 3]
        with tempfile.TemporaryDirectory(dir=self._folder) as own:
            shutil.copy(path, Path(own) / "home.db")
            history = History(chance, Path(own) / "home.db", key, ever=set(ever))
            try:
                live(history, chance.randint(4, 14))
            except Exception:  # noqa: BLE001  what is searched for
                history.findings.append(traceback.format_exc(limit=-6))
        return history


def main(arguments: Sequence[str] | None = None) -> int:
    """Live histories, and print what was found; 1 if anything was."""
    options = _parser().parse_args(arguments)
    ended: Counter[str] = Counter()
    findings: list[dict[str, Any]] = []

    def each(number: int, history: History) -> None:
        ended.update(step.split(" (")[0].split(",")[0] for step in history.told)
        if options.steps:
            print("\n".join(history.told))
        if history.findings:
            findings.append({"number": number, "steps": history.told, "found": history.findings})
            what = f"history {number}, encrypted {history.key is not None}:"
            print(what, *history.findings, sep="\n  ", flush=True)
        if number % 100 == 99:
            say(f"{number + 1 - options.first:,} histories, {len(findings)} with findings")
        if options.json:
            record = {
                "seed": options.seed,
                "next": number + 1,
                "steps": ended,
                "findings": findings,
            }
            write_json(options.json, record)

    with tempfile.TemporaryDirectory(prefix="family_recall_histories_") as folder:
        histories = Histories(Path(folder), options.seed)
        for number in range(options.first, options.first + options.count):
            each(number, histories.live(number))
    print(f"{options.count:,} histories of {ended.total():,} steps, {len(findings)} with findings")
    print(", ".join(f"{name} {n:,}" for name, n in sorted(ended.items())))
    return 1 if findings else 0


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("--count", type=int, default=200, metavar="N", help="histories (default: 200)")
    add("--first", type=int, default=0, metavar="N", help="number of the first (default: 0)")
    add("--seed", type=int, default=1, metavar="N", help="of chance (default: 1)")
    add("--steps", action="store_true", help="print the steps of each")
    add("--json", type=Path, metavar="FILE", help="write the result there after each history")
    return parser


if __name__ == "__main__":
    sys.exit(main())
