"""Vector source: a memory is as near as the nearest of its body, its title and its summary."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Memory
from family_recall.encoders.base import Encoder, Encoding
from family_recall.errors import InvalidMemoryError
from family_recall.store.file import connections
from family_recall.store.store import Store
from family_recall.store.vector_index import VectorIndexes
from family_recall.types import Scope
from tests.conftest import (
    HOME,
    NOW,
    TINY,
    TINY_STATIC,
    TinyEncoder,
    TinyStatic,
    Wall,
    found,
    move_in,
    open_home,
    recall,
    remember,
    store_of,
    stories,
)

WORDS = "fence gate paint cobbler vet cake kilos harbour lantern spoon attic otter".split()
QUESTIONS = ("a cobbler in the attic", "lantern", "otters and spoons", "kilos of cake")
MODELS: dict[str, dict[str, Any]] = {
    "transformer": {},
    "static": {"encoder": None, "static": TINY_STATIC},
    "both": {"static": TINY_STATIC},
}

some_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
tellings = st.fixed_dictionaries(
    {
        "doc_id": st.sampled_from(["a", "b", "c", "d", "e", "f"]),
        "text": some_words,
        "title": st.none() | some_words,
        "summary": st.none() | some_words,
        "author": st.sampled_from(["Priya", None]),
        "space_id": st.sampled_from([HOME, HOME, "private:priya"]),
        "band": st.sampled_from(["green", "green", "amber"]),
    }
)

Read = tuple[str, str | None, str | None, str | None]
"""What is read of a memory: text, author, title and summary."""


def best_cosine(encoder: Encoder, question: str, read: Read) -> float:
    """Hold a question against each view by brute force, over rows rounded to int8."""
    text, author, title, summary = read
    views = [f"{author}: {text}" if author else text, title, summary]
    asked = encoder.encode_question(question).pooled.astype(np.float64)
    cosines = []
    for encoding in encoder.encode_memories([view for view in views if view]):
        row = np.rint(encoding.pooled * (127.0 / np.abs(encoding.pooled).max())).astype(np.float64)
        cosines.append(float(row @ asked) / float(np.linalg.norm(row)))
    return max(cosines)


def stored(path: Path, scope: Scope) -> dict[int, Read]:
    """Read what a scope may see out of the memory table."""
    connection = apsw.Connection(str(path))
    rows: list[Any] = connection.execute(
        "SELECT id, text, author, title, summary, recorded_s, superseded_s FROM memory"
    ).fetchall()
    connection.close()
    seen = {}
    for memory, *read, recorded_s, superseded_s in rows:
        known_at_s = scope.known_at_s
        if known_at_s is None:
            current = superseded_s is None
        else:
            gone = superseded_s is not None and superseded_s <= known_at_s
            current = recorded_s <= known_at_s and not gone
        if current and memory >> 40 in scope.partitions:
            seen[memory] = (read[0], read[1], read[2], read[3])
    return seen


def agrees(path: Path, encoder: Encoder, scope: Scope) -> None:
    """Compare the nearest, and every cosine, with brute force."""
    expected = stored(path, scope)
    store = Store(path, create=False)
    with store.snapshot() as snapshot:
        for question in QUESTIONS:
            best = {
                memory: best_cosine(encoder, question, read) for memory, read in expected.items()
            }
            asked = encoder.encode_question(question).pooled
            ids = np.array([*expected, 1], np.int64)
            cosines = snapshot.cosines(asked, encoder.model_id, ids, scope)
            assert cosines[:-1] == pytest.approx(list(best.values()), abs=1e-5)
            assert np.isnan(cosines[-1])
            for k in (1, 2, 3, 50):
                hits = snapshot.nearest(asked, encoder.model_id, scope, k)
                scores = sorted(best.values(), reverse=True)[:k]
                assert hits.scores == pytest.approx(scores, abs=1e-5)
                assert len(set(hits.ids.tolist())) == len(hits.ids)
                assert hits.scores == pytest.approx(
                    [best[memory] for memory in hits.ids.tolist()], abs=1e-5
                )
    store.close()


def all_of(home: FamilyRecall, known_at_s: float | None = None) -> Scope:
    """Return a scope of every partition."""
    with store_of(home).snapshot() as snapshot:
        partitions = tuple(each.no for each in snapshot.every_partition())
    return Scope(None, partitions, NOW.timestamp(), known_at_s)


def tables(path: Path) -> dict[str, list[int]]:
    """Return the memories in each table of vectors, by the name and view it is for."""
    connection = apsw.Connection(str(path))
    held: dict[str, list[int]] = {}
    models: list[Any] = connection.execute("SELECT no, model_id, storage FROM embedding_model")  # type: ignore[assignment]  # rows, as they come
    for number, model_id, storage in list(models):
        name = f"vectors_{number}_rowids" if storage == "vec0" else f"vectors_{number}"
        column = "rowid" if storage == "vec0" else "id"
        rows: list[Any] = connection.execute(f"SELECT {column} FROM {name} ORDER BY 1").fetchall()
        held[model_id] = [row[0] for row in rows]
    connection.close()
    return held


@settings(max_examples=40, deadline=None, derandomize=True,
          phases=(Phase.explicit, Phase.generate))  # fmt: skip
@given(
    st.lists(tellings, min_size=1, max_size=10),
    st.sampled_from([1, 4, 256]),
    st.sampled_from(sorted(MODELS)),
    st.sets(st.integers(0, 3)),
    st.none() | st.integers(0, 10),
    st.booleans(),
)
def test_a_memory_counts_with_the_best_of_its_views(
    history: Sequence[dict[str, Any]],
    batch_size: int,
    models: str,
    asked: set[int],
    minute: int | None,
    rebuilt: bool,
) -> None:
    """Nearest and cosines agree with brute force over every view the scope sees, and no other.

    Of current memories and replaced ones, by either embedder, before and after a rebuild.
    """
    with tempfile.TemporaryDirectory() as folder:
        path, wall = Path(folder) / "family.db", Wall()
        with open_home(path, wall=wall, **MODELS[models]) as home:
            move_in(home)
            for at in range(0, len(history), batch_size):
                wall.tick(minutes=1)
                batch = [Memory(**telling) for telling in history[at : at + batch_size]]
                home.remember_many(batch, batch_size=batch_size)
            if rebuilt:
                home.maintenance.rebuild()
                home.flush()
            every = all_of(home).partitions
        partitions = tuple(no for place, no in enumerate(every) if place in asked)
        known_at_s = None if minute is None else NOW.timestamp() + 60.0 * minute
        for encoder in (TINY, TINY_STATIC):
            if encoder.model_id in tables(path):
                agrees(path, encoder, Scope(None, partitions, NOW.timestamp(), known_at_s))


@pytest.mark.parametrize("models", sorted(MODELS))
@pytest.mark.parametrize("view", ["title", "summary"])
def test_a_view_is_found_where_the_body_shares_nothing(path: Path, view: str, models: str) -> None:
    """A question close to a title or a summary alone finds its memory first, without a word."""
    with open_home(path, **MODELS[models]) as home:
        move_in(home)
        home.remember_many(stories())
        views: dict[str, Any] = {view: "Cobblestones"}
        remember(home, "Ninety euros, and then some more for the heels", doc_id="shoes", **views)
        answer = recall(home, "cobblestony", "mia")
        body = TINY.encode_memories(["Ninety euros, and then some more for the heels"])[0].pooled

    assert answer.trace.runs["vector"][0] == "shoes"
    assert "shoes" not in answer.trace.runs["lexical"]
    assert found(answer)[0] == "shoes"
    assert float(body @ TINY.encode_question("cobblestony").pooled) < 0.4


def test_the_cosine_of_a_result_is_that_of_its_best_view(path: Path) -> None:
    """`features["cosine"]` is the largest, and the reasons of the score still add up."""
    told = {
        "boat": ("We were there at noon", "Mia", "Harbour", "Otters by the lantern"),
        "vet": ("The otter weighs nine kilos", None, None, "At the vet"),
        "gate": ("Rajesh painted the gate", "Priya", "Otters", None),
        "cake": ("A cake for the otter", None, None, None),
    }
    with open_home(path) as home:
        move_in(home)
        for doc_id, (text, author, title, summary) in told.items():
            remember(home, text, doc_id=doc_id, author=author, title=title, summary=summary)
        answer = recall(home, "otters", "mia", profile="family_os")

    assert sorted(found(answer)) == sorted(told)
    for result in answer.results:
        best = max(best_cosine(TINY, "otters", told[result.doc_id]), 0.0)
        assert result.features["cosine"] == pytest.approx(best, abs=1e-4)
        total = sum(each.amount for each in result.contributions)
        assert total == pytest.approx(result.score, abs=1e-6)


def test_late_interaction_reads_every_view(path: Path) -> None:
    """A memory's token vectors are those of its body, its title and its summary."""
    with open_home(path) as home:
        move_in(home)
        remember(home, "Down to the harbour", author="Mia", title="Otters", summary="By lantern")
        remember(home, "Nobody was in")
        scope = all_of(home)
        with store_of(home).snapshot() as snapshot:
            ids = np.array(sorted(stored(path, scope)), np.int64)
            tokens = snapshot.token_vectors(TINY.model_id, ids, scope)
    expected = TINY.encode_question("Mia: Down to the harbour Otters By lantern").tokens

    assert (tokens.rows.tolist(), tokens.starts.tolist()) == ([0, 1], [0, len(expected)])
    assert (tokens.vectors[: len(expected)] * expected).sum(axis=1).min() > 0.98


