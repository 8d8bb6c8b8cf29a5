"""The page of one memory and the relations based on it."""

from __future__ import annotations

from typing import Any

from family_recall import (
    FamilyRecall,
    RecallContext,
    Relation,
)
from tests.apps.web.browser import Browser, see_that_it_is_well_formed
from tests.conftest import HOME, Wall, remember


def test_an_outdated_fact_links_to_the_newer_one(home: FamilyRecall) -> None:
    """A fact that a later one contradicts says so."""
    about: dict[str, Any] = {"kind": "fact", "fact_key": "wifi", "author": "Priya"}
    remember(home, "The wifi password is tulip", doc_id="old", fact_value="tulip",
             occurred_at="2025-01-01", **about)  # fmt: skip
    remember(home, "The wifi password is rose", doc_id="new", fact_value="rose",
             occurred_at="2025-03-01", **about)  # fmt: skip

    page = Browser(home).read("/memory?id=old")

    assert "A newer memory says otherwise" in page.text
    assert "/memory?id=new&space=shared%3Ahome" in [a.get("href") for a in page.all("a")]


def test_a_relation_is_based_on_its_memory(mine: FamilyRecall) -> None:
    """It is shown with the memory, and is forgotten with it."""
    remember(mine, "Elena coaches me at the pool", doc_id="coach", author="rajesh")
    browser = Browser(mine)

    page = browser.send(browser.form("/relate?id=coach", "/relate"), subject="Elena",
                        relation="coach of", object="Rajesh")  # fmt: skip

    assert "The relation is stored" in page.text
    (relation,) = mine.memories.get("coach", RecallContext("rajesh")).relations
    assert (relation.subject, relation.relation, relation.object) == (
        "Elena",
        "coach of",
        "Rajesh Rao",
    )
    assert relation.evidence == ("coach",)
    browser.send(browser.form("/relate?id=coach", "/relate"), 400, subject=" ", relation="of",
                 object="x")  # fmt: skip
    mine.forget("coach", person_id="rajesh")
    assert mine.memories.get("mine", RecallContext("rajesh")).relations == ()


def test_a_relation_is_shown_with_what_it_rests_on(mine: FamilyRecall) -> None:
    """First, though the memory names neither of the two, and with the button that removes it."""
    remember(mine, "They told me at the gate, Priya", doc_id="gate", author="rajesh")
    mine.relations.add(Relation("Priya", "friend of", "Otto", HOME))
    mine.relations.add(Relation("Elena", "coach of", "Mia", HOME, evidence=("gate",)))
    browser = Browser(mine)

    page = browser.read("/memory?id=gate")
    text = " ".join(page.text.split())

    assert text.index("Elena coach of Mia") < text.index("friend of")
    browser.send(browser.form("/memory?id=gate", "/unrelate"))
    assert [r.relation for r in mine.relations.all(person_id="rajesh")] == ["friend of"]


def test_a_button_removes_a_relation(mine: FamilyRecall, wall: Wall) -> None:
    """Only the one beside the button; the others, and the memory, stay."""
    remember(mine, "Elena coaches me at the pool", doc_id="coach", author="rajesh")
    since = wall.tick(minutes=1)
    about: dict[str, Any] = {"space_id": HOME, "evidence": ("coach",)}
    for kind, start in (("coach of", None), ("coach of", since), ("<b>friend of", None)):
        mine.relations.add(Relation("Elena", kind, "Rajesh", valid_from=start, **about))
    browser = Browser(mine)

    page = browser.read("/memory?id=coach")
    see_that_it_is_well_formed(page)
    buttons = [form for form in page.forms if str(form["action"]).startswith("/unrelate")]
    assert len(buttons) == 3
    done = browser.send(buttons[1])

    assert "The relation is removed." in done.text
    left = mine.memories.get("coach", RecallContext("rajesh")).relations
    assert [(relation.relation, relation.valid_from) for relation in left] == [
        ("coach of", None), ("<b>friend of", None)
    ]  # fmt: skip
    assert "Nothing was changed." in browser.send(buttons[1]).text


def test_another_persons_relation_has_no_button(mine: FamilyRecall) -> None:
    """Priya sees it, and a forged form is refused."""
    remember(mine, "Elena coaches me at the pool", doc_id="coach", author="rajesh")
    mine.relations.add(Relation("Elena", "coach of", "Rajesh", HOME, evidence=("coach",)))
    form = Browser(mine).form("/memory?id=coach", "/unrelate")
    hers = Browser(mine, "priya")

    page = hers.read("/memory?id=coach")
    token = hers.form("/?q=cake", "/feedback")["sent"]
    hers.send({**form, "sent": token}, 403)

    assert "coach of" in page.text
    assert not [form for form in page.forms if str(form["action"]).startswith("/unrelate")]
    assert len(mine.memories.get("coach", RecallContext("rajesh")).relations) == 1
