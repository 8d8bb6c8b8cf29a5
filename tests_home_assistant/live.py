"""Start a real Home Assistant, and print what is done and said: from the first dialog to a restore.

Nothing is faked: the process is `hass`, and all is done over its HTTP and WebSocket interfaces, as
the frontend does. Exit status 1 if an answer is not the expected one.

Examples:
  build/home-assistant/bin/python -m tests_home_assistant.live
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import sys
import tarfile
import tempfile
from collections.abc import AsyncGenerator, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
from homeassistant.const import REQUIRED_PYTHON_VER

ROOT = Path(__file__).resolve().parent.parent
AGENT, CALENDAR = "conversation.family_recall", "calendar.family"
KEY = "the spare key is under the blue pot"
CONFIGURATION = """
homeassistant: {{name: Home, time_zone: Europe/Berlin, country: DE, unit_system: metric}}
http: {{server_host: 127.0.0.1, server_port: {port}}}
api:
backup:
config:
conversation:
onboarding:
person:
websocket_api:
logger: {{default: error}}
"""


class Live:
    """A running Home Assistant, and somebody who is logged in to it."""

    def __init__(
        self,
        folder: Path,
        session: aiohttp.ClientSession,
        token: str | None = None,
        *,
        more: str = "",
    ) -> None:
        """Write the configuration into a folder, with ``more`` lines at its end.

        The token is of a user who is there already.
        """
        self.folder = folder
        self._session = session
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.token = token
        self._last_id = 0
        (folder / "configuration.yaml").write_text(CONFIGURATION.format(port=port) + more)
        code = shutil.ignore_patterns("__pycache__")
        shutil.copytree(
            ROOT / "custom_components",
            folder / "custom_components",
            ignore=code,
            dirs_exist_ok=True,
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Start the process, log in, and stop it at the end."""
        # The library is on PYTHONPATH, so that pip has nothing to install.
        command = (sys.executable, "-m", "homeassistant", "-c", str(self.folder), "--skip-pip")
        log = (self.folder / "output.txt").open("w")
        process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
        try:
            for _ in range(600):
                with contextlib.suppress(aiohttp.ClientError):
                    if (await self._session.get(f"{self.url}/manifest.json")).status < 500:
                        break
                assert process.returncode is None, (self.folder / "output.txt").read_text()
                await asyncio.sleep(0.1)
            await self._log_in()
            async with self._session.ws_connect(f"{self.url}/api/websocket") as self._socket:
                await self._socket.receive_json()
                await self._socket.send_json({"type": "auth", "access_token": self.token})
                assert (await self._socket.receive_json())["type"] == "auth_ok"
                self._last_id = 0
                await self.until(lambda config: config["state"] == "RUNNING", "get_config")
                yield
                process.terminate()
                status = await asyncio.wait_for(process.wait(), 60)
                assert status == 0, (self.folder / "output.txt").read_text()
                assert "non-daemonic threads" not in (self.folder / "output.txt").read_text()
        finally:
            log.close()
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()

    async def _log_in(self) -> None:
        if self.token is not None:
            return
        user = {
            "client_id": f"{self.url}/",
            "name": "Alice",
            "username": "alice",
            "password": "a password",
            "language": "en",
        }
        code = await self.post("onboarding/users", user)
        grant = {"grant_type": "authorization_code", "code": code["auth_code"]}
        form = {**grant, "client_id": user["client_id"]}
        async with self._session.post(f"{self.url}/auth/token", data=form) as response:
            self.token = (await response.json())["access_token"]

    async def post(self, path: str, data: dict[str, Any]) -> Any:
        """Send JSON to the HTTP interface."""
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        url = f"{self.url}/api/{path}"
        async with self._session.post(url, json=data, headers=headers) as response:
            assert response.ok, f"{path}: {response.status} {await response.text()}"
            return await response.json()

    async def command(self, kind: str, **fields: Any) -> Any:
        """Send a command over the WebSocket."""
        self._last_id += 1
        await self._socket.send_json({"id": self._last_id, "type": kind, **fields})
        while (reply := await self._socket.receive_json())["id"] != self._last_id:
            pass
        assert reply["success"], reply
        return reply["result"]

    async def until(self, holds: Callable[[Any], Any], kind: str) -> None:
        """Send a command again and again until its result is as wanted."""
        for _ in range(300):
            if holds(await self.command(kind)):
                return
            await asyncio.sleep(0.2)
        raise TimeoutError(kind)

    async def action(self, domain: str, name: str, **data: Any) -> None:
        """Call an action."""
        await self.command("call_service", domain=domain, service=name, service_data=data)

    async def flow(self, handler: str, **answers: Any) -> str:
        """Add an integration by its dialog; return its entry's id."""
        form = await self.post("config/config_entries/flow", {"handler": handler})
        done = await self.post(f"config/config_entries/flow/{form['flow_id']}", answers)
        assert done["type"] == "create_entry", done
        entry_id: str = done["result"]["entry_id"]
        return entry_id

    async def say(self, text: str, expected: str) -> None:
        """Print what the agent replies to a sentence, and check it."""
        reply = await self.command("conversation/process", text=text, agent_id=AGENT)
        speech = reply["response"]["speech"]["plain"]["speech"]
        say(f"    Alice: {text}\n    Home:  {speech}")
        assert expected in speech, f"expected {expected!r}"