@pytest.mark.parametrize("models", ["transformer", "static"])
def test_views_wait_with_their_body(path: Path, models: str) -> None:
    """A memory with views is one pending memory until flush() has made all its vectors."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Down to the harbour", doc_id="boat", title="Otters", summary="By lantern")
        remember(home, "Nobody was in", doc_id="nobody")
    with open_home(path, **MODELS[models]) as home:
        waiting = recall(home, "otterish", "mia")
        assert (waiting.trace.counts["vectors_pending"], waiting.trace.runs["vector"]) == (2, ())
        assert home.flush() == 2
        assert home.flush() == 0
        caught_up = recall(home, "otterish", "mia")
        assert caught_up.trace.counts["vectors_pending"] == 0
        assert caught_up.trace.runs["vector"][0] == "boat"
        agrees(path, TINY_STATIC if models == "static" else TINY, all_of(home))


class Interrupted(TinyEncoder):
    """Gives a summary no vector that can be kept."""

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode; what speaks of a lantern comes out as zero."""
        return [
            Encoding(each.pooled * (0.0 if "lantern" in text else 1.0), each.tokens, each.token_ids)
            for text, each in zip(texts, super().encode_memories(texts), strict=True)
        ]


def test_a_memory_has_all_its_views_or_none(path: Path) -> None:
    """What stops between a body and its summary leaves the memory pending, as a whole."""
    with open_home(path, encoder=Interrupted()) as home:
        move_in(home)
        with pytest.raises(InvalidMemoryError):
            remember(home, "At noon", doc_id="boat", title="Otters", summary="By lantern")
        assert not any(home.maintenance.stats()["vectors"].values())
        assert recall(home, "At noon", "mia").trace.counts["vectors_pending"] == 1
    with open_home(path) as home:
        assert home.flush() == 1
        assert home.maintenance.stats()["vectors"] == {
            "tiny/1": 1,
            "tiny/1#title": 1,
            "tiny/1#summary": 1,
        }
        agrees(path, TINY, all_of(home))


