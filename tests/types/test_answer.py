"""What an answer tells by its status: as it is, with doubt, or not at all."""

from __future__ import annotations

import html.parser

import msgspec
import pytest

from family_recall import Answer, FamilyRecall, Relation
from family_recall.types.answer import RelationResult, Status
from tests.conftest import HOME, recall, remember

KEY = "Where is the spare key?"


@pytest.fixture
def answer(home: FamilyRecall) -> Answer:
    """An answer with results, as one of another status is made from."""
    return recall(home, KEY, "mia")


def of(answer: Answer, status: Status) -> Answer:
    """Return the same answer with another status."""
    return msgspec.structs.replace(answer, status=status)


@pytest.mark.parametrize("status", ["ok", "weak"])
def test_what_may_answer_is_told(answer: Answer, status: Status) -> None:
    """The first result is the best, nothing is merely closest, and a weak one says so."""
    told = of(answer, status)

    assert told.best == told.results[0]
    assert told.closest == ()
    assert told.results[0].text in told.briefing()
    assert ("none of it surely answers" in told.briefing()) == (status == "weak")


def test_what_answers_nothing_is_not_told(answer: Answer) -> None:
    """Its results are closest; a briefing has them only if asked, and says what they are."""
    told = of(answer, "no_match")

    assert told.best is None
    assert told.closest == told.results == answer.results
    assert told.briefing() == ""
    assert told.results[0].text in told.briefing(closest=True)
    assert "is no answer" in told.briefing(closest=True)
    assert str(told).startswith("Nothing stored answers that.\n")


@pytest.mark.parametrize(
    ("status", "author", "name", "spoken"),
    [
        ("ok", None, None, "The key is in the pot."),
        ("weak", None, None, "I think: The key is in the pot."),
        ("no_match", None, None, ""),
        ("ok", "raj", "Rajesh", "Rajesh said: The key is in the pot."),
        ("ok", "mia", "Mia", "You said: The key is in the pot."),
    ],
)
def test_an_answer_is_spoken_in_a_sentence(
    answer: Answer, status: Status, author: str | None, name: str | None, spoken: str
) -> None:
    """The first result, who said it, and "I think" where it is weak; nothing where none answers."""
    first = msgspec.structs.replace(
        answer.results[0], text="The key is in the pot", passage=None, author=author,
        author_name=name,
    )  # fmt: skip
    one = msgspec.structs.replace(of(answer, status), results=(first, *answer.results[1:]))

    assert one.spoken("mia") == spoken
    assert one.spoken("mia", max_chars=8) == spoken.replace(" is in the pot.", "…")


def test_a_list_is_spoken_as_a_list(answer: Answer) -> None:
    """Up to three results of a question for all of something, and relations alone if they answer.

    What ends a sentence already gets no second full stop.
    """
    results = tuple(
        msgspec.structs.replace(answer.results[0], text=text, author=None, author_name=None)
        for text in ("Ferns", "Moss!", "Ivy…", "Figs")
    )
    plants = msgspec.structs.replace(of(answer, "ok"), results=results, completeness=0.5)
    sister = RelationResult("Alice", "sister of", "Dora", answers=True)
    other = RelationResult("Dora", "aunt of", "Bo")

    assert plants.spoken() == "Ferns. Moss! Ivy…"
    assert msgspec.structs.replace(plants, completeness=None).spoken() == "Ferns."
    assert msgspec.structs.replace(plants, relations=(sister, other)).spoken() == (
        "Alice sister of Dora."
    )
    assert msgspec.structs.replace(plants, results=(), relations=(other,)).spoken() == ""


def test_no_fact_is_told_to_a_question_that_nothing_answers(home: FamilyRecall) -> None:
    """An alarm code is no answer to what the capital of France is."""
    remember(
        home, "The alarm code is 4471", doc_id="alarm", kind="fact", fact_key="alarm_code",
        fact_value="4471",
    )  # fmt: skip
    code = recall(home, "What is the alarm code?", "mia")
    capital = recall(home, "What is the capital of France?", "mia")

    assert code.facts == {"alarm_code": "4471"}
    assert "alarm_code" not in capital.facts


def test_what_a_question_names_and_nothing_says_is_uncovered(home: FamilyRecall) -> None:
    """A place, and a person; what the first result does say is not."""
    remember(home, "The printer is jammed again", doc_id="printer", author="rajesh")

    office = recall(home, "Is the printer at the office jammed?", "mia")
    priya = recall(home, "Has Priya jammed the printer?", "mia")
    plain = recall(home, "Is the printer jammed?", "mia")

    assert (office.uncovered, priya.uncovered, plain.uncovered) == (("office",), ("Priya Rao",), ())
    assert office.trace.evidence["said"] == priya.trace.evidence["said"] == 0.0
    assert plain.trace.evidence["said"] == 1.0
    assert office.confidence < plain.confidence
    assert "ok" not in {office.status, priya.status}
    assert "Nothing about office." in str(office)