async def first_day(home: Live) -> None:
    """Set up, remember, recall, and follow a calendar."""
    say("1. Set up by the dialog")
    entry_id = await home.flow("family_recall", file="family.db", people=["person.alice"])
    say("2. Remember and recall by text")
    await home.say("Remember for everyone that the spare key is under the blue pot", "everyone")
    await home.say("Where is the spare key?", KEY)
    await home.say("What is Bob's shoe size?", "nothing")
    say("3. A calendar's event: written, moved, deleted")
    await home.flow("local_calendar", calendar_name="Family", **{"import": "create_empty"})
    options = await home.post("config/config_entries/options/flow", {"handler": entry_id})
    await home.post(
        f"config/config_entries/options/flow/{options['flow_id']}",
        {
            "calendars": [CALENDAR],
            "todo_lists": [],
            "logbook": False,
            "unknown_voices": False,
            "time_budget_ms": 1000,
        },
    )
    first, second = (datetime.now().astimezone() + timedelta(days=days) for days in (3, 5))
    await home.action(
        "calendar",
        "create_event",
        entity_id=CALENDAR,
        summary="The dentist",
        start_date_time=first.isoformat(),
        end_date_time=(first + timedelta(hours=1)).isoformat(),
    )
    await asyncio.sleep(12)  # changes are collected for ten seconds
    question = "When is the dentist?"
    await home.say(question, f"{first:%A} {first.day} {first:%B}")
    (stored,) = home.folder.glob(".storage/local_calendar.*.ics")
    uid = stored.read_text().split("UID:")[1].split()[0]
    moved = {
        "summary": "The dentist",
        "dtstart": second.isoformat(),
        "dtend": (second + timedelta(hours=1)).isoformat(),
    }
    await home.command("calendar/event/update", entity_id=CALENDAR, uid=uid, event=moved)
    await asyncio.sleep(12)
    await home.say(question, f"{second:%A} {second.day} {second:%B}")
    await home.command("calendar/event/delete", entity_id=CALENDAR, uid=uid)
    await asyncio.sleep(12)
    await home.say(question, "nothing")


async def second_day(home: Live) -> None:
    """Recall after a restart, and make a backup."""
    say("4. After a restart")
    await home.say("Where is the spare key?", KEY)
    say("5. A backup, made while the file is in use")
    await home.command("backup/generate", agent_ids=["backup.local"], name="Test")
    await home.until(lambda info: info["state"] == "idle" and info["backups"], "backup/info")


async def third_day(home: Live) -> None:
    """Recall what the backup held."""
    say("6. Restored from the backup, whose file of the household was torn")
    await home.say("Where is the spare key?", KEY)


def restore(archive: Path, folder: Path) -> None:
    """Unpack a backup, as a restore does, with a file that was torn while it was read."""
    with tempfile.TemporaryDirectory() as name, tarfile.open(archive) as outer:
        (inner,) = (member for member in outer.getnames() if "homeassistant.tar" in member)
        with tarfile.open(fileobj=outer.extractfile(inner), mode="r:gz") as files:
            files.extractall(name, filter="data")
        shutil.copytree(Path(name) / "data", folder, dirs_exist_ok=True)
    files_of_household = sorted(path.name for path in folder.glob("family.db*"))
    say(f"    (in the backup: {', '.join(files_of_household)})")
    torn = folder / "family.db"
    torn.write_bytes(torn.read_bytes()[: torn.stat().st_size // 2])


async def main() -> None:
    """Live through three days, in two folders."""
    if sys.version_info < REQUIRED_PYTHON_VER:
        say(f"NOT RUN: this Home Assistant starts from Python {REQUIRED_PYTHON_VER} on")
        return
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        async with aiohttp.ClientSession() as session:
            home = Live(Path(first), session)
            async with home.running():
                await first_day(home)
            async with home.running():
                await second_day(home)
            (archive,) = Path(first).glob("backups/*.tar")
            restore(archive, Path(second))
            restored = Live(Path(second), session, home.token)
            async with restored.running():
                await third_day(restored)
    say("passed")


def say(line: str) -> None:
    """Print a line of the transcript at once."""
    print(line, flush=True)  # noqa: T201 - the transcript is what this is for


if __name__ == "__main__":
    asyncio.run(main())
