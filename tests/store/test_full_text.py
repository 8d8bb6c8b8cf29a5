"""Full-text search: statistics count the memories a scope covers, and nothing else."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import apsw
import numpy as np
import pytest

from family_recall import FamilyRecall, Memory
from family_recall.errors import StoreFullError
from family_recall.store import word_index
from family_recall.store.file.schema import shard_of
from family_recall.store.word_search import WordStatistics, expression
from family_recall.types import Scope
from tests.conftest import (
    HOME,
    NOW,
    Wall,
    found,
    move_in,
    open_home,
    recall,
    remember,
    store_of,
    stories,
    written,
)


def words_tables(path: Path) -> list[str]:
    """List the file's full-text tables."""
    connection = apsw.Connection(str(path))
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE sql LIKE '%USING fts5%'")
    names = [str(name) for (name,) in rows]
    connection.close()
    return names


def statistics(home: FamilyRecall, *stems: str) -> WordStatistics:
    """Count stems over the whole file's current memories."""
    with store_of(home).snapshot() as snapshot:
        partitions = tuple(partition.no for partition in snapshot.every_partition())
        return snapshot.word_statistics(stems, Scope(None, partitions, NOW.timestamp()))


def test_a_replaced_version_is_not_counted(path: Path) -> None:
    """After an update no current statistic counts a word of the version before."""
    with open_home(path) as home:
        move_in(home)
        remember(home, "The zebra sleeps in the barn", doc_id="animal", author="Mia")
        remember(home, "The horse sleeps in the barn", doc_id="animal", author="Mia")
        counted = statistics(home, "zebra", "hors", "barn", "mia")

        assert counted.document_frequency.tolist() == [0, 1, 1, 1]
        assert (counted.n_memories, counted.n_words) == (1, 7)
        with store_of(home).snapshot() as snapshot:
            partitions = tuple(partition.no for partition in snapshot.every_partition())
            scope = Scope(None, partitions, NOW.timestamp())
            assert snapshot.held(["zebra", "hors"], scope) == [False, True]
        assert recall(home, "zebra", "mia").trace.runs["lexical"] == ()


def test_an_updated_household_scores_like_a_fresh_one(tmp_path: Path) -> None:
    """A memory stored twice scores like one that was stored once, the second time."""
    answers = []
    for history in (["The zebra is asleep", "The puppy barks at night"],
                    ["The puppy barks at night"]):  # fmt: skip
        wall = Wall()
        with open_home(tmp_path / f"{len(history)}.db", wall=wall, encoder=None) as home:
            move_in(home)
            home.remember_many(stories())
            for text in history:
                remember(home, text, doc_id="animal", session_id="talk-1",
                         occurred_at="2025-02-01T18:01:30")  # fmt: skip
            answer = recall(home, "does the puppy bark? zebra?", "mia", profile="three_tier")
            words = [(r.doc_id, r.score) for r in answer.results]
            scores = recall(home, "does the puppy bark? zebra?", "mia", profile="neural")
            answers.append((words, [(r.doc_id, r.features["bm25"]) for r in scores.results]))

    assert answers[0] == answers[1]


def test_replaced_words_are_in_the_past_index_alone(path: Path) -> None:
    """FTS5's own vocabulary of current memories has no word that only superseded ones have."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "The zebra sleeps", doc_id="animal")
        remember(home, "The horse sleeps", doc_id="animal")
    connection = apsw.Connection(str(path))
    holding = []
    for name in words_tables(path):
        connection.execute(f"CREATE VIRTUAL TABLE temp.v_{name} USING fts5vocab(main, {name}, row)")
        terms = {term for (term,) in connection.execute(f"SELECT term FROM temp.v_{name}")}
        connection.execute(f"INSERT INTO {name}({name}) VALUES('integrity-check')")
        holding += [sorted(terms & {"zebra", "hors"})]
    connection.close()

    assert sorted(holding) == [["hors"], ["zebra"]]


def test_counts_agree_with_the_index(path: Path) -> None:
    """The counts kept beside the rows are those FTS5 has, after updates and late arrivals."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        home.remember_many(stories())
        for n in range(12):
            remember(home, f"Turn {n} about the fence and the gate {n % 3}", doc_id=f"t{n % 7}",
                     session_id="fence", occurred_at=f"2025-05-01T10:{n * 5 % 12:02}")  # fmt: skip
        vocabulary: dict[str, int] = {}
        connection = apsw.Connection(str(path))
        for at, name in enumerate(sorted(words_tables(path))):
            if int(name.rsplit("_", 1)[1]) % 2 == 0:
                connection.execute(
                    f"CREATE VIRTUAL TABLE temp.v{at} USING fts5vocab(main, {name}, row)"
                )
                for term, n in connection.execute(f"SELECT term, doc FROM temp.v{at}"):
                    vocabulary[str(term)] = vocabulary.get(str(term), 0) + int(n)
        connection.close()
        counted = statistics(home, *vocabulary).document_frequency

        assert np.array_equal(counted, np.array(list(vocabulary.values())))


