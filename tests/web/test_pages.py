"""The pages, gone through link by link and form by form, as a browser without scripts does."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import pytest

from family_recall import (
    FamilyRecall,
    Grant,
    Hidden,
    Memory,
    Person,
    RecallContext,
    Relation,
    Space,
)
from tests.conftest import HOME, Wall, remember
from tests.page_checks import see_that_nothing_runs_or_loads
from tests.web.browser import LINKS, READ, Browser, Read

MINE = "/memory?id=mine"


@pytest.fixture
def mine(home: FamilyRecall) -> FamilyRecall:
    """Let Rajesh have said something that only he may mend."""
    remember(home, "My locker at the pool\nis 218", doc_id="mine", author="rajesh",
             labels=("pool", "codes"), occurred_at="2025-06-14T09:30:15.250+02:00",
             importance=0.7)  # fmt: skip
    return home


def kept(home: FamilyRecall, doc_id: str = "mine", person_id: str = "rajesh") -> Memory:
    """Give a memory as it is kept."""
    return home.memories.get(doc_id, RecallContext(person_id)).kept.memory


def well_formed(page: Read) -> None:
    """Check what every page has: one heading, labels, names for landmarks."""
    assert len(page.all("h1")) == len(page.all("main")) == 1
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in page.all("nav") + page.all("section"):
        assert {"aria-label", "aria-labelledby", "class"} & set(attributes), attributes


@pytest.mark.parametrize(
    "link",
    [*READ, "/look?first=2025-02-01&last=2025-06-30&about=Priya&kind=episode&space=shared:home",
     "/?q=cake&kind=fact&author=Priya&first=2025-01-01", MINE, "/correct?id=mine",
     "/relate?id=mine", "/forget?id=mine", "/forgotten"],
)  # fmt: skip
def test_every_page_is_well_formed(mine: FamilyRecall, link: str) -> None:
    """All that is opened is closed; nothing runs, nothing loads; parts have names and labels."""
    page = Browser(mine).read(link)

    see_that_nothing_runs_or_loads(page, LINKS, forms=True)
    if not link.startswith("/why"):
        well_formed(page)
        for at, (name, attributes) in enumerate(page.elements):
            if name in {"input", "select", "textarea"} and attributes.get("type") != "hidden":
                around = [before for before, _ in page.elements[max(0, at - 2) : at]]
                assert "aria-label" in attributes or "label" in around, attributes


def test_every_link_leads_somewhere(mine: FamilyRecall) -> None:
    """Followed three steps deep from the first page, no link of ours ends nowhere."""
    browser, seen = Browser(mine), {"/"}
    frontier = ["/", "/?q=cake"]
    for _ in range(3):
        found = []
        for link in frontier:
            page = browser.read(link)
            found += [str(a["href"]) for a in page.all("a") if str(a["href"]).startswith("/")]
        frontier = [link for link in dict.fromkeys(found) if link not in seen][:40]
        seen |= set(frontier)

    assert len(seen) > 30


def test_a_question_is_answered_with_marks_and_reasons(home: FamilyRecall) -> None:
    """The first card says it, marks the words, adds up, and leads to the memory itself."""
    page = Browser(home).read("/?q=where+is+the+spare+key")

    assert "The spare key is under the blue pot" in page.text
    assert page.all("mark")
    assert any(str(r.get("class", "")).startswith("g-") for r in page.all("rect"))
    opened = [a["href"] for a in page.all("a") if a.get("aria-label") == "Open result 1"]
    assert opened == ["/memory?id=key&space=shared%3Ahome"]


def test_why_leads_to_the_inspected_recall_and_back(home: FamilyRecall) -> None:
    """With the same question and the same filters, both ways."""
    browser = Browser(home)
    asked = "q=where+is+the+spare+key&space=shared%3Ahome&kind=fact"
    links = [a["href"] for a in browser.read(f"/?{asked}").all("a")]

    page = browser.read(f"/why?{asked}")

    assert f"/why?{asked}" in links
    assert "Where the time went" in page.text
    assert f"/?{asked}" in [a["href"] for a in page.all("a")]


@pytest.mark.parametrize(
    ("narrowed", "found"),
    [
        ("kind=fact", {"key"}),
        ("author=Priya", {"dates", "grandma", "cake"}),
        ("first=2025-06-01&last=2025-06-09", {"cake"}),
        ("space=private%3Arajesh", set()),
        ("space=shared%3Ahome&kind=fact", {"key"}),
    ],
)
def test_filters_narrow_search_and_list_alike(
    home: FamilyRecall, narrowed: str, found: set[str]
) -> None:
    """Space, kind, author and days keep to what they say, on both pages."""
    browser = Browser(home)
    search = browser.read(f"/?q=spare+key+cake+grandma+dates&more=yes&{narrowed}")
    listed = browser.read(f"/look?{narrowed}")

    for page in (search, listed):
        links = [str(a["href"]) for a in page.all("a") if str(a["href"]).startswith("/memory")]
        ids = {match[1] for link in links if (match := re.search(r"id=([^&]*)", link))}
        assert ids == found


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("/?q=x&kind=nothing", "filters.kinds must be among"),
        ("/?q=x&first=soon", "'soon' is no day such as 2026-03-01"),
        ("/look?first=2025-02-01&last=2025-01-01", "swap them"),
        ("/look?at=-1", "begins at a number of memories"),
        ("/?q=" + "x" * 2001, "at most 2,000 characters"),
    ],
)
def test_what_cannot_be_meant_is_said(home: FamilyRecall, link: str, words: str) -> None:
    """A link that was mangled is a page that says what was expected."""
    page = Browser(home).read(link, 400)

    well_formed(page)
    assert words in page.text


@pytest.mark.parametrize("link", ["/?q=x&space=private:priya", "/look?space=nowhere",
                                  "/memory?id=nothing", "/memory"])  # fmt: skip
def test_what_is_not_there_is_not_found(home: FamilyRecall, link: str) -> None:
    """Another's space reads like one that there is not."""
    assert "That did not work" in Browser(home).read(link, 404).text


