"""The MCP server over HTTP, for clients on this machine that hold a token."""

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
"""More than the arguments of any tool need, with every character escaped."""


class BearerToken:
    """Middleware that requires the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request with the token on; answer 401 to any other."""
        if scope["type"] == "lifespan" or self._is_authorized(scope):
            await self._app(scope, receive, send)
            return
        refusal = PlainTextResponse(
            "a bearer token is needed: Authorization: Bearer …",
            status_code=401,
            headers={"WWW-Authenticate": "Bearer"},
        )
        await refusal(scope, receive, send)

    def _is_authorized(self, scope: Scope) -> bool:
        values = localhost.headers(scope, b"authorization")
        return len(values) == 1 and secrets.compare_digest(values[0], self._expected)


def application(server: Server[Any], token: str) -> ASGIApp:
    """Return the server as an ASGI application at ``/mcp``, without state between requests.

    Refused, in this order: a missing or wrong token (401), a Host other than this machine's
    (421), an Origin other than this machine's (403), a body of more than 64 KiB (413).

    Raises:
        InvalidRequestError: If the token is short, or cannot stand in a header.
    """
    localhost.check_token(token)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=MAX_BODY_BYTES,
        # ThisMachineOnly checks Host and Origin before a body is read.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return BearerToken(localhost.ThisMachineOnly(app), token)


def serve_http(server: Server[Any], token: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve on this machine's own address until stopped.

    Args:
        server: What to serve.
        token: What every request has to carry.
        port: Where to listen; 0 for any free port.
        ready: Called with the URL once requests are accepted.
    """
    localhost.serve(application(server, token), port, lambda url: ready(f"{url}{PATH}"))