def test_a_word_is_found_in_all_its_forms(home: FamilyRecall) -> None:
    """Accents, capitals and endings do not matter: words are normalised and stemmed alike."""
    remember(home, "Zoë's café visits were LOVELY", HOME, doc_id="cafe")

    for question in ("zoe", "ZOË", "cafés", "visiting", "lovely"):
        assert recall(home, question, "mia").trace.runs["lexical"][0] == "cafe", question


def test_a_title_a_speaker_and_a_day_are_words(home: FamilyRecall) -> None:
    """Besides its text a memory is found by title, summary, author, weekday, labels and fact."""
    remember(home, "It went well", doc_id="talk", title="Headmaster", summary="Piano",
             author="Otto", occurred_at="2025-03-05", labels=("music",), fact_key="spouse_name",
             fact_value="Hanna")  # fmt: skip

    for question in ("headmaster", "piano", "otto", "wednesday", "music", "spouse", "hanna"):
        assert "talk" in recall(home, question, "mia").trace.runs["lexical"], question


def test_reading_changes_nothing(home: FamilyRecall) -> None:
    """A recall leaves the counts and the next answer as they were, without an audit log."""
    home.audit.keep_days(0)
    before = home.maintenance.stats()
    first = written(recall(home, "grandma", "mia"))

    assert written(recall(home, "grandma", "mia")) == first
    assert home.maintenance.stats() == before


def test_a_shard_scores_as_if_every_word_were_looked_up(path: Path) -> None:
    """Words that a shard does not hold are not looked up there, and change none of its scores.

    With common words the others count twice, also in a shard without a common one.
    """
    texts_by_space = {
        HOME: ("Leela parked the blue bicycle", "The blue tent", "Leela came", "Rain all day"),
        "private:rajesh": ("A blue balloon flew by", "The tent leaks", "Nothing at all"),
    }
    weights = (1.0, 0.5, 0.3)
    with open_home(path, encoder=None) as home:
        move_in(home)
        for space_id, texts in texts_by_space.items():
            for text in texts:
                remember(home, text, space_id=space_id)
        with store_of(home).snapshot() as snapshot:
            partitions = tuple(partition.no for partition in snapshot.every_partition())
            scope = Scope(None, partitions, NOW.timestamp())
            snapshot.word_statistics(["bicycl", "tent", "balloon", "blue", "zebra"], scope)
            for words, common in product(
                (["bicycle", "tent"], ["balloon"], ["blue", "zebra"], ["zebra"], []),
                ([], ["Leela"], ["zebra"]),
            ):
                found = snapshot.match(words, common, scope, 10, weights)
                asked = expression(words, common)
                each = [
                    snapshot._match(shard_of(no, past=False), asked, 10, weights, None)
                    for no in partitions
                    if words
                ]
                hits = [(memory, np.float32(-score)) for rows in each for memory, score in rows]

                assert list(zip(found.ids, found.scores, strict=True)) == hits


def segments(path: Path) -> list[int]:
    """Count the segments of each index that has words, of the current memories and the past."""
    connection = apsw.Connection(str(path))
    counts = [
        int(n)
        for name in words_tables(path)
        for (n,) in connection.execute(f"SELECT count(DISTINCT segid) FROM {name}_idx")
    ]
    connection.close()
    return [n for n in counts if n]


def invented(n: int) -> list[Memory]:
    """Return memories of few words, in all pairs."""
    words = [f"word{chr(97 + at)}" for at in range(16)]
    return [
        Memory(f"{first} beside {second}", HOME, doc_id=f"{first}-{second}")
        for first, second in list(product(words, words))[:n]
    ]


def test_an_import_leaves_one_segment_of_each_index(path: Path) -> None:
    """A word is looked up in each segment; what is merged scores to the last bit as it did."""
    memories = invented(200)
    with open_home(path, encoder=None) as home:
        move_in(home)
        for start in range(0, 60, 10):
            home.remember_many(memories[start : start + 10])
        assert max(segments(path)) > 1  # few at a time are not merged

        home.remember_many(memories[60:])
        assert max(segments(path)) == 1
        assert not [finding for finding in home.maintenance.check() if finding.problem]
        scores = [result.score for result in recall(home, "worda beside wordc", "mia").results]

    one = path.with_name("one.db")
    with open_home(one, encoder=None) as home:
        move_in(home)
        for memory in memories:
            home.remember_many([memory])
        assert max(segments(one)) > 1
        alone = [result.score for result in recall(home, "worda beside wordc", "mia").results]
        assert scores == alone


def test_an_import_is_stored_where_its_indexes_cannot_be_merged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Merging makes a recall cheaper and nothing else: an import does not fail for it."""

    def full(*what: object) -> None:
        raise StoreFullError(f"no room for {what}")

    monkeypatch.setattr(word_index, "merge", full)
    with open_home(path, encoder=None) as home:
        move_in(home)
        outcomes = home.remember_many(invented(120))

        assert [each.outcome for each in outcomes] == ["created"] * 120
        assert found(recall(home, "worda beside wordc", "mia"))[0] == "worda-wordc"
