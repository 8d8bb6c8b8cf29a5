"""What calls tools/torture/interrupts.py interrupts, and what must be true after each."""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw

from family_recall import Memory
from family_recall.api import FamilyRecall, files
from family_recall.encoders.base import Encoder
from family_recall.errors import StoreError, WrongKeyError
from family_recall.store.file.encryption import Secret
from family_recall.store.file.replacement import leftovers
from family_recall.types import Hidden
from tools.torture.crash_checks import Expected, wrong_texts
from tools.torture.household import HOME, HashEncoder, add_family, note

WAIT_S = 8.0  # for calls in another thread
MEMORIES = 12
Call = Callable[[], object]


class Household:
    """An open household, and what it must hold."""

    def __init__(self, path: Path, seed: str) -> None:
        """Create it, with a family and some memories."""
        self.path, self.expected = path, Expected()
        self.expiring: set[str] = set()
        self._seed, self.number = zlib.crc32(seed.encode()), 0
        self.home = self._open()
        add_family(self.home)
        notes = [note(f"kept-{number}", 0, self._seed) for number in range(MEMORIES)]
        self.home.remember_many(notes)
        self.expected.texts = {str(memory.doc_id): memory.text for memory in notes}
        self.home.remember_many([self.new() for _ in range(4)])
        self.acknowledge()

    def prepare(self, name: str) -> Call:
        """Return a call that is ready to be made, after all that it needs."""
        self.number += 1
        if self.home._engine.closed:  # noqa: SLF001  of this torture alone
            self.home = self._open()
        return WORK[name](self)

    def acknowledge(self) -> None:
        """Expect what the last call promised, since it has returned."""
        self.expected.texts |= self.expected.open_batch
        for doc_id in self.expected.maybe_gone:
            del self.expected.texts[doc_id]
        self.expected.open_batch, self.expected.maybe_gone = {}, set()
        del self.expected.keys[:-1]

    def problems(self, name: str, *, thoroughly: bool) -> list[str]:
        """Make other calls after an interrupted one, and return what is wrong."""
        if name in CLOSED:
            if name == "close":
                self.home.close()
            self.home = self._open()
        problems = wrong_texts(self.path, self.expected)
        self._stored("same thread")
        if name not in CLOSED:
            self.prepare(name)()
            self.acknowledge()
        raised: list[BaseException] = []

        def call_too() -> None:
            try:
                self._stored("other thread")
            except BaseException as error:  # noqa: BLE001  told
                raised.append(error)

        other = threading.Thread(target=call_too, daemon=True)
        other.start()
        other.join(WAIT_S)
        if other.is_alive():
            problems.append("a call in another thread does not end")
        problems += [f"{type(error).__name__} in another thread: {error}" for error in raised]
        problems += [*self._left()]
        problems += wrong_texts(self.path, self.expected)
        if thoroughly:
            checks = self.home.maintenance.check()
            problems += [f"{check.what}: {check.problem}" for check in checks if check.problem]
            self.home.close()
            problems += [f"{folder.name} is left" for folder in leftovers(self.path.parent)]
            self.home = self._open()
        return problems

    def close(self) -> list[str]:
        """Close it, and return what is open all the same."""
        self.home.close()
        return [f"{name} is open after close" for name in open_connections(self.path.parent)]

    def new(self) -> Memory:
        """Return a memory that is not there yet, and may be from now on."""
        self.number += 1
        memory = replace(note(f"new-{self.number}", 0, self._seed), author="priya")
        self.expected.open_batch[str(memory.doc_id)] = memory.text
        return memory

    def two(self) -> list[str]:
        """Return the ids of two memories that may be forgotten; store more where there are few."""
        mine = [name for name in self.expected.texts if name.startswith("new-")]
        free = [name for name in mine if name not in self.expiring]
        if len(free) < 2:
            self.home.remember_many([self.new() for _ in range(4)])
            self.acknowledge()
            return self.two()
        return free[:2]

    def _open(self) -> FamilyRecall:
        *others, last = self.expected.keys
        for key in others:
            with contextlib.suppress(WrongKeyError):
                home = open_home(self.path, key)
                self.expected.keys = [key]
                return home
        self.expected.keys = [last]
        return open_home(self.path, last)

    def _stored(self, where: str) -> None:
        """Remember something, read it, and recall."""
        memory = self.new()
        self.home.remember(memory)
        self.acknowledge()
        found = self.home.memories.get(str(memory.doc_id), person_id="rajesh").current.memory
        if found.text != memory.text:
            raise StoreError(f"{memory.doc_id} is not as it was stored, in the {where}")
        if not self.home.recall("Who brought a cake?", time_budget_ms=5_000).results:
            raise StoreError(f"nothing is found in the {where}")

    def _left(self) -> list[str]:
        """Return what is still lent, counted or running although no call is."""
        engine = self.home._engine  # noqa: SLF001  of this torture alone
        connections = engine.store._connections  # noqa: SLF001
        running = engine.broker.gate._running  # noqa: SLF001
        left = []
        if running.total():
            left.append(f"the gate counts {running.total()} recalls")
        if connections._n_lent > 1:  # noqa: SLF001  the log's thread may read
            left.append(f"{connections._n_lent} readers are lent")  # noqa: SLF001
        return left


