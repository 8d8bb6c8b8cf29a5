"""Reports in a real browser, on a phone and on a desk: nothing is cut off without a sign of it.

Needs a Chromium on the PATH; without one they are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from family_recall.apps.reports import recall
from tests.apps.reports.test_evaluation import household, page, report, speed
from tests.apps.reports.test_recall import answer, missed, result
from tests.page_checks import (
    CHROMIUM,
    HUES,
    OUTSIDE,
    WIDER_THAN_THE_WINDOW,
    hues,
    pictures_of,
)

WINDOWS = {390: 844, 1280: 900}
MAX_COLOURS = 5
SCROLLED = """() => [...document.querySelectorAll('*')].filter(
  element => element.scrollWidth > element.clientWidth + 1
    && getComputedStyle(element).overflowX !== 'visible' && element.clientWidth > 1
).map(element => [element.className, getComputedStyle(element).backgroundAttachment])"""
"""What scrolls sideways: its class, and how its backgrounds move."""

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium on the PATH: apt install chromium"
)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write one report of each kind."""
    folder = tmp_path_factory.mktemp("reports")
    asked = recall.page(answer(result(1), result(2)), budget_ms=20.0, missed=(missed(),))
    pages = {
        "eval": page(report()),
        "bench": household(budget_ms=60.0),
        "speed": speed(),
        "recall": asked,
    }
    for name, html in pages.items():
        (folder / f"{name}.html").write_text(html, "utf-8")
    return {name: folder / f"{name}.html" for name in pages}


@pytest.fixture(scope="module")
def window() -> Iterator[Any]:
    """Open a browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser.new_page()
        browser.close()


@pytest.mark.parametrize("width", WINDOWS)
@pytest.mark.parametrize("name", ["eval", "bench", "speed", "recall"])
def test_nothing_is_cut_off_unseen(
    window: Any, reports: dict[str, Path], name: str, width: int
) -> None:
    """The page fits, its navigation is whole, and what scrolls has shadows at its edges."""
    window.set_viewport_size({"width": width, "height": WINDOWS[width]})
    window.goto(reports[name].as_uri())
    for details in window.query_selector_all("details"):
        details.evaluate("element => { element.open = true }")
    scrolled = window.evaluate(SCROLLED)

    assert window.evaluate(WIDER_THAN_THE_WINDOW) == 0
    assert window.evaluate(OUTSIDE) == []
    assert all("local" in moves and "scroll" in moves for _, moves in scrolled), scrolled
    if (name, width) == ("eval", 390):
        assert scrolled


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["eval", "bench", "speed", "recall"])
def test_a_report_has_five_colours_at_most(
    window: Any, reports: dict[str, Path], name: str, scheme: Any
) -> None:
    """Besides black, white and greys."""
    window.emulate_media(color_scheme=scheme)
    window.goto(reports[name].as_uri())

    assert 1 <= len(hues(window.evaluate(HUES))) <= MAX_COLOURS


@pytest.mark.parametrize(("name", "n"), [("eval", 1), ("bench", 2)])
def test_a_budget_is_drawn_in_every_plot_of_time(window: Any, name: str, n: int) -> None:
    """As an upright red line, which is in the picture and not at its clipped edge."""
    html = {"eval": lambda: page(report()), "bench": lambda: household(budget_ms=60.0)}[name]()
    boxes = []
    for picture in pictures_of(html):
        window.set_content(picture)
        whole = window.query_selector("svg").bounding_box()
        lines = window.query_selector_all("svg path[style*='stroke: var(--bad)']")
        boxes += [(line.bounding_box(), whole) for line in lines]

    assert len(boxes) == n
    for box, whole in boxes:
        assert whole["x"] < box["x"] < whole["x"] + whole["width"]
        assert box["height"] > 50
