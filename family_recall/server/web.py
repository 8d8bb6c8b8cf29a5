"""Web: an MCP server over HTTP, for this machine alone and for who knows the token."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from family_recall.errors import InvalidRequestError

HOST = "127.0.0.1"
PATH = "/mcp"
MIN_TOKEN_CHARS = 16
MAX_BODY_BYTES = 65_536
"""More than any tool's arguments, every character escaped, can be."""
_PATIENCE_S = 3  # for calls that run when the server is told to stop

# A page elsewhere may resolve its own name to this machine (DNS rebinding); its browser then still
# sends that name as the Host, and the page's address as the Origin.
_LOOPBACK = TransportSecuritySettings(
    enable_dns_rebinding_protection=True,
    allowed_hosts=["127.0.0.1:*", "localhost:*", "[::1]:*"],
    allowed_origins=["http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"],
)


class BearerToken:
    """Lets through requests that carry the token, and no others."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 401."""
        if scope["type"] == "lifespan" or self._carries_it(scope):
            await self._app(scope, receive, send)
            return
        refusal = PlainTextResponse(
            "a bearer token is needed: Authorization: Bearer …",
            status_code=401,
            headers={"WWW-Authenticate": "Bearer"},
        )
        await refusal(scope, receive, send)

    def _carries_it(self, scope: Scope) -> bool:
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(sent) == 1 and secrets.compare_digest(sent[0], self._expected)


def new_token() -> str:
    """Make a token nobody can guess: 256 random bits."""
    return secrets.token_urlsafe(32)


def application(server: Server[Any], token: str) -> ASGIApp:
    """Wrap a server into an ASGI application at ``/mcp``.

    In this order: without the token, 401; with a Host other than this machine's, 421; with an
    Origin other than this machine's, 403; with more than 64 KiB, 413. No state is kept between
    requests.

    Raises:
        InvalidRequestError: If the token is short, or cannot stand in a header.
    """
    if len(token) < MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable():
        raise InvalidRequestError(
            f"a token is {MIN_TOKEN_CHARS} or more printable ASCII characters; make one with: "
            'python -c "import secrets; print(secrets.token_urlsafe(32))"'
        )
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=_LOOPBACK,
    )
    return BearerToken(app, token)


def serve_http(server: Server[Any], token: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve on this machine's own address until told to stop.

    Args:
        server: What to serve.
        token: What every request has to carry.
        port: Where to listen; 0 for any that is free.
        ready: Called with the URL once requests are taken.
    """
    config = uvicorn.Config(
        application(server, token),
        host=HOST,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE_S,
    )
    _Announced(config, ready).run()


class _Announced(uvicorn.Server):
    """Says where it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Begin to listen, then say where."""
        await super().startup(sockets)
        for listening in self.servers:
            for bound in listening.sockets:
                self._ready(f"http://{HOST}:{bound.getsockname()[1]}{PATH}")
