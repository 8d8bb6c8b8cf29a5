"""Long texts: however long a memory is, a recall's work is bounded, and nothing else suffers.

Work is counted in characters and calls, never in milliseconds; `tools/torture/deadline.py` has
those.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import Answer, FamilyRecall, Hidden, Memory
from family_recall.config import RecallConfig
from family_recall.english import identifiers
from family_recall.recall.ranking import distinct
from family_recall.recall.ranking.distinct import maximal_marginal_relevance, word_jaccard
from family_recall.store import passages, words
from family_recall.store.file import checksums
from family_recall.store.words import MOST_COMPARED, compared, row_words
from tests.conftest import (
    HOME,
    engine_of,
    move_in,
    open_home,
    recall,
    remember,
    store_of,
)
from tools.torture.deadline import fault_of

QUESTION = "Where did the plumber leave his ladder?"
SAYS = "The plumber left his ladder behind the greenhouse. "
LONGEST = 1_000_000
FILLERS = ("rain until lunch. ", "x", "7 ", "...", "lunch\n", "日", "the plumber left ")


class Counted:
    """Counts the characters that some functions are given, while they run as ever."""

    def __init__(self, patch: pytest.MonkeyPatch, *functions: tuple[Any, str]) -> None:
        """Count what these functions, each of an owner, are given first."""
        self.n_chars = self.n_calls = 0
        for owner, name in functions:
            patch.setattr(owner, name, self._counting(getattr(owner, name)))

    def count(self) -> None:
        """Count one call."""
        self.n_calls += 1

    def _counting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(text: Any, *others: Any) -> Any:
            parts = [text] if isinstance(text, str) else [part for part in text if part]
            self.n_chars += sum(len(part) for part in parts if isinstance(part, str))
            self.n_calls += 1
            return function(text, *others)

        return counted


class Spent:
    """A clock by which every look takes a second, once it runs."""

    def __init__(self) -> None:
        """Stand still."""
        self.at_s, self.runs = 0.0, False

    def __call__(self) -> float:
        """Seconds since the start."""
        self.at_s += self.runs
        return self.at_s


def long_text(n_chars: int, filler: str = FILLERS[0]) -> str:
    """Write a text of so many characters that begins with the answer."""
    return (SAYS + filler * (n_chars // len(filler) + 1))[:n_chars]


@pytest.fixture(scope="module")
def with_long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fill a file with texts of all lengths and fillers, four of them very long."""
    path = tmp_path_factory.mktemp("long") / "family.db"
    with open_home(path, encoder=None, static=None) as home:
        move_in(home)
        lengths = [10 ** (2 + at % 4) for at in range(8)]
        lengths += [LONGEST, *[LONGEST // 3] * 3]
        home.remember_many(
            Memory(long_text(n, FILLERS[at % len(FILLERS)]), HOME, doc_id=f"text-{at}")
            for at, n in enumerate(lengths)
        )
    return path


@settings(max_examples=8, deadline=None, derandomize=True)
@given(top_k=st.sampled_from((1, 12, 30)), budget_ms=st.floats(1.0, 60.0))
def test_without_time_the_characters_that_are_read_are_bounded(
    with_long: Path, top_k: int, budget_ms: float
) -> None:
    """When the time is up, texts are read until they have 200,000 characters together.

    Only the first is looked through for its best passage, as far as passages lie in it.
    """
    clock = Spent()
    with (
        open_home(with_long, encoder=None, static=None, clock=clock) as home,
        pytest.MonkeyPatch.context() as patch,
    ):
        clock.runs = True
        loaded = Counted(patch, (checksums, "checksum_of"))
        divided = Counted(patch, (passages, "_passages"))
        split = Counted(patch, (words, "_tokens"))
        spent = recall(home, QUESTION, "mia", time_budget_ms=budget_ms, top_k=top_k)

    assert fault_of(spent) is None
    assert len(spent) >= 1
    assert loaded.n_chars <= LONGEST + 201_000
    assert (divided.n_calls, divided.n_chars) <= (1, passages.MOST_CHARS)
    assert split.n_chars <= passages.MOST_CHARS + 1_000
    if len(spent) < min(top_k, 12):
        assert any(skip.stage == "answer" and skip.hurried for skip in spent.trace.skips)


def test_a_text_is_looked_through_as_far_as_passages_lie_in_it() -> None:
    """What is read of a million characters is what is read of the first 65,536."""
    with pytest.MonkeyPatch.context() as patch:
        divided = Counted(patch, (passages, "_passages"))
        spans = passages.passages(long_text(LONGEST))

        assert divided.n_chars == passages.MOST_CHARS
        assert spans == passages.passages(long_text(passages.MOST_CHARS))


def test_with_time_long_texts_are_answered_in_full(with_long: Path) -> None:
    """A long text is returned whole, with its best passage, which has the words of the question."""
    with open_home(with_long, encoder=None, static=None) as home:
        answer = recall(home, QUESTION, "mia", top_k=12, time_budget_ms=60_000.0)

    assert max(len(result.text) for result in answer) == LONGEST
    long = [result for result in answer if len(result.text) >= 10_000]
    assert long
    for result in long:
        assert result.passage is not None
        assert "ladder" in result.text[slice(*result.passage)]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    parts=st.lists(
        st.sampled_from(("Rain. ", "lunch", "\n", "...", "7", " ", "日", "。")), max_size=8
    ),
    repeated=st.integers(1, 400),
)
def test_passages_lie_at_the_beginning_of_a_text(parts: list[str], repeated: int) -> None:
    """What comes after a text moves none of its passages, once there are 64 of them."""
    text = ("".join(parts) or "a ") * repeated
    spans = passages.passages(text)

    assert all(0 <= start < end <= min(len(text), passages.MOST_CHARS) for start, end in spans)
    longer = text + "More rain. " * 6_000
    if len(spans) == passages.MOST_PASSAGES and len(text) < passages.MOST_CHARS // 2:
        assert passages.passages(longer)[:-3] == spans[:-3]


@pytest.mark.parametrize("text", ["." * LONGEST, "?!" * (LONGEST // 2), "a." * (LONGEST // 2)])
def test_a_run_of_marks_is_read_once(text: str) -> None:
    """Looked for from each of its marks, the end of a sentence would take hours."""
    start_s = time.process_time()
    spans = passages.sentences(text)

    assert spans == [(0, LONGEST)]
    assert time.process_time() - start_s < 20.0


@pytest.mark.parametrize("word", ["日", "endless", "a日", "é"])
def test_a_word_without_an_end_is_counted_as_the_index_has_it(
    home: FamilyRecall, word: str
) -> None:
    """FTS5 keeps 32,768 bytes of a word, which may end inside a character.

    The file is sound, and whatever else is forgotten, can be.
    """
    remember(home, word * 20_000, author="priya", doc_id="endless")
    remember(home, SAYS, author="priya", doc_id="ladder")
    assert [finding for finding in home.maintenance.check() if finding.problem] == []

    receipt = home.forget("ladder", person_id="priya")

    assert receipt.proof is not None
    assert home.erasure.verify(receipt).forgotten
    assert home.forget("endless", person_id="priya").proof is not None
    assert [finding for finding in home.maintenance.check() if finding.problem] == []


def test_the_question_words_of_a_very_long_list_are_counted() -> None:
    """Of more words than are compared, those of the question are always among them."""
    text = " ".join(f"{number:x}" for number in range(3 * MOST_COMPARED))
    ((entries, n_words),) = words.count_words([(text, "", "")])
    asked_for = [words.stem_number(f"{number:x}") for number in (7, 99, 90_000)]
    whole, cut = row_words([entries]), row_words([compared(entries, asked_for)])

    assert n_words == 3 * MOST_COMPARED
    assert MOST_COMPARED <= len(cut.stems) <= MOST_COMPARED + len(asked_for) < len(whole.stems)
    assert set(asked_for) <= set(cut.stems.tolist()) <= set(whole.stems.tolist())
    short = words.count_words([(SAYS, "", "")])[0][0]
    assert compared(short, asked_for) is short


def test_diversity_ends_when_it_is_stopped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was picked until then stands first, the others follow, and the trace says so."""
    looks = 0

    def stopped() -> bool:
        nonlocal looks
        looks += 1
        return looks > 5

    config = RecallConfig(leave_out=frozenset({"deduplicate"}))
    with open_home(path, config=config) as home:
        move_in(home)
        home.remember_many(Memory(f"The ladder has {n} rungs", HOME) for n in range(40))
        monkeypatch.setattr(distinct, "has_stopped", stopped)
        answer = recall(home, QUESTION, "mia", top_k=30, mmr_lambda=0.5)

    assert fault_of(answer) is None
    stopped_stages = [skip.stage for skip in answer.trace.skips if skip.reason == "stopped"]
    assert stopped_stages == ["diversify"]
    assert len(answer) == 30


def test_picks_end_when_there_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pick compares one row with all, and none more after the alarm."""
    compared_rows: list[int] = []

    def similarity(row: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        compared_rows.append(row)
        return np.zeros(1_000, np.float32)

    monkeypatch.setattr(distinct, "has_stopped", lambda: len(compared_rows) >= 20)
    relevance = np.linspace(1.0, 0.0, 1_000).astype(np.float32)
    picks = maximal_marginal_relevance(relevance, similarity, mmr_lambda=0.5, top_k=1_000)

    assert picks == list(range(21))
    assert len(compared_rows) == 20


def test_the_likeness_of_words_is_that_of_sets(home: FamilyRecall) -> None:
    """Jaccard by its definition, over the words of body and header, for each two rows."""
    texts = ("the red ladder", "a red ladder", "the blue boat", "boat", "red red ladder")
    for number, text in enumerate(texts):
        remember(home, text, author="priya", doc_id=f"text-{number}")
    answer = recall(home, "red", "priya")
    assert answer.trace.request is not None
    with store_of(home).snapshot() as snapshot:
        scope = engine_of(home).scope(snapshot, answer.trace.request.ctx)
        ids = snapshot.find("text-0", scope).id + np.arange(5)
        rows = snapshot.rows(ids, scope)
    sets = [
        set(rows.words.stems[rows.words.of_row(row)][rows.words.in_own()[rows.words.of_row(row)]])
        for row in range(len(rows))
    ]
    some = np.array([4, 0, 2, 1])
    similarity = word_jaccard(rows, some)

    for at, row in enumerate(some.tolist()):
        expected = [len(sets[row] & sets[other]) / len(sets[row] | sets[other]) for other in some]
        assert similarity(at).tolist() == pytest.approx(expected, abs=1e-6)


def test_an_answer_that_waited_too_long_says_so(path: Path) -> None:
    """Fifty questions at once, by a clock on which each takes 5 ms: the last wait, and say it."""
    clock = Spent()
    config = dataclasses.replace(RecallConfig(), warm_up_recalls=1)
    with open_home(path, encoder=None, static=None, clock=clock, config=config) as home:
        move_in(home)
        remember(home, SAYS)
        clock.runs = True

        async def ask() -> list[Answer]:
            each = [home.arecall(QUESTION, person_id="mia", time_budget_ms=60.0) for _ in range(8)]
            return await asyncio.gather(*each)

        answers = asyncio.run(ask())

    assert all(fault_of(answer) is None and len(answer) for answer in answers)
    for answer in answers:
        assert answer.used_time_ms > 60.0
        assert [text for text in answer.degraded if "waiting for a thread" in text]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    parts=st.lists(
        st.sampled_from(
            ("order 4711-AB ", "tom@example.org ", "https://a.example/x?y=1 ", "+44 20 7946 0958 ",
             "AB-1234 ", "the ", "a", "1", "-", "/", ".", "é", "日", "e\u0301 ", "\n")
        ),
        min_size=30,
        max_size=120,
    ),
    window=st.integers(5, 300),
)  # fmt: skip
def test_a_text_read_by_parts_is_read_as_a_whole(parts: list[str], window: int) -> None:
    """Identifiers and words are the same wherever a long text is cut to let other threads run."""
    text = "".join(parts)
    found, split = identifiers.find_identifiers(text), words.count_words([(text, "", "")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identifiers, "_WINDOW", window)
        patch.setattr(words, "_SPLIT_AT_ONCE", window)

        assert identifiers.find_identifiers(text) == found
        assert words.count_words([(text, "", "")]) == split


def test_every_writer_of_many_memories_yields_to_recalls(
    home: FamilyRecall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Storing, hiding a field and deriving all again pause before each memory, if a recall runs."""
    yielded = Counted(monkeypatch)
    indexer = dataclasses.replace(engine_of(home).indexer, yield_to_recalls=yielded.count)
    monkeypatch.setattr(engine_of(home), "indexer", indexer)
    home.remember_many(Memory(f"The ladder has {n} rungs", HOME) for n in range(20))
    assert yielded.n_calls >= 20

    yielded.n_calls = 0
    home.spaces.hide(Hidden(HOME, "guest", ("title",)))
    assert yielded.n_calls >= 20

    yielded.n_calls = 0
    home.maintenance.rebuild()
    assert yielded.n_calls >= 40
