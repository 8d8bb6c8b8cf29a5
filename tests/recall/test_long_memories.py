"""Long memories: a fact far into one is found, shown and quoted, and leaves with it."""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Grant, Hidden, Memory, Person, RecallContext
from family_recall.encoders.base import Encoding
from family_recall.store.file import connections
from family_recall.store.passages import passages
from family_recall.store.vector_arrays import pack_tokens, unpack_tokens
from family_recall.types import Result, Scope
from tests.conftest import (
    HOME,
    NOW,
    TINY_STATIC,
    TinyEncoder,
    TinyScorer,
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

FILLER = (
    "We had the shutters down by nine and swept the yard before the others came. "
    "Somebody brought rolls, somebody else had already been to the baker. "
    "It rained until lunch and then it did not, which surprised nobody. "
)
FACT = "The plumber left his ladder behind the greenhouse."
QUESTION = "where did the plumber leave his ladder?"


def long_text(fact: str = FACT, before: int = 400, n_words: int = 600) -> str:
    """Write so many words with a fact after some of them."""
    words = (FILLER * 30).split()
    return " ".join([*words[:before], ".", fact, *words[before:n_words]])


class ShortSighted(TinyEncoder):
    """Reads the first 190 words of a text, as an encoder of 256 tokens does."""

    def __init__(self, model_id: str = "short/1", dim: int = 128) -> None:
        """Set another name and length than the tiny encoder has."""
        super().__init__(model_id, dim)

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode the beginning of each."""
        return super().encode_memories([" ".join(text.split()[:190]) for text in texts])


SHORT = ShortSighted()
MODELS: dict[str, dict[str, Any]] = {
    "transformer": {"encoder": SHORT},
    "static": {"encoder": None, "static": TINY_STATIC},
    "both": {"encoder": SHORT, "static": TINY_STATIC},
}


def rivals() -> list[Memory]:
    """Return what speaks of plumbers and ladders, and not of where this one is."""
    told = [
        "The plumber comes at ten.", "A ladder is in the garage, for the gutters.",
        "Ask the plumber about the ladder stitch? No, ask Priya.", "He left on Friday.",
        "The ladder was left standing in the hall by the painters, says Mia.",
    ]  # fmt: skip
    return [Memory(text, HOME, doc_id=f"r{number}") for number, text in enumerate(told)]


def quoted(result: Result) -> str:
    """Return the passage of a result."""
    assert result.passage is not None
    start, end = result.passage
    return result.text[start:end]


@pytest.mark.parametrize("models", [*MODELS, "words"])
@pytest.mark.parametrize("before", [20, 250, 400, 560])
def test_a_fact_far_into_a_long_memory_is_shown_and_quoted(
    path: Path, models: str, before: int
) -> None:
    """Its passage is the highlight, the closest sentence is in it, and the briefing has it."""
    with open_home(path, **MODELS.get(models, {"encoder": None})) as home:
        move_in(home)
        home.remember_many([*stories(), Memory(long_text(before=before), HOME, doc_id="long")])
        answer = recall(home, QUESTION, "mia")

    best = answer.results[0]
    assert best.doc_id == "long"
    assert FACT in quoted(best)
    assert len(quoted(best).split()) < 130
    assert best.highlights == (best.passage,)
    assert best.sentence is not None
    assert best.text[best.sentence[0] : best.sentence[1]] == FACT
    assert FACT in answer.briefing()
    assert FACT in answer.briefing(max_chars_per_memory=len(FACT) + 2)
    assert FACT in str(answer)


@pytest.mark.parametrize("models", MODELS)
def test_a_fact_in_word_400_is_found_by_meaning(path: Path, models: str) -> None:
    """It is nearest to a question that shares no word with it, and first among its rivals."""
    with open_home(path, **MODELS[models]) as home:
        move_in(home)
        home.remember_many([*stories(), Memory(long_text(), HOME, doc_id="long")])
        answer = recall(home, "laddered plumbers", "mia")
        if models != "static":  # which has but a vector for each passage
            home.remember_many(rivals())
        assert found(recall(home, QUESTION, "mia"))[0] == "long"

    assert answer.trace.runs["vector"][0] == "long"
    assert FACT in quoted(next(result for result in answer if result.doc_id == "long"))


def test_the_cross_encoder_reads_the_best_passage(path: Path) -> None:
    """It gets the passage after its author, not the beginning and not the whole."""
    read: list[str] = []

    class Noting(TinyScorer):
        def score(self, question: str, memory: str) -> float:
            read.append(memory)
            return super().score(question, memory)

    with open_home(path, encoder=SHORT, scorer=Noting()) as home:
        move_in(home)
        home.remember_many([*rivals(), Memory(long_text(), HOME, doc_id="long", author="Priya")])
        answer = recall(home, QUESTION, "mia")

    (passage,) = [text for text in read if FACT in text]
    assert passage == f"Priya: {quoted(answer.results[0])}"


def test_short_memories_have_no_passage(path: Path) -> None:
    """Their highlights are the question's words, and no table is made for passages."""
    with open_home(path, encoder=SHORT) as home:
        move_in(home)
        home.remember_many(stories())
        answer = recall(home, "when does grandma land?", "mia")
        vectors = home.maintenance.stats()["vectors"]

    assert all(result.passage is result.sentence is None for result in answer)
    assert answer.results[0].highlights[0] == (0, len("Grandma"))
    assert vectors == {"short/1": 7}


TOPICS = "fence gate cobbler vet cake harbour lantern otter quilt yeast ferry umbrella".split()
paragraphs = st.tuples(st.sampled_from(TOPICS), st.integers(1, 12)).map(
    lambda drawn: f"{drawn[0].capitalize()}s. " + f"The {drawn[0]} is here now. " * drawn[1]
)
long_or_short = st.lists(paragraphs, min_size=1, max_size=14).map("".join)


def nearest_by_hand(text: str, title: str | None, question: str) -> tuple[float, float]:
    """Return the largest cosine, and the largest MaxSim of tokens as stored, over all parts."""
    asked = SHORT.encode_question(question)
    weights = SHORT.token_weights(asked.token_ids)
    read = [text, *(text[start:end] for start, end in passages(text))]
    parts = SHORT.encode_memories(read)
    cosines = [float(part.pooled @ asked.pooled) for part in parts]
    tokens = [part.tokens for part in parts]
    if title is not None:
        (of_title,) = SHORT.encode_memories([title])
        cosines.append(float(of_title.pooled @ asked.pooled))
        tokens[0] = np.concatenate([tokens[0], of_title.tokens])
    tokens = [unpack_tokens(pack_tokens(each), SHORT.token_dim) for each in tokens]
    matched = [(asked.tokens @ each.T).max(axis=1).clip(0.0) @ weights for each in tokens]
    return max(cosines), max(matched) / weights.sum()


@settings(max_examples=30, deadline=None, derandomize=True,
          phases=(Phase.explicit, Phase.generate))  # fmt: skip
@given(
    st.lists(st.tuples(long_or_short, st.none() | paragraphs), min_size=2, max_size=6),
    st.booleans(),
    st.sampled_from(["lanterns", "a cobbler", "cakes", "yeasty", "ferries"]),
)
def test_the_best_passage_decides(
    told: Sequence[tuple[str, str | None]], rebuilt: bool, question: str
) -> None:
    """Cosine and MaxSim of each memory are the best over its beginning, its views and passages.

    Within the rounding of stored vectors, before and after a rebuild; the nearest are in order.
    """
    with tempfile.TemporaryDirectory() as folder:
        with open_home(Path(folder) / "family.db", encoder=SHORT) as home:
            move_in(home)
            home.remember_many(
                Memory(text, HOME, doc_id=f"n{number}", title=title)
                for number, (text, title) in enumerate(told)
            )
            if rebuilt:
                home.maintenance.rebuild()
                home.flush()
            answer = recall(home, question, "mia", top_k=50)
            assert [each for each in home.maintenance.check() if each.problem] == []
        expected = {
            f"n{number}": nearest_by_hand(*telling, question) for number, telling in enumerate(told)
        }
    for result in answer:
        cosine, matched = expected[result.doc_id]
        assert result.features["maxsim"] == pytest.approx(matched, abs=1e-4)
        if "cosine" in result.features:
            assert result.features["cosine"] == pytest.approx(max(cosine, 0.0), abs=0.02)
        total = sum(part.amount for part in result.contributions)
        assert total == pytest.approx(result.score, abs=1e-6)
    nearest = [expected[doc_id][0] for doc_id in answer.trace.runs["vector"]]
    assert nearest == pytest.approx(sorted(nearest, reverse=True), abs=0.02)


def test_hundreds_of_passages_crowd_nothing_out(path: Path) -> None:
    """The nearest k of memories with many passages each are k memories."""
    with open_home(path, encoder=SHORT) as home:
        move_in(home)
        home.remember_many(
            Memory(long_text(f"Otters, {number}.", before=number % 500), HOME, doc_id=f"n{number}")
            for number in range(120)
        )
        with store_of(home).snapshot() as snapshot:
            scope = Scope(None, (1,), NOW.timestamp())
            asked = SHORT.encode_question("otters").pooled
            for k in (1, 30, 119, 200):
                hits = snapshot.nearest(asked, SHORT.model_id, scope, k)
                assert len(set(hits.ids.tolist())) == len(hits.ids) == min(k, 120)
                assert (np.diff(hits.scores) <= 0.0).all()


def bytes_of_passages(path: Path, wanted: str) -> list[bytes]:
    """Read the vectors of passages, or what is packed of their tokens."""
    connection = apsw.Connection(str(path))
    rows: list[bytes] = []
    for (number,) in list(
        connection.execute("SELECT no FROM embedding_model WHERE role = 'passage'")
    ):
        statement = {
            "vectors": f"SELECT vector FROM vectors_{number}",
            "tokens": f"SELECT tokens FROM embedding WHERE model = {number} AND tokens != x''",
        }[wanted]
        rows += [row[0] for row in connection.execute(statement)]
    connection.close()
    return rows


@pytest.mark.parametrize("vec0", [True, False])
def test_no_byte_of_a_passage_is_left(
    path: Path, vec0: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long memory is forgotten with the vectors of its passages; others keep theirs."""
    with open_home(path, **MODELS["both"]) as home:
        move_in(home)
        remember(home, long_text("The safe opens with my birthday."), doc_id="gone", author="Priya")
        remember(home, long_text("Otters live by the harbour."), doc_id="stays", author="Priya")
    before = {kind: bytes_of_passages(path, kind) for kind in ("vectors", "tokens")}
    if not vec0:
        monkeypatch.setattr(connections, "load_vec0", lambda _: False)
    with open_home(path, **MODELS["both"]) as home:
        receipt = home.forget("gone", person_id="priya")
        assert home.erasure.verify(receipt).forgotten
        assert [each for each in home.maintenance.check() if each.problem] == []
        assert found(recall(home, "otters", "priya"))[0] == "stays"
    content = path.read_bytes()
    for kind, count in (("vectors", 4), ("tokens", 2)):
        left = bytes_of_passages(path, kind)
        assert (len(before[kind]), len(left)) == (count, count // 2)
    # In pieces, since a long row does not lie in one stretch; equal words have equal tokens.
    gone, stayed = (
        {row[at : at + 128] for row in rows for at in range(0, len(row), 128)}
        for rows in (before["vectors"], bytes_of_passages(path, "vectors"))
    )
    assert any(piece in content for piece in stayed)
    assert not any(piece in content for piece in gone - stayed)


def test_what_is_restored_has_passages_again(path: Path) -> None:
    """Undo makes a forgotten long memory pending, and flush() all of its vectors."""
    with open_home(path, encoder=SHORT) as home:
        move_in(home)
        remember(home, long_text(), doc_id="long", author="Priya")
        before = written(recall(home, QUESTION, "mia"))
        receipt = home.forget("long", person_id="priya", undo_for=dt.timedelta(days=1))
        assert home.maintenance.stats()["vectors"]["short/1#passage"] == 0
        home.erasure.undo(receipt.receipt_id, person_id="priya")
        home.flush()
        assert written(recall(home, QUESTION, "mia")) == before


def test_a_replaced_memory_takes_its_passages_to_the_past(path: Path) -> None:
    """As known then the old one is near by its passage, and today it is not."""
    wall = Wall()
    with open_home(path, encoder=SHORT, wall=wall) as home:
        move_in(home)
        remember(home, long_text("Otters live by the harbour."), doc_id="long")
        then = wall.tick(minutes=1)
        wall.tick(minutes=1)
        remember(home, long_text("Lanterns hang in the attic."), doc_id="long")
        for question, ctx, fact in (
            ("otters", {"known_at": then}, "Otters live by the harbour."),
            ("lanterns", {}, "Lanterns hang in the attic."),
        ):
            (result,) = recall(home, question, "mia", **ctx).results
            assert fact in quoted(result)
        (result,) = recall(home, "otters", "mia").results
        assert "Otters" not in result.text


def test_a_view_quotes_nothing_that_is_hidden(path: Path) -> None:
    """A role from which authors are hidden reads, encodes and quotes its own copy."""
    with open_home(path, encoder=SHORT) as home:
        move_in(home)
        home.people.add(Person("sitter", "Sitter"))
        home.spaces.grant(Grant("sitter", HOME, "guest"))
        home.spaces.hide(Hidden(HOME, "guest", ("author",)))
        remember(home, long_text(), doc_id="long", author="Priya")
        remember(home, long_text("The safe opens with my birthday."), "private:priya")
        mine, theirs = (recall(home, QUESTION, person) for person in ("priya", "sitter"))
        vectors = home.maintenance.stats()["vectors"]
        alone = recall(home, "the safe opens with my birthday", "sitter")

    assert (mine.results[0].author, theirs.results[0].author) == ("Priya", None)
    assert FACT in quoted(theirs.results[0])
    assert "Priya" not in json.dumps(theirs.to_json())
    assert "birthday" not in json.dumps([result.to_json() for result in alone])
    assert vectors == {"short/1": 3, "short/1#passage": 3}


def test_an_import_and_another_model_make_the_same_passages(path: Path, tmp_path: Path) -> None:
    """Exported and imported, or embedded by another model and back, answers are the same."""
    with open_home(path, encoder=SHORT) as home:
        move_in(home)
        home.remember_many([*stories(), Memory(long_text(), HOME, doc_id="long")])
        before = written(recall(home, QUESTION, "mia"))
        home.maintenance.export_to(tmp_path / "home.jsonl")
        other = ShortSighted("other/1")
        assert home.maintenance.reembed(encoder=other).made == 8
        assert home.maintenance.stats()["vectors"]["other/1#passage"] == 1
    with open_home(tmp_path / "copy.db", encoder=SHORT) as home:
        home.maintenance.import_from(tmp_path / "home.jsonl")
        home.flush()
        assert written(recall(home, QUESTION, "mia")) == before
    with open_home(path, encoder=other) as home:
        assert FACT in quoted(recall(home, QUESTION, "mia").results[0])


def test_damaged_passages_are_found_and_rebuilt(path: Path) -> None:
    """A vector too few, or one of zeros, is found by check(), and a rebuild repairs it."""
    for damage in ("substr(vector, 129)", "zeroblob(length(vector))", "substr(vector, 2)"):
        with open_home(path, encoder=SHORT) as home:
            if damage.endswith("129)"):
                move_in(home)
                remember(home, long_text(), doc_id="long")
            assert [each for each in home.maintenance.check() if each.problem] == []
        connection = apsw.Connection(str(path))
        ((number,),) = connection.execute("SELECT no FROM embedding_model WHERE role = 'passage'")
        connection.execute(f"UPDATE vectors_{number} SET vector = {damage}")
        connection.close()
        with open_home(path, encoder=SHORT) as home:
            problems = [each.what for each in home.maintenance.check() if each.problem]
            assert problems == ["vectors of short/1#passage"], damage
            home.maintenance.rebuild()
            home.flush()
            assert [each for each in home.maintenance.check() if each.problem] == []


def test_a_result_survives_json(path: Path) -> None:
    """Passage and sentence are read back as they were."""
    with open_home(path, encoder=SHORT) as home:
        move_in(home)
        remember(home, long_text(), doc_id="long")
        (result,) = recall(home, QUESTION, "mia").results

    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_an_excerpt_is_the_passage_or_what_fits_of_it(path: Path) -> None:
    """All of a short text, the passage if it fits, and from the closest sentence on if not."""
    with open_home(path, encoder=SHORT) as home:
        move_in(home)
        remember(home, long_text(), doc_id="long")
        (result,) = recall(home, QUESTION, "mia").results

    assert result.excerpt(100_000) == result.text
    assert result.excerpt(len(quoted(result)) + 2) == f"…{quoted(result)}…"
    assert result.excerpt(200).startswith(f"…{FACT}")


def test_the_shipped_models_find_a_fact_in_word_400(path: Path) -> None:
    """Among short memories that are about the same things, and by a question in other words."""
    fact = "The plumber forgot his ladder behind the greenhouse."
    told = ["A ladder is in the garage, for the gutters.", "The boiler was serviced in May.",
            "Mia left her scarf on the bus.", "Tomatoes go into the greenhouse after Easter.",
            "The painters came at ten."]  # fmt: skip
    ctx = RecallContext(
        person_id="mia", time_budget_ms=10_000.0, now=NOW, allow_cross_encoder=False
    )
    with FamilyRecall.open(path, timezone="UTC") as home:
        move_in(home)
        home.remember_many([Memory(text, HOME) for text in told])
        home.remember(Memory(long_text(fact), HOME, doc_id="long"))
        home.flush()
        home.warmup()
        answer = home.recall("where did the plumber leave his ladder?", ctx)

    assert found(answer)[0] == "long"
    assert fact in quoted(answer.results[0])
    assert fact in answer.briefing()
