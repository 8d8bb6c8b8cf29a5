"""The MCP server over HTTP: the token, Host and Origin, and the SDK's own client."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from family_recall import FamilyRecall, RecallContext
from family_recall.apps.mcp import application, build
from family_recall.apps.web.localhost import MIN_TOKEN_CHARS, new_token
from family_recall.errors import InvalidRequestError
from tests.conftest import NOW, PLENTY_MS

_T = TypeVar("_T")
TOKEN = "a-token-for-these-tests"  # noqa: S105 - of these tests alone
URL = "http://127.0.0.1:8787"
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def connect(home: FamilyRecall, run_client: Callable[[httpx2.AsyncClient], Awaitable[_T]]) -> _T:
    """Run Rajesh's application without a port; return what ``run_client`` returns."""

    async def run() -> _T:
        ctx = RecallContext("rajesh", time_budget_ms=PLENTY_MS, now=NOW)
        server = build(home, ctx)
        app = application(server, TOKEN)
        async with (
            server.session_manager.run(),
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=URL) as client,
        ):
            return await run_client(client)

    return anyio.run(run)


def post(home: FamilyRecall, body: Any = LISTING, *, path: str = "/mcp", **headers: str) -> Any:
    """Send one request with these headers and return the response."""
    all_headers = {
        "Authorization": f"Bearer {TOKEN}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    all_headers = {name: value for name, value in all_headers.items() if value}

    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def run_client(client: httpx2.AsyncClient) -> Any:
        return await client.post(path, content=content, headers=all_headers)

    return connect(home, run_client)


def test_a_request_with_the_token_is_answered(home: FamilyRecall) -> None:
    """One request lists the tools; no session has to be opened first."""
    response = post(home)

    assert response.status_code == 200, response.text
    names = [tool["name"] for tool in response.json()["result"]["tools"]]
    assert names[0] == "recall"


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        TOKEN,
        "Bearer ",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Digest {TOKEN}",
        f"Bearer {TOKEN}, Bearer {TOKEN}",
        f"Basic {TOKEN}",
        f"Bearer {TOKEN.upper()}",
    ],
)
@pytest.mark.parametrize("url_path", ["/mcp", "/", "/nowhere"])
def test_a_request_without_the_token_is_refused(
    home: FamilyRecall, authorization: str, url_path: str
) -> None:
    """No token, a part of it, another scheme or another token is 401, on any path."""
    response = post(home, path=url_path, Authorization=authorization)

    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert "tools" not in response.text
    assert TOKEN not in response.text


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8787", "127.0.0.1.evil.example:8787", "192.168.1.7:8787"]
)
def test_a_foreign_host_is_refused(home: FamilyRecall, host: str) -> None:
    """A name that was made to point here (DNS rebinding) is misdirected: 421."""
    assert post(home, Host=host).status_code == 421


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://evil.example:8787",
        "http://localhost.evil.example:8787",
        "https://claude.ai",
        "null",
    ],
)
def test_a_foreign_origin_is_refused(home: FamilyRecall, origin: str) -> None:
    """A page of another site is refused, even with the token."""
    assert post(home, Origin=origin).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8787", "localhost:8787", "localhost:1234"])
def test_this_machines_own_names_are_accepted(home: FamilyRecall, host: str) -> None:
    """Each name works, with its own origin or none."""
    assert post(home, Host=host).status_code == 200
    assert post(home, Host=host, Origin=f"http://{host}").status_code == 200


def test_a_body_longer_than_any_call_needs_is_refused(home: FamilyRecall) -> None:
    """65,537 bytes are too many; the longest text, escaped, is not."""
    assert post(home, b" " * 65_537).status_code == 413
    call = {
        **LISTING,
        "method": "tools/call",
        "params": {"name": "remember", "arguments": {"text": "\x01" * 4000}},
    }
    assert post(home, call).status_code == 200  # 24,000 bytes