def test_the_list_goes_on_page_by_page(home: FamilyRecall) -> None:
    """Ninety memories and seven are on three pages, each once, the newest first."""
    home.remember_many(
        Memory(f"Photo number {n:03}", HOME, doc_id=f"photo-{n:03}",
               occurred_at=dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=n))
        for n in range(90)
    )  # fmt: skip
    browser, link, ids = Browser(home), "/look", list[str]()
    n_pages = 0
    while link:
        n_pages += 1
        page = browser.read(link)
        well_formed(page)
        ids += [str(a["href"]) for a in page.all("a") if str(a["href"]).startswith("/memory")]
        link = "".join(str(a["href"]) for a in page.all("a") if a.get("rel") == "next")

    assert (n_pages, len(ids), len(set(ids))) == (3, 97, 97)
    photos = [link for link in ids if "photo" in link]
    assert photos == sorted(photos, reverse=True)


def test_a_month_leads_to_what_it_holds(home: FamilyRecall) -> None:
    """February 2025 says three, and shows those three."""
    browser = Browser(home)
    look = browser.read("/look")
    (link,) = [a["href"] for a in look.all("a") if "first=2025-02-01" in str(a["href"])]

    assert "Feb 2025, 3" in look.text
    page = browser.read(str(link))

    assert "3 memories" in page.text
    assert "Goa trip" in page.text


def test_a_correction_is_a_new_version(mine: FamilyRecall, wall: Wall) -> None:
    """Text and fields change, the rest stays to the letter, and the page shows what was before."""
    before = kept(mine)
    wall.tick(minutes=1)
    browser = Browser(mine)
    form = browser.form("/correct?id=mine", "/correct")

    typed = {"text": "My locker at the pool\nis 812", "labels": "pool\ncodes\n sport "}
    form["sent"] |= typed
    page = browser.send(form, kind="fact", fact_key="locker", fact_value="812")

    now = kept(mine)
    assert "Corrected." in page.text
    assert (now.text, now.kind, now.fact_value) == ("My locker at the pool\nis 812", "fact", "812")
    assert now.labels == ("pool", "codes", "sport")
    assert now.occurred_at == before.occurred_at
    assert (now.importance, now.author) == (0.7, "rajesh")
    assert [a["class"] for a in page.all("ol")] == ["history"]
    assert len(page.all("del")) == len(page.all("ins")) == 1
    assert "218" in page.text
    assert mine.recall("locker", RecallContext("rajesh")).results[0].text == now.text