def test_views_of_another_model_are_never_met(path: Path) -> None:
    """Under a new model_id nothing is near until flush(), and then by the new views alone."""
    others = (TinyEncoder("tiny/2", dim=24), TinyStatic("tiny-static/2", dim=24))
    with open_home(path, static=TINY_STATIC) as home:
        move_in(home)
        remember(home, "At noon", doc_id="boat", title="Otters", summary="By lantern")
    for other, models in (
        (others[0], {"encoder": others[0]}),
        (others[1], {"encoder": None, "static": others[1]}),
    ):
        with open_home(path, **models) as home:
            assert recall(home, "otterish", "mia").trace.runs["vector"] == ()
            assert home.flush() == 1
            assert recall(home, "otterish", "mia").trace.runs["vector"] == ("boat",)
            for encoder in (TINY, TINY_STATIC, other):
                agrees(path, encoder, all_of(home))


@pytest.mark.parametrize("name", ["tiny/1#title", "tiny/1#embedder"])
def test_a_model_that_is_named_like_a_view_is_none(path: Path, name: str) -> None:
    """An embedder called `tiny/1#title` is a model, and the vectors of `tiny/1` never meet its."""
    with open_home(path, encoder=TinyEncoder(name)) as home:
        move_in(home)
        remember(home, "At noon", doc_id="boat")
    with open_home(path) as home:
        assert recall(home, "noonish", "mia").trace.runs["vector"] == ()


