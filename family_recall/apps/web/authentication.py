"""Session authentication: one browser, the one that opened the link, has access.

The link's token works once. The server exchanges it for a cookie that no script and no other site
can use. Cookies ignore ports, so another server on this machine may receive the cookie. It still
cannot change anything: a form needs this server's origin, and a token that is in the page.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from starlette.datastructures import MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from family_recall.apps.web import localhost
from family_recall.apps.web.pages import Page, content_security_policy, html

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
class SessionAuthentication:
    """Middleware that exchanges the link's token for a session cookie, once."""

    app: ASGIApp
    token: str
    session: str = field(default_factory=localhost.new_token)
    _token_used: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, exchange the token for the cookie, or refuse."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({**_HEADERS, "Content-Security-Policy": content_security_policy()})
            await send(message)

        await (self._response(scope) or self.app)(scope, receive, send_with_headers)

    def _response(self, scope: Scope) -> Response | None:
        """Return a redirection or refusal; None for an authenticated request."""
        cookie = f"family_recall_{(scope.get('server') or ('', 0))[1]}"
        is_known = secrets.compare_digest(_cookie(scope, cookie), self.session)
        token = QueryParams(scope["query_string"]).get(TOKEN)
        if token is not None:
            return self._exchange(token, cookie, is_known=is_known)
        if not is_known:
            return _refusal(
                401,
                "You are not signed in",
                "Open the link that family-recall browse printed. If you have just done so, "
                "continue to the search page.",
                has_link=True,
            )
        if scope["method"] not in {"GET", "HEAD"} and not _is_same_origin(scope):
            return _refusal(
                403, "Nothing was changed", "This was sent from a page of another site."
            )
        return None

    def _exchange(self, token: str, cookie: str, *, is_known: bool) -> Response:
        """Redirect to the address without the token; set the cookie the first time."""
        is_right = token.isascii() and secrets.compare_digest(token, self.token)
        if not is_known and (self._token_used or not is_right):
            return _refusal(
                403,
                "This link has been used",
                "It opens one browser, once. Stop family-recall browse, start it again, and "
                "open the link it prints then.",
            )
        redirection = RedirectResponse("/", status_code=303)
        if not is_known:
            self._token_used = True
            redirection.set_cookie(cookie, self.session, httponly=True, samesite="strict", path="/")
        return redirection


def _is_same_origin(scope: Scope) -> bool:
    """Whether a form was sent from a page of this server."""
    (host,) = localhost.headers(scope, b"host")
    sites = localhost.headers(scope, b"sec-fetch-site")
    is_own = localhost.headers(scope, b"origin") == [b"http://" + host]
    return is_own and all(site == b"same-origin" for site in sites)


def _cookie(scope: Scope, name: str) -> str:
    header = b"; ".join(localhost.headers(scope, b"cookie")).decode("latin-1")
    value = cookie_parser(header).get(name, "")
    return value if value.isascii() else ""


def _refusal(status: int, title: str, why: str, *, has_link: bool = False) -> Response:
    page = Page("refusal.jinja", {"title": title, "why": why, "has_link": has_link}, status)
    return HTMLResponse(html(page, None), status_code=status)
