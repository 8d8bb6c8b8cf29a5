"""FamilyRecall: what goes in comes out, wrong input is refused, many may ask at once."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import datetime as dt
import math
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from family_recall import (
    FamilyRecall,
    Filters,
    Grant,
    Memory,
    Person,
    RecallContext,
    RecallRequest,
    Relation,
    Space,
)
from family_recall.encoders.base import Encoding
from family_recall.errors import (
    ClosedError,
    FamilyRecallError,
    InvalidMemoryError,
    InvalidRequestError,
    NewerStoreError,
    NotAStoreError,
    StoreError,
    StoreFullError,
    UnknownMemoryError,
    UnknownPersonError,
    UnknownSpaceError,
)
from tests.conftest import (
    HOME,
    NOW,
    TinyEncoder,
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

# Remembering


def test_telling_the_same_again_changes_nothing(home: FamilyRecall) -> None:
    """The same doc_id with the same content is unchanged; without a doc_id it is a duplicate."""
    memory = Memory("Otto is our plumber", HOME, doc_id="otto", author="Priya")
    first = home.remember(memory)
    before = home.maintenance.stats()
    again = home.remember(memory)
    nameless = home.remember(dataclasses.replace(memory, doc_id=None))

    assert (first.doc_id, first.outcome) == ("otto", "created")
    assert (again.doc_id, again.outcome) == ("otto", "unchanged")
    assert (nameless.doc_id, nameless.outcome) == ("otto", "duplicate")
    assert home.maintenance.stats() == before


def test_telling_it_differently_supersedes(home: FamilyRecall, wall: Wall) -> None:
    """The same doc_id with other content is the new truth; the old is found no more."""
    remember(home, "Otto is our plumber", doc_id="plumber")
    wall.tick(days=1)
    outcome = home.remember(Memory("Hanna is our plumber", HOME, doc_id="plumber")).outcome
    answer = recall(home, "who is our plumber? Otto?", "mia", top_k=50)

    assert outcome == "updated"
    assert [result.text for result in answer.results if result.doc_id == "plumber"] == [
        "Hanna is our plumber"
    ]
    assert home.maintenance.stats()["superseded"] == 1
    with pytest.raises(UnknownMemoryError):
        home.explain("Otto", "otto", RecallContext("mia"))


def test_what_was_believed_then_is_still_known(home: FamilyRecall, wall: Wall) -> None:
    """known_at in the past returns the version of that day, flagged where it was replaced."""
    told_at = wall.tick(days=1)
    remember(home, "Otto is our plumber", doc_id="plumber")
    wall.tick(days=9)
    remember(home, "Hanna is our plumber", doc_id="plumber")
    ask: dict[str, Any] = {"person_id": "mia", "top_k": 50, "now": wall.tick(days=1)}

    def plumbers(**ctx: Any) -> list[tuple[str, bool]]:
        answer = recall(home, "who is our plumber?", **ask, **ctx)
        return [(r.text, r.superseded) for r in answer.results if r.doc_id == "plumber"]

    assert plumbers() == [("Hanna is our plumber", False)]
    assert plumbers(known_at=told_at) == [("Otto is our plumber", True)]
    assert plumbers(known_at=told_at + dt.timedelta(days=9)) == [("Hanna is our plumber", False)]
    assert plumbers(known_at=told_at - dt.timedelta(seconds=1)) == []


@pytest.mark.parametrize("encoder", [TinyEncoder(), None], ids=["vectors", "words"])
def test_only_what_was_true_then_is_found(path: Path, encoder: TinyEncoder | None) -> None:
    """as_of keeps valid_from ≤ moment < valid_until, by words and by vectors alike."""
    with open_home(path, encoder=encoder) as home:
        move_in(home)
        for year in (2023, 2024, 2025):
            remember(home, f"Our school holidays plan of {year}", doc_id=f"plan-{year}",
                     valid_from=dt.datetime(year, 1, 1, tzinfo=dt.UTC),
                     valid_until=dt.datetime(year + 1, 1, 1, tzinfo=dt.UTC))  # fmt: skip
        remember(home, "A school plan for always", doc_id="always")

        def plans(as_of: str | None) -> set[str]:
            return set(found(recall(home, "school holidays plan", "mia", as_of=as_of, top_k=50)))

        assert plans(None) == {"plan-2025", "always"}
        assert plans("2024-01-01T00:00+00:00") == {"plan-2024", "always"}
        assert plans("2023-12-31T23:59:59+00:00") == {"plan-2023", "always"}
        assert plans("2030-01-01T00:00+00:00") == {"always"}


def test_a_relation_holds_while_it_is_valid(path: Path) -> None:
    """An edge leads somewhere only as_of a moment at which its relation was true."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Hanna fixed the tap", author="Hanna", doc_id="tap")
        home.relations.add(Relation("Otto", "works with", "Hanna", HOME,
                             valid_from=dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
                             valid_until=dt.datetime(2025, 1, 1, tzinfo=dt.UTC)))  # fmt: skip

        def reached(as_of: str) -> bool:
            return found(recall(home, "Otto?", "mia", as_of=as_of, profile="ppr")) == ["tap"]

        assert reached("2024-06-01")
        assert not reached("2025-06-01")
        assert not reached("2023-06-01")


