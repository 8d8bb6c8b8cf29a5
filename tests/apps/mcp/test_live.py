"""The MCP server on real sockets: malformed requests, many connections, two people, a shutdown."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from family_recall import FamilyRecall, RecallContext
from family_recall.apps.mcp import application, build
from family_recall.apps.web import localhost
from tests.conftest import NOW, PLENTY_MS, open_home, remember

PATIENCE_S = 30.0
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "recall", "arguments": {"question": "Where is the spare key?"}},
}
WHERE_THE_PARTY_IS = "Elena"
CLOSE = "Connection: close"
WHOLE = json.dumps(CALL).encode()


class Listening:
    """A server of one person on a port of this machine."""

    def __init__(self, home: FamilyRecall, person_id: str, **how: Any) -> None:
        self.token = localhost.new_token()
        ctx = RecallContext(person_id, time_budget_ms=PLENTY_MS, now=NOW)
        addresses: queue.Queue[str] = queue.Queue()
        app = application(build(home, ctx), self.token, **how)
        self._server = localhost.local_server(app, 0, addresses.put)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        self.port = int(addresses.get(timeout=PATIENCE_S).rsplit(":", 1)[1])

    def stop(self) -> None:
        """Shut down as on Ctrl-C, and wait for it."""
        self._server.should_exit = True
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def connect(self) -> socket.socket:
        """Open a connection."""
        return socket.create_connection((localhost.HOST, self.port), PATIENCE_S)

    def head(self, *lines: str, length: int | None = len(WHOLE)) -> bytes:
        """Write the head of a request with the token."""
        sized = [] if length is None else [f"Content-Length: {length}"]
        fixed = ["Host: 127.0.0.1", f"Authorization: Bearer {self.token}"]
        typed = ["Content-Type: application/json", "Accept: application/json"]
        return written("POST /mcp HTTP/1.1", *fixed, *typed, *sized, *lines)

    def sent(self, request: bytes) -> bytes:
        """Send bytes; return all that is answered until the server hangs up."""
        with self.connect() as connection:
            connection.sendall(request)
            return everything(connection)

    def call(self, name: str, call_id: int, **arguments: Any) -> Any:
        """Call a tool; return the response of the protocol."""
        params = {"name": name, "arguments": arguments}
        body = json.dumps({**CALL, "id": call_id, "params": params})
        connection = http.client.HTTPConnection(localhost.HOST, self.port, timeout=PATIENCE_S)
        with contextlib.closing(connection):
            headers = {
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                "Accept": "application/json",
            }
            connection.request("POST", "/mcp", body, headers)
            return json.loads(connection.getresponse().read())


def written(*lines: str) -> bytes:
    """Write the head of a request."""
    return "\r\n".join([*lines, "", ""]).encode()


def everything(connection: socket.socket) -> bytes:
    """Return what comes until the other end hangs up."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


@contextlib.contextmanager
def listening(home: FamilyRecall, person_id: str = "rajesh") -> Iterator[Listening]:
    """Serve one person until the block ends."""
    server = Listening(home, person_id)
    try:
        yield server
    finally:
        server.stop()


@pytest.mark.parametrize(
    "lines",
    [
        ("Host: evil.example",),
        ("Content-Length: 5",),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding : chunked",),
        ("Content-Length: +5",),
        ("X: a\0b",),
        ("no colon",),
    ],
)
def test_a_head_that_can_be_read_in_two_ways_is_refused(
    home: FamilyRecall, lines: tuple[str, ...]
) -> None:
    """Two hosts, two lengths, an unknown coding or a control character is 400, and no call."""
    with listening(home) as server:
        answered = server.sent(server.head(*lines) + WHOLE)

    assert answered.startswith(b"HTTP/1.1 400 ")
    assert b"blue pot" not in answered


def test_what_follows_a_body_needs_a_token_of_its_own(home: FamilyRecall) -> None:
    """A second request hidden behind the body of the first is refused like any other."""
    length = f"Content-Length: {len(WHOLE)}"
    hidden = written("POST /mcp HTTP/1.1", "Host: 127.0.0.1", CLOSE, length)
    with listening(home) as server:
        behind_length = server.sent(server.head() + WHOLE + hidden + WHOLE)
        smuggled = b"0\r\n\r\n" + hidden + WHOLE
        chunked = server.head("Transfer-Encoding: chunked", length=len(smuggled))
        behind_chunks = server.sent(chunked + smuggled)

    assert behind_length.count(b"HTTP/1.1 200 OK") == 1
    assert b"401 Unauthorized" in behind_length
    assert b"blue pot" not in behind_chunks


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 60_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        json.dumps([CALL, CALL]).encode(),
        b"[]",
        b"null",
        WHOLE.replace(b'"2.0"', b'"1.0"'),
        WHOLE.replace(b"spare key", b"\xff\xfe"),
        WHOLE.replace(b"spare key", b"\\ud800"),
        WHOLE.replace(b'"question": "Where', b'"question": 1' + b"0" * 5_000 + b', "x": "Where'),
        WHOLE.decode().encode("utf-16"),
    ],
)
def test_a_body_that_is_no_call_is_refused(home: FamilyRecall, body: bytes) -> None:
    """Nested deep, in a batch, of another version, no UTF-8 or with a huge number: an error."""
    with listening(home) as server:
        answered = server.sent(server.head(CLOSE, length=len(body)) + body)
        next_call = server.call("recall", 7, question="Where is the spare key?")

    assert answered.startswith(b"HTTP/1.1 400 ")
    assert next_call["id"] == 7
    assert not next_call["result"]["isError"]


