"""tools/bench/speed.py: speed and size of a synthetic household."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import numpy as np
import pytest

from family_recall.apps.evaluation import synthetic
from family_recall.english.text import STOP_WORDS
from tools.bench import speed
from tools.bench.data import FakeEncoder


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """Measure 200 memories with 5 questions, few repetitions, as JSON."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patched, contextlib.redirect_stdout(printed):
        patched.setattr(speed, "N_STARTS", 1)
        patched.setattr(speed, "EMBEDDING_RUNS", 2)
        assert speed.main(["--sizes", "200", "--questions", "5", "--json", "-"]) == 0
    read: dict[str, Any] = json.loads(printed.getvalue())
    return read


def test_the_json_has_what_help_says(report: dict[str, Any]) -> None:
    """Machine, imports, embedding and one entry a size; each time has wall and processor."""
    assert {"machine", "import_ms", "embedding", "sizes"} <= set(report)
    (size,) = report["sizes"]
    assert {
        "memories",
        "ingest",
        "recall",
        "identifiers",
        "planted",
        "file_bytes_per_memory",
        "bytes_by_table",
        "start",
    } == set(size)
    # Each table is rounded to a tenth of a byte.
    total = sum(size["bytes_by_table"].values())
    assert total == pytest.approx(size["file_bytes_per_memory"], abs=4)
    for name in ("total", "other_than_embedding"):
        for unit in ("ms", "cpu_ms"):
            times = size["recall"][name][unit]
            assert 0.0 < times["p50"] <= times["p95"] <= times["p99"]
    assert {"lexical", "answer"} <= set(size["recall"]["stages"])
    assert {"open_ms", "first_answer_ms", "resident_mib"} <= set(size["start"])


def test_planted_memories_are_found(report: dict[str, Any]) -> None:
    """A question in the words of one memory among 200 finds it in the first ten."""
    planted = report["sizes"][0]["planted"]

    assert (planted["n"], planted["found"], planted["lost"]) == (5, 5, [])


def test_half_of_what_is_said_is_stop_words() -> None:
    """As in spoken English, where they are 40 to 60 %; no other word is in one memory of ten."""
    texts = [memory.text.lower().split() for memory in synthetic.memories(500)]
    words = [word for text in texts for word in text]

    assert 0.4 < np.mean([word in STOP_WORDS for word in words]) < 0.6
    content = {word for word in words if word not in STOP_WORDS}
    assert max(sum(word in text for text in texts) for word in content) < len(texts) / 10
    assert np.mean([len(text) for text in texts]) == pytest.approx(20, abs=1)


def test_the_same_seed_makes_the_same_household() -> None:
    """Memories, questions and vectors are repeatable, and dates only go forward."""
    first, second = list(synthetic.memories(60)), list(synthetic.memories(60))

    assert first == second
    assert first != list(synthetic.memories(60, seed=1))
    assert synthetic.questions(20, 60) == synthetic.questions(20, 60)
    moments = [memory.occurred_at for memory in first if memory.occurred_at]
    assert moments == sorted(moments)
    assert len(moments) == 60
    encoded = FakeEncoder().encode_question(first[0].text)
    again = FakeEncoder().encode_memories([first[0].text])[0]
    assert np.array_equal(encoded.pooled, again.pooled)
    assert np.linalg.norm(encoded.pooled) == pytest.approx(1.0, abs=1e-5)
