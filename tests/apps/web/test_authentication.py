"""Session authentication: one browser gets in, and nobody else reads or changes anything."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from family_recall import FamilyRecall, RecallContext
from family_recall.apps.web import Reader, application
from family_recall.errors import InvalidRequestError, UnknownPersonError
from tests.apps.web.browser import ORIGIN, READ, TOKEN, Browser
from tests.conftest import NOW, remember

COOKIE = "family_recall_8787"
WRITING = ("/feedback?q=key&id=key", "/correct?id=mine", "/relate?id=mine", "/forget?id=mine",
           "/unrelate?id=mine", "/undo?id=1")  # fmt: skip


@pytest.fixture
def app(home: FamilyRecall) -> Any:
    """Return Rajesh's pages, before any browser has opened the link."""
    remember(home, "My locker is 218", doc_id="mine", author="rajesh")
    return application(Reader(home=home, ctx=RecallContext("rajesh", now=NOW)), TOKEN)


def client(app: Any, base_url: str = ORIGIN) -> TestClient:
    """Return a browser without cookies that does not follow redirections."""
    return TestClient(app, base_url=base_url, follow_redirects=False)


def test_the_link_works_once_and_leaves_no_token_in_the_address(app: Any) -> None:
    """It sets a cookie that scripts and other sites cannot use; a second browser is refused."""
    first, second = client(app), client(app)

    opened = first.get(f"/?token={TOKEN}")
    set_cookie = opened.headers["set-cookie"]

    assert (opened.status_code, opened.headers["location"]) == (303, "/")
    assert COOKIE in set_cookie
    assert "HttpOnly" in set_cookie
    assert "SameSite=strict" in set_cookie
    assert TOKEN not in set_cookie
    assert first.get("/").status_code == 200
    # The same browser may open it again, because of its cookie.
    assert first.get(f"/?token={TOKEN}").headers.get("location") == "/"
    assert second.get(f"/?token={TOKEN}").status_code == 403
    assert second.get("/").status_code == 401


@pytest.mark.parametrize("link", ["//evil.example", "/https://evil.example", "/browse"])
def test_the_link_leads_only_to_the_first_page(home: FamilyRecall, link: str) -> None:
    """Whatever path is between the address and the token."""
    opened = Browser(home).client.get(f"{ORIGIN}{link}?token={TOKEN}", follow_redirects=False)

    assert (opened.status_code, opened.headers["location"]) == (303, "/")


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "ü" * 20])
def test_a_wrong_token_is_refused(app: Any, token: str) -> None:
    """The right one still works afterwards."""
    stranger = client(app)

    refused = stranger.get("/", params={"token": token})

    assert refused.status_code == 403
    assert "set-cookie" not in refused.headers
    assert stranger.get("/").status_code == 401
    assert client(app).get(f"/?token={TOKEN}").status_code == 303


@pytest.mark.parametrize("cookie", [None, b"", b"x", TOKEN.encode(), "ü".encode()])
def test_without_the_cookie_nothing_is_shown_or_changed(
    app: Any, home: FamilyRecall, cookie: bytes | None
) -> None:
    """Every page and method is 401, without a word about the household."""
    before = home.maintenance.stats()["memories"]
    headers = {b"origin": ORIGIN.encode()}
    if cookie is not None:
        headers[b"cookie"] = COOKIE.encode() + b"=" + cookie
    links = [*READ, *WRITING, "/forget?id=mine", "/receipt?id=x", "/forgotten", "/nowhere"]

    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"):
        for link in links:
            answer = client(app).request(method, link, headers=headers, content=b"form_token=x")
            assert answer.status_code == 401, (method, link)
            assert not {"rajesh", "locker", "spare"} & set(answer.text.lower().split())
    assert home.maintenance.stats()["memories"] == before


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:8787"}, 421),
        ({"Host": "127.0.0.1.evil.example:8787"}, 421),
        ({"Host": "127.0.0.1:8787@evil.example"}, 421),
        ({"Host": "192.168.1.7:8787"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1.evil.example:8787"}, 403),
        ({"Origin": "https://127.0.0.1:8787"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_a_foreign_host_or_origin_is_refused(
    home: FamilyRecall, headers: dict[str, str], status: int
) -> None:
    """Even with the cookie: DNS rebinding, or a page of another site."""
    answer = Browser(home).client.get("/", headers=headers)

    assert answer.status_code == status
    assert "rajesh" not in answer.text.lower()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://localhost:8787"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "same-site"},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_form_of_another_page_changes_nothing(
    home: FamilyRecall, headers: dict[str, str]
) -> None:
    """A page of another server on this machine is the same site and sends the cookie: refused."""
    remember(home, "My locker is 218", doc_id="mine", author="rajesh")
    browser = Browser(home)
    form = browser.form("/correct?id=mine", "/correct")

    sent = {**form["sent"], "text": "Hacked"}
    answer = browser.client.post(str(form["action"]), data=sent, headers=headers)

    assert answer.status_code == 403
    assert (
        home.memories.get("mine", RecallContext("rajesh")).current.memory.text == "My locker is 218"
    )


@pytest.mark.parametrize("token", ["", "x", TOKEN])
def test_a_form_without_the_pages_own_token_changes_nothing(home: FamilyRecall, token: str) -> None:
    """Not even from the right origin."""
    remember(home, "My locker is 218", doc_id="mine", author="rajesh")
    browser = Browser(home)
    form = browser.form("/correct?id=mine", "/correct")

    browser.send(form, 403, text="Hacked", form_token=token)

    assert (
        home.memories.get("mine", RecallContext("rajesh")).current.memory.text == "My locker is 218"
    )


def test_a_body_longer_than_any_form_is_refused(
    home: FamilyRecall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body is counted as it arrives, whatever length it announced."""
    monkeypatch.setattr("family_recall.apps.web.app.MAX_FORM_BYTES", 1000)
    browser = Browser(home)
    headers = {"Origin": ORIGIN}

    def parts() -> Any:
        yield from [b"x" * 600] * 2

    for body in (b"x" * 1001, parts()):
        assert browser.client.post("/undo?id=1", content=body, headers=headers).status_code == 413


@pytest.mark.parametrize("link", [*READ, "/nowhere", "/memory?id=nothing"])
def test_every_page_is_closed(home: FamilyRecall, link: str) -> None:
    """No script or image may run or load, no other site may frame it, and nothing is cached."""
    answer = Browser(home).client.get(link)
    policy = answer.headers["content-security-policy"]

    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert policy.endswith("form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
    assert "unsafe" not in policy
    for name, value in (
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ):
        assert answer.headers[name] == value, name


def test_an_anonymous_reader_is_refused(home: FamilyRecall) -> None:
    """The reader is a known person, and the token is hard to guess."""
    with pytest.raises(InvalidRequestError, match="somebody in particular"):
        application(Reader(home=home, ctx=RecallContext()), TOKEN)
    with pytest.raises(UnknownPersonError):
        application(Reader(home=home, ctx=RecallContext("zoe")), TOKEN)
    with pytest.raises(InvalidRequestError, match="16 or more"):
        application(Reader(home=home, ctx=RecallContext("rajesh")), "short")


def test_an_internal_error_is_not_disclosed(
    home: FamilyRecall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unexpected exception becomes a page without the exception's text."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the alarm code is 4711")

    monkeypatch.setattr("family_recall.api.memories.Memories.get", broken)

    page = Browser(home).read("/memory?id=key", 500)

    assert "This failed inside the server" in page.text
    assert "4711" not in page.text