def test_what_was_replaced_is_near_by_its_title_for_its_own_time(path: Path) -> None:
    """A replaced memory's title moves to the past with it: found as known then, and not now."""
    wall = Wall()
    with open_home(path, wall=wall) as home:
        move_in(home)
        remember(home, "At noon", doc_id="boat", title="Otters")
        then = wall.tick(minutes=1)
        wall.tick(minutes=1)
        remember(home, "At noon", doc_id="boat", title="Lanterns")
        for question, now, before in (("otterish", False, True), ("lanternish", True, False)):
            cosines = [
                recall(home, question, "mia", **ctx).results[0].features["cosine"] > 0.4
                for ctx in ({}, {"known_at": then})
            ]
            assert cosines == [now, before], question


def test_without_sqlite_vec_views_answer_all_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is replaced where vec0 cannot be written is whole again after a flush() with it."""
    with open_home(path) as home:
        move_in(home)
        remember(home, "At noon", doc_id="boat", title="Otters", summary="By lantern")
    with monkeypatch.context() as patched:
        patched.setattr(connections, "load_vec0", lambda _: False)
        with open_home(path) as home:
            assert recall(home, "otterish", "mia").trace.runs["vector"] == ("boat",)
            agrees(path, TINY, all_of(home))
            remember(home, "At ten", doc_id="boat", title="Lanterns")
    with open_home(path) as home:
        home.flush()
        agrees(path, TINY, all_of(home))
        agrees(path, TINY, all_of(home, known_at_s=NOW.timestamp()))


def test_a_view_that_came_later_is_seen_by_who_looked_before(path: Path) -> None:
    """A title written by one connection is near for another that has searched already."""
    with open_home(path) as home, open_home(path) as other:
        move_in(home)
        remember(home, "At noon", doc_id="boat")
        assert recall(other, "otterish", "mia").trace.runs["vector"] == ("boat",)
        for number in range(3):
            remember(home, f"At {number}", doc_id=f"n{number}", title="Otters")
            answer = recall(other, "otterish", "mia")
            nearest = answer.trace.runs["vector"][: number + 1]
            assert sorted(nearest) == [f"n{each}" for each in range(number + 1)]


def test_many_views_crowd_nothing_out(path: Path) -> None:
    """Among 2,400 vectors of 800 memories the nearest 24 are 24 memories, those of brute force."""
    words = np.random.default_rng(3).choice(WORDS, (800, 3, 3)).tolist()
    encoder = TinyEncoder("long/1", dim=256)
    with open_home(path, encoder=encoder) as home:
        move_in(home)
        home.remember_many(
            Memory(f"{' '.join(text)} {n}", HOME, doc_id=f"n{n}", title=f"{' '.join(title)} {n}",
                   summary=f"{' '.join(summary)} {n}")
            for n, (text, title, summary) in enumerate(words)
        )  # fmt: skip
        scope = all_of(home)
        expected = stored(path, scope)
        with store_of(home).snapshot() as snapshot:
            for question in QUESTIONS:
                asked = encoder.encode_question(question).pooled
                hits = snapshot.nearest(asked, encoder.model_id, scope, 24)
                best = {m: best_cosine(encoder, question, read) for m, read in expected.items()}
                near = sorted(best, key=lambda memory: -best[memory])[:24]
                assert len({*hits.ids.tolist()}) == 24
                assert len({*hits.ids.tolist()} & {*near}) >= 23


def searched(
    home: FamilyRecall, monkeypatch: pytest.MonkeyPatch, person_id: str
) -> list[tuple[int, int]]:
    """Ask a question; return each vector index that was read: its model's number and its shard."""
    seen: list[tuple[int, int]] = []
    get = VectorIndexes.get

    def noted(self: VectorIndexes, connection: Any, model: Any, shard: int, *state: Any) -> Any:
        seen.append((model.no, shard))
        return get(self, connection, model, shard, *state)

    with monkeypatch.context() as patched:
        patched.setattr(VectorIndexes, "get", noted)
        recall(home, "when does grandma land?", person_id)
    return sorted(seen)


