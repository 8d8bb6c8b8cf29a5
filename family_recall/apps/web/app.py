"""The ASGI application: routes, forms and errors."""

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
"""More than a form with a million characters of three bytes, each written as nine letters."""
MAX_CONCURRENT_PAGES = 4
"""As many as the library has threads for stages."""

Show = Callable[[Reader, QueryParams], Page | str]
"""Returns a page for the parameters of a link; a text is a whole HTML page."""
Change = Callable[[Reader, QueryParams, QueryParams], Page | str]
"""Handles a form (link, form); returns the next link, or the form with an error."""

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
log = logging.getLogger("family_recall")


def application(reader: Reader, token: str) -> ASGIApp:
    """Return one person's pages; the first browser that opens the link with the token may see them.

    Refused, in this order: a Host other than this machine's (421), an Origin other than this
    machine's (403), a request without the cookie (401), a form of another page (403), a form
    without the token of these pages (403), more than 16 MB (413).

    Raises:
        InvalidRequestError: If the reader is anonymous.
        UnknownPersonError: If there is no such person.
    """
    localhost.check_token(token)
    if reader.ctx.person_id is None:
        raise InvalidRequestError("somebody in particular must read the pages; set person_id")
    reader = dataclasses.replace(reader, form_token=localhost.new_token())
    reader.names()
    threads = anyio.CapacityLimiter(MAX_CONCURRENT_PAGES)
    routes = [Route(path, _get(show, reader, threads)) for path, show in READING.items()]
    if not reader.read_only:
        routes += [Route(path, _get(show, reader, threads)) for path, show in EDITING.items()]
        for path, change in CHANGES.items():
            routes.append(Route(path, _post(change, reader, threads), methods=["POST"]))

    async def unknown(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return _response(_error(status, "There is no such page."), reader)

    app = Starlette(routes=routes, exception_handlers={404: unknown, 405: unknown})
    return localhost.KnownHostsOnly(SessionAuthentication(app, token))


def serve(reader: Reader, port: int, ready: Callable[[str], None]) -> None:
    """Serve on this machine until stopped; port 0 is any free one.

    ``ready`` is called with the link that opens the pages, once requests are accepted.
    """
    token = localhost.new_token()
    app = application(reader, token)
    path = link("/", **{TOKEN: token})
    localhost.local_server(app, port, lambda url: ready(f"{url}{path}")).run()


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
        # A form is encoded like a query string.
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
    """Make a page in a thread; an exception becomes an error page."""
    try:
        return await anyio.to_thread.run_sync(make, limiter=threads)
    except (UnknownMemoryError, UnknownPersonError, UnknownSpaceError) as error:
        return _error(404, str(error))
    except NotTheirsError as error:
        return _error(403, str(error))
    except FamilyRecallError as error:
        return _error(400, str(error))
    except Exception:
        log.exception("a page failed")
        return _error(500, "This failed inside the server, whose log says more.")


async def _body(request: Request) -> bytes | None:
    """Return a request's body; None if it is too long."""
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
