"""The form that corrects a memory."""

from __future__ import annotations

import pytest

from family_recall import (
    FamilyRecall,
    Hidden,
    RecallContext,
)
from tests.apps.web.browser import MINE, Browser, see_that_it_is_well_formed, stored
from tests.conftest import HOME, Wall, remember


def test_a_correction_is_a_new_version(mine: FamilyRecall, wall: Wall) -> None:
    """Text and fields change, everything else stays, and the page shows the earlier version."""
    before = stored(mine)
    wall.tick(minutes=1)
    browser = Browser(mine)
    form = browser.form("/correct?id=mine", "/correct")

    typed = {"text": "My locker at the pool\nis 812", "labels": "pool\ncodes\n sport "}
    form["sent"] |= typed
    page = browser.send(form, kind="fact", fact_key="locker", fact_value="812")

    now = stored(mine)
    assert "Corrected." in page.text
    assert (now.text, now.kind, now.fact_value) == ("My locker at the pool\nis 812", "fact", "812")
    assert now.labels == ("pool", "codes", "sport")
    assert now.occurred_at == before.occurred_at
    assert (now.importance, now.author) == (0.7, "rajesh")
    assert [a["class"] for a in page.all("ol")] == ["history"]
    assert len(page.all("del")) == len(page.all("ins")) == 1
    assert "218" in page.text
    assert mine.recall("locker", RecallContext("rajesh")).results[0].text == now.text


def test_a_form_sent_unchanged_changes_nothing(mine: FamilyRecall) -> None:
    """Line breaks, a moment to the millisecond in another zone, unprintable characters."""
    strange = "\n two\r\nlines \x07 and \u202e\tthe rest \n"
    remember(mine, strange, doc_id="odd", author="rajesh", title=" a\u2066b\nc ",
             valid_from="2025-01-01T10:00:00.5-07:00", occurred_at="2025-01-01T10:00+05:30",
             labels=(" x ", "y\nz"), importance=1 / 3)  # fmt: skip
    browser = Browser(mine)
    for doc_id in ("mine", "odd"):
        before = stored(mine, doc_id)

        page = browser.send(browser.form(f"/correct?id={doc_id}", "/correct"))

        assert "Nothing was changed." in page.text
        assert stored(mine, doc_id) == before


@pytest.mark.parametrize(
    ("filled", "words"),
    [
        ({"text": "  "}, "text must be a text that is not empty"),
        ({"importance": "7"}, "importance must be in [0, 1]"),
        ({"importance": "much"}, "importance must be a number"),
        ({"occurred_at": "yesterday"}, "occurred_at must be an ISO 8601 day"),
        ({"kind": "rumour"}, "kind must be one of"),
        ({"band": "black"}, "'black' is not open to you"),
        ({"valid_from": "2025-02-01T00:00", "valid_until": "2025-01-01T00:00"}, "must be before"),
    ],
)
def test_an_invalid_field_is_reported_beside_what_was_typed(
    mine: FamilyRecall, filled: dict[str, str], words: str
) -> None:
    """Nothing changes, and what was typed is still in the form."""
    browser, before = Browser(mine), stored(mine)
    form = browser.form("/correct?id=mine", "/correct")

    page = browser.send(form, 422, title="Typed", **filled)

    see_that_it_is_well_formed(page)
    assert words in page.text
    assert page.forms[0]["sent"]["title"] == "Typed"
    assert stored(mine) == before


def test_a_correction_of_an_outdated_version_has_to_be_confirmed(
    mine: FamilyRecall, wall: Wall
) -> None:
    """The second person sees the form again with what they typed, and may send it then."""
    browser = Browser(mine)
    form = browser.form("/correct?id=mine", "/correct")
    wall.tick(minutes=1)
    remember(mine, "My locker is 333", doc_id="mine", author="rajesh")

    page = browser.send(form, 422, text="My locker is 444")

    assert "changed it in the meantime" in page.text
    assert stored(mine).text == "My locker is 333"
    browser.send(page.forms[0])
    assert stored(mine).text == "My locker is 444"


@pytest.mark.parametrize("page", ["correct", "relate", "forget"])
def test_another_persons_memory_cannot_be_edited(mine: FamilyRecall, page: str) -> None:
    """Priya sees what Rajesh said, and may not change it: no button, no form, no workaround."""
    browser, before = Browser(mine, "priya"), mine.memories.get("mine", RecallContext("rajesh"))
    own = Browser(mine).form(f"/{page}?id=mine", f"/{page}")

    assert "Only the person who said this" in browser.read(MINE).text
    browser.read(f"/{page}?id=mine", 403)
    token = browser.form("/?q=cake", "/feedback")["sent"]
    browser.send({**own, "sent": {**own["sent"], **token}}, 403, text="Hacked", days="0",
                 subject="a", relation="b", object="c")  # fmt: skip

    assert mine.memories.get("mine", RecallContext("rajesh")) == before


def test_a_hidden_field_is_not_in_the_form_and_stays(mine: FamilyRecall) -> None:
    """The text changes; labels and importance, which were not shown, stay as they were."""
    mine.spaces.hide(Hidden(HOME, "adult", ("labels", "importance")))
    browser = Browser(mine)

    page = browser.read("/correct?id=mine")
    form = browser.form("/correct?id=mine", "/correct")
    form["sent"] |= {"text": "My locker is 812", "importance": "0.1"}
    browser.send(form, labels="mine now")
    mine.spaces.hide(Hidden(HOME, "adult", ()))

    assert "You may not see importance, labels here" in page.text
    assert "codes" not in page.text
    now = stored(mine)
    assert (now.text, now.labels, now.importance) == ("My locker is 812", ("pool", "codes"), 0.7)


def test_only_an_owner_may_change_the_author(mine: FamilyRecall) -> None:
    """An owner may where a voice was mistaken for another's; a member may not."""
    remember(mine, "I am off to the pool", "private:rajesh", doc_id="voice", author="priya")
    browser = Browser(mine)

    browser.send(browser.form("/correct?id=voice", "/correct"), author="rajesh")
    form = browser.form("/correct?id=mine", "/correct")
    refused = browser.send(form, 422, author="priya")

    assert stored(mine, "voice").author == "rajesh"
    assert "author" not in form["sent"]
    assert "only an owner of its space" in refused.text
    assert stored(mine).author == "rajesh"
