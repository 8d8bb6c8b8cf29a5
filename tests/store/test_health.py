"""Checks: every disagreement between the texts and what is derived from them is found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
import sqlite_vec

from family_recall import FamilyRecall, Relation
from family_recall.store.words import split, stem_number
from tests.conftest import HOME, TINY_STATIC, move_in, open_home, remember, store_of, stories

DAMAGES = {
    "words": "INSERT INTO words_2(words_2) VALUES('delete-all')",
    "words of each memory": "UPDATE memory SET words = x'', n_words = 0 WHERE doc_id = 'cake'",
    "word counts": "UPDATE word_count SET n = n + 1 WHERE shard = 2",
    "partition counts": "UPDATE partition SET n_current = n_current + 1",
    "edges": "DELETE FROM edge WHERE src > 0",
    "edge ends": "INSERT INTO edge SELECT 1099511999999, 1, dst, 'next', 0, 0 FROM edge LIMIT 1",
    "edge partitions": "INSERT INTO edge SELECT src, 1, -9999999999999, 'x', 0, 0 FROM edge"
    " LIMIT 1",
    "mentions": "DELETE FROM memory WHERE doc_id = 'march'",
    "mention edges": "DELETE FROM mention",
    "identifiers": "INSERT INTO identifier VALUES(1, 'number:1', 77)",
    "mentioned times": "INSERT INTO mentioned_time VALUES(77, 0, 1, 1)",
    "relations": "DELETE FROM entity",
    "places": "UPDATE partition SET band = 'red' WHERE no = 1",
    "vectors of tiny/1": "DELETE FROM embedding WHERE memory % 2 = 0",
    "vectors of tiny-static/1": "DELETE FROM vectors_1 WHERE id % 2 = 0",
}


@pytest.fixture
def full(path: Path) -> Iterator[FamilyRecall]:
    """Open a household with some of everything, a replaced version too."""
    with open_home(path, static=TINY_STATIC) as home:
        move_in(home)
        home.remember_many(stories())
        remember(home, "The spare key is under the red pot, order 4711-22", doc_id="key")
        home.relations.add(Relation("Rajesh", "married to", "Priya", HOME, evidence=("march",)))
        yield home


def test_an_undamaged_household_passes_every_check(full: FamilyRecall) -> None:
    """Nothing is wrong with what the library itself wrote, and every check has a name."""
    findings = full.maintenance.check()

    assert [finding for finding in findings if finding.problem] == []
    assert {finding.what for finding in findings} >= {*DAMAGES, "pages", "schema"}
    quick = store_of(full).check_quickly(lambda: False)
    assert quick is not None
    assert [finding for finding in quick if finding.problem] == []
    assert full.maintenance.pending() == {"tiny/1": 0, "tiny-static/1": 0}


def test_stems_that_share_a_number_are_no_damage(full: FamilyRecall) -> None:
    """Two of a text, and one of another: the text is counted once under their number."""
    stems = {stem for _, stem in split("plumless buckeroo")}
    assert (len(stems), len({stem_number(stem) for stem in stems})) == (2, 1)
    for doc_id, text in (("two", "A plumless buckeroo"), ("one", "The buckeroo again")):
        remember(full, text, doc_id=doc_id, author="priya")

    for _ in range(2):
        quick = store_of(full).check_quickly(lambda: False)
        assert quick is not None
        assert [one for one in (*quick, *full.maintenance.check()) if one.problem] == []
        full.forget("two", person_id="priya")
        remember(full, "No plumless buckeroo", doc_id="two", author="priya")


@pytest.mark.parametrize("what", DAMAGES)
def test_a_disagreement_with_the_texts_is_found(full: FamilyRecall, path: Path, what: str) -> None:
    """Each kind of damage is found under its name, as one that a rebuild repairs."""
    full.close()
    connection = apsw.Connection(str(path))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.execute(DAMAGES[what])
    connection.close()

    with open_home(path, static=TINY_STATIC, create=False) as home:
        wrong = {finding.what: finding for finding in home.maintenance.check() if finding.problem}
        assert what in wrong
        assert wrong[what].derived


def test_checking_changes_nothing(full: FamilyRecall, path: Path) -> None:
    """Checking asks FTS5 by an INSERT; not a byte of the file differs afterwards."""
    full.close()
    with open_home(path, static=TINY_STATIC, create=False) as home:
        home.maintenance.check()
    before = path.read_bytes()
    with open_home(path, static=TINY_STATIC, create=False) as home:
        home.maintenance.check()
        home.maintenance.check()

    assert path.read_bytes()[100:] == before[100:]


def test_a_household_that_stays_open_is_sound_after_each_change(path: Path) -> None:
    """Checked, changed and checked again: what a connection read before is not taken for damage."""
    with open_home(path) as home:
        move_in(home)
        for n in range(5):
            remember(home, f"The alarm code is {n}", doc_id=f"d{n}", author="rajesh")
        for change in (
            lambda: None,
            lambda: remember(home, "The alarm code is 7719", doc_id="d1", author="rajesh"),
            lambda: home.correct("d2", person_id="rajesh", text="It is 99 now"),
            lambda: home.forget("d3", person_id="rajesh"),
        ):
            change()
            quick = store_of(home).check_quickly(lambda: False)
            for findings in (home.maintenance.check(), quick or []):
                assert [finding for finding in findings if finding.problem] == []
