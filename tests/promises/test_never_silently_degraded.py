"""Never silently degraded: what works still answers, and the answer says what is missing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import Answer, FamilyRecall, Memory, RecallContext
from family_recall.encoders.base import Encoding
from family_recall.encoders.static import StaticEncoder
from family_recall.encoders.transformer import BiEncoder
from family_recall.errors import ModelError
from family_recall.recall.ranking.profiles import profiles
from tests.conftest import (
    HOME,
    NO_MODELS,
    NOW,
    PLENTY_MS,
    TINY_STATIC,
    BrokenEncoder,
    Ticking,
    TinyEncoder,
    TinyScorer,
    TinyStatic,
    found,
    move_in,
    open_home,
    recall,
    remember,
    stories,
    written,
)
from tools.common import MODELS

QUESTION = "when does grandma land?"


def fill(path: Path) -> None:
    """Write a household with vectors."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())


def execute(path: Path, statement: str) -> None:
    """Change the file behind the library's back."""
    connection = apsw.Connection(str(path))
    connection.execute(statement)
    connection.close()


def words_tables(path: Path) -> list[str]:
    """List the file's full-text tables."""
    connection = apsw.Connection(str(path))
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE sql LIKE '%USING fts5%'")
    names = [str(name) for (name,) in rows]
    connection.close()
    return names


def stages(answer: Answer) -> set[str]:
    """Name what could not take part, for a reason other than time."""
    return {line.split(":")[0] for line in answer.degraded}


def valid(answer: Answer) -> None:
    """Check an order: no memory twice, ranks from 1, no confidence outside [0, 1]."""
    assert len(set(found(answer))) == len(answer.results)
    assert [result.rank for result in answer.results] == list(range(1, len(answer.results) + 1))
    assert all(0.0 <= result.confidence <= 1.0 for result in answer.results)


def test_a_whole_household_is_not_degraded(home: FamilyRecall) -> None:
    """Where everything works, ``degraded`` is empty."""
    answer = recall(home, QUESTION, "priya")

    assert answer.degraded == ()
    assert found(answer)[0] == "grandma"


def test_without_a_models_folder_words_answer(path: Path) -> None:
    """With no model the right memory comes first by its words, and the answer says why."""
    with FamilyRecall.open(path, models=NO_MODELS) as home:
        move_in(home)
        home.remember_many(stories())
        answer = recall(home, QUESTION, "priya")

        assert found(answer)[0] == "grandma"
        assert stages(answer) == {"vector"}
        assert str(NO_MODELS) in answer.degraded[0]
        assert answer.trace.counts["vectors_pending"] == len(list(stories()))
        with pytest.raises(ModelError, match="no vectors can be made"):
            home.flush()


