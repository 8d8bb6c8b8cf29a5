"""The identifier index: what memories quote is found, in scope, and without a model."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from family_recall import FamilyRecall
from family_recall.english.identifiers import find_identifiers
from family_recall.store.identifiers import _lookups, _values
from family_recall.types import Filters, Scope
from tests.conftest import HOME, NOW, Wall, move_in, open_home, remember, store_of


def looked_up(
    home: FamilyRecall, question: str, *, k: int = 50, spaces: tuple[str, ...] = (HOME,),
    known_at: dt.datetime | None = None, as_of: dt.datetime = NOW, filters: Filters | None = None,
) -> list[tuple[str, float]]:  # fmt: skip
    """Look up what a question quotes in some spaces; returns (doc_id, score), best first."""
    with store_of(home).snapshot() as snapshot:
        partitions = tuple(p.no for p in snapshot.every_partition() if p.space_id in spaces)
        known_at_s = None if known_at is None else known_at.timestamp()
        scope = Scope(None, partitions, as_of.timestamp(), known_at_s, filters or Filters())
        hits = snapshot.identified(find_identifiers(question), scope, k)
        doc_ids = [one.doc_id for one in snapshot.memories(hits.ids, scope)]
    return list(zip(doc_ids, hits.scores.tolist(), strict=True))


def held(path: Path) -> list[tuple[str, str]]:
    """Read every (value, text of its memory) out of a closed file."""
    connection = apsw.Connection(str(path))
    rows = connection.execute(
        "SELECT i.value, m.text FROM identifier i LEFT JOIN memory m ON m.id = i.memory"
        " ORDER BY i.value, m.id"
    ).fetchall()
    connection.close()
    return [(str(value), str(text)) for value, text in rows]


@pytest.mark.parametrize(
    ("told", "question"),
    [
        (told, question)
        for told, *questions in (
            ("Paid invoice #4711 today", "#4711?", "invoice 4711", "invoice no. 4711",
             "receipt 4711"),
            ("Fixed #123 at last", "issue 123", "What was #123?"),
            ("LINEAR-ABC-12 is done", "linear-abc-12", "Linear-Abc-12?"),
            ("The plan is in family:docs/Plan.md", "family:docs/plan.md"),
            ("Write to Bob.K@Example.com", "BOB.K@EXAMPLE.COM"),
            ("The plumber is +91 98450-12345", "tel:+91 98450 12345", "0091 98450.12345"),
            ("The plumber is 098450 12345", "9845012345", "98450-12345", "(098450) 12345"),
            ("Order number 114-3941689-8772232", "order 114-3941689-8772232",
             "where is 114-3941689-8772232?"),
            ("The booking reference is X7KQ2P", "booking X7KQ2P", "What is X7KQ2P?"),
            ("Read ISBN 0-306-40615-2", "978-0-306-40615-7", "ISBN 0306406152", "9780306406157"),
            ("Her car is AB12 CDE", "ab12cde", "number plate AB12CDE"),
            ("Our car is KA-05-MX-1234", "ka05mx1234", "KA 05 MX 1234"),
            ("See https://www.Example.org/Cakes/", "example.org/cakes", "www.example.org/cakes/",
             "http://example.org/cakes"),
        )
        for question in questions
    ],
)  # fmt: skip
def test_two_ways_to_write_it_are_one(path: Path, told: str, question: str) -> None:
    """An identifier is found whole in whichever of its spellings it was stored and is asked for."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, told, doc_id="told")
        remember(home, "Another invoice, #47110, and another number, +44 98450 12340", doc_id="no")

        assert looked_up(home, question) == [("told", 1.0)]


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("The plumber is +91 98450-12345", "098450 12345"),
        ("The plumber is 098450 12345", "+91 98450-12345"),
        ("The plumber is 98450 12345", "(+91) 98450 12345"),
        ("London: +44 (0)20 7946 0958", "020 7946 0958"),
        ("See https://www.example.org/cakes/lemon?for=8", "example.org"),
        ("See https://www.example.org/cakes/lemon?for=8", "https://EXAMPLE.org/cakes"),
        ("See https://www.example.org/cakes/lemon?for=8", "example.org/cakes/lemon/"),
        ("Write to bob@example.org", "What came from example.org?"),
        ("The plan is in family:docs/plan.md", "family:docs/"),
    ],
)
def test_a_part_is_found_and_scores_half(path: Path, told: str, question: str) -> None:
    """A number without its country, a page by its site: found, but below what is held whole."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, told, doc_id="told")
        remember(home, "See example.organic, +91 98450 12346 and family:docs2/plan.md")

        assert looked_up(home, question) == [("told", 0.5)]


def test_whole_comes_before_part_and_new_before_old(path: Path) -> None:
    """First what holds it whole; within a score what happened last; k cuts after that."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        for doc_id, day, page in (
            ("old", 1, "a.org/x"), ("new", 9, "a.org/x"), ("part", 20, "a.org/x/y"),
            ("mid", 5, "a.org/x"), ("other", 25, "a.org/xy"),
        ):  # fmt: skip
            remember(home, f"See {page}", doc_id=doc_id, occurred_at=f"2025-05-{day:02}")
        ordered = [("new", 1.0), ("mid", 1.0), ("old", 1.0), ("part", 0.5)]

        assert looked_up(home, "a.org/x") == ordered
        assert looked_up(home, "a.org/x", k=4) == ordered
        assert looked_up(home, "a.org/x and bob@b.org", k=4) == ordered
        assert [score for _, score in looked_up(home, "a.org/x", k=2)] == [1.0, 1.0]