def test_a_form_sent_as_it_stands_changes_nothing(mine: FamilyRecall) -> None:
    """Line breaks, a moment to the millisecond in another zone, marks that cannot be shown."""
    strange = "\n two\r\nlines \x07 and \u202e\tthe rest \n"
    remember(mine, strange, doc_id="odd", author="rajesh", title=" a\u2066b\nc ",
             valid_from="2025-01-01T10:00:00.5-07:00", occurred_at="2025-01-01T10:00+05:30",
             labels=(" x ", "y\nz"), importance=1 / 3)  # fmt: skip
    browser = Browser(mine)
    for doc_id in ("mine", "odd"):
        before = kept(mine, doc_id)

        page = browser.send(browser.form(f"/correct?id={doc_id}", "/correct"))

        assert "Nothing was changed." in page.text
        assert kept(mine, doc_id) == before


@pytest.mark.parametrize(
    ("filled", "words"),
    [
        ({"text": "  "}, "text must be a text that says something"),
        ({"importance": "7"}, "importance must be in [0, 1]"),
        ({"importance": "much"}, "importance must be a number"),
        ({"occurred_at": "yesterday"}, "occurred_at must be an ISO 8601 day"),
        ({"kind": "rumour"}, "kind must be one of"),
        ({"band": "black"}, "'black' is not open to you"),
        ({"valid_from": "2025-02-01T00:00", "valid_until": "2025-01-01T00:00"}, "must be before"),
    ],
)
def test_what_cannot_be_kept_is_said_beside_what_was_typed(
    mine: FamilyRecall, filled: dict[str, str], words: str
) -> None:
    """Nothing changes, and what was typed is still in the form."""
    browser, before = Browser(mine), kept(mine)
    form = browser.form("/correct?id=mine", "/correct")

    page = browser.send(form, 422, title="Typed", **filled)

    well_formed(page)
    assert words in page.text
    assert page.forms[0]["sent"]["title"] == "Typed"
    assert kept(mine) == before


def test_a_correction_of_something_else_meanwhile_is_looked_at_again(
    mine: FamilyRecall, wall: Wall
) -> None:
    """Whoever comes second sees that, with what they typed, and may send it then."""
    browser = Browser(mine)
    form = browser.form("/correct?id=mine", "/correct")
    wall.tick(minutes=1)
    remember(mine, "My locker is 333", doc_id="mine", author="rajesh")

    page = browser.send(form, 422, text="My locker is 444")

    assert "told it anew meanwhile" in page.text
    assert kept(mine).text == "My locker is 333"
    browser.send(page.forms[0])
    assert kept(mine).text == "My locker is 444"


@pytest.mark.parametrize("page", ["correct", "relate", "forget"])
def test_what_is_anothers_cannot_be_mended(mine: FamilyRecall, page: str) -> None:
    """Priya sees what Rajesh said, and may not change it: no button, no form, no way round."""
    browser, before = Browser(mine, "priya"), mine.memories.get("mine", RecallContext("rajesh"))
    own = Browser(mine).form(f"/{page}?id=mine", f"/{page}")

    assert "Only whoever said this" in browser.read(MINE).text
    browser.read(f"/{page}?id=mine", 403)
    token = browser.form("/?q=cake", "/feedback")["sent"]
    browser.send({**own, "sent": {**own["sent"], **token}}, 403, text="Hacked", days="0",
                 subject="a", relation="b", object="c")  # fmt: skip

    assert mine.memories.get("mine", RecallContext("rajesh")) == before


def test_what_is_hidden_from_a_reader_is_not_in_the_form_and_stays(mine: FamilyRecall) -> None:
    """The text changes, and the labels and the importance that nobody showed are as they were."""
    mine.spaces.hide(Hidden(HOME, "adult", ("labels", "importance")))
    browser = Browser(mine)

    said = browser.read("/correct?id=mine")
    form = browser.form("/correct?id=mine", "/correct")
    form["sent"] |= {"text": "My locker is 812", "importance": "0.1"}
    browser.send(form, labels="mine now")
    mine.spaces.hide(Hidden(HOME, "adult", ()))

    assert "You are kept from importance, labels here" in said.text
    assert "codes" not in said.text
    now = kept(mine)
    assert (now.text, now.labels, now.importance) == ("My locker is 812", ("pool", "codes"), 0.7)


