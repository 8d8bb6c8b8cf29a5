"""Web: an MCP server over HTTP, for this machine alone and for who knows the token."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from family_recall.web import localhost

PATH = "/mcp"
MAX_BODY_BYTES = 65_536
"""More than any tool's arguments, every character escaped, can be."""


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
        sent = localhost.headers(scope, b"authorization")
        return len(sent) == 1 and secrets.compare_digest(sent[0], self._expected)


def application(server: Server[Any], token: str) -> ASGIApp:
    """Wrap a server into an ASGI application at ``/mcp``.

    In this order: without the token, 401; with a Host other than this machine's, 421; with an
    Origin other than this machine's, 403; with more than 64 KiB, 413. No state is kept between
    requests.

    Raises:
        InvalidRequestError: If the token is short, or cannot stand in a header.
    """
    localhost.check_token(token)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=MAX_BODY_BYTES,
        # Host and Origin are looked at before a body is read.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return BearerToken(localhost.ThisMachineOnly(app), token)


def serve_http(server: Server[Any], token: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve on this machine's own address until told to stop.

    Args:
        server: What to serve.
        token: What every request has to carry.
        port: Where to listen; 0 for any that is free.
        ready: Called with the URL once requests are taken.
    """
    localhost.serve(application(server, token), port, lambda url: ready(f"{url}{PATH}"))
