"""Re-embedding: another model's vectors are made beside those that serve, and not twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from family_recall import FamilyRecall
from family_recall.encoders.base import Encoding
from family_recall.errors import ModelError
from tests.conftest import (
    NO_MODELS,
    TinyEncoder,
    found,
    move_in,
    open_home,
    recall,
    remember,
    written,
)

QUESTION = "where is the spare key?"


def _nothing() -> None:
    pass


class Counting(TinyEncoder):
    """Another model that counts, and calls back before each batch."""

    def __init__(self) -> None:
        """Be another model than the tiny one."""
        super().__init__("tiny/2", 64, 16)
        self.encoded = 0
        self.before_batch: Callable[[], None] = _nothing

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode like any."""
        self.before_batch()
        self.encoded += len(texts)
        return super().encode_memories(texts)


def test_the_old_vectors_serve_until_the_new_ones_are_there(home: FamilyRecall) -> None:
    """In the middle of it a question is answered to the bit as before it."""
    before = written(recall(home, QUESTION, "rajesh"))
    other, meanwhile = Counting(), list[str]()
    other.before_batch = lambda: meanwhile.append(written(recall(home, QUESTION, "rajesh")))
    done = home.maintenance.reembed(encoder=other)

    assert (done.model_id, done.made, done.pending) == ("tiny/2", 7, 0)
    assert meanwhile
    assert set(meanwhile) == {before}
    assert home.maintenance.pending() == {"tiny/1": 0, "tiny/2": 0}
    assert [one for one in home.maintenance.check() if one.problem] == []


def test_an_interrupted_run_goes_on_where_it_stopped(path: Path) -> None:
    """What has been made is not made again, by another process either."""
    with open_home(path) as home:
        move_in(home)
        for number in range(100):
            remember(home, f"note {number}", doc_id=f"n{number}")
        other = Counting()

        def interrupt(done: int, total: int) -> None:
            assert total == 100
            if done >= 32:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            home.maintenance.reembed(encoder=other, progress=interrupt)
        first = other.encoded
    with open_home(path, create=False) as home:
        other = Counting()
        done = home.maintenance.reembed(encoder=other)

    assert 0 < first < 100
    assert first + other.encoded == 100
    assert done.made == 100 - first


def test_what_is_told_meanwhile_is_not_forgotten(home: FamilyRecall) -> None:
    """A memory that comes while this runs gets both models' vectors."""
    other = Counting()

    def tell() -> None:
        other.before_batch = _nothing
        remember(home, "The lamp is in the attic", "private:priya", doc_id="lamp")
        remember(home, "The ladder is in the shed", doc_id="ladder")

    other.before_batch = tell
    done = home.maintenance.reembed(encoder=other)

    assert done.pending == 0
    assert done.made == 9


def test_dropping_the_others_leaves_one_model(home: FamilyRecall, path: Path) -> None:
    """Once none is missing the old vectors go, and the file is sound and answers by the new."""
    remember(home, "The bicycle", doc_id="titled", title="A red one", summary="Mia's")
    done = home.maintenance.reembed(encoder=Counting(), drop_others=True)
    home.close()

    assert done.dropped == ("tiny/1",)
    with open_home(path, encoder=Counting(), create=False) as again:
        assert again.maintenance.pending() == {"tiny/2": 0}
        assert [one for one in again.maintenance.check() if one.problem] == []
        answer = recall(again, QUESTION, "rajesh")
        assert answer.trace.embedder == "tiny/2"
        assert found(answer)[0] == "key"


def test_without_a_model_nothing_is_made(home: FamilyRecall) -> None:
    """A folder without models is an error, and the household keeps what it has."""
    with pytest.raises(ModelError, match="no vectors can be made"):
        home.maintenance.reembed(NO_MODELS)

    assert home.maintenance.pending() == {"tiny/1": 0}