def test_a_model_that_comes_later_catches_up(path: Path) -> None:
    """Vectors left out for want of a model are counted as pending until flush() makes them."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        home.remember_many(stories())
    with open_home(path) as home:
        n = len(list(stories()))
        waiting = recall(home, QUESTION, "priya")
        assert waiting.trace.counts["vectors_pending"] == n
        assert found(waiting)[0] == "grandma"

        assert home.flush() == n
        assert home.flush() == 0
        assert recall(home, QUESTION, "priya").trace.counts["vectors_pending"] == 0


def test_what_a_model_has_not_read_at_all_is_pending(path: Path) -> None:
    """A model that has no vector in the file yet has all of them to make, and says so."""
    n = len(list(stories()))
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories(), embed="later")
        assert home.maintenance.pending() == {"tiny/1": n}
        home.flush()
        assert home.maintenance.pending() == {"tiny/1": 0}
    with open_home(path, encoder=TinyEncoder("tiny/2")) as other:
        assert other.maintenance.pending() == {"tiny/1": 0, "tiny/2": n}


def test_pending_vectors_are_counted_in_scope(home: FamilyRecall) -> None:
    """Memories stored with embed="later" are found by words at once and counted as pending."""
    home.remember(Memory("The plumber is called Otto", HOME), embed="later")
    home.remember(Memory("My plumber is my secret", "private:rajesh"), embed="later")
    answer = recall(home, "who is the plumber?", "priya")

    assert answer.results[0].text == "The plumber is called Otto"
    assert answer.trace.counts["vectors_pending"] == 1


@pytest.mark.parametrize("call", ["encode_question", "token_ids", "token_weights"])
def test_an_encoder_that_fails_leaves_the_words(path: Path, call: str) -> None:
    """Whichever part of the encoder fails, words answer and the failure is named."""
    fill(path)
    with open_home(path, encoder=BrokenEncoder(call)) as home:
        answer = recall(home, QUESTION + " says Priya", "priya")

        assert found(answer)[0] == "grandma"
        assert any("ModelError" in line for line in answer.degraded)
        valid(answer)


def test_an_encoder_of_other_dimensions_leaves_the_words(path: Path) -> None:
    """A model that gives other dimensions under an old name does no harm to an answer."""
    fill(path)
    with open_home(path, encoder=TinyEncoder(dim=64, token_dim=24)) as home:
        answer = recall(home, QUESTION, "priya")

        assert found(answer)[0] == "grandma"
        assert answer.degraded != ()


def test_without_the_transformer_the_static_embedder_answers(path: Path) -> None:
    """It finds by meaning what words do not; the answer says what is missing and which one ran."""
    with open_home(path, encoder=None, static=TINY_STATIC) as home:
        move_in(home)
        home.remember_many(stories())
        answer = recall(home, "grandmama?", "priya")

        assert found(answer)[0] == "grandma"
        assert answer.trace.runs["lexical"] == ()
        assert answer.trace.embedder == "tiny-static/1"
        assert stages(answer) == {"embed"}
        assert "tiny-static/1 is asked instead" in answer.degraded[0]
        assert answer.trace.counts["vectors_pending"] == 0
        assert any(reason.startswith("static*") for reason in answer.results[0].reasons)


def test_where_the_transformer_has_time_it_answers(path: Path) -> None:
    """With both at hand and time enough the transformer's vectors count, and those alone.

    The static one still helps to recognise what kind of question it is.
    """
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
        alone = recall(home, QUESTION, "priya")
    with open_home(path.with_name("both.db"), static=TINY_STATIC) as home:
        move_in(home)
        home.remember_many(stories())
        answer = recall(home, QUESTION, "priya")

    assert answer.trace.embedder == "tiny/1"
    assert answer.degraded == ()
    assert [result.features["cosine"] for result in answer.results] == [
        result.features["cosine"] for result in alone.results
    ]
    assert found(answer) == found(alone)


def test_where_time_is_short_the_static_embedder_answers(path: Path) -> None:
    """A budget below the transformer's cost is no reason for words alone; the skip says so."""
    with open_home(path, static=TINY_STATIC) as home:
        move_in(home)
        home.remember_many(stories())
        answer = recall(home, "grandmama?", "priya", time_budget_ms=2.5)
        patient = recall(home, "grandmama?", "priya", time_budget_ms=10)

    (skip,) = [skip for skip in answer.trace.skips if skip.stage == "embed"]
    assert skip.reason == "no_time"
    assert skip.detail.startswith("needs 2.1 ms, ")
    assert "tiny-static/1 is asked instead" in skip.detail
    assert answer.trace.embedder == "tiny-static/1"
    assert answer.degraded == ()
    assert found(answer)[0] == "grandma"
    assert patient.trace.embedder == "tiny/1"


def test_the_cost_of_the_transformer_is_learned(path: Path) -> None:
    """A transformer that proves slow here is left out where the static one fits."""

    class Slow(TinyEncoder):
        def encode_question(self, text: str) -> Encoding:
            clock.at_s += 0.05
            return super().encode_question(text)

    clock = Ticking(0.0)
    fill(path)
    with open_home(path, encoder=Slow(), static=TINY_STATIC, clock=clock) as home:
        home.flush()
        asked = [
            # Never the same twice: what was read once is remembered.
            recall(home, f"{QUESTION} {n}", "priya", time_budget_ms=40)
            for n in range(40)
        ]

    assert asked[0].trace.embedder == "tiny/1"
    assert asked[-1].trace.embedder == "tiny-static/1"


def test_a_transformer_that_fails_leaves_the_static_embedder(path: Path) -> None:
    """The failure is named, and vectors take part all the same."""
    broken = BrokenEncoder("encode_question")
    with open_home(path, encoder=broken, static=TINY_STATIC) as home:
        move_in(home)
        home.remember_many(stories())
        answer = recall(home, "grandmama?", "priya")

    assert found(answer)[0] == "grandma"
    assert answer.trace.embedder == "tiny-static/1"
    assert stages(answer) == {"embed"}
    assert "ModelError" in answer.degraded[0]