def test_the_words_of_the_turn_before_find_the_next(path: Path) -> None:
    """In a talk, a turn is found by the words of the turn before it, whoever was told first."""
    turns = ["Shall we paint the fence?", "Yes, on Saturday", "Green then"]
    ordered: list[list[str]] = []
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]):
        with open_home(path.with_name(f"{order}.db"), encoder=None) as home:
            move_in(home)
            for at in order:
                remember(home, turns[at], doc_id=f"turn-{at}", session_id="fence", author="Priya",
                         occurred_at=dt.datetime(2025, 5, 1, 10, at, tzinfo=dt.UTC))  # fmt: skip
            answer = recall(home, "fence", "mia")
            ordered.append(list(answer.trace.runs["lexical"]))
            incremental = written(answer)
            home.maintenance.rebuild()
            assert written(recall(home, "fence", "mia")) == incremental

    assert ordered == [["turn-0", "turn-1"]] * 4


# Households and closing


def test_a_household_remembers_who_belongs_to_it(home: FamilyRecall) -> None:
    """People, spaces and grants are listed as they were added, and a second time changes them."""
    home.people.add(Person("mia", "Mia Rao", ("Mi",)))
    home.spaces.grant(Grant("mia", HOME, "adult", NOW))

    assert home.people.all()[0] == Person("mia", "Mia Rao", ("Mi",))
    assert Space(HOME, "shared") in home.spaces.all()
    assert Grant("mia", HOME, "adult", NOW) in home.spaces.grants()


def test_my_means_the_one_who_asks(home: FamilyRecall) -> None:
    """The asker counts as named by "I" and "my": what they wrote mentions them."""
    answer = recall(home, "what did I say about the plan?", "rajesh", profile="family_os")
    mine = {r.doc_id: r.features["entities"] for r in answer.results}

    assert mine["march"] == mine["goa"] == 1.0
    assert mine["key"] == 0.0


def test_the_async_twins_do_the_same(home: FamilyRecall) -> None:
    """Both arecall and aremember give what recall and remember give."""

    async def both() -> tuple[str, str]:
        told = await home.aremember(Memory("Otto is our plumber", HOME, doc_id="otto"))
        ctx = RecallContext("mia", now=NOW, time_budget_ms=60_000)
        answers = await asyncio.gather(*(home.arecall("plumber", ctx) for _ in range(4)))
        assert len({written(answer) for answer in answers}) == 1
        return told.outcome, answers[0].results[0].doc_id

    assert asyncio.run(both()) == ("created", "otto")


def test_a_closed_household_says_so(path: Path) -> None:
    """After close(), which may be called twice, every call raises ClosedError."""
    home = open_home(path)
    move_in(home)
    home.close()
    home.close()

    for call in (
        lambda: recall(home, "anything?"),
        lambda: remember(home, "anything"),
        home.maintenance.stats,
        home.maintenance.rebuild,
    ):
        with pytest.raises(ClosedError, match="open it again"):
            call()


