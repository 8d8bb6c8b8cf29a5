"""What must be true of a household whose writer was killed, for tools/torture/crash.py."""

from __future__ import annotations

import contextlib
import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from family_recall import RecallContext
from family_recall.api import FamilyRecall
from family_recall.errors import FamilyRecallError, WrongKeyError
from family_recall.store.file import copies
from family_recall.store.file.connection import connect
from family_recall.store.file.encryption import Secret, key_of
from family_recall.store.file.replacement import leftovers
from tools.torture.household import open_home


@dataclass(slots=True)
class Expected:
    """What the household must hold: texts by doc_id, and a batch that may be there whole or not.

    It opens with one of the keys.
    """

    texts: dict[str, str] = field(default_factory=dict)
    open_batch: dict[str, str] = field(default_factory=dict)
    maybe_gone: set[str] = field(default_factory=set)
    next_batch: int = 0
    keys: list[Secret | None] = field(default_factory=lambda: [None])


def problems_of(path: Path, expected: Expected, chance: random.Random) -> list[str]:
    """Open the file after a kill and compare it with what is expected."""
    problems = _opens_without_its_key(path, expected)
    try:
        with _opened(path, expected, chance) as home:
            problems += [
                f"{finding.what}: {finding.problem}"
                for finding in home.maintenance.check()
                if finding.problem
            ]
            problems += wrong_texts(path, expected)
            problems += _not_found(home, expected, chance)
        problems += _wrong_copies(path, expected)
        problems += [f"{file.name} is left" for file in leftovers(path.parent)]
        problems += [
            f"{file.name} may be read by others"
            for file in path.parent.iterdir()
            if file.stat().st_mode & 0o077
        ]
    except (FamilyRecallError, apsw.Error, OSError) as error:
        problems.append(f"{type(error).__name__}: {error}")
    return problems


def _opened(path: Path, expected: Expected, chance: random.Random) -> FamilyRecall:
    """Open the file with whichever key it has; the error of the last one where none opens it."""
    chance.shuffle(expected.keys)
    while True:
        try:
            home = open_home(path, create=False, key=expected.keys[0])
        except WrongKeyError:
            if len(expected.keys) == 1:
                raise
            del expected.keys[0]
        else:
            del expected.keys[1:]
            return home


def _opens_without_its_key(path: Path, expected: Expected) -> list[str]:
    """Try a wrong key first: it must be refused, and change nothing that the right one needs."""
    wrong: list[Secret | None] = ["wrong", *([] if None in expected.keys else [None])]
    problems = []
    for key in wrong:
        with contextlib.suppress(WrongKeyError):
            open_home(path, create=False, key=key).close()
            problems.append(f"opens with the key {key!r}")
    return problems


def wrong_texts(path: Path, expected: Expected) -> list[str]:
    """Compare the texts with those acknowledged; a batch under way may be there whole or not."""
    connection = connect(path, key_of(expected.keys[0]), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute("SELECT doc_id, text FROM memory WHERE superseded_s IS NULL")
    here = {str(doc_id): str(text) for doc_id, text in rows.fetchall()}
    connection.close()
    problems = []
    whole = all(here.get(doc_id) == text for doc_id, text in expected.open_batch.items())
    if expected.open_batch and whole:
        expected.texts |= expected.open_batch
    elif any(
        here.get(doc_id) == text and expected.texts.get(doc_id) != text
        for doc_id, text in expected.open_batch.items()
    ):
        problems.append(f"part of a batch: {sorted(expected.open_batch)}")
    expected.open_batch = {}
    if gone := expected.maybe_gone - here.keys():
        if gone != expected.maybe_gone:
            problems.append(f"partly forgotten: {sorted(gone)} of {sorted(expected.maybe_gone)}")
        for doc_id in gone:
            expected.texts.pop(doc_id, None)
    expected.maybe_gone = set()
    lost = [doc_id for doc_id, text in expected.texts.items() if here.get(doc_id) != text]
    if lost:
        problems.append(f"{len(lost)} acknowledged memories are missing or changed: {lost[:5]}")
    if strangers := sorted(here.keys() - expected.texts.keys()):
        problems.append(f"{len(strangers)} memories that were never written: {strangers[:5]}")
    return problems


def _not_found(home: FamilyRecall, expected: Expected, chance: random.Random) -> list[str]:
    """Ask for one memory by its own words."""
    if not expected.texts:
        return []
    doc_id = chance.choice(sorted(expected.texts))
    text = expected.texts[doc_id]
    answer = home.recall(text, RecallContext(time_budget_ms=60_000, top_k=10))
    if any(result.doc_id == doc_id and result.text == text for result in answer.results):
        return []
    return [f"{doc_id} is not found by its own words"]


def _wrong_copies(path: Path, expected: Expected) -> list[str]:
    """Check backups and exports: one that has its final name is complete."""
    for name in ("backup.db", "restored.db"):
        if path.with_name(name).exists():
            copies.verify(path.with_name(name), key_of(expected.keys[0]))
    if path.with_name("export.jsonl").exists():
        with (
            tempfile.TemporaryDirectory(dir=path.parent.parent) as folder,
            open_home(Path(folder) / "imported.db") as home,
        ):
            home.maintenance.import_from(path.with_name("export.jsonl"))
    return []
