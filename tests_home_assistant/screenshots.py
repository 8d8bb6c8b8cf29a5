"""Make the screenshots of the guide: a real Home Assistant, used in a real browser.

Needs `playwright` beside what the tests need, and a Chromium.

Examples:
  build/home-assistant/bin/python -m tests_home_assistant.screenshots
  build/home-assistant/bin/python -m tests_home_assistant.screenshots --browser /usr/bin/chromium
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path

import aiohttp
from playwright.async_api import Page, async_playwright

from tests_home_assistant.live import AGENT, ROOT, Live, say

FOLDER = ROOT / "docs" / "how-to" / "images"
SIZE = {"width": 1000, "height": 760}
ASKED = (
    "Remember for everyone that the spare key is under the blue pot",
    "Where is the spare key?",
    "What is Bob's shoe size?",
)


async def log_in(page: Page, home: Live) -> None:
    """Open the frontend as the user whom the token is of."""
    tokens = {
        "access_token": home.token,
        "token_type": "Bearer",
        "expires_in": 1800,
        "hassUrl": home.url,
        "clientId": f"{home.url}/",
        "expires": 9_999_999_999_999,
        "refresh_token": "",
    }
    await page.add_init_script(
        f"localStorage.setItem('hassTokens', {json.dumps(json.dumps(tokens))})"
    )


async def shoot(page: Page, name: str) -> None:
    """Save what the page shows."""
    path = FOLDER / f"{name}.png"
    await page.wait_for_timeout(1500)  # the dialogs open slowly
    await page.screenshot(path=path)
    say(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")


async def config_flow(page: Page, home: Live) -> None:
    """Add the integration by its dialog, as an owner does."""
    await page.goto(f"{home.url}/config/integrations/dashboard/add?domain=family_recall")
    confirm = page.get_by_role("button", name="OK", exact=True)
    await confirm.click()
    await page.get_by_text("Who lives here").first.wait_for()
    await shoot(page, "home-assistant-config-flow")


async def assist(page: Page, home: Live) -> None:
    """Ask by text in the dialog of Assist."""
    await page.goto(f"{home.url}/config/integrations/integration/family_recall")
    await page.get_by_text("Family").first.wait_for()
    await shoot(page, "home-assistant-integration")
    await page.goto(f"{home.url}/?conversation=1")
    field = page.get_by_label("Enter a request")
    await field.wait_for()
    for text in ASKED:
        await field.fill(text)
        await field.press("Enter")
        await page.wait_for_timeout(2500)
    await shoot(page, "home-assistant-assist")


async def main(browser: str) -> None:
    """Make them all."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        async with aiohttp.ClientSession() as session, async_playwright() as playwright:
            home = Live(Path(name), session, more="frontend:\nassist_pipeline:\n")
            chromium = await playwright.chromium.launch(
                executable_path=browser, args=["--no-sandbox"]
            )
            async with home.running():
                for step in ("core_config", "integration", "analytics"):
                    data = {"client_id": f"{home.url}/", "redirect_uri": f"{home.url}/"}
                    await home.post(f"onboarding/{step}", data if step == "integration" else {})
                page = await chromium.new_page(viewport=SIZE)
                await log_in(page, home)
                await config_flow(page, home)
                await home.flow("family_recall", file="family.db", people=["person.alice"])
                (pipeline,) = (await home.command("assist_pipeline/pipeline/list"))["pipelines"]
                changed = {key: value for key, value in pipeline.items() if key != "id"}
                changed |= {"conversation_engine": AGENT, "name": "Family Recall"}
                await home.command(
                    "assist_pipeline/pipeline/update", pipeline_id=pipeline["id"], **changed
                )
                await assist(page, home)
                await chromium.close()


if __name__ == "__main__":
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--browser", default="/usr/bin/chromium", help="(default: /usr/bin/chromium)"
    )
    asyncio.run(main(options.parse_args().browser))
