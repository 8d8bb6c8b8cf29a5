"""A browser for these tests: it opens the link, reads pages and sends forms."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from family_recall import FamilyRecall, Memory, RecallContext
from family_recall.apps.web import Reader, application
from tests.conftest import NOW, PLENTY_MS
from tests.page_checks import ReadPage

ORIGIN = "http://127.0.0.1:8787"
TOKEN = "a-token-for-these-tests"  # noqa: S105 - of these tests alone
LINKS = ("/", "#", "https://", "http://")
"""How a link of these pages may begin; a link to another site is a memory's own address."""
READ = ("/", "/?q=spare+key", "/why?q=spare+key", "/browse", "/people", "/memory?id=key")
MINE = "/memory?id=mine"


class Read(ReadPage):
    """A page with its elements, and the values that each form would send."""

    def __init__(self, html: str) -> None:
        """Read it to the end."""
        self.forms: list[dict[str, Any]] = []
        self.filling: str | None = None
        super().__init__(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element, and the values of a form."""
        super().handle_starttag(tag, attrs)
        sent = dict(attrs)
        if tag == "form":
            self.forms.append(
                {"action": sent.get("action"), "method": sent.get("method"), "sent": {}}
            )
        elif self.forms and "form" in self.open and sent.get("name"):
            fields, name = self.forms[-1]["sent"], str(sent["name"])
            if tag == "input":
                fields[name] = sanitised(str(sent.get("type")), sent.get("value") or "")
            elif tag in {"select", "textarea"}:
                fields[name] = ""
            self.filling = name if tag in {"select", "textarea"} else None
        elif tag == "option" and "selected" in sent and self.forms:
            self.forms[-1]["sent"][str(self.filling)] = sent.get("value") or ""

    def handle_data(self, data: str) -> None:
        """Collect the text; the first line break of a textarea does not count."""
        super().handle_data(data)
        if self.open and self.open[-1] == "textarea":
            self.forms[-1]["sent"][str(self.filling)] += data.removeprefix("\n")


def sanitised(kind: str, value: str) -> str:
    """Return what a browser makes of a field's value before anybody edits it.

    Source: html.spec.whatwg.org, "value sanitization algorithm".
    """
    if kind == "datetime-local":
        return value.removesuffix(":00") if len(value) == len("2025-06-15T12:00:00") else value
    return value.replace("\r", "").replace("\n", "")


class Browser:
    """A browser in which one person's pages are open."""

    def __init__(
        self, home: FamilyRecall, person_id: str = "rajesh", *, read_only: bool = False
    ) -> None:
        """Open the link."""
        ctx = RecallContext(person_id, time_budget_ms=PLENTY_MS, now=NOW)
        app = application(Reader(home=home, ctx=ctx, read_only=read_only), TOKEN)
        self.client = TestClient(app, base_url=ORIGIN)
        self.landed = "/"
        self.client.get(f"/?token={TOKEN}")

    def read(self, link: str, status: int = 200) -> Read:
        """Follow a link and read the page."""
        answer = self.client.get(link)
        assert answer.status_code == status, answer.text
        return Read(answer.text)

    def form(self, link: str, action: str) -> dict[str, Any]:
        """Return the form of a page that sends to an action: its address, and its values."""
        forms = [form for form in self.read(link).forms if str(form["action"]).startswith(action)]
        assert forms, f"no form to {action} on {link}"
        return forms[0]

    def send(self, form: dict[str, Any], status: int = 200, **filled: str) -> Read:
        """Fill in a form, send it as a browser does, and return the page that follows."""
        # A browser sends line breaks as two characters.
        sent = {
            name: value.replace("\n", "\r\n") for name, value in {**form["sent"], **filled}.items()
        }
        headers = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"}
        answer = self.client.post(str(form["action"]), data=sent, headers=headers)
        assert answer.status_code == status, answer.text
        self.landed = str(answer.url).removeprefix(ORIGIN)
        return Read(answer.text)


def stored(home: FamilyRecall, doc_id: str = "mine", person_id: str = "rajesh") -> Memory:
    """Return a memory as it is stored."""
    return home.memories.get(doc_id, RecallContext(person_id)).current.memory


def see_that_it_is_well_formed(page: Read) -> None:
    """Check that a page has one heading, unique ids, and names for its landmarks."""
    assert len(page.all("h1")) == len(page.all("main")) == 1
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in page.all("nav") + page.all("section"):
        assert {"aria-label", "aria-labelledby", "class"} & set(attributes), attributes
