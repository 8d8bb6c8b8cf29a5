"""What is removed without a receipt leaves no byte either: names, relations, feedback, the log."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from family_recall import FamilyRecall, Grant, Memory, Person, Relation, Space
from family_recall.store.store import Store
from tests.conftest import HOME, Wall, move_in, open_home, recall, remember, store_of

NAME = "Qx7"  # shorter than any run that is searched for
TAKEN_BACK = Relation("Priya", "knows", NAME, HOME)


def strew(path: Path) -> None:
    """Leave a name in unused bytes, as rows that move between pages do."""
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        connection.set_busy_timeout(10_000)  # the log may be written meanwhile
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("CREATE TABLE scrap(name TEXT)")
        connection.executemany("INSERT INTO scrap VALUES(?)", [(NAME + " " * 3000,)] * 50)
        connection.execute("DROP TABLE scrap")
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    assert NAME.encode() in in_files(path)


def in_files(path: Path) -> bytes:
    """Return the bytes of all files of a household."""
    return b"\n".join(file.read_bytes() for file in path.parent.iterdir() if file.is_file())


def learned(home: FamilyRecall) -> None:
    """Give feedback."""
    answer = recall(home, "where is the spare key?", "rajesh")
    home.feedback(answer, answer.results[0].doc_id, True, person_id="rajesh")


def forgotten(home: FamilyRecall) -> None:
    """Forget a memory."""
    home.forget(remember(home, "Nothing of that", author="Rajesh"), person_id="rajesh")


REMOVALS: dict[str, tuple[Callable[[FamilyRecall], object], Callable[[FamilyRecall], object]]] = {
    "relation": (
        lambda home: home.relations.add(TAKEN_BACK),
        lambda home: home.relations.remove(TAKEN_BACK, person_id="rajesh"),
    ),
    "alias": (
        lambda home: home.people.add(Person("zoe", "Zoe", (NAME,))),
        lambda home: home.people.add(Person("zoe", "Zoe")),
    ),
    "name": (
        lambda home: home.people.add(Person("zoe", NAME)),
        lambda home: home.people.add(Person("zoe", "Zoe")),
    ),
    "space": (
        lambda home: home.spaces.add(Space(HOME, "shared", NAME)),
        lambda home: home.spaces.add(Space(HOME, "shared", "Home")),
    ),
    "last feedback": (learned, lambda home: home.learning.undo()),
    "all feedback": (learned, lambda home: home.learning.reset()),
    "log": (
        lambda home: recall(home, NAME, "rajesh"), lambda home: home.audit.keep_days(0)
    ),
    "memory": (lambda _: None, forgotten),
}  # fmt: skip


@pytest.mark.parametrize("removal", REMOVALS)
def test_no_byte_of_it_is_left(removal: str, path: Path) -> None:
    """Neither in the file nor in its log, as soon as the call returns."""
    store, remove = REMOVALS[removal]
    with open_home(path) as home:
        move_in(home)
        home.spaces.grant(Grant("rajesh", HOME, "owner"))
        remember(home, "The spare key is under the blue pot", HOME)
        store(home)
        strew(path)
        remove(home)
        assert NAME.encode() not in in_files(path)
    assert NAME.encode() not in in_files(path)


def test_an_addition_rewrites_nothing(home: FamilyRecall, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does what changes nothing, such as the same person again."""
    monkeypatch.setattr(Store, "clean", lambda *_: pytest.fail("nothing was removed"))
    home.people.add(Person("zoe", "Zoe"))
    home.people.add(Person("zoe", "Zoe", (NAME,)))
    home.spaces.add(Space("shared:attic", "shared", "Attic"))
    home.spaces.add(Space("shared:attic", "shared", "Attic"))
    home.relations.add(TAKEN_BACK)
    assert not home.relations.remove(Relation("Zoe", "met", NAME, HOME), person_id="rajesh")
    assert home.learning.undo() == 0


def test_what_is_removed_while_the_file_is_rewritten_is_due_still(home: FamilyRecall) -> None:
    """Another process may remove something between the rewriting and its record."""
    with store_of(home).writing() as writing:
        writing.erasure_log.set_rewrite_due()
        seen = writing.erasure_log.rewrite_due()
        writing.erasure_log.set_rewrite_due()
        writing.erasure_log.set_rewritten(seen)
        assert writing.erasure_log.is_unclean()
        writing.erasure_log.set_rewritten(writing.erasure_log.rewrite_due())
        assert not writing.erasure_log.is_unclean()


def test_what_an_interrupted_removal_left_goes_with_the_next_opening(path: Path) -> None:
    """The removal is stored with what is due, and the opening does it."""
    with open_home(path) as home:
        move_in(home)
        home.people.add(Person("zoe", NAME))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Store, "clean", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                home.people.add(Person("zoe", "Zoe"))
            strew(path)
            patched.setattr(Store, "clean", lambda *_: None)
            home.close()
    assert NAME.encode() in in_files(path)
    FamilyRecall.open(path, create=False).close()
    assert NAME.encode() not in in_files(path)


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("added", ["nickname", "grant"])
def test_earlier_texts_are_about_whom_a_later_name_means(
    added: str, path: Path, tmp_path: Path, wall: Wall
) -> None:
    """As if the name, or the right to enter, had been there before; an export says the same."""
    with open_home(path, wall=wall) as home:
        move_in(home)
        home.spaces.grant(Grant("rajesh", HOME, "owner"))
        home.people.add(Person("zoe", "Zoe", () if added == "nickname" else ("Bee",)))
        if added == "nickname":
            home.spaces.grant(Grant("zoe", HOME, "adult"))
        home.remember(Memory("Bee sings in the choir", HOME, doc_id="choir"))
        if added == "nickname":
            home.people.add(Person("zoe", "Zoe", ("Bee",)))
        else:
            home.spaces.grant(Grant("zoe", HOME, "adult"))
        plan = home.forget(about="zoe", person_id="rajesh", dry_run=True)
        assert plan.doc_ids == ("choir",)
        home.maintenance.export_to(tmp_path / "first.jsonl")
    with open_home(tmp_path / "second.db") as second:
        second.maintenance.import_from(tmp_path / "first.jsonl")
        second.maintenance.export_to(tmp_path / "second.jsonl")
    exports = [(tmp_path / f"{name}.jsonl").read_bytes() for name in ("first", "second")]
    assert exports[0] == exports[1]