def test_a_static_embedder_that_fails_loses_no_memory(path: Path) -> None:
    """What it cannot encode is stored, found by words, and counted as pending for it."""

    class Broken(TinyStatic):
        def encode_question(self, text: str) -> Encoding:
            raise ModelError(f"cannot read {text!r}")

    with open_home(path, encoder=None, static=Broken()) as home:
        move_in(home)
        home.remember_many(stories())
        answer = recall(home, QUESTION, "priya")

        assert found(answer)[0] == "grandma"
        assert answer.trace.embedder is None
        assert stages(answer) == {"embed", "embed_static", "route"}
        assert answer.trace.counts["vectors_pending"] == len(list(stories()))
        valid(answer)
    with open_home(path, encoder=None, static=TINY_STATIC) as home:
        assert home.flush() == len(list(stories()))
        assert recall(home, QUESTION, "priya").trace.counts["vectors_pending"] == 0


def test_a_new_memory_is_found_by_meaning_at_once(path: Path) -> None:
    """With embed="later" the transformer's vector is pending; the static one is there."""
    with open_home(path, static=TINY_STATIC) as home:
        move_in(home)
        home.remember(Memory("The plumber is called Otto", HOME, doc_id="otto"), embed="later")
        short = recall(home, "plumbers", "priya", time_budget_ms=2.5)
        patient = recall(home, "plumbers", "priya")

    assert short.trace.counts["vectors_pending"] == 0
    assert short.trace.runs["vector"] == ("otto",)
    assert patient.trace.counts["vectors_pending"] == 1


def test_another_static_embedder_is_never_compared_with_the_old(path: Path) -> None:
    """Under a new model_id every memory is pending until flush() has made its vector again."""
    with open_home(path, encoder=None, static=TINY_STATIC) as home:
        move_in(home)
        home.remember_many(stories())
    with open_home(path, encoder=None, static=TinyStatic("tiny-static/2", dim=24)) as home:
        n = len(list(stories()))
        waiting = recall(home, "grandmama?", "priya")
        assert waiting.trace.runs["vector"] == ()
        assert waiting.trace.counts["vectors_pending"] == n
        assert home.flush() == n
        assert found(recall(home, "grandmama?", "priya"))[0] == "grandma"


@pytest.mark.parametrize("budget_ms", [300, 500, 2_500])
def test_until_the_transformer_is_loaded_the_static_embedder_answers(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget_ms: float
) -> None:
    """A first question need not wait: vectors take part while ONNX Runtime is still coming up.

    Where there is time to wait for it, enough of that is left to rank what is found.
    """
    loaded = threading.Event()

    def load(_: Path | None) -> TinyEncoder:
        loaded.wait(60)
        return TinyEncoder()

    monkeypatch.setattr(BiEncoder, "load", load)
    monkeypatch.setattr(StaticEncoder, "load", lambda _: TINY_STATIC)
    with FamilyRecall.open(path, models=tmp_path / "none") as home:
        move_in(home)
        home.remember_many(stories(), embed="later")
        first = home.recall("grandmama?", RecallContext("priya", time_budget_ms=budget_ms))
        loaded.set()
        home.flush()
        later = recall(home, "grandmama?", "priya")

    assert found(first)[0] == "grandma"
    assert first.trace.embedder == "tiny-static/1"
    assert "still loading" in " ".join(first.degraded)
    assert later.trace.embedder == "tiny/1"


def test_a_failing_write_of_vectors_loses_no_memory(path: Path) -> None:
    """What an encoder cannot encode is stored all the same, and found by its words."""
    with open_home(path, encoder=BrokenEncoder("encode_memories")) as home:
        move_in(home)
        with pytest.raises(ModelError):
            remember(home, "Grandma lands on Friday", doc_id="grandma")
        answer = recall(home, QUESTION, "priya")

        assert found(answer) == ["grandma"]
        assert answer.trace.counts["vectors_pending"] == 1