def open_connections(place: Path) -> list[str]:
    """Return the names of the files of this place to which a connection of this process is open."""
    names = [connection.filename for connection in apsw.connections()]
    return [name for name in names if name and Path(name).resolve().is_relative_to(place.resolve())]


def open_home(path: Path, key: Secret | None = None) -> FamilyRecall:
    """Open a household as programs do, with small models and a hook."""
    static: Encoder = HashEncoder("hash-static/1")
    return FamilyRecall.open(
        path, key=key, encoder=HashEncoder(), static=static, on_trace=lambda _: None
    )


def _remember(household: Household) -> Call:
    memory = household.new()
    return lambda: household.home.remember(memory, person_id="priya")


def _remember_many(household: Household) -> Call:
    memories = [household.new() for _ in range(6)]
    return lambda: household.home.remember_many(memories)


def _correct(household: Household) -> Call:
    doc_id = household.two()[0]
    text = f"{household.expected.texts[doc_id]} after all"
    household.expected.open_batch[doc_id] = text
    return lambda: household.home.correct(doc_id, person_id="priya", text=text)


def _forget(household: Household) -> Call:
    doc_ids = household.two()
    household.expected.maybe_gone = set(doc_ids)
    return lambda: household.home.forget(doc_ids, person_id="priya")


def _undo(household: Household) -> Call:
    """Bring two memories back from the trash."""
    doc_ids, texts = household.two(), household.expected.texts
    receipt = household.home.forget(doc_ids, person_id="priya", undo_for=dt.timedelta(days=1))
    household.expected.open_batch = {doc_id: texts.pop(doc_id) for doc_id in doc_ids}
    return lambda: household.home.erasure.undo(receipt.receipt_id, person_id="priya")


def _feedback(household: Household) -> Call:
    doc_id = household.two()[0]
    answer = household.home.recall(household.expected.texts[doc_id], person_id="priya")
    return lambda: household.home.feedback(answer, doc_id, False, person_id="priya")


def _import(household: Household) -> Call:
    path = household.path.with_name(f"rows-{household.number}.csv")
    path.write_text("id,text\na,The blue pot is here\nb,The red kite is there\n", encoding="utf-8")
    sources = household.home.sources
    planned = sources.import_file(path, space_id=HOME, dry_run=True).examples
    household.expected.open_batch = {str(memory.doc_id): memory.text for memory in planned}
    return lambda: sources.import_file(path, space_id=HOME)


def _recall(household: Household) -> Call:
    question = f"Who brought {household.number} cakes to Grandma?"
    return lambda: household.home.recall(question, person_id="priya", time_budget_ms=5_000)


def _explain(household: Household) -> Call:
    home = household.home
    return lambda: home.explain("Who brought a cake?", household.two()[0], person_id="priya")


def _backup(household: Household) -> Call:
    copy = household.path.with_name("backup.db")
    return lambda: household.home.maintenance.backup(copy, overwrite=True)


def _export(household: Household) -> Call:
    path = household.path.with_name("export.jsonl")
    return lambda: household.home.maintenance.export_to(path, overwrite=True, feedback=True)


def _rules(household: Household) -> Call:
    """Apply a rule by which two memories expire."""
    memories = [replace(household.new(), category="event") for _ in range(2)]
    household.home.remember_many(memories)
    household.home.erasure.set_rule("event", 365.0)
    household.acknowledge()
    household.expiring |= {str(memory.doc_id) for memory in memories}
    household.expiring &= household.expected.texts.keys()
    household.expected.maybe_gone = set(household.expiring)
    then = dt.datetime.now(dt.UTC) + dt.timedelta(days=400)
    return lambda: household.home.erasure.apply_rules(then)


def _flush(household: Household) -> Call:
    household.home.remember(household.new(), embed="later")
    household.acknowledge()
    return household.home.flush


def _hide(household: Household) -> Call:
    fields = ("author",) if household.number % 2 else ()
    return lambda: household.home.spaces.hide(Hidden(HOME, "child", fields))


def _open(household: Household) -> Call:
    household.close()

    def call() -> None:
        household.home = open_home(household.path, household.expected.keys[0])

    return call


def _close(household: Household) -> Call:
    household.home.recall("Who brought a cake?", person_id="priya")
    return household.home.close


_KEYS = bytes(range(32)), bytes(range(1, 33))  # passphrases take long


def _rekey(household: Household) -> Call:
    household.close()
    old = household.expected.keys[0]
    new = _KEYS[old == _KEYS[0]]
    household.expected.keys.append(new)

    def call() -> None:
        files.rekey(household.path, key=old, new_key=new)

    return call


WORK: dict[str, Callable[[Household], Call]] = {
    "audit": lambda household: lambda: household.home.audit.entries("priya"),
    "backup": _backup,
    "close": _close,
    "correct": _correct,
    "explain": _explain,
    "export": _export,
    "feedback": _feedback,
    "flush": _flush,
    "forget": _forget,
    "hide": _hide,
    "import": _import,
    "open": _open,
    "opening": lambda household: lambda: household.home.opening(person_id="priya"),
    "rebuild": lambda household: household.home.maintenance.rebuild,
    "recall": _recall,
    "rekey": _rekey,
    "remember": _remember,
    "remember_many": _remember_many,
    "rules": _rules,
    "undo": _undo,
}
"""Calls to interrupt, by name: each function prepares one."""

CLOSED = ("open", "close", "rekey")
"""Those after which the household is opened again."""
