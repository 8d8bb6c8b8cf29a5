"""The form that adds a memory."""

from __future__ import annotations

import datetime as dt

from family_recall import FamilyRecall, Grant, RecallContext
from tests.apps.web.browser import Browser, see_that_it_is_well_formed
from tests.conftest import HOME, NOW


def test_a_memory_is_added_in_the_readers_name(home: FamilyRecall) -> None:
    """Its page follows; without a moment it was said now, and it answers at once."""
    browser = Browser(home)

    page = browser.send(browser.form("/add", "/add"), text=" The ladder is\nat Ravi's ")

    assert "Added." in page.text
    answer = home.recall("where is the ladder", RecallContext("priya", now=NOW))
    (memory,) = [r for r in answer.results if "ladder" in r.text]
    assert (memory.text, memory.author, memory.space_id) == (
        "The ladder is\nat Ravi's", "rajesh", HOME,
    )  # fmt: skip
    assert memory.occurred_at is not None
    assert dt.datetime.fromisoformat(memory.occurred_at) == NOW


def test_it_can_be_private_and_of_another_time(home: FamilyRecall) -> None:
    """The choices are the spaces that the reader may enter, by name."""
    browser = Browser(home)
    page = browser.read("/add")

    browser.send(browser.form("/add", "/add"), text="My locker is 218",
                 space_id="private:rajesh", occurred_at="2025-03-01T10:00")  # fmt: skip

    assert [o["value"] for o in page.all("option")] == ["private:rajesh", HOME]
    assert "Only you" in page.text
    (memory,) = home.memories.page(RecallContext("rajesh", "private:rajesh")).memories[:1]
    answer = home.recall("my locker", RecallContext("rajesh"))
    assert answer.results[0].text == "My locker is 218"
    assert (answer.results[0].occurred_at or "").startswith("2025-03-01T10:00")
    assert memory.memory.space_id in {HOME, "private:rajesh"}
    assert not [r for r in home.recall("locker", RecallContext("priya")) if "218" in r.text]


def test_what_cannot_be_added_is_said_beside_what_was_typed(home: FamilyRecall) -> None:
    """An empty text, no moment, a space of somebody else's: nothing is stored."""
    browser, before = Browser(home), home.maintenance.stats()["memories"]
    form = browser.form("/add", "/add")

    for filled, words in (
        ({"text": "  "}, "please write"),
        ({"text": "Typed", "occurred_at": "soon"}, "occurred_at"),
        ({"text": "Typed", "space_id": "private:priya"}, "no space"),
    ):
        page = browser.send(form, 422, **filled)
        see_that_it_is_well_formed(page)
        assert words in page.text
        assert page.forms[0]["sent"]["text"].strip() == filled["text"].strip()
    assert home.maintenance.stats()["memories"] == before


def test_the_same_again_is_not_stored_twice(home: FamilyRecall) -> None:
    """The page of what is there already follows, with nothing to undo."""
    browser = Browser(home)
    form = browser.form("/add", "/add")

    browser.send(form, text="The ladder is at Ravi's")
    again = browser.send(form, text="The ladder is at Ravi's")

    assert "You had added just that before" in again.text
    assert not [f for f in again.forms if str(f["action"]).startswith("/undo")]


def test_a_child_adds_too(home: FamilyRecall) -> None:
    """A person who may enter a space may add to it; the name of the household is on the page."""
    home.spaces.grant(Grant("mia", HOME, "child"))
    browser = Browser(home, "mia")

    page = browser.send(browser.form("/add", "/add"), text="I lost my tooth")

    assert "I lost my tooth" in page.text
    assert "Household Mia" in " ".join(page.text.split())