def test_the_file_is_one_file_after_close(path: Path) -> None:
    """Closing writes the log back: no -wal or -shm stays beside the file."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())

    assert [file.name for file in path.parent.iterdir()] == [path.name]


# Wrong input


@pytest.mark.parametrize(
    "ctx",
    [
        {"time_budget_ms": 0}, {"time_budget_ms": -5}, {"time_budget_ms": math.nan},
        {"time_budget_ms": math.inf}, {"time_budget_ms": "60"}, {"time_budget_ms": True},
        {"top_k": 0}, {"top_k": -1}, {"top_k": 2.0},
        {"top_k": True}, {"mmr_lambda": -0.1}, {"mmr_lambda": 1.1}, {"mmr_lambda": math.nan},
        {"mmr_lambda": "0.5"}, {"mode": "psychic"}, {"now": "yesterday"}, {"as_of": 5},
        {"known_at": "2025-13-01"}, {"person_id": 7}, {"space_id": b"x"}, {"colour": "red"},
        {"filters": 5}, {"filters": {"colour": "red"}}, {"filters": {"kinds": ["dream"]}},
        {"filters": {"kinds": "fact"}}, {"filters": {"authors": [1]}},
        {"filters": {"after": "soon"}},
    ],
    ids=str,
)  # fmt: skip
def test_a_request_that_cannot_be_meant_is_refused(ctx: dict[str, Any]) -> None:
    """Impossible budgets, counts, λ, modes, moments and filters raise InvalidRequestError."""
    with pytest.raises(InvalidRequestError):
        RecallContext.from_json(ctx)


def test_an_enormous_budget_is_a_budget(home: FamilyRecall) -> None:
    """A budget of any finite size is taken: years of milliseconds harm nobody."""
    assert found(recall(home, "blue pot", "mia", time_budget_ms=1e300))[0] == "key"
    assert found(recall(home, "blue pot", "mia", time_budget_ms=10**400))[0] == "key"


@pytest.mark.parametrize("record", [{}, {"ctx": {}}, {"query_text": "a", "budget": 1},
                                    {"query_text": 5}], ids=str)  # fmt: skip
def test_a_record_that_is_no_request_is_refused(record: dict[str, Any]) -> None:
    """A JSON request has a query_text, a ctx, and nothing else."""
    with pytest.raises(InvalidRequestError):
        RecallRequest.from_json(record)


def test_unknown_names_are_refused(home: FamilyRecall) -> None:
    """An unknown person, space, focus, profile or role is named in the error."""
    with pytest.raises(UnknownPersonError, match="'nobody'"):
        recall(home, "?", "nobody")
    with pytest.raises(UnknownSpaceError, match="'nowhere'"):
        recall(home, "?", "mia", space_id="nowhere")
    with pytest.raises(UnknownMemoryError, match="'nothing'"):
        recall(home, "?", "mia", focus_event_id="nothing")
    with pytest.raises(InvalidRequestError, match="profile must be one of"):
        recall(home, "?", "mia", profile="nothing")
    with pytest.raises(InvalidRequestError, match="role must be one of"):
        home.spaces.grant(Grant("mia", HOME, "king"))
    with pytest.raises(UnknownPersonError):
        home.spaces.grant(Grant("nobody", HOME))
    with pytest.raises(UnknownSpaceError):
        home.spaces.grant(Grant("mia", "nowhere"))
    with pytest.raises(UnknownSpaceError):
        remember(home, "Said nowhere", "nowhere")
    with pytest.raises(UnknownSpaceError):
        home.relations.add(Relation("A", "knows", "B", "nowhere"))
    with pytest.raises(UnknownMemoryError, match="evidence 'x'"):
        home.relations.add(Relation("A", "knows", "B", HOME, evidence=("x",)))
    with pytest.raises(InvalidMemoryError, match="kind must be shared, private or household"):
        home.spaces.add(Space("s", "open"))  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InvalidRequestError, match="batch_size"):
        home.remember_many([], batch_size=0)
    with pytest.raises(InvalidRequestError, match="embed"):
        home.remember_many([], embed="never")  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize("name", ["person_id", "space_id", "focus_event_id"])
def test_half_a_character_names_nobody(home: FamilyRecall, name: str) -> None:
    """A lone surrogate in a name is an unknown name, not a crash."""
    with pytest.raises(FamilyRecallError):
        recall(home, "?", **{"person_id": "mia", name: "\ud800"})


@pytest.mark.parametrize(
    "fields",
    [
        {"text": ""}, {"text": " \n"}, {"text": 5}, {"text": b"bytes"},
        {"text": "x" * 1_000_001}, {"text": "half \ud83d"}, {"space_id": ""}, {"doc_id": ""},
        {"doc_id": "x" * 1_001}, {"author": "\udc00"}, {"kind": "dream"}, {"category": "x"},
        {"band": "blue"}, {"importance": 1.1}, {"importance": -0.1}, {"importance": math.nan},
        {"importance": "high"}, {"valence": -2}, {"arousal": 2}, {"arousal": math.inf},
        {"labels": "pets"}, {"labels": [""]}, {"labels": [5]}, {"labels": 5},
        {"occurred_at": "yesterday"}, {"occurred_at": 5}, {"valid_from": "2025-02-30"},
        {"colour": "red"},
    ],
    ids=lambda fields: str(fields)[:40],
)  # fmt: skip
def test_a_memory_with_a_bad_field_is_refused(fields: dict[str, Any]) -> None:
    """A field outside its range raises InvalidMemoryError that names it."""
    (name,) = fields
    with pytest.raises(InvalidMemoryError, match=name):
        Memory.from_json({"text": "The key", "space_id": HOME, **fields})


def test_a_memory_says_something() -> None:
    """Without a text, or without a space, there is no memory."""
    for record in ({"text": "The key"}, {"space_id": HOME}, {"text": None, "space_id": HOME}):
        with pytest.raises(InvalidMemoryError):
            Memory.from_json(record)
    with pytest.raises(InvalidMemoryError, match="text"):
        Memory(None, HOME)  # type: ignore[arg-type]  # wrong on purpose


def test_a_validity_that_ends_before_it_starts_is_refused(home: FamilyRecall) -> None:
    """valid_from must lie before valid_until; nothing of the batch is stored."""
    n = home.maintenance.stats()["memories"]
    with pytest.raises(InvalidMemoryError, match="must be before valid_until"):
        home.remember_many(
            [Memory("fine", HOME), Memory("odd", HOME, valid_from=NOW, valid_until=NOW)]
        )

    assert home.maintenance.stats()["memories"] == n


FIRST_MOMENT = dt.datetime(1, 1, 1)  # noqa: DTZ001 - naive on purpose
LAST_MOMENT = dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)  # noqa: DTZ001 - naive on purpose


@pytest.mark.parametrize(
    "moment",
    [
        FIRST_MOMENT,
        LAST_MOMENT,
        FIRST_MOMENT.replace(tzinfo=dt.timezone(dt.timedelta(hours=14))),
        LAST_MOMENT.replace(tzinfo=dt.timezone(-dt.timedelta(hours=12))),
    ],
    ids=str,
)
def test_the_ends_of_time_are_moments(home: FamilyRecall, moment: dt.datetime) -> None:
    """The first and the last moment there are can be stored and asked from, or are refused."""
    for call in (
        lambda: remember(home, "Beyond memory", doc_id="ends", occurred_at=moment),
        lambda: recall(home, "blue pot", "mia", now=moment),
        lambda: recall(home, "blue pot", "mia", as_of=moment),
        lambda: recall(home, "blue pot", "mia", filters={"after": moment}),
    ):
        with contextlib.suppress(InvalidMemoryError, InvalidRequestError):
            call()


def test_a_memory_survives_json() -> None:
    """A memory written as JSON and read back is the same memory."""
    memory = Memory("x", HOME, doc_id="d", labels=("a", "b"), occurred_at=NOW, importance=0.25,
                    valid_from=NOW, band="amber",
                    title="t", fact_key="k", fact_value="v")  # fmt: skip

    assert Memory.from_json(memory.to_json()) == memory


@pytest.mark.parametrize("confidence", [-0.1, 1.1, math.nan])
def test_a_relation_of_impossible_confidence_is_refused(confidence: float) -> None:
    """A relation's confidence lies in [0, 1]."""
    with pytest.raises(InvalidMemoryError):
        Relation("A", "knows", "B", HOME, confidence=confidence)


