"""Which parts of a question stand for exactly one thing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from family_recall.english import Question
from family_recall.english.identifiers import find_identifiers, identifiers_in


def found(question: str) -> list[tuple[str, str]]:
    """Return kind and normalised form of each identifier."""
    return [(one.kind, one.normalised) for one in find_identifiers(question)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What was #123 about?", ("issue", "#123")),
        ("Who closed LINEAR-ABC-12?", ("ticket", "linear-abc-12")),
        ("What is PROJ-7 about?", ("ticket", "proj-7")),
        ("Open family:docs/plan.md please", ("path", "family:docs/plan.md")),
        ("Who is Priya.K+home@Example.co.uk?", ("email", "priya.k+home@example.co.uk")),
        ("Whose number is +44 (0)20 7946 0958?", ("phone", "+442079460958")),
        ("Whose number is 0044 20 7946 0958?", ("phone", "+442079460958")),
        ("Who called from (555) 123-4567?", ("phone", "5551234567")),
        ("Who called from 555-123-4567?", ("phone", "5551234567")),
        ("Who called from 555-1234?", ("phone", "5551234")),
        ("Who called from 07911 123456", ("phone", "07911123456")),
        ("What was order number 114-3941689-8772232?", ("reference", "11439416898772232")),
        ("What is booking X7KQ2P for?", ("reference", "X7KQ2P")),
        ("Do we own ISBN 0-306-40615-2?", ("isbn", "9780306406157")),
        ("Do we own 978-0-306-40615-7?", ("isbn", "9780306406157")),
        ("Whose car is AB12 CDE?", ("licence_plate", "AB12CDE")),
        ("Whose is the licence plate 7ABC123?", ("licence_plate", "7ABC123")),
        ("What was on https://Example.org/a-1?", ("url", "https://example.org/a-1")),
        ("What was on Example.org/a-1?", ("url", "example.org/a-1")),
        ("What did we see on amazon.co.in?", ("url", "amazon.co.in")),
        ("What is proj-7 about?", ("ticket", "proj-7")),
        ("Was invoice #4711 paid?", ("reference", "4711")),
        ("Was invoice 4711 paid?", ("reference", "4711")),
        ("Was invoice 47 paid?", ("issue", "#47")),
        ("Who fixed issue 12?", ("issue", "#12")),
        ("The booking reference is X7KQ2P", ("reference", "X7KQ2P")),
        ("What is X7KQ2P?", ("reference", "X7KQ2P")),
        ("Where is 114-3941689-8772232?", ("reference", "11439416898772232")),
        ("Call tel:+919845012345", ("phone", "+919845012345")),
        ("Whose is +91 98450\N{NON-BREAKING HYPHEN}12345?", ("phone", "+919845012345")),
        ("Whose is ०९८४५० १२३४५?", ("phone", "09845012345")),
        ("Whose car is ab12 cde?", ("licence_plate", "AB12CDE")),
        ("Whose car is KA 05 MX 1234?", ("licence_plate", "KA05MX1234")),
    ],
)
def test_an_identifier_is_found_in_the_form_its_spellings_share(
    question: str, expected: tuple[str, str]
) -> None:
    """Each question holds one identifier, whichever way it is written.

    The ISBN is the example of ISO 2108: 0-306-40615-2 is 978-0-306-40615-7.
    """
    assert found(question) == [expected]


@pytest.mark.parametrize(
    "question",
    [
        "Are we meeting at 7:30?",
        "What happened on 2024-03-01?",
        "What happened on 01.03.2024 at 10:15?",
        "Did 10-12 people come?",
        "What did we pay, 1,234,567 or 2 500 000?",
        "Does COVID-19 worry her?",
        "What is 24/7 care?",
        "What did we do in 2019-2021?",
        "Note: buy milk",
        "Who wrote this: mom or dad?",
        "Is the ISBN 0-306-40615-3 right?",
        "What did we order for dinner?",
        "Which ticket did we book?",
        "What did we do on 5 May 2023?",
        "Is the plate in the oven?",
        "How far is it, 12.5 km or 13?",
        "Which number plate did we order?",
        "It was Great.It was fun.",
        "Does the PS5 or the H2O bottle or MP3 player matter?",
        "Was it on 20240301, or that the order was 2000?",
        "Who made the top-10 in march-5 or mid-2020?",
        "Is it node.js or readme.md?",
        "",
    ],
)
def test_an_ordinary_question_holds_none(question: str) -> None:
    """Times, dates, counts, sums and wrong check digits are no identifiers."""
    assert found(question) == []


def test_a_telephone_number_with_its_country_is_no_book() -> None:
    """The last ten digits of +91 98450-12345 pass the check of an ISBN-10, and are not read so.

    9·10 + 8·9 + 4·8 + 5·7 + 0·6 + 1·5 + 2·4 + 3·3 + 4·2 + 5·1 = 264 = 24 · 11.
    """
    assert found("Call +91 98450-12345") == [("phone", "+919845012345")]


def test_a_memory_of_any_length_is_read_to_its_end() -> None:
    """What stands behind many thousand characters is found, and once."""
    filler = "and then we went on and on " * 147
    text = f"{filler}and wrote to somebody@example.com {filler} about #4711 and #4711 {filler}"
    kinds = [(one.kind, one.normalised) for one in identifiers_in([text])]

    assert kinds.count(("issue", "#4711")) == 1
    assert ("email", "somebody@example.com") in kinds


def test_a_link_of_a_memory_is_taken_as_it_is() -> None:
    """A memory's own link counts as one even where a text would not make one of it."""
    (link,) = identifiers_in(["Nothing to see"], url="nas/Photos/1")

    assert (link.kind, link.normalised) == ("url", "nas/photos/1")


def test_the_parts_of_a_url_are_not_found_again() -> None:
    """Identifiers do not overlap and come in the order of the question."""
    assert found("see #4 on https://a.example/PROJ-7?to=x@y.example") == [
        ("issue", "#4"),
        ("url", "https://a.example/proj-7?to=x@y.example"),
    ]


@given(st.text(max_size=200) | st.text(alphabet="0123456789-+() .@#:/ABab", max_size=200))
def test_any_text_is_searched_without_error(question: str) -> None:
    """Spans lie inside the question, in order, and hold the text they report."""
    last = 0
    for one in find_identifiers(question):
        assert last <= one.span[0] < one.span[1] <= len(question)
        assert question[one.span[0] : one.span[1]] == one.text
        assert one.normalised
        last = one.span[1]


@pytest.mark.parametrize("piece", ["1-", "a.", "a@", "9 ", "A1-", "a:b/", "plate 1 ", "order "])
def test_long_nonsense_is_searched_to_a_bound(piece: str) -> None:
    """A hundred thousand characters cost no more than the first few thousand."""
    assert len(Question(piece * (100_000 // len(piece))).identifiers) < 4000
