"""What a family sees of the demo's household in a real browser, on a phone and on a desk.

Needs a Chromium on the PATH; without one they are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from tests.page_checks import CHROMIUM, HUES, OUTSIDE, WIDER_THAN_THE_WINDOW, hues
from tools.docs.screenshots import PAGES, WIDTHS, served

PHONE = 390
MAX_COLOURS = 5
TRACKS = """() => [...document.querySelectorAll('.sure')].map(sure => {
  const box = name => sure.querySelector(name).getBoundingClientRect();
  return [box('.track').left, box('.track').width, box('.ran').width,
          parseFloat(sure.querySelector('.n').textContent)];
})"""
"""Of each bar where its track begins, its length, the length of the bar, and its figure in %."""
SEEN_WHOLE = """() => [...document.querySelectorAll('.results > li')].filter(
  card => card.checkVisibility() && card.getBoundingClientRect().bottom <= innerHeight).length"""

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium on the PATH: apt install chromium"
)


class Screen:
    """A browser's window on the demo's pages."""

    def __init__(self, page: Any, base: str) -> None:
        """Use a page in which the link was opened."""
        self.page, self.base = page, base

    def show(self, path: str, width: int = PHONE) -> Any:
        """Open a page in a window of some width."""
        self.page.set_viewport_size({"width": width, "height": WIDTHS[width]})
        self.page.goto(f"{self.base}{path}")
        return self.page


@pytest.fixture(scope="module")
def screen() -> Iterator[Screen]:
    """Serve the demo's household to Priya, on its own day."""
    with served() as link, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(link)
        yield Screen(page, link.partition("/?")[0])
        browser.close()


@pytest.mark.parametrize("name", ["question", "list", "timeline"])
def test_a_phone_shows_three_results_without_scrolling(screen: Screen, name: str) -> None:
    """Whole, with their buttons, in a window of 390 by 844."""
    page = screen.show(PAGES[name])

    assert page.evaluate(SEEN_WHOLE) >= 3


def test_where_nothing_answers_the_closest_are_behind_a_click(screen: Screen) -> None:
    """No result is seen until somebody asks for them; a password is not even then."""
    page = screen.show(PAGES["no-match"])

    assert "Nothing stored answers that" in page.inner_text("main")
    assert not page.is_visible(".results")
    page.click("summary:has-text('Closest, probably not')")
    assert page.is_visible(".results > li")
    closed = screen.show("/?q=What+is+the+dentist's+fax+number")
    assert "password" not in closed.content().casefold()


@pytest.mark.parametrize(
    ("name", "words"),
    [("timeline", ("about August 2025", "in order of time")), ("question", ("best match first",))],
)
def test_the_page_says_how_the_question_was_read(
    screen: Screen, name: str, words: tuple[str, ...]
) -> None:
    """The time that it asks about, and the order of what came back."""
    summary = screen.show(PAGES[name]).inner_text(".summary")

    assert [word for word in words if word not in summary] == []
    assert ("11 to 17 August 2025" in screen.page.inner_text(".results")) == (name == "timeline")
    assert ("about" in summary) == (name == "timeline")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["question", "list", "why"])
def test_every_bar_is_on_one_track_from_0_to_1(screen: Screen, name: str, width: int) -> None:
    """Tracks begin and end in one place, and a bar is as long as its figure says."""
    tracks = screen.show(PAGES[name], width).evaluate(TRACKS)

    assert len(tracks) >= 3
    assert len({(round(left), round(length)) for left, length, _, _ in tracks}) == 1
    for _, length, bar, percent in tracks:
        assert 100 * bar / length == pytest.approx(percent, abs=0.6)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", list(PAGES))
def test_a_page_fits_and_has_five_colours_at_most(screen: Screen, name: str, scheme: Any) -> None:
    """Nothing is wider than the window, no tab is cut off, and few colours mean something."""
    screen.page.emulate_media(color_scheme=scheme)
    for width in WIDTHS:
        page = screen.show(PAGES[name], width)
        for summary in page.query_selector_all("summary"):
            summary.evaluate("element => { element.parentElement.open = true }")

        assert page.evaluate(WIDER_THAN_THE_WINDOW) == 0
        assert page.evaluate(OUTSIDE) == []
        assert len(hues(page.evaluate(HUES))) <= MAX_COLOURS


@pytest.mark.parametrize("name", [name for name in PAGES if name != "why"])
def test_a_page_has_names_and_no_ids(screen: Screen, name: str) -> None:
    """The household's and the reader's on top, and no id of a space, a person or a memory."""
    page = screen.show(PAGES[name])
    text = page.inner_text("body")

    assert page.inner_text(".household").split("\n")[0].startswith("The Nairs")
    assert "Priya" in page.inner_text(".household")
    assert not [word for word in ("shared:", "private:", "allergy-test", "episode")
                if word in text and name != "error"]  # fmt: skip


def test_something_is_added_found_and_taken_back(screen: Screen) -> None:
    """By hand, as somebody at the kitchen table does."""
    page = screen.show("/")
    page.click("nav >> text=Add")
    page.fill("textarea", "The spare fuse for the geyser is in the blue tin")
    page.click("button:text-is('Add')")
    assert "Added." in page.inner_text(".notice")
    added = page.url
    found = screen.show("/?q=where+is+the+spare+fuse").inner_text(".results > li >> nth=0")
    assert "blue tin" in found
    page.goto(added)
    page.click("text=Undo")

    assert "Undone: what you added." in page.inner_text(".notice")
    assert "blue tin" not in screen.show("/?q=where+is+the+spare+fuse").content()


def test_each_change_is_undone_by_a_button(screen: Screen) -> None:
    """Not this, this was it, a correction, a relation, and a forgetting."""
    first = ".results > li >> nth=0 >> .text"
    page = screen.show(PAGES["question"])
    answer = page.inner_text(first)
    page.click("text=Not this >> nth=0")
    assert page.inner_text(first) != answer
    page.click("text=Undo")
    assert page.inner_text(first) == answer
    page.click("text=This was it >> nth=0")
    page.click("text=Undo")
    assert "Undone: your word on it." in page.inner_text(".notice")

    page = screen.show("/memory?id=allergy-test")
    before = page.inner_text("main")
    page.click("main >> text=Correct")
    page.fill("textarea[name=text]", "Mira is allergic to cashews.")
    page.click("text=Save")
    assert page.inner_text("ins")
    box = page.query_selector("text=Undo").bounding_box()
    assert box["width"] > box["height"]
    page.click("text=Undo")
    assert page.inner_text(".text.whole") in before
    page.click("main >> text=Relate")
    page.fill("input[name=subject]", "Mira")
    page.fill("input[name=relation]", "pupil of")
    page.fill("input[name=object]", "Mr Das")
    page.click("text=Save the relation")
    assert "pupil of" in page.inner_text("main")
    page.click("text=Undo")
    assert "pupil of" not in page.inner_text("main")
    page.click("main >> text=Forget")
    page.click("text=Forget this >> nth=-1")
    page.click("text=Undo: bring it back")
    assert page.inner_text(".notice") == "It is restored."
    assert screen.show("/memory?id=allergy-test").inner_text(".text.whole") in before
