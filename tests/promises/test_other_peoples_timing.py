"""Other people's timing: the work of a recall says nothing of what others asked or hold.

Counted in queries, steps of SQLite's machine and questions that a model encodes, not in
milliseconds: those depend on the machine.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from family_recall import FamilyRecall
from family_recall.encoders.base import Encoding
from family_recall.encoders.question_cache import MAX_QUESTIONS
from tests.conftest import (
    HOME,
    PLENTY_MS,
    TINY_STATIC,
    TinyEncoder,
    move_in,
    open_home,
    recall,
    remember,
    stories,
    written,
)

QUESTION = "What is the diagnosis in the blue locker since we moved, and who is my brother's wife?"
ANOTHER = "How heavy is the puppy, and when does grandma land?"
WARMED_BY = "Where is the spare key?"
ASKERS = ("rajesh", None)


class Counting(TinyEncoder):
    """The tiny encoder, which counts the questions it encodes."""

    def __init__(self) -> None:
        super().__init__()
        self.n_encoded = 0

    def encode_question(self, text: str) -> Encoding:
        """Encode a question, and count it."""
        self.n_encoded += 1
        return super().encode_question(text)


class Work:
    """What SQLite and the encoder do while a household answers one question."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._statements: Counter[tuple[str, int]] = Counter()
        self._encoder = Counting()
        hooks = [*apsw.connection_hooks, self._count]
        monkeypatch.setattr(apsw, "connection_hooks", hooks)
        self.home = open_home(path, encoder=self._encoder, static=TINY_STATIC, create=False)

    def _count(self, connection: apsw.Connection) -> None:
        def finished(event: dict[str, Any]) -> None:
            sql, steps = event["sql"], event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]
            if sql.lstrip().startswith("SELECT"):  # a log is written by another thread
                # FTS5 keeps its own statements, whose counts are of all their runs so far.
                self._statements[sql, 0 if "'main'.'words_" in sql else steps] += 1

        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, finished)

    def of_call(self, call: Callable[[], object]) -> dict[tuple[str, int], int]:
        """Make a call; return each query with its steps."""
        self._statements.clear()
        call()
        return dict(self._statements)

    def of(self, question: str, person_id: str | None, **ctx: Any) -> tuple[Any, ...]:
        """Ask; return the answer with its trace, each query with its steps, and encodings."""
        self._statements.clear()
        before = self._encoder.n_encoded
        answer = recall(self.home, question, person_id, **ctx)
        return written(answer), dict(self._statements), self._encoder.n_encoded - before


@pytest.fixture
def furnished(path: Path) -> Path:
    """Make a household where Priya holds private memories that match the question."""
    with open_home(path, static=TINY_STATIC) as home:
        furnish(home)
    return path


def furnish(home: FamilyRecall) -> None:
    """Fill a household with what all see and what Rajesh and Priya hold for themselves."""
    move_in(home)
    # Another thread writes the log when it comes to it, and small tables are read again then.
    home.audit.keep_days(0)
    home.remember_many(stories())
    for n in range(20):
        remember(home, f"My blue locker {n} has number {n}", "private:rajesh", author="rajesh")
        remember(home, f"The diagnosis {n} is in the blue locker", "private:priya", author="priya")


@pytest.mark.parametrize("person_id", ASKERS)
@pytest.mark.parametrize("budget_ms", [1.0, PLENTY_MS])
def test_what_somebody_else_asked_before_changes_no_work(
    furnished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    person_id: str | None,
    budget_ms: float,
) -> None:
    """The same answer, skips and costs, queries, steps and encodings, whatever Priya asked.

    With enough time and with next to none; for somebody known and for a stranger.
    """
    work: dict[str, tuple[Any, ...]] = {}
    for asked in (QUESTION, ANOTHER):
        copy = shutil.copyfile(furnished, tmp_path / f"{len(work)}.db")
        observed = Work(copy, monkeypatch)
        with observed.home:
            recall(observed.home, WARMED_BY, person_id)
            recall(observed.home, asked, "priya")
            work[asked] = observed.of(QUESTION, person_id, time_budget_ms=budget_ms)

    assert work[QUESTION] == work[ANOTHER]


def test_a_stranger_does_not_learn_what_another_stranger_asked(
    furnished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody known asks twice: the question is encoded twice, as one that was never asked.

    Each time thrice: both of two questions in one, and the whole.
    """
    observed = Work(furnished, monkeypatch)
    with observed.home:
        first = observed.of(QUESTION, None)[2]
        again = observed.of(QUESTION, None)[2]
        own = [observed.of(QUESTION, "rajesh")[2] for _ in range(2)]

    assert (first, again) == (3, 3)
    assert own == [3, 0]


def test_how_much_others_ask_does_not_slow_anybody(
    furnished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Rajesh has asked stays cached, however many questions Priya asks meanwhile."""
    observed = Work(furnished, monkeypatch)
    with observed.home:
        recall(observed.home, QUESTION, "rajesh")
        for n in range(MAX_QUESTIONS + 1):
            recall(observed.home, f"question {n}", "priya")

        assert observed.of(QUESTION, "rajesh")[2] == 0


@pytest.mark.parametrize("call", ["remember", "correct", "feedback", "forget"])
def test_what_others_hold_changes_no_work_of_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """The same queries and steps, whether Priya's private texts name what is written or not."""
    work = []
    for name in ("Elena", "Olive"):
        file = tmp_path / f"{name}.db"
        with open_home(file, static=TINY_STATIC) as home:
            move_in(home)
            home.audit.keep_days(0)
            home.remember_many(stories())
            for n in range(20):
                text = f"{name} {n} has the blue locker 1{n:02d} since May {n + 1}"
                remember(home, text, "private:priya", author="priya", doc_id=f"private-{n}")
            remember(home, "Elena has the blue locker", author="rajesh", doc_id="own")
            remember(home, "The red locker is empty", author="rajesh", doc_id="other")
        observed = Work(file, monkeypatch)
        with observed.home as home:
            calls: dict[str, Callable[[], object]] = {
                "remember": lambda: remember(home, "Elena 3 painted it on May 4", author="rajesh"),
                "correct": lambda: home.correct("own", person_id="rajesh", text="Elena has it"),
                "feedback": lambda: home.feedback(
                    "Where is Elena?", "own", True, person_id="rajesh", time_budget_ms=PLENTY_MS
                ),
                # Doing so searches the whole file, and tells more: docs/threat-model.md.
                "forget": lambda: home.forget(
                    about="Elena", space_id=HOME, person_id="rajesh", dry_run=True
                ),
            }
            work.append(observed.of_call(calls[call]))

    assert work[0] == work[1]
