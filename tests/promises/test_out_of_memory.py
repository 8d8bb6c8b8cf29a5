"""Where memory runs out, what has enough of it answers, and the answer says what is missing."""

from __future__ import annotations

import _thread
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from family_recall import FamilyRecall
from family_recall.encoders.static import StaticEncoder
from family_recall.encoders.transformer import BiEncoder, CrossEncoder
from family_recall.errors import ModelError
from family_recall.store import vector_index
from tests.conftest import PLENTY_MS, found, move_in, open_home, recall, stories

QUESTION = "when does grandma land?"
ENCODERS = {"static": StaticEncoder, "embedder": BiEncoder, "cross_encoder": CrossEncoder}


def exhausted(*_: Any, **__: Any) -> Any:
    """Fail as numpy and Python do."""
    raise MemoryError


def exhausted_in_onnx(*_: Any, **__: Any) -> Any:
    """Fail as a session does that ONNX Runtime has no memory for."""
    raise ModelError("x.onnx: RUNTIME_EXCEPTION : Exception during initialization: std::bad_alloc")


@pytest.mark.parametrize("fail", [exhausted, exhausted_in_onnx], ids=["python", "onnx"])
@pytest.mark.parametrize(
    ("without", "missing"),
    [
        (("static",), ["embed_static: the static embedder: not enough memory to load it"]),
        (("cross_encoder",), ["rerank: the cross-encoder: not enough memory to load it"]),
        (("embedder",), ["embed: not enough memory to load it; family-static-embedder/"]),
        (tuple(ENCODERS), ["vector: not enough memory to load it"]),
    ],
    ids=["static", "cross-encoder", "embedder", "all"],
)
def test_a_model_without_memory_is_done_without(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fail: Callable[..., Any],
    without: tuple[str, ...],
    missing: list[str],
) -> None:
    """Each model may lack memory, or all of them; ``degraded`` names it and the rest answers."""
    for name in without:
        monkeypatch.setattr(ENCODERS[name], "load", fail)
    with FamilyRecall.open(path) as home:
        move_in(home)
        home.remember_many(stories())
        home.warmup()
        answer = recall(home, QUESTION, "priya", time_budget_ms=PLENTY_MS)

    assert found(answer)[0] == "grandma"
    assert len(answer.degraded) == len(missing)
    for line, beginning in zip(answer.degraded, missing, strict=True):
        assert line.startswith(beginning)


def test_a_vector_index_without_memory_is_done_without(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words answer while vectors cannot be loaded, and vectors do again once they can."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
    with open_home(path) as home:
        with monkeypatch.context() as patched:
            patched.setattr(vector_index, "_read", exhausted)
            answer = recall(home, QUESTION, "priya")
        again = recall(home, QUESTION, "priya")

    assert found(answer)[0] == "grandma"
    assert "vector: not enough memory" in answer.degraded
    assert again.degraded == ()


def test_a_household_opens_where_no_thread_can_start_for_its_models(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread needs address space for its stack; without it words answer, and closing works."""
    start = _thread.start_new_thread

    def unless_models(call: Callable[..., object], *arguments: Any) -> int:
        if "family_recall-models" in str(vars(getattr(call, "__self__", call))):
            raise RuntimeError("can't start new thread")
        return start(call, *arguments)

    monkeypatch.setattr(_thread, "start_new_thread", unless_models)
    with FamilyRecall.open(path) as home:
        move_in(home)
        home.remember_many(stories())
        answer = recall(home, QUESTION, "priya", time_budget_ms=PLENTY_MS)

    assert found(answer)[0] == "grandma"
    assert answer.degraded == ("vector: no thread could be started to load it",)