def test_without_its_words_table_vectors_answer(path: Path) -> None:
    """With the words tables dropped behind its back recall answers by vectors and says so."""
    fill(path)
    for name in words_tables(path):
        execute(path, f"DROP TABLE {name}")
    with open_home(path) as home:
        answer = recall(home, QUESTION, "priya")

        assert found(answer)[0] == "grandma"
        assert stages(answer) == {"lexical"}
        valid(answer)
        home.maintenance.rebuild()
        assert recall(home, QUESTION, "priya").degraded == ()


@pytest.mark.parametrize("table", ["word_count", "embedding", "embedding_model", "mention", "edge"])
def test_without_a_derived_table_recall_still_answers(path: Path, table: str) -> None:
    """Whichever derived table is dropped behind its back, recall answers and says so."""
    fill(path)
    execute(path, f"DROP TABLE {table}")
    with open_home(path) as home:
        answer = recall(home, QUESTION + " asks Priya", "priya", profile="family_os")

        assert found(answer)[0] == "grandma"
        assert answer.degraded != ()
        valid(answer)


@pytest.mark.parametrize("emptied", ["_chunks", "_vector_chunks00"])
def test_without_its_vectors_words_answer(path: Path, emptied: str) -> None:
    """With the vectors' own tables dropped behind its back recall answers by words."""
    fill(path)
    execute(path, f"DROP TABLE vectors_1{emptied}")
    with open_home(path) as home:
        answer = recall(home, QUESTION, "priya")

        assert found(answer)[0] == "grandma"
        assert answer.degraded != ()
        valid(answer)


def test_without_its_edges_the_graph_is_named(path: Path) -> None:
    """With the edges dropped behind its back words and vectors answer, and it says so."""
    fill(path)
    execute(path, "DROP TABLE edge")
    with open_home(path) as home:
        answer = recall(home, QUESTION, "priya")

        assert found(answer)[0] == "grandma"
        assert stages(answer) == {"graph"}


def test_rebuild_restores_what_was_emptied(path: Path) -> None:
    """Words, counts, vectors, mentions and edges emptied behind its back come back the same."""
    fill(path)
    with open_home(path) as home:
        before = written(recall(home, "What did I tell Priya about vacation?", "rajesh"))
    for table in ("word_count", "embedding", "mention", "edge"):
        execute(path, f"DELETE FROM {table}")
    with open_home(path) as home:
        assert written(recall(home, "What did I tell Priya about vacation?", "rajesh")) != before
        home.maintenance.rebuild()
        assert written(recall(home, "What did I tell Priya about vacation?", "rajesh")) == before


def test_a_scorer_that_fails_is_left_out(path: Path) -> None:
    """A cross-encoder that fails changes nothing but a line in ``degraded``."""

    class Failing(TinyScorer):
        def score(self, question: str, memory: str) -> float:
            raise ModelError(f"cannot read {question!r} beside {memory!r}")

    fill(path)
    with open_home(path, scorer=Failing(), encoder=TinyEncoder()) as home:
        answer = recall(home, QUESTION, "priya")

        assert found(answer)[0] == "grandma"
        assert stages(answer) == {"rerank"}


def models_with(folder: Path, name: str, content: bytes | None) -> Path:
    """Link the shipped models in a folder, but for one file that is missing or altered."""
    folder.mkdir()
    for file in MODELS.iterdir():
        if file.name != name:
            (folder / file.name).symlink_to(file)
    if content is not None:
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("content", [None, b"altered"])
def test_a_static_embedder_that_cannot_be_used_is_named(
    path: Path, tmp_path: Path, content: bytes | None
) -> None:
    """Missing or altered: ``degraded`` says so once, and the other embedder answers."""
    folder = models_with(tmp_path / "models", "static.npz", content)
    with FamilyRecall.open(path, models=folder) as home:
        move_in(home)
        home.remember_many(stories())
        home.warmup()
        answer = recall(home, QUESTION, "priya")

    assert answer.degraded == (
        "embed_static: the static embedder is missing or altered; family-recall models verify",
    )
    assert found(answer)[0] == "grandma"