# Vectors that cannot be stored


class Spoiling(TinyEncoder):
    """Spoils the vector of any memory that speaks of poison."""

    def __init__(self, poison: np.ndarray[Any, Any]) -> None:
        """Set what takes a vector's place."""
        super().__init__()
        self.poison = poison

    def encode_question(self, text: str) -> Encoding:
        """Encode, or spoil."""
        encoding = super().encode_question(text)
        if "poison" in text:
            return Encoding(self.poison, encoding.tokens, encoding.token_ids)
        return encoding


@pytest.mark.parametrize(
    "poison",
    [np.full(32, np.nan), np.zeros(32), np.full(32, np.inf), np.ones(31), np.ones((1, 32)),
     np.r_[np.ones(31), np.nan]],
    ids=["nan", "zero", "inf", "short", "matrix", "one nan"],
)  # fmt: skip
def test_a_vector_that_cannot_be_is_refused(path: Path, poison: np.ndarray[Any, Any]) -> None:
    """NaN, zero, infinity and a wrong dimension raise InvalidMemoryError; no vector is stored.

    The memory itself is kept and found by its words.
    """
    with open_home(path, encoder=Spoiling(poison.astype(np.float32))) as home:
        move_in(home)
        memories = [Memory(text, HOME, doc_id=text) for text in ("fine", "poison")]
        with pytest.raises(InvalidMemoryError):
            home.remember_many(memories)
        assert not any(home.maintenance.stats()["vectors"].values())
        assert home.maintenance.stats()["memories"] == 2
    with open_home(path) as home:
        assert "poison" in recall(home, "poison", "mia").trace.runs["lexical"]
        assert home.flush() == 2


