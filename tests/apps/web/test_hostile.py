"""Hostile texts do nothing on a page, and a page shows nothing its reader may not see."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, RecallContext, Relation
from tests.apps.web.browser import LINKS, Browser, Read
from tests.conftest import HOME, Wall, move_in, open_home, remember
from tests.page_checks import see_that_nothing_runs_or_loads
from tests.promises.households import PEOPLE, Asked, World, furnish, view, worlds

SLOW = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
HOSTILE = (
    "</title></style></textarea></select><script>alert(1)</script><img src=x onerror=alert(1)>"
    "\"><form action=http://evil.example><input name=a>' onfocus=alert(1) autofocus x='"
    "\x00\u202egnp.exe\u2066\u200f &amp; &lt; javascript:alert(1) "
)
ON = ("/", "/?q={q}", "/why?q={q}", "/browse", "/browse?about={q}", "/people", "/memory?id={id}",
         "/correct?id={id}", "/relate?id={id}", "/forget?id={id}", "/add?space={q}")  # fmt: skip


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty household file to copy."""
    path = tmp_path_factory.mktemp("blank") / "family.db"
    with open_home(path, encoder=None):
        return path


def skeleton(page: Read) -> list[tuple[str, tuple[str, ...]]]:
    """Return the elements of a page with the names of their attributes, without highlights."""
    return [
        (name, tuple(sorted(attributes)))
        for name, attributes in page.elements
        if name not in {"mark", "rect", "tr", "th", "td", "small", "i", "line", "li"}
    ]


def pages(home: FamilyRecall, doc_id: str, question: str) -> list[Read]:
    """Read every page that shows a memory, its names and its question."""
    browser = Browser(home)
    read = []
    for link in ON:
        path, _, query = link.partition("?")
        name, _, kind = query.partition("=")
        params = {name: {"{q}": question, "{id}": doc_id}[kind]} if name else {}
        answer = browser.client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        read.append(Read(answer.text))
    return read


def remember_everywhere(home: FamilyRecall, text: str) -> None:
    """Store a text in every field that somebody may write."""
    names = "title summary source section event_type fact_key fact_value url".split()
    about: dict[str, Any] = dict.fromkeys(names, text)
    for version in (text + " once", text):
        remember(home, version, doc_id="it", author="rajesh", labels=(text,), session_id="session",
                 **about)  # fmt: skip
    home.relations.add(Relation(text, text, "Priya", HOME, evidence=("it",)))


def test_hostile_text_is_text_on_every_page(home: FamilyRecall) -> None:
    """However long or full of markup a text is, nothing in it runs, loads or is an element."""
    remember_everywhere(home, HOSTILE + "w" * 600)
    remember(home, HOSTILE * 400, doc_id="long", author="rajesh")
    remember(home, "w" * 100_000, doc_id="word", author="rajesh")

    for doc_id in ("it", "long", "word"):
        for page in pages(home, doc_id, HOSTILE):
            see_that_nothing_runs_or_loads(page, LINKS, forms=True)
            assert not set("\x00\u202e\u2066\u200f") & set(page.text)


@pytest.mark.parametrize(
    ("url", "linked"),
    [
        ("https://a.example/key?a=1&b=<2>", True),
        ("HTTP://a.example", True),
        ("javascript:alert(1)", False),
        (" javascript:alert(1)", False),
        ("JavaScript:alert(1)//https://a.example", False),
        ("data:text/html,<script>alert(1)</script>", False),
        ("//evil.example", False),
        ("file:///etc/passwd", False),
    ],
)
def test_only_an_address_of_the_web_is_a_link(home: FamilyRecall, url: str, linked: bool) -> None:
    """It opens without a referrer; any other address is a text."""
    remember(home, "The original", doc_id="it", url=url)

    page = Browser(home).read("/memory?id=it")

    links = [
        a for a in page.all("a") if not str(a["href"]).startswith(("/memory", "/browse", "/?"))
    ]
    links = [
        a for a in links if str(a["href"]) not in {"#main", "/", "/add", "/people", "/forgotten"}
    ]
    assert [a["href"] for a in links] == ([url] if linked else [])
    assert all("noreferrer" in str(a["rel"]) for a in links)
    assert url.strip() in page.text


@settings(SLOW, max_examples=12)
@given(st.text(min_size=1, max_size=60).filter(str.strip), st.data())
def test_a_text_never_changes_the_elements_of_a_page(
    blank: Path, text: str, data: st.DataObject
) -> None:
    """Elements and attributes are those of a page of plain words."""
    text = text.encode("utf-8", "replace").decode()
    title = data.draw(st.sampled_from([text, "plain"]))
    skeletons = []
    for content, heading in ((text, title), ("plain", "plain")):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "family.db"
            shutil.copyfile(blank, path)
            with open_home(path, encoder=None) as home:
                move_in(home)
                remember(home, content, doc_id="it", author="rajesh", title=heading, source=content)
                browser = Browser(home)
                skeletons.append(
                    [skeleton(browser.read(link)) for link in ("/browse", "/memory?id=it",
                                                               "/correct?id=it", "/forget?id=it")]
                )  # fmt: skip

    assert skeletons[0] == skeletons[1]


@settings(SLOW, max_examples=30)
@given(worlds(), st.sampled_from(sorted(PEOPLE)))
def test_no_page_shows_what_its_reader_may_not_see(blank: Path, world: World, person: str) -> None:
    """Every memory has a word of its own; no page shows the word of a hidden one.

    The pages of every memory are requested, by its id and by its word.
    """
    items = tuple(
        dataclasses.replace(item, words=(*item.words, f"zq{at}zq"))
        for at, item in enumerate(world.items)
    )
    world = dataclasses.replace(world, items=items)
    asked = Asked(person, None, "", "look")
    unseen = [item.words[-1] for item in items if view(world, asked, item) is None]
    wall = Wall()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        shutil.copyfile(blank, path)
        with open_home(path, encoder=None, wall=wall) as home:
            furnish(home, wall, world)
            client = Browser(home, person).client
            read = [client.get(link).text for link in ("/", "/browse", "/people", "/forgotten")]
            for item in items:
                key = {"id": item.doc_id, "space": item.space_id}
                read += [client.get(at, params=key).text
                         for at in ("/memory", "/correct", "/relate", "/forget")]  # fmt: skip
            read.append(client.get("/?q=key+cake+puppy").text)
            read.append(client.get("/why?q=key+cake+puppy").text)

    for word in unseen:
        assert not [page for page in read if word in page]


def test_a_page_of_another_person_is_never_cached(home: FamilyRecall) -> None:
    """Two people's pages, requested in turn, each show only their own."""
    remember(home, "The surprise party is at Elena's", "private:priya", doc_id="party")
    his, hers = Browser(home), Browser(home, "priya")

    for _ in range(2):
        assert "Elena" in hers.read("/?q=surprise+party").text
        assert "Elena" not in his.read("/?q=surprise+party").text
        his.read("/memory?id=party", 404)
    assert home.memories.get("party", RecallContext("priya"))
