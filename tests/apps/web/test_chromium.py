"""The pages in a real browser without scripts: opened by the link; corrected, forgotten, undone.

Needs a Chromium on the PATH; without one they are left out.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from family_recall import FamilyRecall, Grant, Memory, Person, Space
from tests.page_checks import CHROMIUM, WIDER_THAN_THE_WINDOW

START_S = 120.0
HOSTILE = (
    '</title></textarea><script>document.title="run"</script>'
    "<img src=x onerror=\"document.title='run'\">" + "w" * 5000
)

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium on the PATH: apt install chromium"
)


@contextlib.contextmanager
def served(db: Path) -> Iterator[str]:
    """Serve Rajesh's pages from a separate process; yield the link that opens them."""
    with FamilyRecall.open(db) as home:
        home.people.add(Person("rajesh", "Rajesh"))
        home.spaces.add(Space("private:rajesh", "private"))
        home.spaces.grant(Grant("rajesh", "private:rajesh", "owner"))
        for doc_id, text in (("locker", "My locker is 218"), ("evil", HOSTILE)):
            home.remember(
                Memory(text, "private:rajesh", doc_id=doc_id, author="rajesh"), embed="later"
            )
    command = [sys.executable, "-m", "family_recall", "browse", "--person", "rajesh", "--no-open"]
    process = subprocess.Popen(
        [*command, "--db", str(db), "--budget-ms", "5000"], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("open http://127.0.0.1:"), line
        yield line.removeprefix("open ").strip()
    finally:
        process.terminate()
        status = process.wait(START_S)
        if process.stderr is not None:
            process.stderr.close()
    assert status == 0
    assert not list(db.parent.glob("*-wal"))


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the pages for as long as these tests run."""
    with served(tmp_path_factory.mktemp("household") / "family.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(link: str) -> Iterator[Any]:
    """Open the link in a browser, once with scripts and once without."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(link)
        yield page, browser.new_context(storage_state=context.storage_state()).new_page()
        browser.close()


def test_the_link_opens_the_first_page(path: Path) -> None:
    """Chromium without playwright: the link, the cookie, and the first page."""
    with served(path) as opened:
        done = subprocess.run(
            [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", opened],
            capture_output=True, text=True, check=True, timeout=START_S,
        )  # fmt: skip

    assert "What would you like to know?" in done.stdout
    assert "My locker is 218" in done.stdout
    assert "token=" not in done.stdout


def test_the_token_leaves_the_address(pages: Any, link: str) -> None:
    """The cookie is for this site alone, and no script can read it."""
    page, _ = pages
    (cookie,) = page.context.cookies()

    assert "token" not in page.url
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert cookie["value"] not in link


def test_a_memory_is_edited_without_a_script(pages: Any) -> None:
    """Recalled, corrected, forgotten and restored by links and buttons alone."""
    page, _ = pages
    base = re.match(r"http://[^/]+", page.url)[0]  # type: ignore[index]  # it is one
    page.goto(f"{base}/")
    page.fill("input[name=q]", "which locker")
    page.click("button:has-text('Ask')")
    page.click("button:has-text('This was it') >> nth=0")
    assert "Noted" in page.inner_text(".notice")
    page.goto(f"{base}/memory?id=locker")
    page.click("a:has-text('Correct')")
    page.fill("textarea[name=text]", "My locker is 812")
    page.click("button:has-text('Save')")
    assert "Corrected" in page.inner_text(".notice")
    assert page.inner_text("ins") == "812"
    page.click("a:has-text('Forget') >> nth=-1")
    page.click("button:has-text('Forget this')")
    assert "812" not in page.inner_text("main")
    page.click("button:has-text('bring it back')")
    page.goto(f"{base}/memory?id=locker")
    assert "My locker is 812" in page.inner_text("main")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(
    "path",
    ["/", "/?q=w", "/browse", "/people", "/memory?id=evil", "/correct?id=evil", "/relate?id=evil",
     "/forget?id=evil", "/forgotten", "/add", "/why?q=w"],
)  # fmt: skip
def test_nothing_runs_loads_or_runs_over_the_edge(pages: Any, path: str, width: int) -> None:
    """Even in a browser that allows scripts, a hostile memory is a text that fits the window."""
    page, scripted = pages
    base = re.match(r"http://[^/]+", page.url)[0]  # type: ignore[index]  # it is one
    messages, urls = list[str](), list[str]()
    scripted.on("console", lambda message: messages.append(message.text))
    scripted.on("request", lambda request: urls.append(request.url))
    scripted.set_viewport_size({"width": width, "height": 900})

    scripted.goto(f"{base}{path}")

    assert scripted.title() != "run"
    assert scripted.evaluate(WIDER_THAN_THE_WINDOW) == 0
    assert [url for url in urls if not url.endswith("/favicon.ico")] == [f"{base}{path}"]
    assert not [line for line in messages if "favicon" not in line]