def test_memories_without_views_cost_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no memory has a title or summary, there is one table and one vector index per shard."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
        remember(home, "A secret", "private:priya")
        assert tables(path).keys() == {"tiny/1"}
        assert searched(home, monkeypatch, "priya") == [(1, 2), (1, 4)]
        assert searched(home, monkeypatch, "mia") == [(1, 2)]
        remember(home, "At noon", doc_id="boat", title="Otters")
        assert tables(path)["tiny/1#title"] == [max(tables(path)["tiny/1"][:-1])]
        assert searched(home, monkeypatch, "mia") == [(1, 2), (2, 2)]


def test_a_memory_leaves_with_all_its_views(path: Path) -> None:
    """What takes a memory's vectors away by its id takes those of its views and no other's."""
    with open_home(path, static=TINY_STATIC) as home:
        move_in(home)
        remember(home, "At noon", doc_id="boat", title="Otters", summary="By lantern")
        remember(home, "At ten", doc_id="vet", title="Cobblers", summary="With cake")
        gone, stays = sorted(stored(path, all_of(home)))
        assert recall(home, "otterish", "mia").trace.runs["vector"] == ("boat", "vet")
        with store_of(home).writing() as writing:
            writing.vectors.remove([gone])
        names = ("tiny/1", "tiny-static/1")
        views = [f"{name}{view}" for name in names for view in ("", "#title", "#summary")]
        assert tables(path) == {name: [stays] for name in views}
        assert recall(home, "otterish", "mia").trace.runs["vector"] == ("vet",)
        assert recall(home, "otterish", "mia").trace.counts["vectors_pending"] == 1
        assert home.flush() == 2
        assert tables(path) == {name: [gone, stays] for name in views}


def test_a_view_is_near_for_nobody_outside(path: Path) -> None:
    """A title is compared with the questions of those who may see its memory, and no others."""
    with open_home(path) as home:
        move_in(home)
        remember(home, "At noon", "private:priya", doc_id="boat", title="Otters")
        remember(home, "At ten", HOME, doc_id="vet")
        assert found(recall(home, "otterish", "priya"))[0] == "boat"
        answer = recall(home, "otterish", "mia")

    assert answer.trace.runs["vector"] == ("vet",)
    assert answer.results[0].features["cosine"] == pytest.approx(
        max(best_cosine(TINY, "otterish", ("At ten", None, None, None)), 0.0), abs=1e-4
    )
