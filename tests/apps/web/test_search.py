"""The search page: questions, filters and feedback."""

from __future__ import annotations

import re

import pytest

from family_recall import FamilyRecall, Relation
from tests.apps.web.browser import Browser
from tests.conftest import HOME


def test_a_question_is_answered_with_marks_and_reasons(home: FamilyRecall) -> None:
    """The first card shows it, highlights the words, and links to the memory."""
    page = Browser(home).read("/?q=where+is+the+spare+key")

    assert "The spare key is under the blue pot" in page.text
    assert page.all("mark")
    assert next(r["width"] for r in page.all("rect") if r["class"] == "track") == "1000"
    links = [a["href"] for a in page.all("a") if a.get("aria-label") == "Open result 1"]
    assert links == ["/memory?id=key&space=shared%3Ahome"]


def test_a_relation_answers_on_the_page(home: FamilyRecall) -> None:
    """Both as a fact and as a sentence, on the page of the recall as well; markup stays text."""
    home.relations.add(Relation("Otto & <b>", "teacher of", "Mia", HOME))
    for path in ("/?q=who+is+mia's+teacher", "/why?q=who+is+mia's+teacher"):
        page = Browser(home).read(path)

        assert "Sure" in page.text
        assert "Otto & <b> teacher of Mia" in page.text
        assert "teacher of Mia: Otto & <b>" in " ".join(page.text.split())


def test_why_links_to_the_page_of_the_recall_and_back(home: FamilyRecall) -> None:
    """With the same question and the same filters, both ways."""
    browser = Browser(home)
    asked = "q=where+is+the+spare+key&space=shared%3Ahome&kind=fact"
    links = [a["href"] for a in browser.read(f"/?{asked}").all("a")]

    page = browser.read(f"/why?{asked}")

    assert f"/why?{asked}" in links
    assert "Where the time went" in page.text
    assert f"/?{asked}" in [a["href"] for a in page.all("a")]


@pytest.mark.parametrize(
    ("narrowing", "expected"),
    [
        ("kind=fact", {"key"}),
        ("author=Priya", {"dates", "grandma", "cake"}),
        ("first=2025-06-01&last=2025-06-09", {"cake"}),
        ("space=private%3Arajesh", set()),
        ("space=shared%3Ahome&kind=fact", {"key"}),
    ],
)
def test_filters_narrow_search_and_list_alike(
    home: FamilyRecall, narrowing: str, expected: set[str]
) -> None:
    """Space, kind, author and days have the same effect on both pages."""
    browser = Browser(home)
    search = browser.read(f"/?q=spare+key+cake+grandma+dates&more=yes&{narrowing}")
    listing = browser.read(f"/browse?{narrowing}")

    for page in (search, listing):
        links = [str(a["href"]) for a in page.all("a") if str(a["href"]).startswith("/memory")]
        ids = {match[1] for link in links if (match := re.search(r"id=([^&]*)", link))}
        assert ids == expected


def test_feedback_is_learned_for_the_person_who_gave_it(home: FamilyRecall) -> None:
    """A click on a result is that person's feedback, and leads back to the results."""
    browser = Browser(home)
    form = browser.form("/?q=where+is+the+spare+key&kind=fact", "/feedback")

    page = browser.send(form, accepted="yes")

    assert "Noted: it answers this question" in page.text
    assert browser.landed.startswith("/?q=where+is+the+spare+key&kind=fact")
    (learned,) = home.learning.all()
    assert learned.person_id == "rajesh"