@pytest.mark.parametrize("token", ["", "short", "x" * (MIN_TOKEN_CHARS - 1), "ü" * 20, "x\n" * 10])
def test_an_unsafe_token_is_refused(home: FamilyRecall, token: str) -> None:
    """Short tokens can be guessed, and some characters cannot stand in a header."""
    with pytest.raises(InvalidRequestError, match="16 or more printable ASCII characters"):
        application(build(home, RecallContext("rajesh")), token)


def test_a_new_token_is_long_and_never_the_same() -> None:
    """256 bits in 43 characters."""
    tokens = {new_token() for _ in range(100)}

    assert len(tokens) == 100
    assert {len(token) for token in tokens} == {43}


def test_the_sdks_client_recalls_over_http(home: FamilyRecall) -> None:
    """From the handshake to an answer, with the token in the header."""

    async def run_client(http: httpx2.AsyncClient) -> Any:
        http.headers["Authorization"] = f"Bearer {TOKEN}"
        async with Client(streamable_http_client(f"{URL}/mcp", http_client=http)) as client:
            return await client.call_tool("recall", {"question": "Where is the spare key?"})

    answer = connect(home, run_client)

    assert answer.structured_content["memories"][0]["doc_id"] == "key"


def asked_by_url(home: FamilyRecall, path: str, host: str = "", **how: Any) -> int:
    """Send a request with no token but in its path, and return the status."""

    async def run() -> int:
        server = build(home, RecallContext("rajesh", time_budget_ms=PLENTY_MS, now=NOW))
        app = application(server, TOKEN, **how)
        transport = httpx2.ASGITransport(app=app)
        async with (
            server.session_manager.run(),
            httpx2.AsyncClient(transport=transport, base_url=URL) as client,
        ):
            accepted = {"Accept": "application/json, text/event-stream"}
            headers = accepted | ({"Host": host} if host else {})
            response = await client.post(path, json=LISTING, headers=headers)
            assert TOKEN not in response.text
            return response.status_code

    return anyio.run(run)


@pytest.mark.parametrize(
    ("url_path", "in_url", "status"),
    [
        (f"/{TOKEN}/mcp", True, 200),
        (f"/{TOKEN}/messages", True, 400),
        (f"/{TOKEN}/nowhere", True, 404),
        (f"/{TOKEN}/mcp", False, 401),
        (f"/{TOKEN}", True, 401),
        (f"/{TOKEN}x/mcp", True, 401),
        (f"/{TOKEN[:-1]}/mcp", True, 401),
        (f"/{TOKEN.upper()}/mcp", True, 401),
        (f"//{TOKEN}/mcp", True, 401),
        (f"/mcp/{TOKEN}/mcp", True, 401),
        ("/mcp", True, 401),
        ("/messages", True, 401),
        ("/sse", True, 401),
    ],
)
def test_a_path_that_begins_with_the_token_is_enough_where_that_is_asked_for(
    home: FamilyRecall, url_path: str, in_url: bool, status: int
) -> None:
    """The whole token, at the beginning, and only then; a message needs a stream besides."""
    assert asked_by_url(home, url_path, token_in_url=in_url) == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("family", 200), ("Family:8787", 200), ("127.0.0.1", 200), ("family.evil", 421),
        ("evil.family", 421), ("family:", 421), ("family:80:80", 421), ("other:8787", 421),
    ],
)  # fmt: skip
def test_a_host_is_accepted_that_was_named(home: FamilyRecall, host: str, status: int) -> None:
    """Whole, in either case and with any port; a page of it may not ask all the same."""
    how: dict[str, Any] = {"hosts": ("family",), "token_in_url": True}
    assert asked_by_url(home, f"/{TOKEN}/mcp", host, **how) == status


def test_a_token_that_cannot_stand_in_a_url_is_refused(home: FamilyRecall) -> None:
    """Where it is to stand there; in a header it may."""
    server = build(home, RecallContext("rajesh"))
    with pytest.raises(InvalidRequestError, match="in a URL"):
        application(server, "a token / of 16 or more", token_in_url=True)
    assert application(server, "a token / of 16 or more") is not None