@pytest.mark.parametrize("content", [None, b"altered"])
def test_a_cross_encoder_that_cannot_be_used_is_named(
    path: Path, tmp_path: Path, content: bytes | None
) -> None:
    """Missing or altered: ``degraded`` says so once, where it would have read, and the way out."""
    folder = models_with(tmp_path / "models", "cross_encoder.int8.onnx", content)
    with FamilyRecall.open(path, models=folder) as home:
        move_in(home)
        home.remember_many(stories())
        home.warmup()
        answer = recall(home, QUESTION, "priya")
        unread = recall(home, QUESTION, "priya", allow_cross_encoder=False)

    assert answer.degraded == (
        "rerank: the cross-encoder is missing or altered; family-recall models verify",
    )
    assert unread.degraded == ()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    budget_ms=st.floats(0.001, 80.0),
    step_ms=st.floats(0.0, 3.0),
    profile=st.sampled_from(sorted(profiles())),
)
def test_a_tiny_budget_skips_with_reasons(
    shared: FamilyRecall, budget_ms: float, step_ms: float, profile: str
) -> None:
    """Whatever the budget and however slow the device, the order is valid, the skips explained."""
    path, clock = Path(shared.maintenance.stats()["path"]), Ticking(step_ms)
    with open_home(path, scorer=TinyScorer(), static=TINY_STATIC, clock=clock) as home:
        answer = recall(home, QUESTION, "priya", time_budget_ms=budget_ms, profile=profile)

    valid(answer)
    assert found(answer)[0:1] == ["grandma"] or profile in {"three_tier", "annie"}
    assert answer.degraded == ()
    ran = {span.stage for span in answer.trace.spans}
    skipped = {skip.stage for skip in answer.trace.skips}
    assert all(skip.detail for skip in answer.trace.skips)
    for stage in ("embed", "graph", "rerank"):
        assert stage in ran | skipped
    assert {"lexical", "load", "rank", "answer"} <= ran


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FamilyRecall]:
    """Fill a file once, for tests that only read it."""
    path = tmp_path_factory.mktemp("shared") / "family.db"
    fill(path)
    with open_home(path) as home:
        yield home


def test_a_budget_too_small_for_anything_leaves_words(shared: FamilyRecall) -> None:
    """A microsecond still answers by words; every other stage is skipped for lack of time."""
    answer = recall(shared, QUESTION, "priya", time_budget_ms=0.001)

    assert found(answer)[0] == "grandma"
    assert {"embed", "graph"} <= {skip.stage for skip in answer.trace.skips}
    assert {skip.reason for skip in answer.trace.skips if skip.stage == "graph"} == {"no_time"}


def test_a_larger_budget_never_removes_a_stage(path: Path) -> None:
    """On a device of known speed, each larger budget runs every stage the smaller one ran."""
    fill(path)
    before: set[str] = set()
    for budget_ms in (0.1, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 40.0, 200.0):
        with open_home(path, scorer=TinyScorer(), clock=Ticking(0.01)) as home:
            answer = recall(home, QUESTION, "priya", time_budget_ms=budget_ms, mmr_lambda=0.5)
            ran = {span.stage for span in answer.trace.spans}

            assert before <= ran, budget_ms
            before = ran
    assert {"embed", "vector", "graph", "late_interaction", "rerank", "diversify"} <= before


def test_a_larger_budget_goes_from_words_to_the_static_embedder_to_the_transformer(
    path: Path,
) -> None:
    """The stage that encodes changes hands once, for the better; every other stage stays."""
    with open_home(path, static=TINY_STATIC) as home:
        move_in(home)
        home.remember_many(stories())
    before: set[str] = set()
    embedders = []
    for budget_ms in (0.1, 0.6, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 40.0, 200.0):
        with open_home(path, scorer=TinyScorer(), static=TINY_STATIC, clock=Ticking(0.01)) as home:
            answer = recall(home, QUESTION, "priya", time_budget_ms=budget_ms, mmr_lambda=0.5)
            ran = {span.stage.replace("embed_static", "embed") for span in answer.trace.spans}

            assert before <= ran, budget_ms
            before = ran
            embedders.append(answer.trace.embedder)

    assert list(dict.fromkeys(embedders)) == [None, "tiny-static/1", "tiny/1"]


def test_no_candidate_at_all_is_no_match(path: Path) -> None:
    """An empty household answers no_match with confidence 0, and is not degraded."""
    with open_home(path) as home:
        move_in(home)
        answer = recall(home, QUESTION, "priya")

        assert answer.results == ()
        assert (answer.status, answer.confidence) == ("no_match", 0.0)
        assert answer.degraded == ()
        assert answer.now == NOW
        assert answer.used_time_ms < PLENTY_MS
