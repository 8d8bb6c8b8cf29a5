"""What holds for every page of browse."""

from __future__ import annotations

import pytest

from family_recall import (
    FamilyRecall,
    Grant,
    Person,
    Space,
)
from tests.apps.web.browser import LINKS, MINE, READ, Browser, see_that_it_is_well_formed
from tests.page_checks import see_that_nothing_runs_or_loads


@pytest.mark.parametrize(
    "link",
    [*READ, "/browse?first=2025-02-01&last=2025-06-30&about=Priya&kind=episode&space=shared:home",
     "/?q=cake&kind=fact&author=Priya&first=2025-01-01", MINE, "/correct?id=mine",
     "/relate?id=mine", "/forget?id=mine", "/forgotten", "/add"],
)  # fmt: skip
def test_every_page_is_well_formed(mine: FamilyRecall, link: str) -> None:
    """Every element is closed, nothing runs or loads, and every control has a label."""
    page = Browser(mine).read(link)

    see_that_nothing_runs_or_loads(page, LINKS, forms=True)
    if not link.startswith("/why"):
        see_that_it_is_well_formed(page)
        for at, (name, attributes) in enumerate(page.elements):
            if name in {"input", "select", "textarea"} and attributes.get("type") != "hidden":
                around = [before for before, _ in page.elements[max(0, at - 2) : at]]
                assert "aria-label" in attributes or "label" in around, attributes


def test_every_link_leads_to_a_page(mine: FamilyRecall) -> None:
    """Followed three steps deep from the first page, every link of ours works."""
    browser, seen = Browser(mine), {"/"}
    frontier = ["/", "/?q=cake"]
    for _ in range(3):
        links = []
        for link in frontier:
            page = browser.read(link)
            links += [str(a["href"]) for a in page.all("a") if str(a["href"]).startswith("/")]
        frontier = [link for link in dict.fromkeys(links) if link not in seen][:40]
        seen |= set(frontier)

    assert len(seen) > 30


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("/?q=x&kind=nothing", "filters.kinds must be one of"),
        ("/?q=x&first=soon", "expected a day such as 2026-03-01, got 'soon'"),
        ("/browse?first=2025-02-01&last=2025-01-01", "swap them"),
        ("/browse?at=-1", "begins at a number of memories"),
        ("/?q=" + "x" * 2001, "at most 2,000 characters"),
    ],
)
def test_an_impossible_link_says_what_was_expected(
    home: FamilyRecall, link: str, words: str
) -> None:
    """A mangled link is a page with status 400 and the library's message."""
    page = Browser(home).read(link, 400)

    see_that_it_is_well_formed(page)
    assert words in page.text


@pytest.mark.parametrize("link", ["/?q=x&space=private:priya", "/browse?space=nowhere",
                                  "/memory?id=nothing", "/memory"])  # fmt: skip
def test_an_unknown_memory_or_space_is_not_found(home: FamilyRecall, link: str) -> None:
    """Another person's space looks the same as one that does not exist."""
    assert "That did not work" in Browser(home).read(link, 404).text


def test_people_and_spaces_are_those_the_reader_shares(home: FamilyRecall) -> None:
    """Rajesh sees his spaces and who is in them; of Priya's private space, nothing."""
    home.people.add(Person("zoltan", "Zoltan"))
    home.spaces.add(Space("private:zoltan", "private", "Zoltan's den"))
    home.spaces.grant(Grant("zoltan", "private:zoltan", "owner"))

    page = Browser(home).read("/people")

    see_that_it_is_well_formed(page)
    assert all(name in page.text for name in ("Only you", "Priya Rao", "Mia"))
    assert "private:" not in page.text
    assert "Zoltan" not in page.text


@pytest.mark.parametrize("link", ["/correct?id=mine", "/relate?id=mine", "/forget?id=mine",
                                  "/forgotten", "/receipt?id=1", "/feedback", "/undo",
                                  "/restore?id=1", "/add", "/unrelate?id=mine"])  # fmt: skip
def test_read_only_pages_cannot_change_anything(mine: FamilyRecall, link: str) -> None:
    """Pages that edit do not exist, whatever is sent to them, and no page has such a form."""
    browser, before = Browser(mine, read_only=True), mine.maintenance.stats()["memories"]

    browser.read(link, 404)
    answer = browser.client.post(link, headers={"Origin": "http://127.0.0.1:8787"})
    assert answer.status_code == 404
    for page in (*READ, MINE):
        assert not [form for form in browser.read(page).forms if form["method"] == "post"]
    assert mine.maintenance.stats()["memories"] == before
    assert "reading only" in browser.read("/").text
