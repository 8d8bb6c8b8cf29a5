"""Door: requests in; those of the one browser that opened the link are passed on, others refused.

The link's token opens once. It is exchanged for a cookie that no script and no other site can
use, and is taken out of the address. A cookie knows no ports, so another program that serves on
this machine could be sent it too; it alone cannot change anything: a form needs the page's own
address as its origin, and a token that stands in the page.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from starlette.datastructures import MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from family_recall.reports.markup import tag
from family_recall.web import localhost
from family_recall.web.layout import Page, policy, written

TOKEN = "token"  # noqa: S105 - the name of a parameter, not a token
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Not "no-referrer": under it a browser sends "Origin: null" with every form of a page's own.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(slots=True)
class Door:
    """Lets one browser in.

    Args:
        app: What lies behind.
        token: What the link carries.
        session: What the cookie carries.
    """

    app: ASGIApp
    token: str
    session: str = field(default_factory=localhost.new_token)
    _opened: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, let a browser in, or refuse."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def closed(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                sent.update({**_HEADERS, "Content-Security-Policy": policy()})
            await send(message)

        await (self._answer(scope) or self.app)(scope, receive, closed)

    def _answer(self, scope: Scope) -> Response | None:
        """Give what a request is answered at the door; None where it may pass."""
        name = f"family_recall_{(scope.get('server') or ('', 0))[1]}"
        known = secrets.compare_digest(_cookie(scope, name), self.session)
        token = QueryParams(scope["query_string"]).get(TOKEN)
        if token is not None:
            if not known and (self._opened or not _same(token, self.token)):
                return _refusal(
                    403,
                    "This link has been used",
                    "It opens one browser, once. Stop family-recall browse, start it again, and "
                    "open the link it gives then.",
                )
            answer = RedirectResponse("/", status_code=303)
            if not known:
                self._opened = True
                answer.set_cookie(name, self.session, httponly=True, samesite="strict", path="/")
            return answer
        if not known:
            return _refusal(
                401,
                "This door is closed",
                "Open the link that family-recall browse gave. If you have just done so, go on to "
                "the search page.",
                onward=True,
            )
        if scope["method"] not in {"GET", "HEAD"} and not _of_our_own(scope):
            return _refusal(
                403, "Nothing was changed", "This came from a page that is none of these."
            )
        return None


def _of_our_own(scope: Scope) -> bool:
    """Whether a form was sent from a page of this very address."""
    (host,) = localhost.headers(scope, b"host")
    sites = localhost.headers(scope, b"sec-fetch-site")
    own = localhost.headers(scope, b"origin") == [b"http://" + host]
    return own and all(site == b"same-origin" for site in sites)


def _cookie(scope: Scope, name: str) -> str:
    sent = b"; ".join(localhost.headers(scope, b"cookie")).decode("latin-1")
    found = cookie_parser(sent).get(name, "")
    return found if found.isascii() else ""


def _same(sent: str, expected: str) -> bool:
    return sent.isascii() and secrets.compare_digest(sent, expected)


def _refusal(status: int, title: str, why: str, *, onward: bool = False) -> Response:
    on = [tag("p", tag("a", "Go on to the search page", href="/"))] if onward else []
    body = tag("div", tag("p", why), *on, class_="card")
    return HTMLResponse(written(Page(title=title, body=body), None), status_code=status)
