"""App: a household and who looks in, an ASGI application of pages out."""

from __future__ import annotations

import dataclasses
import functools
import logging
import secrets
from collections.abc import Callable, Mapping

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from family_recall.errors import (
    FamilyRecallError,
    InvalidRequestError,
    NotTheirsError,
    UnknownMemoryError,
    UnknownPersonError,
    UnknownSpaceError,
)
from family_recall.reports.markup import Markup, joined, tag
from family_recall.web import (
    correcting,
    forgetting,
    localhost,
    memory,
    paging,
    people,
    relating,
    searching,
)
from family_recall.web.authentication import TOKEN, Door
from family_recall.web.layout import FORM_TOKEN, Page, Reader, notice, to, written

MAX_BODY_BYTES = 16_000_000
"""More than a memory of a million characters is in a form, three bytes and nine letters each."""
AT_ONCE = 4
"""Pages made at the same time; the library has no more threads for stages."""

Show = Callable[[Reader, QueryParams], Page | str]
"""Makes a page of what a link says; a text is a whole page of its own."""
Change = Callable[[Reader, QueryParams, QueryParams], Page | str]
"""Does what a form says (the link, the form); gives the link to go on to, or a page to mend it."""

SHOWN: Mapping[str, Show] = {
    "/": searching.page,
    "/why": searching.why,
    "/look": paging.page,
    "/memory": memory.page,
    "/people": people.page,
}
MENDING: Mapping[str, Show] = {
    "/correct": correcting.page,
    "/relate": relating.page,
    "/forget": forgetting.page,
    "/receipt": forgetting.receipt,
    "/forgotten": forgetting.forgotten,
}
CHANGES: Mapping[str, Change] = {
    "/feedback": searching.judge,
    "/correct": correcting.correct,
    "/relate": relating.relate,
    "/unrelate": relating.unrelate,
    "/forget": forgetting.forget,
    "/undo": forgetting.undo,
}

log = logging.getLogger("family_recall")


def application(reader: Reader, token: str) -> ASGIApp:
    """Make the pages one person may look at, behind a door that a link with the token opens.

    In this order: with a Host other than this machine's, 421; with an Origin other than this
    machine's, 403; without the cookie, 401; a form of another page, 403; one without the token
    that stands in these pages, 403; more than 16 MB, 413.

    Raises:
        InvalidRequestError: If nobody in particular looks, or the token is short.
        UnknownPersonError: If there is no such person.
    """
    localhost.check_token(token)
    if reader.ctx.person_id is None:
        raise InvalidRequestError("somebody in particular must look; set person_id")
    reader = dataclasses.replace(reader, form_token=localhost.new_token())
    reader.rooms()
    threads = anyio.CapacityLimiter(AT_ONCE)
    shown = SHOWN if reader.read_only else {**SHOWN, **MENDING}
    changes = {} if reader.read_only else CHANGES
    routes = [
        *(Route(path, _showing(show, reader, threads)) for path, show in shown.items()),
        *(
            Route(path, _changing(change, reader, threads), methods=["POST"])
            for path, change in changes.items()
        ),
    ]

    async def unknown(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return _whole(_failed(status, "There is no such page."), reader)

    app = Starlette(routes=routes, exception_handlers={404: unknown, 405: unknown})
    return localhost.ThisMachineOnly(Door(app, token))


def serve(reader: Reader, port: int, ready: Callable[[str], None]) -> None:
    """Serve on this machine's own address until told to stop.

    Args:
        reader: Who looks at what.
        port: Where to listen; 0 for any that is free.
        ready: Called with the link that opens the pages, once requests are taken.
    """
    token = localhost.new_token()
    app = application(reader, token)
    localhost.serve(app, port, lambda url: ready(f"{url}{to('/', **{TOKEN: token})}"))


def _showing(
    show: Show, reader: Reader, threads: anyio.CapacityLimiter
) -> Callable[[Request], object]:
    async def endpoint(request: Request) -> Response:
        made = await _made(functools.partial(show, reader, request.query_params), threads)
        return _whole(made, reader)

    return endpoint


def _changing(
    change: Change, reader: Reader, threads: anyio.CapacityLimiter
) -> Callable[[Request], object]:
    async def endpoint(request: Request) -> Response:
        body = await _body(request)
        if body is None:
            return _whole(_failed(413, f"More than {MAX_BODY_BYTES:,} bytes were sent."), reader)
        # A form is written as the part of a link after its question mark is.
        sent = QueryParams(body)
        if not secrets.compare_digest(
            sent.get(FORM_TOKEN, "").encode(), reader.form_token.encode()
        ):
            return _whole(
                _failed(403, "This form is of another session. Nothing was changed."), reader
            )
        done = await _made(functools.partial(change, reader, request.query_params, sent), threads)
        if isinstance(done, str):
            return RedirectResponse(done, status_code=303)
        return _whole(done, reader)

    return endpoint


async def _made(make: Callable[[], Page | str], threads: anyio.CapacityLimiter) -> Page | str:
    try:
        return await anyio.to_thread.run_sync(make, limiter=threads)
    except (UnknownMemoryError, UnknownPersonError, UnknownSpaceError) as error:
        return _failed(404, str(error))
    except NotTheirsError as error:
        return _failed(403, str(error))
    except FamilyRecallError as error:
        return _failed(400, str(error))
    except Exception:
        log.exception("a page failed")
        return _failed(500, "This failed inside the server, whose log says more.")


async def _body(request: Request) -> bytes | None:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            return None
    return bytes(body)


def _whole(made: Page | str, reader: Reader) -> Response:
    if isinstance(made, str):
        return HTMLResponse(made)
    return HTMLResponse(written(made, reader), status_code=made.status)


def _failed(status: int, why: str) -> Page:
    back = tag("p", tag("a", "Back to the search", href="/"))
    body: Markup = joined(notice(why, bad=True), back)
    return Page(title="That did not work", body=body, status=status)