def test_an_owner_may_say_who_said_it(mine: FamilyRecall) -> None:
    """Where a voice was taken for another's; nobody else may put words into a mouth."""
    remember(mine, "I am off to the pool", "private:rajesh", doc_id="voice", author="priya")
    browser = Browser(mine)

    browser.send(browser.form("/correct?id=voice", "/correct"), author="rajesh")
    form = browser.form("/correct?id=mine", "/correct")
    refused = browser.send(form, 422, author="priya")

    assert kept(mine, "voice").author == "rajesh"
    assert "author" not in form["sent"]
    assert "only an owner of its space" in refused.text
    assert kept(mine).author == "rajesh"


def test_a_relation_rests_on_its_memory(mine: FamilyRecall) -> None:
    """It is shown with the memory, and goes with it."""
    remember(mine, "Elena coaches me at the pool", doc_id="coach", author="rajesh")
    browser = Browser(mine)

    page = browser.send(browser.form("/relate?id=coach", "/relate"), subject="Elena",
                        relation="coach of", object="Rajesh")  # fmt: skip

    assert "The relation is kept" in page.text
    (told,) = mine.memories.get("coach", RecallContext("rajesh")).relations
    assert (told.subject, told.relation, told.object) == ("Elena", "coach of", "Rajesh Rao")
    assert told.evidence == ("coach",)
    browser.send(browser.form("/relate?id=coach", "/relate"), 400, subject=" ", relation="of",
                 object="x")  # fmt: skip
    mine.forget("coach", person_id="rajesh")
    assert mine.memories.get("mine", RecallContext("rajesh")).relations == ()


def test_a_relation_is_taken_back_with_a_button(mine: FamilyRecall, wall: Wall) -> None:
    """That of the one that was meant; the other, and the memory, stay."""
    remember(mine, "Elena coaches me at the pool", doc_id="coach", author="rajesh")
    since = wall.tick(minutes=1)
    about: dict[str, Any] = {"space_id": HOME, "evidence": ("coach",)}
    for kind, start in (("coach of", None), ("coach of", since), ("<b>friend of", None)):
        mine.relations.add(Relation("Elena", kind, "Rajesh", valid_from=start, **about))
    browser = Browser(mine)

    page = browser.read("/memory?id=coach")
    well_formed(page)
    buttons = [form for form in page.forms if str(form["action"]).startswith("/unrelate")]
    assert len(buttons) == 3
    done = browser.send(buttons[1])

    assert "The relation is taken back." in done.text
    told = mine.memories.get("coach", RecallContext("rajesh")).relations
    assert [(one.relation, one.valid_from) for one in told] == [
        ("coach of", None), ("<b>friend of", None)
    ]  # fmt: skip
    assert "Nothing was changed." in browser.send(buttons[1]).text


def test_a_relation_that_others_told_has_no_button(mine: FamilyRecall) -> None:
    """Priya sees it, and a form of her own making is refused."""
    remember(mine, "Elena coaches me at the pool", doc_id="coach", author="rajesh")
    mine.relations.add(Relation("Elena", "coach of", "Rajesh", HOME, evidence=("coach",)))
    form = Browser(mine).form("/memory?id=coach", "/unrelate")
    hers = Browser(mine, "priya")

    page = hers.read("/memory?id=coach")
    token = hers.form("/?q=cake", "/feedback")["sent"]
    hers.send({**form, "sent": token}, 403)

    assert "coach of" in page.text
    assert not [one for one in page.forms if str(one["action"]).startswith("/unrelate")]
    assert len(mine.memories.get("coach", RecallContext("rajesh")).relations) == 1


def test_forgetting_takes_two_steps_and_can_be_undone(mine: FamilyRecall) -> None:
    """The first changes nothing and shows exactly what goes; the receipt leads back."""
    browser = Browser(mine)

    plan = browser.read("/forget?id=mine")
    assert "My locker at the pool" in plan.text
    assert "Nothing has been changed yet" in plan.text
    assert kept(mine)

    receipt = browser.send(plan.forms[0], days="7")
    assert browser.landed.startswith("/receipt?id=")
    assert "kept aside" in receipt.text
    assert "locker" not in receipt.text
    browser.read(MINE, 404)
    assert browser.landed in [a["href"] for a in browser.read("/forgotten").all("a")]

    back = browser.send(receipt.forms[0])
    assert "It is back." in back.text
    assert kept(mine).labels == ("pool", "codes")


