"""--format prints an answer as JSON, CSV or Markdown, whatever is in a memory."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import family_recall as fr
from family_recall.apps.cli.output import formatted, one_line
from family_recall.types import Answer
from tests.apps.cli.runner import call_in, done_in

QUESTION = ("recall", "who mended the gate?", "--person", "bob", "--budget-ms", "60000")


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """Return an answer of several memories."""
    path = tmp_path_factory.mktemp("formats") / "family.db"
    with fr.FamilyRecall.open(path, timezone="UTC") as home:
        home.people.add(fr.Person("ana", "Ana"))
        home.spaces.add(fr.Space("home", "household"))
        for text in ("The gate is blue", "Ana mended the gate", "The cat sleeps"):
            home.remember(text, author="ana", occurred_at=dt.datetime(2026, 1, 2, tzinfo=dt.UTC))
        return home.recall("Who mended the gate?", person_id="ana", time_budget_ms=1000)


def test_json_is_what_json_prints(diary: Path) -> None:
    """One record, two spellings; text is what is printed without either."""
    one, other = (json.loads(done_in(diary, *QUESTION, *how))
                  for how in (("--json",), ("--format", "json")))  # fmt: skip
    for record in (one, other):
        del record["used_time_ms"], record["trace"], record["now"], record["as_of"]

    assert one == other
    assert done_in(diary, *QUESTION, "--format", "text") == done_in(diary, *QUESTION)
    assert call_in(diary, *QUESTION, "--format", "xml").exit_code == 2


def test_a_table_has_a_line_for_each_memory(diary: Path) -> None:
    """With its text, who said it, when, how surely, and where; of a period too."""
    table = done_in(diary, *QUESTION, "--format", "csv")
    period = done_in(diary, "timeline", "in January 2026", "--person", "bob", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(table)))

    assert (rows[0]["rank"], rows[0]["text"]) == ("1", "Bob mended the gate")
    assert (rows[0]["said_by"], rows[0]["doc_id"]) == ("Bob", "gate")
    assert 0.0 <= float(rows[0]["confidence"]) <= 1.0
    assert {row["doc_id"] for row in csv.DictReader(io.StringIO(period))} == {
        "gate", "cake", "diary",
    }  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(text=st.text(min_size=1, max_size=60))
def test_any_text_stays_one_cell_and_computes_nothing(answer: Answer, text: str) -> None:
    """Separators, quotes, line ends and formulas of a memory do not leave its cell."""
    first = msgspec.structs.replace(answer.results[0], text=text)
    changed = msgspec.structs.replace(answer, results=(first, *answer.results[1:]))
    rows = list(csv.DictReader(io.StringIO(formatted(changed, "csv"))))

    assert len(rows) == len(answer.results)
    assert rows[0]["text"].removeprefix("'") == one_line(text).removeprefix("'")
    assert not rows[0]["text"].startswith(("=", "+", "-", "@"))


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet=st.sampled_from("ab *_`#[]<>|\\\n"), min_size=1, max_size=40))
def test_markdown_shows_a_memory_as_it_is_written(answer: Answer, text: str) -> None:
    """Each sign that means something in Markdown stands behind a backslash."""
    first = msgspec.structs.replace(answer.results[0], text=f"x{text}x", reply_to=None)
    changed = msgspec.structs.replace(answer, results=(first, *answer.results[1:]), changed=())
    line = formatted(changed, "md").splitlines()[0].removeprefix("**").removesuffix("**")
    plain = line.replace("\\\\", "\0")
    for sign in "*_`#[]<>|":
        assert plain.count(sign) == plain.count(f"\\{sign}")
    assert line.count("— Ana, 2 January 2026") == 1


def test_markdown_begins_with_the_answer(answer: Answer) -> None:
    """In bold; how sure it is in italics; others as a list."""
    lines = formatted(answer, "md").splitlines()

    assert lines[0] == "**Ana mended the gate — Ana, 2 January 2026**"
    assert lines[2].startswith("*")
    assert all(line.startswith("- ") for line in lines[6:] if line)