def test_title_summary_link_and_fact_are_read_too(path: Path) -> None:
    """Every view of a memory is, and a fact's key says what its value is."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Yes", doc_id="title", title="Invoice 4711")
        remember(home, "Yes", doc_id="summary", summary="Closed PROJ-7")
        remember(home, "Yes", doc_id="link", url="https://a.org/cake")
        remember(home, "Yes", doc_id="fact", fact_key="booking_reference", fact_value="KLM482")

        assert looked_up(home, "#4711") == [("title", 1.0)]
        assert looked_up(home, "proj-7") == [("summary", 1.0)]
        assert looked_up(home, "a.org/cake") == [("link", 1.0)]
        assert looked_up(home, "booking KLM482") == [("fact", 1.0)]


def test_only_visible_partitions_are_read(path: Path) -> None:
    """The same number in a hidden space or band is not found, and does not count towards k."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Invoice #4711", doc_id="mine")
        for n in range(5):
            remember(home, f"Invoice #4711, again {n}", "private:priya", doc_id=f"hers-{n}")

        assert looked_up(home, "#4711", k=1) == [("mine", 1.0)]
        assert len(looked_up(home, "#4711", spaces=(HOME, "private:priya"))) == 6
        assert looked_up(home, "#4711", spaces=()) == []


def test_a_hidden_partition_is_a_separate_stretch_of_the_index(path: Path) -> None:
    """Both look-ups seek by partition and value, so that no other partition's row is read.

    ``EXPLAIN QUERY PLAN`` says so: both terms are in the search's constraint.
    """
    with open_home(path, encoder=None) as home:
        move_in(home)
    connection = apsw.Connection(str(path))
    for held_by in ("value = 'x'", "value >= 'x' AND value < 'y'"):
        (row,) = connection.execute(
            f"EXPLAIN QUERY PLAN SELECT memory FROM identifier WHERE partition = 1 AND {held_by}"
        )
        assert "SEARCH identifier USING PRIMARY KEY (partition=? AND value" in str(row[3])
    connection.close()


def test_a_replaced_version_is_found_only_in_its_time(path: Path, wall: Wall) -> None:
    """A superseded version is found when the question asks what was known then, and only then."""
    with open_home(path, encoder=None, wall=wall) as home:
        move_in(home)
        remember(home, "The plumber is 098450 12345", doc_id="plumber")
        before = wall.tick(days=1)
        wall.tick(days=1)
        remember(home, "The plumber is 098450 99999", doc_id="plumber")

        assert looked_up(home, "098450 12345") == []
        assert looked_up(home, "098450 99999") == [("plumber", 1.0)]
        assert looked_up(home, "098450 12345", known_at=before) == [("plumber", 1.0)]
        assert looked_up(home, "098450 99999", known_at=before) == []


def test_validity_and_filters_hold_before_k(path: Path) -> None:
    """What is out of date or filtered out is not found, and does not count towards k."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Invoice 4711 from Mia", doc_id="mia", author="Mia")
        remember(home, "Invoice 4711 is open", doc_id="open", valid_until=NOW)
        later = NOW - dt.timedelta(days=1)

        assert looked_up(home, "#4711", k=1) == [("mia", 1.0)]
        assert ("open", 1.0) in looked_up(home, "#4711", as_of=later)
        assert looked_up(home, "#4711", as_of=later, k=1, filters=Filters(authors=("Mia",))) == [
            ("mia", 1.0)
        ]


def test_rebuilding_finds_the_same(path: Path) -> None:
    """Rebuilt from the texts the index is, row for row, the one that was written step by step."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Invoice #4711 and bob@a.org", doc_id="a")
        remember(home, "Invoice #4712 and bob@a.org", doc_id="a")
        remember(home, "See a.org/cake and +91 98450 12345", doc_id="b")
    kept = held(path)
    with open_home(path, encoder=None) as home:
        home.maintenance.rebuild()

    assert len(kept) == 9
    assert held(path) == kept


def test_rows_of_other_rules_are_replaced(path: Path) -> None:
    """Rows that other rules made are replaced when the file is opened, and once only."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Invoice #4711", doc_id="a")
    kept = held(path)
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE identifier SET value = 'number:1'")
    connection.execute("UPDATE info SET value = 'older' WHERE key = 'derived'")
    connection.close()
    with open_home(path, encoder=None), open_home(path, encoder=None):
        pass

    assert held(path) == kept


@given(
    st.text("0123456789", min_size=8, max_size=12),
    st.text("0123456789", max_size=3),
    st.text("0123456789", min_size=8, max_size=12),
)
def test_numbers_match_when_one_ends_with_the_other(one: str, country: str, other: str) -> None:
    """They match if equal, or if one of 8 digits or more ends the other, zeros not counted."""
    for told, asked in itertools.permutations([one, country + one, other], 2):
        (number,) = find_identifiers("+91 98450 12346")
        (stored,) = _values(dataclasses.replace(number, normalised=told))
        sought = [value for value, _ in _lookups(dataclasses.replace(number, normalised=asked))]
        met = stored in sought or any(
            stored.startswith(value[:-1]) for value in sought if value.endswith("\U0010ffff")
        )
        a, b = told.lstrip("0"), asked.lstrip("0")
        ends = a.endswith(b) or b.endswith(a)

        assert met == (a == b or (ends and min(len(a), len(b)) >= 8))
