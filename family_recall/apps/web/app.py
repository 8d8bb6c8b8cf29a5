"""The ASGI application of all pages: routes, forms, errors."""

from __future__ import annotations

import dataclasses
import functools
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from family_recall.apps.web import browse, editing, localhost, memory
from family_recall.apps.web.authentication import TOKEN, SessionAuthentication
from family_recall.apps.web.pages import FORM_TOKEN, Page, Reader, html, link
from family_recall.errors import (
    FamilyRecallError,
    InvalidRequestError,
    NotTheirsError,
    UnknownMemoryError,
    UnknownPersonError,
    UnknownSpaceError,
)

MAX_FORM_BYTES = 16_000_000
"""More than the form of a memory of a million characters, three bytes and nine letters each."""
MAX_CONCURRENT_PAGES = 4
"""The library has no more threads for stages."""

Show = Callable[[Reader, QueryParams], Page | str]
"""Makes a page from the parameters of a link; a text is a whole page of its own."""
Change = Callable[[Reader, QueryParams, QueryParams], Page | str]
"""Does what a form asks (link, form); returns where to go next, or the form with its errors."""

Endpoint = Callable[[Request], Awaitable[Response]]

READING: Mapping[str, Show] = {
    "/": browse.search_page,
    "/why": browse.why,
    "/browse": browse.browse_page,
    "/memory": memory.page,
    "/people": browse.people_page,
}
EDITING: Mapping[str, Show] = {
    "/add": editing.add_page,
    "/correct": editing.correct_page,
    "/relate": editing.relate_page,
    "/forget": editing.forget_page,
    "/receipt": editing.receipt_page,
    "/forgotten": editing.receipts_page,
}
CHANGES: Mapping[str, Change] = {
    "/add": editing.add,
    "/feedback": browse.feedback,
    "/correct": editing.correct,
    "/relate": editing.relate,
    "/unrelate": editing.unrelate,
    "/forget": editing.forget,
    "/restore": editing.restore,
    "/undo": editing.undo,
}
STATUS_OF_ERROR = (
    ((UnknownMemoryError, UnknownPersonError, UnknownSpaceError), 404),
    ((NotTheirsError,), 403),
    ((FamilyRecallError,), 400),
)
"""The status of each error of the library; the first that fits."""

log = logging.getLogger("family_recall")


def application(reader: Reader, token: str) -> ASGIApp:
    """Return one person's pages, open to the browser that follows a link with the token.

    Refused, in this order: a Host other than this machine's (421), an Origin other than this
    machine's (403), a request without the cookie (401), a form of another page (403), a form
    without the token of these pages (403), more than 16 MB (413). An anonymous or unknown reader
    is refused at once.
    """
    localhost.check_token(token)
    if reader.ctx.person_id is None:
        raise InvalidRequestError("somebody in particular must read the pages; set person_id")
    reader = dataclasses.replace(reader, form_token=localhost.new_token())
    reader.names()
    threads = anyio.CapacityLimiter(MAX_CONCURRENT_PAGES)
    shown = READING if reader.read_only else {**READING, **EDITING}
    changes = {} if reader.read_only else CHANGES
    routes = [
        *(Route(path, _get(show, reader, threads)) for path, show in shown.items()),
        *(
            Route(path, _post(change, reader, threads), methods=["POST"])
            for path, change in changes.items()
        ),
    ]

    async def unknown(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return _response(_error(status, "There is no such page."), reader)

    app = Starlette(routes=routes, exception_handlers={404: unknown, 405: unknown})
    return localhost.KnownHostsOnly(SessionAuthentication(app, token))


def serve(reader: Reader, port: int, ready: Callable[[str], None]) -> None:
    """Serve on this machine's own address, at a port or 0 for any free one, until stopped.

    ``ready`` is called with the link that opens the pages, once requests are accepted.
    """
    token = localhost.new_token()
    app = application(reader, token)
    server = localhost.local_server(
        app, port, lambda url: ready(f"{url}{link('/', **{TOKEN: token})}")
    )
    server.run()


def _get(show: Show, reader: Reader, threads: anyio.CapacityLimiter) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        page = await _run(functools.partial(show, reader, request.query_params), threads)
        done = request.query_params.get("done", "")
        return HTMLResponse(page) if isinstance(page, str) else _response(page, reader, done)

    return endpoint


def _post(change: Change, reader: Reader, threads: anyio.CapacityLimiter) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        body = await _body(request)
        if body is None:
            return _response(_error(413, f"More than {MAX_FORM_BYTES:,} bytes were sent."), reader)
        # A form is encoded like the part of a link after its question mark.
        form = QueryParams(body)
        sent_token = form.get(FORM_TOKEN, "").encode()
        if not secrets.compare_digest(sent_token, reader.form_token.encode()):
            why = "This form belongs to another session. Nothing was changed."
            return _response(_error(403, why), reader)
        result = await _run(functools.partial(change, reader, request.query_params, form), threads)
        if isinstance(result, str):
            return RedirectResponse(result, status_code=303)
        return _response(result, reader)

    return endpoint


async def _run(make: Callable[[], Page | str], threads: anyio.CapacityLimiter) -> Page | str:
    """Make a page in a thread; an exception becomes a page that says what went wrong."""
    try:
        return await anyio.to_thread.run_sync(make, limiter=threads)
    except FamilyRecallError as error:
        status = next(status for kinds, status in STATUS_OF_ERROR if isinstance(error, kinds))
        return _error(status, str(error))
    except Exception:
        log.exception("a page failed")
        return _error(500, "This failed inside the server, whose log says more.")


async def _body(request: Request) -> bytes | None:
    """Read a request's body; None if it is too long, whatever length it announced."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM_BYTES:
            return None
    return bytes(body)


def _response(page: Page, reader: Reader, done: str = "") -> Response:
    return HTMLResponse(html(page, reader, done), status_code=page.status)


def _error(status: int, why: str) -> Page:
    return Page("error.jinja", {"why": why}, status)
