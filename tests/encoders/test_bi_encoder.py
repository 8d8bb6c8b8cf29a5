"""What the shipped embedder promises about any text."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.encoders.manifest import find_models
from family_recall.encoders.tokenizer import SubwordTokenizer

if TYPE_CHECKING:
    from family_recall.encoders.base import Encoder, Encoding
    from family_recall.encoders.transformer import BiEncoder

HOUSEHOLD = [
    "Grandma's flight arrives at half past six on Friday.",
    "The spare key is in the blue pot behind the shed.",
    "Leo is allergic to peanuts and carries an inhaler.",
    "I told Priya we can do March for the vacation.",
    "The boiler was serviced in October by Mr Okafor.",
    "Mum wants ceramics lessons for her birthday.",
]


def assert_whole(encoding: Encoding, encoder: Encoder) -> None:
    """Every promise of shape, length and finiteness."""
    assert encoding.pooled.shape == (encoder.dim,)
    assert encoding.tokens.shape == (len(encoding.token_ids), encoder.token_dim)
    assert encoding.pooled.dtype == encoding.tokens.dtype == np.float32
    assert np.linalg.norm(encoding.pooled) == pytest.approx(1.0, abs=1e-4)
    assert np.linalg.norm(encoding.tokens, axis=1) == pytest.approx(1.0, abs=1e-4)


def best(encoder: Encoder, question: str) -> str:
    """The memory with the closest pooled vector."""
    asked = encoder.encode_question(question).pooled
    return max(
        zip(HOUSEHOLD, encoder.encode_memories(HOUSEHOLD), strict=True),
        key=lambda pair: float(asked @ pair[1].pooled),
    )[0]


def max_sim(encoder: Encoder, question: str) -> str:
    """The memory whose tokens cover the question's best."""
    asked = encoder.encode_question(question)
    weights = encoder.token_weights(asked.token_ids)
    return max(
        zip(HOUSEHOLD, encoder.encode_memories(HOUSEHOLD), strict=True),
        key=lambda pair: float(weights @ (asked.tokens @ pair[1].tokens.T).max(axis=1)),
    )[0]


QUESTIONS = [
    ("When does nana land?", HOUSEHOLD[0]),
    ("How do I get into the house without my key?", HOUSEHOLD[1]),
    ("Which foods are dangerous for Leo?", HOUSEHOLD[2]),
    ("What did I agree with Priya about our holiday?", HOUSEHOLD[3]),
    ("Who repaired the heating?", HOUSEHOLD[4]),
    ("What would be a good present for Mum?", HOUSEHOLD[5]),
]


@pytest.mark.parametrize(("question", "memory"), QUESTIONS)
def test_a_question_is_closest_to_the_memory_that_answers_it(
    encoder: BiEncoder, question: str, memory: str
) -> None:
    """Pooled vectors find the answer among household memories that share few of its words."""
    assert best(encoder, question) == memory


@pytest.mark.parametrize(("question", "memory"), QUESTIONS)
def test_token_vectors_find_the_answer_too(encoder: BiEncoder, question: str, memory: str) -> None:
    """Weighted MaxSim over the token vectors names the same memory.

    It reads names better than rare synonyms: "nana" comes in pieces, so it is "grandma" here.
    """
    assert max_sim(encoder, question.replace("nana", "grandma")) == memory


def test_a_paraphrase_is_closer_than_a_shared_word(encoder: BiEncoder) -> None:
    """Saying the same in other words beats saying something else in the same words."""
    asked = encoder.encode_question("The kids are fond of swimming").pooled
    paraphrase, decoy = encoder.encode_memories(
        ["Children love being in the pool", "The kids are fond of shouting at breakfast"]
    )

    assert asked @ paraphrase.pooled > asked @ decoy.pooled


def test_a_vector_does_not_depend_on_its_neighbours(encoder: BiEncoder) -> None:
    """A memory encoded alone or among others has the same vectors, bit for bit."""
    together = encoder.encode_memories([*HOUSEHOLD, "a much longer line " * 20])
    for text, among in zip(HOUSEHOLD, together, strict=False):
        (alone,) = encoder.encode_memories([text])
        assert alone.pooled.tobytes() == among.pooled.tobytes()
        assert alone.tokens.tobytes() == among.tokens.tobytes()


