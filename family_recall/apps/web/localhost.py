"""A uvicorn server for this machine or named hosts, with checks of Host, Origin and tokens."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable, Collection
from typing import Any

import h11
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from family_recall.errors import InvalidRequestError

HOST = "127.0.0.1"
MIN_TOKEN_CHARS = 16
MAX_CONNECTIONS = 64
"""More than a browser opens, and fewer than the open files of a process may be."""
REQUEST_TIMEOUT_S = 10.0
"""Seconds until a request has to be complete; its token is not known before."""
_SHUTDOWN_TIMEOUT_S = 3
_NAMES = re.compile(rb"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?")
_PORT = re.compile(rb":[0-9]{1,5}\Z")
_ORIGINS = re.compile(rb"http://" + _NAMES.pattern)


class KnownHostsOnly:
    """Middleware that admits requests to this machine's names and to ``hosts``.

    A foreign page may resolve its own name to this machine (DNS rebinding). The browser then still
    sends that name as the Host, and the page's address as the Origin.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset(host.lower().encode("ascii", "replace") for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; answer 421 to a foreign Host and 403 to a foreign Origin."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        hosts, origins = headers(scope, b"host"), headers(scope, b"origin")
        if len(hosts) != 1 or not (
            _NAMES.fullmatch(hosts[0]) or _PORT.sub(b"", hosts[0].lower()) in self._hosts
        ):
            refusal = PlainTextResponse("this Host is not a name of this machine", status_code=421)
        elif len(origins) > 1 or not all(map(_ORIGINS.fullmatch, origins)):
            refusal = PlainTextResponse("pages of other sites may not ask this", status_code=403)
        else:
            await self._app(scope, receive, send)
            return
        await refusal(scope, receive, send)


def headers(scope: Scope, name: bytes) -> list[bytes]:
    """Return all values of a request header; ``name`` is in lower case."""
    return [value for header, value in scope["headers"] if header == name]


def new_token() -> str:
    """Generate a token of 256 random bits."""
    return secrets.token_urlsafe(32)


def check_token(token: str) -> None:
    """Raise for a token that is short, or invalid in a header."""
    if len(token) < MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable():
        raise InvalidRequestError(
            f"a token is {MIN_TOKEN_CHARS} or more printable ASCII characters; make one with: "
            'python -c "import secrets; print(secrets.token_urlsafe(32))"'
        )


def local_server(
    app: ASGIApp, port: int, ready: Callable[[str], None], *, address: str = HOST
) -> uvicorn.Server:
    """Return a server; port 0 is any free one.

    ``ready`` is called with its URL, without a final slash, once requests are accepted.
    """
    config = uvicorn.Config(
        app,
        host=address,
        port=port,
        http=_BoundedConnection,
        ws="none",
        proxy_headers=False,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_S,
    )
    return _AnnouncingServer(config, ready)


class _BoundedConnection(H11Protocol):
    """A connection that is closed if there are too many, or if a request takes too long.

    Otherwise any program could use up the process's open files.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection; close it if there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        else:
            self._await_request()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        super().data_received(data)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_timer()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(REQUEST_TIMEOUT_S, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _AnnouncingServer(uvicorn.Server):
    """Calls back with its address once it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Begin to listen, then call back."""
        await super().startup(sockets)
        for server in self.servers:
            for listener in server.sockets:
                address = f"[{self.config.host}]" if ":" in self.config.host else self.config.host
                self._ready(f"http://{address}:{listener.getsockname()[1]}")