# Files that are not ours


def refused(path: Path, error: type[StoreError]) -> str:
    """Open a file that must be refused, and see that not a byte of it changed."""
    before = path.read_bytes()
    beside = {file.name for file in path.parent.iterdir()}
    with pytest.raises(error) as caught:
        open_home(path)
    assert path.read_bytes() == before
    assert {file.name for file in path.parent.iterdir()} == beside
    return str(caught.value)


@pytest.mark.parametrize(
    "content", [b"Dear diary", b"x" * 100_000, b"SQLite format 3\0", b"\0" * 50]
)
def test_a_file_that_is_no_database_is_left_alone(path: Path, content: bytes) -> None:
    """Some other file is refused with its name, and not a byte of it changes."""
    path.write_bytes(content)

    assert str(path) in refused(path, NotAStoreError)


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_another_programs_database_is_left_alone(path: Path, journal: str) -> None:
    """A SQLite file of another program is refused, and not a byte of it changes."""
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", journal)
    connection.execute("CREATE TABLE song(title TEXT)")
    connection.close()

    assert "another program" in refused(path, NotAStoreError)


def test_a_newer_file_is_left_alone(path: Path) -> None:
    """A file of a later schema is refused with the way out, and not a byte of it changes."""
    with open_home(path) as home:
        move_in(home)
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    assert "upgrade the library" in refused(path, NewerStoreError)


def test_a_missing_file_can_be_an_error(path: Path) -> None:
    """With create=False a missing file is refused and not made."""
    with pytest.raises(StoreError, match="no such file"):
        open_home(path, create=False)

    assert not path.exists()


def test_a_folder_that_is_not_there_is_an_error(path: Path) -> None:
    """A file in a missing folder, or a folder in place of a file, is a StoreError."""
    for wrong in (path.parent / "nowhere" / "family.db", path.parent):
        with pytest.raises(StoreError):
            open_home(wrong)


def test_a_half_born_file_is_finished(path: Path) -> None:
    """A file whose making was cut short before anything was stored opens as a new one."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()

    with open_home(path) as home:
        move_in(home)
        assert len(home.people.all()) == 3


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.95])
def test_a_truncated_file_is_a_store_error(path: Path, share: float) -> None:
    """Of a file cut short the library says so in its own words, wherever that shows."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])

    def use() -> None:
        with open_home(path) as home:
            recall(home, "blue pot", "mia")
            home.maintenance.rebuild()

    with pytest.raises(StoreError, match=r"family\.db"):
        use()


# A full disk


