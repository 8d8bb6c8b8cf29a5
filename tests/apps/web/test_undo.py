"""After every change a page offers to undo it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from family_recall import FamilyRecall, RecallContext, Relation
from tests.apps.web.browser import MINE, Browser, Read, see_that_it_is_well_formed, stored
from tests.conftest import HOME, Wall, remember


def add(browser: Browser) -> Read:
    """Add a memory."""
    return browser.send(browser.form("/add", "/add"), text="The ladder is at Ravi's")


def correct(browser: Browser) -> Read:
    """Correct a memory."""
    return browser.send(browser.form("/correct?id=mine", "/correct"), text="It is 812")


def relate(browser: Browser) -> Read:
    """Relate Elena to Rajesh, as his coach."""
    return browser.send(browser.form("/relate?id=mine", "/relate"), subject="Elena",
                        relation="coach of", object="Rajesh")  # fmt: skip


def unrelate(browser: Browser) -> Read:
    """Remove a relation."""
    return browser.send(browser.form(MINE, "/unrelate"))


def forget(browser: Browser) -> Read:
    """Forget a memory, for a week in the trash."""
    return browser.send(browser.form("/forget?id=mine", "/forget"))


def accept(browser: Browser) -> Read:
    """Accept a result."""
    return browser.send(browser.form("/?q=spare+key", "/feedback"), accepted="yes")


def reject(browser: Browser) -> Read:
    """Reject a result."""
    return browser.send(browser.form("/?q=spare+key", "/feedback"), accepted="no")


def state(home: FamilyRecall) -> Any:
    """Return what there is: memories, relations, and what was learned."""
    ctx = RecallContext("rajesh")
    memories = home.memories.page(ctx, limit=1000).memories
    relations = [(r.subject, r.relation, r.object, r.evidence) for r in home.relations.all(ctx)]
    return (
        sorted((v.memory.text, v.memory.labels, str(v.moment)) for v in memories),
        sorted(relations),
        home.learning.all("rajesh")[0].samples,
    )


def undo_form(page: Read) -> dict[str, Any]:
    """Return the one form on a page that undoes."""
    (form,) = [f for f in page.forms if str(f["action"]).startswith(("/undo", "/restore"))]
    return form


@pytest.mark.parametrize("change", [add, correct, relate, unrelate, forget, accept, reject])
def test_a_change_is_undone(
    mine: FamilyRecall, wall: Wall, change: Callable[[Browser], Read]
) -> None:
    """The page that follows has the button, and pressing it leaves everything as before."""
    remember(mine, "My locker at the pool", doc_id="other", author="rajesh")
    mine.relations.add(Relation("Elena", "friend of", "Rajesh", HOME, evidence=("mine",)))
    browser, before = Browser(mine), state(mine)
    wall.tick(minutes=1)

    page = change(browser)
    see_that_it_is_well_formed(page)
    assert state(mine) != before
    wall.tick(minutes=1)
    after = browser.send(undo_form(page))

    assert state(mine) == before
    assert "Undone: " in after.text or "It is restored." in after.text


def test_an_undo_works_once(mine: FamilyRecall, wall: Wall) -> None:
    """The button is gone from the page then, and its form is refused; so is one made up."""
    browser = Browser(mine)
    wall.tick(minutes=1)
    page = correct(browser)
    form, landed = undo_form(page), browser.landed
    wall.tick(minutes=1)

    browser.send(form)
    again = browser.send(form, 400)

    assert "nothing left to undo" in again.text
    assert not [f for f in browser.read(landed).forms if str(f["action"]).startswith("/undo")]
    browser.send({**form, "action": "/undo?done=77"}, 400)
    browser.send({**form, "action": "/undo"}, 400)


def test_an_undo_that_would_overwrite_a_later_change_is_refused(
    mine: FamilyRecall, wall: Wall
) -> None:
    """The page says why, and what was said last stays."""
    browser = Browser(mine)
    wall.tick(minutes=1)
    form = undo_form(correct(browser))
    wall.tick(minutes=1)
    remember(mine, "It is 333", doc_id="mine", author="rajesh")

    assert "corrected again since" in browser.send(form, 400).text
    assert stored(mine).text == "It is 333"


def test_an_undo_belongs_to_the_pages_it_was_made_on(mine: FamilyRecall, wall: Wall) -> None:
    """Another reader's pages do not know the number, and a form without their token is refused."""
    his, hers = Browser(mine), Browser(mine, "priya")
    wall.tick(minutes=1)
    form = undo_form(correct(his))

    hers.send(form, 403)
    token = hers.form("/?q=cake", "/feedback")["sent"]
    hers.send({**form, "sent": token}, 400)
    his.send({**form, "sent": {}}, 403)

    assert "Undo" not in hers.read(f"/?{str(form['action']).partition('?')[2]}").text
    assert stored(mine).text == "It is 812"
    his.send(form)


def test_what_was_forgotten_for_good_has_no_undo(mine: FamilyRecall) -> None:
    """The form says so beforehand."""
    browser = Browser(mine)
    page = browser.read("/forget?id=mine")

    assert "gone at once, with no undo" in page.text
    gone = browser.send(page.forms[0], days="0")
    assert not [f for f in gone.forms if f["method"] == "post"]
