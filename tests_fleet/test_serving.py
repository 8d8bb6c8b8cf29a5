"""Serving a fleet: one shard a household, few open files, time from arrival, a lost node."""

from __future__ import annotations

import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ray import serve

from family_recall.apps.fleet import Options, read_catalogue
from family_recall.apps.fleet.serving import Serving, running, shard_of
from tests_fleet.conftest import TwoNodes, opened

TOKEN = "an invented token that is long enough"  # noqa: S105
TEXT = "The spare key of the boat is in the red tin"
QUESTION = "Where is the spare key of the boat?"
PLENTY = {"person_id": "p0", "time_budget_ms": 60_000.0, "allow_cross_encoder": False}


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


class Fleet:
    """A fleet that is being served."""

    def __init__(self, port: int) -> None:
        """Ask at a port."""
        self._port = port

    def post(
        self, path: str, body: Any = None, token: str = TOKEN, *, get: bool = False
    ) -> tuple[int, Any]:
        """Send a request; return status and JSON."""
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/{path}",
            data=json.dumps(body or {}).encode(),
            headers={"Authorization": f"Bearer {token}"},
            method="GET" if get else "POST",
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(asked, timeout=120) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            said = error.read().decode()
            return error.code, json.loads(said) if said.startswith("{") else said

    def recall(self, household_id: str, **ctx: Any) -> tuple[int, Any]:
        """Ask where the key is."""
        body = {"arguments": {"question": QUESTION}, "ctx": {**PLENTY, **ctx}}
        return self.post(f"{household_id}/recall", body)

    def remember(self, household_id: str) -> int:
        """Remember where the key is."""
        return self.store(household_id, TEXT)

    def store(self, household_id: str, text: str) -> int:
        """Remember a text in the household's space."""
        body = {"arguments": {"text": text}, "ctx": {**PLENTY, "space_id": "home"}}
        return self.post(f"{household_id}/remember", body)[0]

    def shards(self) -> list[dict[str, Any]]:
        """Return what each shard has open, and where it is."""
        status, shards = self.post("", get=True)
        assert status == 200
        listed: list[dict[str, Any]] = shards
        return listed


@pytest.fixture
def served(two_nodes: TwoNodes) -> Iterator[Callable[..., Fleet]]:
    """Return a function that serves a catalogue on the two nodes."""
    del two_nodes
    contexts = []

    def start(catalogue: str, **about: Any) -> Fleet:
        port = free_port()
        context = running(
            read_catalogue(catalogue), Options(), Serving(**about), token=TOKEN, port=port
        )
        context.__enter__()
        contexts.append(context)
        fleet = Fleet(port)
        patiently(lambda: fleet.post("", get=True))  # until Ray's proxy knows the way
        return fleet

    yield start
    for context in contexts:
        context.__exit__(None, None, None)


def ids(homes: Path) -> list[str]:
    """Return the ids of a folder of households."""
    return sorted(path.stem for path in homes.glob("*.db"))


def test_requests_over_http(served: Callable[..., Fleet], few: Path) -> None:
    """What is remembered is recalled; few files are open; wrong requests are answered as such."""
    names = ids(few)
    (few / "broken.db").write_bytes(b"no household")
    fleet = served(str(few), shards=2, open_files=2)

    assert fleet.remember(names[0]) == 200
    for name in names:
        assert fleet.recall(name)[0] == 200
    _, answer = fleet.recall(names[0])
    assert answer["memories"][0]["text"] == TEXT
    assert all(shard["open"] <= 2 for shard in fleet.shards())
    assert sum(shard["opened"] for shard in fleet.shards()) >= 11
    assert fleet.post("nobody/recall", {"arguments": {"question": "?"}})[0] == 404
    assert fleet.recall("broken")[0] == 500
    assert fleet.post(f"{names[0]}/recall", {}, token="another")[0] == 401  # noqa: S106
    assert fleet.post(f"{names[0]}/nosuch")[0] == 400
    assert fleet.post(f"{names[0]}/recall", {"question": "?"})[0] == 400
    status, refused = fleet.recall(names[0], time_budget_ms=0.001)
    assert (status, "were over" in refused["error"]) == (503, True)


def test_a_lost_node_is_replaced_from_the_last_backup(
    served: Callable[..., Fleet], two_nodes: TwoNodes, few: Path, tmp_path: Path
) -> None:
    """What had been put into the household's place is answered after its node was killed.

    What was remembered since is lost, and nothing else is: the file in the place is whole.
    """
    names = ids(few)
    fleet = served(f"file://{few}", shards=2, open_files=6, backup_every_s=10_000.0)
    name = next(name for name in names if shard_of(name, 2) == 0)
    assert fleet.remember(name) == 200
    assert fleet.post("backup") == (200, [1, 0])
    assert fleet.store(name, "The boat was sold") == 200
    node = fleet.shards()[0]["node"]

    number = next(i for i, each in enumerate(two_nodes.nodes) if each.node_id == node)
    two_nodes.kill(number)
    two_nodes.complete()
    status, answer = patiently(lambda: fleet.recall(name))

    assert status == 200
    assert answer["memories"][0]["text"] == TEXT
    assert "The boat was sold" not in json.dumps(answer)
    copy = tmp_path / "copy.db"
    copy.write_bytes((few / f"{name}.db").read_bytes())
    with opened(copy) as home:
        assert not [finding for finding in home.maintenance.check() if finding.problem]


def test_a_fleet_that_is_stopped_puts_everything_back(
    served: Callable[..., Fleet], few: Path
) -> None:
    """Stopped in good order, nothing that was remembered is lost."""
    names = ids(few)[:3]
    fleet = served(f"file://{few}", shards=1, open_files=3, backup_every_s=10_000.0)
    for name in names:
        assert fleet.remember(name) == 200

    serve.shutdown()

    for name in names:
        with opened(few / f"{name}.db") as home:
            best = home.recall(QUESTION, person_id="p0", time_budget_ms=60_000.0).best
            assert best is not None
            assert best.text == TEXT


def patiently(ask: Callable[[], tuple[int, Any]]) -> tuple[int, Any]:
    """Ask until there is an answer: for two minutes at most."""
    until_s = time.monotonic() + 120.0
    status, answer = ask()
    while status != 200 and time.monotonic() < until_s:
        time.sleep(0.5)
        status, answer = ask()
    return status, answer
