"""What people see and hear: nothing that is quoted steers a terminal, or is hidden in it."""

from __future__ import annotations

import unicodedata

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import Answer, FamilyRecall, errors
from family_recall.types.answer import RelationResult, RepliedTo
from family_recall.types.printable import on_one_line, printable
from tests.conftest import recall

# fmt: off
NASTY = ("\x1b[31mred", "\x1b]0;title\x07", "a\x9b2Jb", "line\r\nline", "\u202egnp.exe", "a\x00b",
         "bell\x07", "\u2028", "\ud800", "\u200bhidden", "\U000e0041", "tab\tbed", "\x85", "")
# fmt: on
texts = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=5)), max_size=4).map("".join)


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """Return an answer with a result, to put texts into."""
    with FamilyRecall.open(tmp_path_factory.mktemp("a") / "family.db") as home:
        home.remember("The spare key is under the blue pot", author="tom")
        return recall(home, "Where is the spare key?")


def steers(text: str) -> list[str]:
    """List the characters of a text that move something or that nobody sees."""
    return [
        character
        for character in text
        if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}
        or character in "\u200e\u200f\u061c\u200b\ufeff"
        or "\u202a" <= character <= "\u202e"
        or "\u2066" <= character <= "\u2069"
    ]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(texts, texts, texts, texts)
def test_an_answer_in_words_steers_nothing(
    answer: Answer, text: str, name: str, question: str, value: str
) -> None:
    """Spoken, printed, as HTML or in a briefing, whatever a memory, name or relation holds."""
    result = msgspec.structs.replace(
        answer.results[0], text=text, author=name or None, author_name=name or None,
        passage=None, sentence=None, highlights=(), fact_key=name or None,
        fact_value=value or None, reply_to=RepliedTo("q", question, name) if question else None,
    )  # fmt: skip
    relation = RelationResult(name, value, question, answers=True)
    for results, relations in (((result, result), ()), ((result,), (relation,))):
        for completeness in (None, 0.5):
            one = msgspec.structs.replace(
                answer, status="ok", results=results, relations=relations,
                completeness=completeness, uncovered=(value,), degraded=(f"vector: {value}",),
            )  # fmt: skip
            written = [one.spoken("tom"), str(relation), *map(str, results), one._repr_html_()]
            written += [*str(one).split("\n"), *one.briefing().split("\n")]
            assert [steers(part) for part in written] == [[]] * len(written)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(texts)
def test_an_errors_message_steers_nothing(text: str) -> None:
    """Whatever it quotes; line feeds and tabs stay."""
    for kind in errors.FamilyRecallError.__subclasses__():
        assert set(steers(str(kind(text)))) <= {*"\n\t\u2028\u2029\u200b\ufeff"}
    assert len(printable(text)) == len(text)
    assert set(steers(printable(text))) <= {*"\n\t\u2028\u2029\u200b\ufeff"}


def test_plain_texts_stay_as_they_are() -> None:
    """Letters of every script, emoji with their joiners, and accents."""
    for text in ("Grandma’s key – 4711", "नमस्ते क्‍ष", "👩‍👩‍👧 été", "مرحبا", "1 < 2 & 3"):
        assert on_one_line(text) == printable(text) == text