def test_an_answer_is_read_back_whole(answer: Answer) -> None:
    """With how sure it is that anything answers, and what is uncovered."""
    told = msgspec.structs.replace(answer, uncovered=("office",), answerable=0.25)

    assert Answer.from_json(told.to_json()) == told


class _Lines(html.parser.HTMLParser):
    """The text of each paragraph and list item, and every tag and attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.lines: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a line with each paragraph and item."""
        self.tags.add(tag)
        self.attributes += attrs
        if tag in {"p", "li"}:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        """Add to the line."""
        self.lines[-1] += data


@pytest.mark.parametrize("status", ["ok", "weak", "no_match"])
@pytest.mark.parametrize(
    "text", ["<script>alert('x')</script> & \"y\"", "</bdi></p><img src=x onerror=y>", "a key"]
)
def test_a_notebook_shows_the_lines_of_an_answer(answer: Answer, status: Status, text: str) -> None:
    """The same lines as printed, whatever a memory says: no tag of it is one."""
    results = tuple(
        msgspec.structs.replace(result, text=f"{text} {result.rank}", passage=None, confidence=0.5)
        for result in answer.results
    )
    shown = msgspec.structs.replace(of(answer, status), results=results)
    page = _Lines()
    page.feed(shown._repr_html_())

    assert page.lines == [line.strip() for line in str(shown).splitlines()]
    assert page.tags <= {"div", "p", "ul", "li", "bdi", "strong", "em", "span"}
    assert page.attributes == []


def test_a_notebook_can_be_sent_what_no_text_should_hold(answer: Answer) -> None:
    """A lone surrogate, which is in no UTF-8, is left out."""
    first = msgspec.structs.replace(answer.results[0], text="the key \ud800", passage=None)

    page = msgspec.structs.replace(of(answer, "ok"), results=(first,))._repr_html_()

    assert "<bdi>the key</bdi>" in page
    assert page.encode("utf-8")


def test_somebody_who_said_it_under_a_longer_name_is_covered(home: FamilyRecall) -> None:
    """*Grandma Elsa*, as a chat has her, is the Elsa whom the question asks about."""
    home.relations.add(Relation("Elsa", "mother of", "Rajesh", HOME))
    remember(home, "I am coming on 20 December by train", author="Grandma Elsa")
    remember(home, "The train leaves at nine", author="Uncle Bert")

    hers = recall(home, "When is Elsa coming by train?", "mia")
    other = recall(home, "When does the train of Elsa leave at nine?", "mia")

    assert (hers.results[0].author, hers.uncovered) == ("Grandma Elsa", ())
    assert (other.results[0].author, other.uncovered) == ("Uncle Bert", ("Elsa",))


def test_of_a_list_what_is_hardly_one_of_it_is_counted_and_not_told(answer: Answer) -> None:
    """The first is listed in any case; of the others those that are one in four times or more."""
    sure = (0.9, 0.4, 0.24, 0.11)
    results = tuple(
        msgspec.structs.replace(
            answer.results[0], rank=rank, text=f"Item {rank}", passage=None, confidence=confidence
        )
        for rank, confidence in enumerate(sure, start=1)
    )
    listed = msgspec.structs.replace(of(answer, "ok"), results=results, completeness=0.8)

    lines = str(listed).splitlines()

    assert [line.split(" — ")[0] for line in lines[:2]] == ["Item 1", "Item 2"]
    assert "2 more may belong to it, but probably do not." in lines
    assert "Item 3" not in str(listed)


def test_another_fact_about_somebody_is_printed_only_where_all_is_asked(home: FamilyRecall) -> None:
    """Her blood group is none of what she is allergic to; of all about her it is a part."""
    for key, value, text in (
        ("allergy", "hazelnuts", "Mira is allergic to hazelnuts"),
        ("blood_group", "A positive", "Mira has blood group A positive"),
    ):
        remember(home, text, kind="fact", fact_key=key, fact_value=value)

    allergic = recall(home, "what is mira allergic to?", "mia")
    everything = msgspec.structs.replace(
        allergic, facts={"allergy": "hazelnuts", "blood_group": "A positive"}, completeness=0.9
    )

    assert allergic.results[0].text == "Mira is allergic to hazelnuts"
    assert "blood group: A positive" not in str(allergic)
    assert "blood group: A positive" in str(everything)
