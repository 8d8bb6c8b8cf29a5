"""Forgetting a memory: dry run, receipt, proof and undo."""

from __future__ import annotations

from unittest import mock

from family_recall import FamilyRecall
from tests.apps.web.browser import MINE, Browser, stored
from tests.conftest import Wall, remember, store_of


def test_forgetting_takes_two_steps_and_can_be_undone(mine: FamilyRecall) -> None:
    """The first changes nothing and shows exactly what goes; the receipt has an undo button."""
    browser = Browser(mine)

    plan = browser.read("/forget?id=mine")
    assert "My locker at the pool" in plan.text
    assert "Nothing has been changed yet" in plan.text
    assert stored(mine)

    receipt = browser.send(plan.forms[0], days="7")
    assert browser.landed.startswith("/receipt?id=")
    assert "in the trash" in receipt.text
    assert "locker" not in receipt.text
    browser.read(MINE, 404)
    assert browser.landed in [a["href"] for a in browser.read("/forgotten").all("a")]

    restored = browser.send(receipt.forms[0])
    assert "It is restored." in restored.text
    assert stored(mine).labels == ("pool", "codes")


def test_a_memory_forgotten_at_once_is_proven_to_be_gone(mine: FamilyRecall) -> None:
    """There is no undo, and the proof has read the file."""
    browser = Browser(mine)

    receipt = browser.send(browser.form("/forget?id=mine", "/forget"), days="0")
    assert receipt.forms == []
    proof = browser.read(f"{browser.landed}&proof=yes")

    assert "Nothing of it is left." in proof.text
    assert mine.erasure.receipts()[0].undo_until is None


def test_a_receipt_says_what_is_still_to_be_done(mine: FamilyRecall) -> None:
    """Where somebody reads an earlier state of the file, its bytes are removed later."""
    browser = Browser(mine)
    with mock.patch.object(store_of(mine), "clean", return_value=None):
        receipt = browser.send(browser.form("/forget?id=mine", "/forget"), days="0")

    assert "Its bytes are still in the file" in receipt.text
    mine.erasure.apply_rules()
    assert "Its bytes are still in the file" not in browser.read(browser.landed).text


def test_only_the_memory_that_was_shown_is_forgotten(mine: FamilyRecall, wall: Wall) -> None:
    """If it changed after the dry run, the form is refused and nothing goes."""
    browser = Browser(mine)
    form = browser.form("/forget?id=mine", "/forget")
    wall.tick(minutes=1)
    remember(mine, "My locker is 333", doc_id="mine", author="rajesh")

    page = browser.send(form, 400)

    assert "another set of memories" in page.text
    browser.send(form, 400, days="365", confirm="")
    browser.send(form, 400, confirm="")
    assert stored(mine).text == "My locker is 333"


def test_a_receipt_is_seen_only_by_its_owner(mine: FamilyRecall) -> None:
    """Priya neither sees that Rajesh forgot something, nor can she restore it."""
    his = Browser(mine)
    his.send(his.form("/forget?id=mine", "/forget"), days="7")
    undo = his.form(his.landed, "/restore")
    hers = Browser(mine, "priya")

    assert "You have forgotten nothing" in hers.read("/forgotten").text
    hers.read(his.landed, 400)
    token = hers.form("/?q=cake", "/feedback")["sent"]
    hers.send({**undo, "sent": token}, 400)
    his.read(MINE, 404)