def test_forgotten_at_once_is_proven_to_be_gone(mine: FamilyRecall) -> None:
    """There is no way back, and the proof has read the file."""
    browser = Browser(mine)

    receipt = browser.send(browser.form("/forget?id=mine", "/forget"), days="0")
    assert receipt.forms == []
    proof = browser.read(f"{browser.landed}&proof=yes")

    assert "Nothing of it is left." in proof.text
    assert mine.erasure.receipts()[0].undo_until is None


def test_only_what_was_shown_is_forgotten(mine: FamilyRecall, wall: Wall) -> None:
    """Told anew after the dry run, it is another set: nothing goes."""
    browser = Browser(mine)
    form = browser.form("/forget?id=mine", "/forget")
    wall.tick(minutes=1)
    remember(mine, "My locker is 333", doc_id="mine", author="rajesh")

    page = browser.send(form, 400)

    assert "another set of memories" in page.text
    browser.send(form, 400, days="365", confirm="")
    browser.send(form, 400, confirm="")
    assert kept(mine).text == "My locker is 333"


def test_a_receipt_is_its_owners_alone(mine: FamilyRecall) -> None:
    """Priya sees neither that Rajesh had something forgotten, nor can she bring it back."""
    his = Browser(mine)
    his.send(his.form("/forget?id=mine", "/forget"), days="7")
    undo = his.form(his.landed, "/undo")
    hers = Browser(mine, "priya")

    assert "You had nothing forgotten" in hers.read("/forgotten").text
    hers.read(his.landed, 400)
    token = hers.form("/?q=cake", "/feedback")["sent"]
    hers.send({**undo, "sent": token}, 400)
    his.read(MINE, 404)


def test_feedback_is_learned_for_who_gave_it(home: FamilyRecall) -> None:
    """A click on a result is a judgement of that person's, and leads back to the results."""
    browser = Browser(home)
    form = browser.form("/?q=where+is+the+spare+key&kind=fact", "/feedback")

    page = browser.send(form, accepted="yes")

    assert "Thank you." in page.text
    assert browser.landed.startswith("/?q=where+is+the+spare+key&kind=fact")
    (learned,) = home.learning.all()
    assert learned.person_id == "rajesh"


def test_people_and_spaces_are_those_one_shares(home: FamilyRecall) -> None:
    """Rajesh sees his rooms and who is in them; of Priya's own room, nothing."""
    home.people.add(Person("zoltan", "Zoltan"))
    home.spaces.add(Space("private:zoltan", "private", "Zoltan's den"))
    home.spaces.grant(Grant("zoltan", "private:zoltan", "owner"))

    page = Browser(home).read("/people")

    well_formed(page)
    assert all(name in page.text for name in ("private:rajesh", "Priya Rao", "Mia"))
    assert "private:priya" not in page.text
    assert "Zoltan" not in page.text


@pytest.mark.parametrize("link", ["/correct?id=mine", "/relate?id=mine", "/forget?id=mine",
                                  "/forgotten", "/receipt?id=1", "/feedback", "/undo",
                                  "/unrelate?id=mine"])  # fmt: skip
def test_reading_only_leaves_out_all_that_changes(mine: FamilyRecall, link: str) -> None:
    """There is no such page, whatever is sent to it, and no page has a form that changes."""
    browser, before = Browser(mine, read_only=True), mine.maintenance.stats()["memories"]

    browser.read(link, 404)
    answer = browser.client.post(link, headers={"Origin": "http://127.0.0.1:8787"})
    assert answer.status_code == 404
    for read in (*READ, MINE):
        assert not [form for form in browser.read(read).forms if form["method"] == "post"]
    assert mine.maintenance.stats()["memories"] == before
    assert "reading only" in browser.read("/").text


def test_a_near_copy_and_a_newer_fact_are_told_of(home: FamilyRecall) -> None:
    """A fact that a later one contradicts says so, and leads there."""
    about: dict[str, Any] = {"kind": "fact", "fact_key": "wifi", "author": "Priya"}
    remember(home, "The wifi password is tulip", doc_id="old", fact_value="tulip",
             occurred_at="2025-01-01", **about)  # fmt: skip
    remember(home, "The wifi password is rose", doc_id="new", fact_value="rose",
             occurred_at="2025-03-01", **about)  # fmt: skip

    page = Browser(home).read("/memory?id=old")

    assert "A newer fact says otherwise" in page.text
    assert "/memory?id=new&space=shared%3Ahome" in [a.get("href") for a in page.all("a")]