def test_threads_share_one_encoder(encoder: BiEncoder) -> None:
    """Eight threads at once get what one thread gets, bit for bit."""
    texts = [f"{text} {i}" for i in range(8) for text in HOUSEHOLD]
    expected = [one.pooled.tobytes() for one in encoder.encode_memories(texts)]
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda text: encoder.encode_memories([text])[0].pooled.tobytes(), texts)

        assert list(found) == expected


@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(), max_size=300))
def test_any_string_has_a_vector(encoder: BiEncoder, text: str) -> None:
    """Whatever a text holds, halves of surrogate pairs included, it gets unit vectors."""
    assert_whole(encoder.encode_question(text), encoder)
    assert_whole(encoder.encode_memories([text])[0], encoder)


@pytest.mark.parametrize("text", ["", " \n\t", "\0", "?!… —", "\ud800", "🎉"])
def test_a_text_without_words_has_no_token_vectors(encoder: BiEncoder, text: str) -> None:
    """An empty or wordless text keeps one unit vector and has zero token rows."""
    encoding = encoder.encode_question(text)

    assert_whole(encoding, encoder)
    assert encoding.tokens.shape == (0, 64)


def test_punctuation_has_no_token_vector(encoder: BiEncoder) -> None:
    """Three words between marks give three rows; the marks still colour the context."""
    assert len(encoder.encode_question('"tea", (milk)... & bread!').token_ids) == 3


def test_special_tokens_in_a_text_are_only_text(encoder: BiEncoder) -> None:
    """Writing [SEP] into a memory writes the letters s, e and p, not the end of a text."""
    written = encoder.encode_memories(["tea [SEP] milk"])[0].token_ids
    meant = encoder.encode_memories(["tea [ sep ] milk"])[0].token_ids

    assert written.tolist() == meant.tolist()


def test_half_of_a_surrogate_pair_is_replaced(encoder: BiEncoder) -> None:
    """Two halves side by side are read as the character they make."""
    halves, whole = encoder.encode_memories(["\ud835\udc00 cake", "\U0001d400 cake"])

    assert halves.pooled.tobytes() == whole.pooled.tobytes()


def test_long_texts_are_cut(encoder: BiEncoder) -> None:
    """A question keeps 128 tokens and a memory 256, two special ones among them."""
    text = "milk " * 1000

    assert len(encoder.encode_question(text).token_ids) == 126
    assert len(encoder.encode_memories([text])[0].token_ids) == 254


@pytest.mark.parametrize("unit", ["x", " ", "milk and honey ", "é", "界"])
def test_what_lies_behind_the_cut_changes_nothing(encoder: BiEncoder, unit: str) -> None:
    """Ten kilobytes and ten megabytes that start alike have the same vector."""
    (full,) = encoder.encode_memories([unit * (10_000 // len(unit))])
    (long,) = encoder.encode_memories([unit * (10_000_000 // len(unit))])

    assert long.pooled.tobytes() == full.pooled.tobytes()


def test_what_lies_behind_the_cut_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a megabyte, the tokeniser sees 32 characters for each token that may be kept."""
    pieces = SubwordTokenizer(find_models() / "tokenizer.json")
    real, seen = pieces._tokenizer, []

    class Spy:
        def encode(self, text: str, **options: bool) -> Any:
            seen.append(len(text))
            return real.encode(text, **options)

    monkeypatch.setattr(pieces, "_tokenizer", Spy())
    pieces.ids("milk " * 200_000, max_tokens=64)

    assert seen == [32 * 64]


def test_rare_words_weigh_more(encoder: BiEncoder) -> None:
    """Inverse document frequency: 'inhaler' says more than 'school', and that more than 'the'."""
    ids = encoder.encode_question("the school inhaler").token_ids
    weights = encoder.token_weights(ids)

    assert weights.shape == ids.shape
    assert 0.0 < weights[0] < weights[1] < weights[2:].max()


def test_the_encoder_knows_its_sizes(encoder: BiEncoder) -> None:
    """The shipped model has 384 and 64 dimensions and stays on the processor."""
    assert (encoder.dim, encoder.token_dim) == (384, 64)
    assert encoder.model_id == "family-embedder-int8/5"
    assert encoder.provider == "CPUExecutionProvider"


def test_no_texts_give_no_encodings(encoder: BiEncoder) -> None:
    """An empty list is answered with an empty list."""
    assert encoder.encode_memories([]) == []