def test_a_header_of_a_proxy_changes_nothing(home: FamilyRecall) -> None:
    """What claims to be forwarded is neither trusted with another Host nor with another client."""
    forwarded = ("X-Forwarded-Host: evil.example", "X-Forwarded-For: 10.0.0.9")
    with listening(home) as server:
        assert b"200 OK" in server.sent(server.head(*forwarded, CLOSE) + WHOLE)


def test_a_request_that_never_ends_is_closed(
    home: FamilyRecall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection with no head, half a head or half a body is closed when its time is up."""
    monkeypatch.setattr(localhost, "REQUEST_TIMEOUT_S", 0.05)
    with listening(home) as server:
        for begun in (b"", b"POST /mcp HTTP/1.1\r\nHost: 127", server.head() + WHOLE[:10]):
            with server.connect() as connection:
                connection.sendall(begun)
                assert everything(connection) == b""


def test_connections_past_the_bound_are_refused_and_the_others_answered(
    home: FamilyRecall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many connect, no more files are open than the bound; one that is open still works."""
    monkeypatch.setattr(localhost, "MAX_CONNECTIONS", 3)
    with listening(home) as server, contextlib.ExitStack() as stack:
        first = [stack.enter_context(server.connect()) for _ in range(3)]
        for _ in range(20):
            with server.connect() as refused:
                assert everything(refused) == b""
        first[1].sendall(server.head(CLOSE) + WHOLE)
        assert b"blue pot" in everything(first[1])
        answered = server.call("recall", 2, question="Where is the spare key?")  # there is room

    assert not answered["result"]["isError"]


def test_two_people_at_once_get_their_own_answers(home: FamilyRecall) -> None:
    """Forty calls at once to Priya's and Rajesh's servers each get their own id and text."""
    remember(
        home, f"The surprise party is at {WHERE_THE_PARTY_IS}'s", "private:priya", doc_id="party"
    )
    question = "Where is the surprise party?"
    with listening(home, "rajesh") as his, listening(home, "priya") as hers:

        def ask(n: int) -> tuple[bool, Any]:
            server = hers if n % 2 else his
            return server is hers, server.call("recall", n, question=question)

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(ask, range(40)))
        foreign = server_status(his, hers.token)

    for n, (is_hers, answer) in enumerate(answers):
        assert answer["id"] == n
        assert (WHERE_THE_PARTY_IS in json.dumps(answer)) == is_hers
    assert foreign == 401


def test_what_was_acknowledged_before_a_shutdown_is_stored(path: Path, home: FamilyRecall) -> None:
    """Stopped amid calls that store, it stops, and what it answered is in the file."""
    server = Listening(home, "rajesh")
    some_stored = threading.Event()

    def store(n: int) -> list[str]:
        stored: list[str] = []
        with contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                answer = server.call("remember", n, text=f"Note {len(stored)} of {n}")
                if "result" not in answer or answer["result"]["isError"]:
                    break
                stored.append(answer["result"]["structuredContent"]["doc_id"])
                some_stored.set()
        return stored

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(store, n) for n in range(4)]
        assert some_stored.wait(PATIENCE_S)
        server.stop()
        acknowledged = [doc_id for each in running for doc_id in each.result(PATIENCE_S)]
    home.close()

    assert acknowledged
    with open_home(path, create=False) as reopened:
        for doc_id in acknowledged:
            detail = reopened.memories.get(doc_id, RecallContext("rajesh"))
            assert detail.current.memory.doc_id == doc_id


def server_status(server: Listening, token: str) -> int:
    """Return the status of a request with a token."""
    connection = http.client.HTTPConnection(localhost.HOST, server.port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request("POST", "/mcp", WHOLE, {"Authorization": f"Bearer {token}"})
        return connection.getresponse().status


def test_a_client_that_knows_a_url_alone_is_answered(home: FamilyRecall) -> None:
    """Over either transport, with the token in the path; a session ends with its connection."""
    server = Listening(home, "rajesh", token_in_url=True)
    root = f"http://127.0.0.1:{server.port}/{server.token}"

    async def ask(streams: Any) -> str:
        async with (
            streams as (incoming, outgoing, *_),
            ClientSession(incoming, outgoing) as session,
        ):
            await session.initialize()
            assert "recall" in {tool.name for tool in (await session.list_tools()).tools}
            return str(await session.call_tool("recall", {"question": "Where is the spare key?"}))

    async def ask_twice() -> list[str]:
        transports = (sse_client(f"{root}/sse"), streamable_http_client(f"{root}/mcp"))
        return [await ask(streams) for streams in transports]

    try:
        answers = anyio.run(ask_twice)
    finally:
        server.stop()
    assert all("blue pot" in answer for answer in answers)
