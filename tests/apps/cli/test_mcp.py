"""``family-recall mcp``: what it refuses to start with, and that it serves over both roads."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from family_recall.apps.cli import main, serve
from tests.apps.cli.runner import FAMILY_RECALL

TOKEN = "a-token-for-these-tests"  # noqa: S105 - of these tests alone
START_S = 120.0
QUESTION = {"question": "When will grandma land?"}


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a household of Alice and Bob that remembers one thing."""
    path = tmp_path_factory.mktemp("household") / "family.db"
    said = ("add", "Grandma will land on Sunday at 6:40", "--author", "alice", "--id", "landing")
    for command, *more in (("init", "--person", "alice", "--person", "bob"), said):
        done = CliRunner().invoke(main, [command, "--db", str(path), *more])
        assert done.exit_code == 0, done.output
    return path


@pytest.fixture
def db(household: Path, tmp_path: Path) -> Path:
    """Return a household of one's own to change."""
    return shutil.copytree(household.parent, tmp_path / "home") / household.name


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ((), 2, "who asks? Give --person ID, set FAMILY_RECALL_PERSON, or write person = "),
        (("--person", "zoe"), 1, "zoe"),
        (("--person", "alice", "--space", "private:bob"), 1, "private:bob"),
        (
            ("--db", "nowhere.db", "--person", "alice"),
            1,
            "no such file; make one with: family-recall init",
        ),
        (("--person", "alice", "--port", "80"), 2, "--token-in-url need --http"),
        (("--person", "alice", "--allow-host", "home"), 2, "need --http"),
        (("--person", "alice", "--http", "--bind", "192.168.1.7"), 2, "--bind needs --allow-host"),
        (("--person", "alice", "--token-file", "{db}"), 2, "need --http"),
        (("--person", "alice", "--http", "--port", "70000"), 2, "0<=x<=65535"),
        (("--person", "alice", "--http", "--token-file", "nowhere"), 2, "does not exist"),
        (("--person", "alice", "--http", "--token-file", "{short}"), 1, "16 or more"),
        (("--person", "alice", "--budget-ms", "0"), 1, "--budget-ms must be a number"),
    ],
)
def test_what_cannot_be_served_is_refused_at_once(
    db: Path, tmp_path: Path, args: tuple[str, ...], code: int, message: str
) -> None:
    """One line on stderr, nothing on stdout, and no server."""
    short = tmp_path / "short"
    short.write_text("short\n")

    result = CliRunner().invoke(
        main, ["mcp", "--db", str(db), *(arg.format(db=db, short=short) for arg in args)]
    )

    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""
    if code == 1:
        assert result.stderr.count("\n") == 1


def test_without_the_extra_it_says_how_to_add_it(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing package is named, with the command that brings it."""
    for name in [name for name in sys.modules if name.startswith("family_recall.apps.mcp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("family_recall.apps.mcp", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server", None)

    result = CliRunner().invoke(main, ["mcp", "--db", str(db), "--person", "alice"])

    assert result.exit_code == 1
    assert result.stderr == (
        "Error: mcp.server is not installed; add it with: pip install 'family-recall[mcp]'\n"
    )


def test_a_token_is_taken_from_the_file_or_else_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file comes first; white space around a token is none of it; none is none."""
    file = tmp_path / "token"
    file.write_text(f" {TOKEN}\n")

    monkeypatch.delenv(serve.TOKEN_VARIABLE, raising=False)
    assert serve.read_token(None) is None
    monkeypatch.setenv(serve.TOKEN_VARIABLE, "from the environment ")
    assert serve.read_token(None) == "from the environment"
    assert serve.read_token(file) == TOKEN


def test_the_sdks_client_speaks_to_a_process_of_its_own(db: Path) -> None:
    """Over standard input and output: remember, recall, and a space of another's stays closed."""
    args = ["-m", "family_recall", "mcp", "--db", str(db), "--person", "bob", "--budget-ms", "5000"]

    async def talk() -> Any:
        async with Client(StdioServerParameters(command=sys.executable, args=args)) as client:
            kept = await client.call_tool("remember", {"text": "Bob's locker is number 218"})
            found = await client.call_tool("recall", {"question": "Which locker is Bob's?"})
            theirs = await client.call_tool("recall", {**QUESTION, "person_id": "alice"})
            return kept.structured_content, found.structured_content, theirs

    kept, found, theirs = anyio.run(talk)

    assert kept["space_id"] == "private:bob"
    assert found["memories"][0]["doc_id"] == kept["doc_id"]
    assert theirs.is_error
    asked = ["recall", "--db", str(db), "Which locker is Bob's?", "--person", "alice"]
    assert "218" not in CliRunner().invoke(main, asked).stdout


@contextlib.contextmanager
def served(db: Path, *more: str, token: str | None = None) -> Iterator[tuple[Any, str, str]]:
    """Run the command over HTTP; gives the process, its URL and its token."""
    command = [*FAMILY_RECALL, "mcp", "--db", db, "--http"]
    environment = {**os.environ, serve.TOKEN_VARIABLE: token or ""}
    process = subprocess.Popen(
        [*map(str, command), "--person", "alice", "--port", "0", *more],
        env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        listening = process.stderr.readline().split()
        assert listening[:2] == ["listening", "on"], (listening, process.stderr.read())
        said = process.stderr.readline().split() if token is None else ["token", token]
        assert said[0] == "token"
        yield process, listening[2], said[1]
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def test_it_serves_http_to_who_knows_the_token(db: Path) -> None:
    """The token it made lets in, and nothing else does; told to stop, it stops with 0."""
    with served(db, "--read-only") as (process, url, token):

        async def talk() -> Any:
            headers = {"Authorization": f"Bearer {token}"}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=START_S) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                listed = [tool.name for tool in (await client.list_tools()).tools]
                return listed, await client.call_tool("recall", QUESTION)

        listed, found = anyio.run(talk)
        refused = [
            httpx2.post(url, json={}, headers=headers, timeout=START_S).status_code
            for headers in (
                {},
                {"Authorization": f"Bearer {TOKEN}"},
                {"Authorization": f"Bearer {token}", "Host": "evil.example"},
                {"Authorization": f"Bearer {token}", "Origin": "http://evil.example"},
            )
        ]
        process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        status = process.wait(START_S)

    assert url.startswith("http://127.0.0.1:")
    assert listed == ["recall", "timeline", "explain"]
    assert found.structured_content["memories"][0]["doc_id"] == "landing"
    assert refused == [401, 401, 421, 403]
    assert status == 0, time.monotonic() - begun
    assert not list(db.parent.glob("*-wal"))


def test_a_token_of_ones_own_is_not_said(db: Path) -> None:
    """The environment's token lets in, and stands in no output; a second server finds no room."""
    with served(db, token=TOKEN) as (process, url, token):
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        answered = httpx2.post(url, json=body, headers=headers, timeout=START_S)
        port = url.rsplit(":", 1)[1].split("/")[0]
        command = [*FAMILY_RECALL, "mcp", "--db", str(db), "--person", "alice"]
        second = subprocess.run(
            [*command, "--http", "--port", port],
            capture_output=True, text=True, check=False, timeout=START_S,
        )  # fmt: skip
        process.send_signal(signal.SIGINT)
        status = process.wait(START_S)
        rest = process.stderr.read()

    assert answered.status_code == 200
    assert status == 0
    assert TOKEN not in rest
    assert second.returncode != 0
    assert "address already in use" in second.stderr
    assert "Traceback" not in second.stderr