def test_a_full_disk_keeps_what_was_stored(path: Path) -> None:
    """When the disk fills up during an import, earlier batches stay and the file is sound.

    Once there is room, the same import stores the rest and no memory twice.
    """
    memories = [
        Memory(f"Story {n}: " + " ".join(f"w{n}x{i}" for i in range(60)), HOME, doc_id=f"story-{n}")
        for n in range(400)
    ]
    with open_home(path) as home:
        move_in(home)
        home.remember_many(memories[:20])
        writer = store_of(home)._connections._writer
        pages = int(writer.pragma("page_count"))
        writer.pragma("max_page_count", pages + 60)
        stored: list[int] = []
        with pytest.raises(StoreFullError, match="disk is full"):
            home.remember_many(memories, batch_size=20, progress=stored.append)
        kept = home.maintenance.stats()["memories"]

        assert stored
        assert 20 < kept < 400
        assert kept >= stored[-1]
        assert found(recall(home, "w5x7", "mia"))[0] == "story-5"
        assert writer.pragma("integrity_check") == "ok"

        writer.pragma("max_page_count", 1_000_000)
        outcomes = {told.outcome for told in home.remember_many(memories)}
        assert outcomes == {"created", "unchanged"}
        home.flush()
        assert home.maintenance.stats()["memories"] == 400
        assert found(recall(home, "w399x7", "mia"))[0] == "story-399"


# Many at once


def test_threads_read_and_write_one_household(path: Path) -> None:
    """Four readers and two writers on one object: no exception, and nothing is lost."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
        done = threading.Event()

        def write(name: str) -> int:
            for n in range(15):
                remember(home, f"{name} says {n} about the key", author=name,
                         doc_id=f"{name}-{n}", session_id=f"{name}-{n // 5}")  # fmt: skip
            return 15

        def read(person_id: str) -> int:
            n = 0
            while not done.is_set() or n == 0:
                answer = recall(home, "who says what about the key?", person_id, top_k=20)
                assert answer.degraded == ()
                assert len(set(found(answer))) == len(answer.results)
                n += 1
            return n

        with concurrent.futures.ThreadPoolExecutor(6) as threads:
            readers = [threads.submit(read, who) for who in ("mia", "priya", "rajesh", "mia")]
            writers = [threads.submit(write, name) for name in ("Otto", "Hanna")]
            try:
                assert sum(writer.result() for writer in writers) == 30
            finally:
                done.set()
            assert all(reader.result() for reader in readers)
        during = written(recall(home, "what does Otto say of the key?", "mia"))
        assert home.maintenance.stats()["memories"] == 37
    with open_home(path) as home:
        assert written(recall(home, "what does Otto say of the key?", "mia")) == during


_WRITER = """
import sys
from pathlib import Path
from family_recall import FamilyRecall, Memory, Space
from family_recall.types import RecallContext
name = sys.argv[2]
with FamilyRecall.open(sys.argv[1], models=Path("none")) as home:
    home.spaces.add(Space("shared:home", "shared"))
    for n in range(25):
        home.remember(Memory(f"{name} counts to {n}", "shared:home", doc_id=f"{name}-{n}"))
        assert home.recall(name, RecallContext(time_budget_ms=60_000)).results
"""


def test_two_processes_share_a_file(path: Path) -> None:
    """Two processes make, write and read one file at once: no exception, and nothing is lost."""
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(path), name], stderr=subprocess.PIPE)
        for name in ("alpha", "beta")
    ]
    errors = [writer.communicate(timeout=60)[1].decode() for writer in writers]

    assert errors == ["", ""]
    with open_home(path, encoder=None) as home:
        assert home.maintenance.stats()["memories"] == 50
        assert len(recall(home, "counts", top_k=100).results) == 50


def test_one_process_sees_what_another_wrote(path: Path) -> None:
    """A second object on the same file finds a memory, and its vector, once it is written."""
    with open_home(path) as one, open_home(path) as two:
        move_in(one)
        one.remember_many(stories())
        assert "otto" not in found(recall(two, "plumber", "mia", top_k=50))
        remember(one, "Otto is our plumber", doc_id="otto")
        answer = recall(two, "plumber", "mia")

        assert found(answer)[0] == "otto"
        assert "otto" in answer.trace.runs["vector"]
        assert written(answer) == written(recall(one, "plumber", "mia"))


def test_filters_are_an_object_or_a_record() -> None:
    """Filters may be given as Filters or as the JSON they write."""
    given = Filters(kinds=("fact",), after=NOW)

    assert RecallContext(filters=given.to_json()).filters == given  # type: ignore[arg-type]


def test_as_many_results_come_back_as_are_asked_for(path: Path) -> None:
    """A hundred memories that match give a hundred results, however small the usual pool is."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many([Memory(f"Biscuit counts to {n}", HOME) for n in range(120)])

        assert len(recall(home, "biscuit counts", "mia", top_k=100).results) == 100
        assert len(recall(home, "biscuit counts", "mia", top_k=1000).results) == 120
