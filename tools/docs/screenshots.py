"""Photograph every page: browse, the page of a recall, and the reports of eval and bench.

The demo's household is served and used in a real browser, at two widths, light and dark. Needs the
dev extra and a Chromium on the PATH.

Examples:
  python -m tools.docs.screenshots
  python -m tools.docs.screenshots --only question added --width 390 --scheme light --guide
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING

from click.testing import CliRunner

from family_recall import FamilyRecall, RecallContext
from family_recall.apps.cli import main as command_line
from family_recall.apps.demo import NOW, furnished
from tools.common import ROOT, parser_of, say

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, StorageState

FOLDER = Path("build") / "screenshots"
IMAGES = ROOT / "docs" / "how-to" / "images"
GUIDE: Mapping[str, str] = {
    "browse-answer.png": "question-390-light-screen.png",
    "browse-added.png": "added-390-light-screen.png",
}
"""Pictures of the guide, by the names of those taken here."""
ASKER, BUDGET_MS = "priya", 5_000.0
WIDTHS: Mapping[int, int] = {390: 844, 1280: 900}
"""Heights of the windows, by their widths."""
MEMORY, FORGOTTEN = "allergy-test", "telescope"
ADDED = "The spare fuse for the geyser is in the blue tin"
CORRECTED = (
    "The test is back: Mira is allergic to cashews and pistachios. Almonds and peanuts are fine."
)
SCHEMES = ("light", "dark")
PAGES: Mapping[str, str] = {
    "start": "/",
    "question": "/?q=What+is+Mira+allergic+to",
    "no-match": "/?q=Which+bank+holds+the+mortgage",
    "list": "/?q=What+are+all+the+things+Mira+likes",
    "timeline": "/?q=What+did+we+do+in+August+last+year",
    "why": "/why?q=What+is+Mira+allergic+to",
    "memories": "/browse",
    "memory": f"/memory?id={MEMORY}",
    "correct": f"/correct?id={MEMORY}",
    "relate": f"/relate?id={MEMORY}",
    "forget": f"/forget?id={MEMORY}",
    "forgotten": "/forgotten",
    "add": "/add",
    "people": "/people",
    "error": "/memory?id=nothing",
}
OPENED: Mapping[str, str] = {
    f"{name}-opened": PAGES[name] for name in ("no-match", "why", "memory")
}
"""The same once more, with everything open that opens on a click."""
CHANGED = ("added", "corrected", "rejected", "receipt")
"""What follows a change, with the undo that it offers; the last is a forgetting."""
REPORTS: Mapping[str, Sequence[str]] = {
    "eval": ("eval", str(ROOT / "tools/fit/households/dunedin/dev"), "--limit", "24", "--budgets",
             "20,300", "--ablate", "graph,rerank", "--baseline", "bm25"),
    "bench": ("bench", "--invented", "400"),
}  # fmt: skip


NAMES = [*PAGES, *OPENED, *CHANGED, *REPORTS]


def main(arguments: Sequence[str] | None = None) -> int:
    """Photograph them all, or those asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help=f"default: {FOLDER}")
    parser.add_argument(
        "--only", choices=NAMES, metavar="PAGE", nargs="+", help=f"{', '.join(NAMES)}"
    )
    parser.add_argument(
        "--guide", action="store_true", help="replace the pictures that the guide shows"
    )
    parser.add_argument("--width", type=int, choices=list(WIDTHS), help="default: both")
    parser.add_argument("--scheme", choices=SCHEMES, help="default: both")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    wanted = options.only or NAMES
    widths = [options.width] if options.width else list(WIDTHS)
    schemes = [options.scheme] if options.scheme else list(SCHEMES)
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 -- an extra

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        pages = {name: path for name, path in {**PAGES, **OPENED}.items() if name in wanted}
        with served() as link:
            context = browser.new_context()
            page = context.new_page()
            page.goto(link)
            base, state = link.partition("/?")[0], context.storage_state()
            there = {name: f"{base}{path}" for name, path in pages.items()}
            shoot(browser, there, widths, schemes, options.folder, state)
            changed = {name: change(page, base, name) for name in CHANGED if name in wanted}
            shoot(browser, changed, widths, schemes, options.folder, state)
        files = {name: options.folder / f"{name}.html" for name in REPORTS if name in wanted}
        for name, file in files.items():
            write_report(name, file)
        addresses = {name: file.resolve().as_uri() for name, file in files.items()}
        shoot(browser, addresses, widths, schemes, options.folder, None)
        browser.close()
    if options.guide:
        for name, picture in GUIDE.items():
            shutil.copyfile(options.folder / picture, IMAGES / name)
    return 0


@contextlib.contextmanager
def served() -> Iterator[str]:
    """Serve the demo's household on its own day; yield the link that opens the pages."""
    from family_recall.apps.web import Reader, application, localhost  # noqa: PLC0415 -- an extra

    with (
        furnished() as path,
        FamilyRecall.open(path) as home,
    ):
        home.warmup()
        ctx = RecallContext(ASKER, time_budget_ms=BUDGET_MS, now=NOW)
        token, ready = localhost.new_token(), Queue[str]()
        app = application(Reader(home=home, ctx=ctx), token)
        server = localhost.local_server(app, 0, ready.put)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield f"{ready.get()}/?token={token}"
        finally:
            server.should_exit = True
            thread.join()


def change(page: Page, base: str, name: str) -> str:
    """Change something as a person does; return the address of the page that follows."""
    if name == "added":
        page.goto(f"{base}/add")
        page.fill("textarea", ADDED)
        page.click("button.main")
    elif name == "corrected":
        page.goto(f"{base}/correct?id={MEMORY}")
        page.fill("textarea[name=text]", CORRECTED)
        page.click("button.main")
    elif name == "rejected":
        page.goto(f"{base}{PAGES['question']}")
        page.click("text=Not this >> nth=1")
    else:
        page.goto(f"{base}/forget?id={FORGOTTEN}")
        page.click("button.danger")
    return page.url


def shoot(
    browser: Browser,
    pages: Mapping[str, str],
    widths: Sequence[int],
    schemes: Sequence[str],
    folder: Path,
    state: StorageState | None,
) -> None:
    """Save each page by its address in each width and scheme: whole, and what one screen shows."""
    for width in widths:
        for scheme in schemes:
            context = browser.new_context(
                viewport={"width": width, "height": WIDTHS[width]},
                color_scheme="dark" if scheme == "dark" else "light",
                java_script_enabled=False,
                storage_state=state,
            )
            page = context.new_page()
            for name, address in pages.items():
                page.goto(address)
                for summary in page.query_selector_all("summary") if name in OPENED else ():
                    summary.click()
                save(page, folder / f"{name}-{width}-{scheme}")
            context.close()


def save(page: Page, file: Path) -> None:
    """Save the whole page, and its first screen."""
    page.screenshot(path=file.with_suffix(".png"), full_page=True)
    page.screenshot(path=file.with_name(f"{file.name}-screen.png"))
    say(str(file.with_suffix(".png")))


def write_report(name: str, file: Path) -> None:
    """Run a command that writes a report."""
    done = CliRunner().invoke(command_line, [*REPORTS[name], "--report", str(file)])
    if done.exit_code:
        raise SystemExit(done.output)
    say(str(file))


if __name__ == "__main__":
    sys.exit(main())
