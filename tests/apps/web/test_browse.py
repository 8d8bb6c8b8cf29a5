"""The list of memories: pages and months."""

from __future__ import annotations

import datetime as dt

from family_recall import (
    FamilyRecall,
    Memory,
)
from tests.apps.web.browser import Browser, see_that_it_is_well_formed
from tests.conftest import HOME, NOW


def test_the_list_continues_page_by_page(home: FamilyRecall) -> None:
    """Ninety-seven memories are on three pages, each once, the newest first."""
    home.remember_many(
        Memory(f"Photo number {n:03}", HOME, doc_id=f"photo-{n:03}",
               occurred_at=dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=n))
        for n in range(90)
    )  # fmt: skip
    browser, link, ids = Browser(home), "/browse", list[str]()
    n_pages = 0
    while link:
        n_pages += 1
        page = browser.read(link)
        see_that_it_is_well_formed(page)
        ids += [str(a["href"]) for a in page.all("a") if str(a["href"]).startswith("/memory")]
        link = "".join(str(a["href"]) for a in page.all("a") if a.get("rel") == "next")

    assert (n_pages, len(ids), len(set(ids))) == (3, 97, 97)
    photos = [link for link in ids if "photo" in link]
    assert photos == sorted(photos, reverse=True)


def test_the_list_goes_to_the_last_day_of_the_calendar(home: FamilyRecall) -> None:
    """A link may ask for everything up to it, with a question and without."""
    browser = Browser(home)

    for link in ("/browse?", "/?q=Goa&"):
        for last in ("9999-12-31", "9998-12-31"):
            assert "Goa" in browser.read(f"{link}last={last}").text


def test_a_month_links_to_its_memories(home: FamilyRecall) -> None:
    """February 2025 counts three, and lists those three."""
    browser = Browser(home)
    look = browser.read("/browse")
    (link,) = [a["href"] for a in look.all("a") if "first=2025-02-01" in str(a["href"])]

    assert "Feb 2025, 3" in look.text
    page = browser.read(str(link))

    assert "3 memories" in page.text
    assert "Goa trip" in page.text


def test_what_is_to_come_is_not_among_the_newest(home: FamilyRecall) -> None:
    """It is counted, and in the list of all."""
    home.remember_many(
        Memory(f"Spring fair {n}", HOME, occurred_at=NOW + dt.timedelta(days=160 + n))
        for n in range(8)
    )
    start = Browser(home).read("/").text
    total = home.memories.page(person_id="priya").total

    assert "Spring fair" not in start
    assert "Goa" in start
    assert f"Browse all {total}" in start
