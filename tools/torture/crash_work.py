"""What processes are doing when tools/torture/crash.py kills them: everything that writes."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from family_recall import Relation
from family_recall.api import FamilyRecall, files
from family_recall.store.file.connection import connect
from family_recall.store.file.encryption import Secret, key_of
from tools.torture.household import HOME, HashEncoder, note, open_home

BATCH = 8  # memories a transaction
SECRETS: tuple[Secret, Secret] = ("correct horse battery staple", bytes(range(32)))

Send = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Task:
    """One household, and where the work on it begins: its key, the next one, the next batch."""

    path: Path
    first: int
    seed: int
    key: Secret | None = None
    new_key: Secret | None = None

    def home(self) -> FamilyRecall:
        """Open the household."""
        return open_home(self.path, create=False, key=self.key)


def _import(task: Task, send: Send, *, batches: int = 40) -> None:
    """Remember batch after batch, replace earlier memories, and add relations."""
    first, seed = task.first, task.seed
    with task.home() as home:
        for batch in range(first, first + batches):
            new = [note(f"b{batch}-{i}", 0, seed) for i in range(BATCH - 2)]
            # Of this process alone: whether an earlier one's last batch is there is unknown.
            again = [note(f"b{max(first, batch - 3)}-{i}", batch, seed) for i in range(2)]
            texts = {str(memory.doc_id): memory.text for memory in (*new, *again)}
            send(f"try {json.dumps(texts)}")
            home.remember_many([*new, *again], batch_size=BATCH)
            send("ack")
            if batch % 5 == 0:
                home.relations.add(Relation("Priya", f"knows {batch}", "Rajesh", HOME))


def _import_beside(task: Task, send: Send, then: Callable[[Task], None]) -> None:
    """Remember 20 batches, with something else after each."""
    for batch in range(task.first, task.first + 20):
        at = replace(task, first=batch)
        _import(at, send, batches=1)
        then(at)


def _reembed(task: Task, send: Send) -> None:
    """Make the vectors of a new model, then drop the old ones; then again with the first."""
    del send
    with task.home() as home:
        for model_id in (f"hash/{task.first + 2}", "hash/1"):
            home.maintenance.reembed(encoder=HashEncoder(model_id), drop_others=True)


def _rebuild(task: Task, send: Send) -> None:
    del send
    with task.home() as home:
        home.maintenance.rebuild()


def _migrate(task: Task, send: Send) -> None:
    """Derive everything that rules derive again, as opening a file of earlier rules does."""
    del send
    for _ in range(5):
        with contextlib.closing(connect(task.path, key_of(task.key))) as other:
            other.execute("UPDATE info SET value = 'earlier' WHERE key = 'derived'")
        files.migrate(task.path, key=task.key)


def _checkpoint(task: Task, send: Send) -> None:
    """Checkpoint the write-ahead log repeatedly, beside an import."""

    def checkpoint(at: Task) -> None:
        other = connect(at.path, key_of(at.key))
        other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        other.close()

    _import_beside(task, send, checkpoint)


def _backup(task: Task, send: Send) -> None:
    def back_up(at: Task) -> None:
        with at.home() as home:
            home.maintenance.backup(at.path.with_name("backup.db"), overwrite=True)

    _import_beside(task, send, back_up)


def _export(task: Task, send: Send) -> None:
    def export(at: Task) -> None:
        with at.home() as home:
            home.maintenance.export_to(at.path.with_name("export.jsonl"), overwrite=True)

    _import_beside(task, send, export)


def _restore(task: Task, send: Send) -> None:
    """Put the file's own backup in its place, so that nothing may be missing afterwards."""
    del send
    for _ in range(5):
        with task.home() as home:
            home.maintenance.backup(task.path.with_name("restored.db"), overwrite=True)
        files.restore(task.path, task.path.with_name("restored.db"), key=task.key)


def _forget(task: Task, send: Send) -> None:
    def forget(at: Task) -> None:
        doc_ids = [f"b{at.first}-{i}" for i in range(3, 6)]
        send(f"forget {json.dumps(doc_ids)}")
        with at.home() as home:
            home.forget(doc_ids, person_id="priya")
        send("forgotten")

    _import_beside(task, send, forget)


def _sweep(task: Task, send: Send) -> None:
    """Apply a retention rule by which some memories expire."""

    def sweep(at: Task) -> None:
        notes = [
            replace(note(f"b{at.first}-event-{i}", 0, at.seed), category="event") for i in range(4)
        ]
        texts = {str(memory.doc_id): memory.text for memory in notes}
        send(f"try {json.dumps(texts)}")
        with at.home() as home:
            home.remember_many(notes, batch_size=BATCH)
            send("ack")
            send(f"forget {json.dumps(_events(at))}")
            home.erasure.set_rule("event", 365.0)
            home.erasure.apply_rules(dt.datetime.now(dt.UTC) + dt.timedelta(days=400))
        send("forgotten")

    _import_beside(task, send, sweep)


def _events(task: Task) -> list[str]:
    """List what expires: a process that was killed earlier may have left some, too."""
    connection = connect(task.path, key_of(task.key), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute("SELECT doc_id FROM memory WHERE category = 'event' ORDER BY 1")
    doc_ids = [str(doc_id) for (doc_id,) in rows.fetchall()]
    connection.close()
    return doc_ids


def _rekey(task: Task, send: Send) -> None:
    """Encrypt, decrypt or change the key, whichever this task is."""
    del send
    files.rekey(task.path, key=task.key, new_key=task.new_key)


WORK: dict[str, Callable[[Task, Send], None]] = {
    "import": _import,
    "reembed": _reembed,
    "rebuild": _rebuild,
    "migrate": _migrate,
    "checkpoint": _checkpoint,
    "backup": _backup,
    "export": _export,
    "restore": _restore,
    "forget": _forget,
    "sweep": _sweep,
}
KEY_WORK: dict[str, tuple[Secret | None, Secret | None]] = {
    "encrypt": (None, SECRETS[0]),
    "decrypt": (SECRETS[0], None),
    "rekey": SECRETS,
}
"""Work that changes the key, with the keys before and after."""

WORK |= dict.fromkeys(KEY_WORK, _rekey)
