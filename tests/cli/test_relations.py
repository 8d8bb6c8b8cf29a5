"""``family-recall timeline``, ``relate`` and ``correct``: what they tell, keep, and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from family_recall.cli import main

NOW = ("--now", "2026-01-11T18:00", "--budget-ms", "60000")


def call(db: Path, *args: str) -> Result:
    """Call the command line with a household in the environment."""
    return CliRunner().invoke(
        main, list(args), prog_name="family-recall", env={"FAMILY_RECALL_DB": str(db)}
    )


def done(db: Path, *args: str) -> str:
    """Call it, expect success, and give what it printed."""
    result = call(db, *args)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Return alice and bob five days with three notes, one of them bob's own."""
    path = tmp_path / "family.db"
    done(path, "init", "--person", "alice", "--person", "bob", "--timezone", "UTC")
    for name, day, text, *more in (
        ("gate", "2026-01-09T10:30", "Bob mended the gate", "--author", "bob"),
        ("cake", "2026-01-07", "Alice baked a cake", "--author", "alice"),
        ("diary", "2026-01-08T21:00", "Bob's secret: zqxj", "--space", "private:bob"),
        ("old", "2025-06-01", "The roof was painted"),
    ):
        done(path, "add", text, "--id", name, "--at", day, *more)
    return path


def test_a_time_is_told_in_order(db: Path) -> None:
    """A heading for each day that holds something, in order, and a word for those that do not."""
    shown = done(db, "timeline", "from 2026-01-06 to 2026-01-10", "--person", "alice", *NOW)

    assert shown.splitlines() == [
        "nothing stored on 6 January 2026",
        "Wednesday 7 January 2026",
        "  alice: Alice baked a cake (cake)",
        "nothing stored on 8 January 2026",
        "Friday 9 January 2026",
        "  10:30 bob: Bob mended the gate (gate)",
        "nothing stored on 10 January 2026",
        "2 shown",
    ]


def test_a_longer_stretch_names_each_day(db: Path) -> None:
    """Under a week or month as heading, a line says which day of it is meant."""
    shown = done(db, "timeline", "from 2025-06-01 to 2026-01-10", "--person", "alice", *NOW)

    assert "  2025-06-01 The roof was painted (old)" in shown.splitlines()
    assert "  2026-01-09 10:30 bob: Bob mended the gate (gate)" in shown.splitlines()


def test_a_time_is_told_as_the_asker_may_see_it(db: Path) -> None:
    """Bob sees his own day, too, in JSON as in text; a stranger what is shared."""
    told = {
        who: [
            one["doc_id"]
            for one in json.loads(done(db, "timeline", "this week", *person, *NOW, "--json"))[
                "results"
            ]
        ]
        for who, person in {"bob": ("--person", "bob"), "a stranger": ()}.items()
    }

    assert told == {"bob": ["cake", "diary", "gate"], "a stranger": ["cake", "gate"]}


def test_less_than_is_stored_says_so(db: Path) -> None:
    """A time of which a part is shown, one that holds nothing, and a filter."""
    week = ("timeline", "this week", "--person", "bob", *NOW)

    assert done(db, *week, "--top-k", "1").endswith("1 of 3 shown\n")
    assert "mended" not in done(db, *week, "--author", "alice")
    assert done(db, "timeline", "in March 2024", *NOW).endswith(
        "nothing is remembered of that time\n"
    )


def test_words_that_name_no_time_are_refused(db: Path) -> None:
    """The message shows some that do."""
    result = call(db, "timeline", "the blue pot", *NOW)

    assert result.exit_code == 1
    assert "period must be words for a time, such as 'last week'" in result.stderr


def test_what_is_related_is_kept_and_listed(db: Path) -> None:
    """Told with evidence and a beginning, it comes back so, and names what people call it."""
    told = done(
        *(db, "relate", "Alice", "married to", "Bob", "--evidence", "cake"),
        *("--since", "2020-05-01", "--confidence", "0.9"),
    )

    assert told == (
        "Alice married to Bob, in shared:household, 0.90 sure, since 2020-05-01, evidence cake\n"
    )
    assert done(db, "relate", "--person", "bob") == told
    assert "Alice" in done(db, "understand", "who is Bob's wife?", "--person", "bob")


def test_what_is_related_is_for_who_may_see_it(db: Path) -> None:
    """A private space's is its owner's, another band's for those it opens to, and time counts."""
    done(db, "relate", "Bob", "owes", "Carl", "--space", "private:bob")
    done(db, "relate", "Bob", "works for", "Dora", "--band", "amber")
    done(db, "relate", "Mia", "pupil of", "Ms Roe", "--until", "2025-07-01")

    def seen(*who: str) -> list[str]:
        return [one["object"] for one in json.loads(done(db, "relate", *who, "--json"))]

    assert seen("--person", "bob") == ["Carl", "Dora"]
    assert seen("--person", "alice") == ["Dora"]
    assert seen() == []
    assert seen("--as-of", "2025-01-01") == ["Ms Roe"]
    assert seen("--person", "bob", "--space", "private:bob") == ["Carl", "Dora"]
    assert call(db, "relate", "--person", "alice", "--space", "private:bob").exit_code == 1


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("Alice", "knows"), 2, "expected SUBJECT RELATION OBJECT, or none of them to list, got 2"),
        (("a", "b", "c", "--evidence", "nope"), 1, "evidence 'nope' is no memory"),
        (("a", "b", "c", "--confidence", "2"), 1, "confidence must be in [0, 1]"),
        (("a", "b", "c", "--space", "moon"), 1, "moon"),
        (("a", " ", "c"), 1, "relation must be a text that says something"),
    ],
)
def test_what_cannot_be_related_is_refused(
    db: Path, args: tuple[str, ...], code: int, message: str
) -> None:
    """In one line, and nothing is kept."""
    result = call(db, "relate", *args)

    assert (result.exit_code, message in result.stderr) == (code, True), result.stderr
    assert done(db, "relate") == "no relations\n"


def test_a_relation_is_taken_back_as_it_was_told(db: Path) -> None:
    """By an owner, and with all that says which is meant; what is not there says how to go on."""
    since = ("--since", "2020-05-01")
    done(db, "relate", "Alice", "married to", "Bob", *since, "--band", "amber")
    assert ", since 2020-05-01, band amber" in done(db, "relate", "--person", "bob")
    line = ("unrelate", "Alice", "married to", "Bob", "--band", "amber")

    for who, extra, message in (
        ("bob", since, "only an owner of 'shared:household'"),
        ("alice", (), "with these options; to list what there is: family-recall relate"),
    ):
        refused = call(db, *line, *extra, "--person", who)
        assert (refused.exit_code, message in refused.stderr) == (1, True), refused.stderr
    assert done(db, *line, *since, "--person", "alice") == (
        "removed: Alice married to Bob, in shared:household\n"
    )
    assert done(db, "relate", "--person", "bob") == "no relations\n"


def test_a_correction_says_what_changed(db: Path) -> None:
    """By whoever said it; the rest stays, and another's is refused."""
    assert done(
        *(db, "correct", "gate", "Bob mended the fence", "--person", "bob"),
        *("--label", "garden", "--title", "Fence"),
    ).splitlines() == [
        "corrected gate in shared:household",
        "  text: Bob mended the gate → Bob mended the fence",
        "  title: (none) → Fence",
        "  labels: (none) → garden",
    ]
    again = ("correct", "gate", "--person", "bob", "--title", "")
    assert "  title: Fence → (none)" in done(db, *again)
    assert done(db, *again) == "unchanged gate: it already reads so\n"
    for args, code, message in (
        (("cake", "Bob baked it", "--person", "bob"), 1, "only by its author"),
        (("gate", "--person", "bob"), 2, "expected a new TEXT or an option"),
        (("nope", "x", "--person", "bob"), 1, "no memory 'nope'"),
    ):
        refused = call(db, "correct", *args)
        assert (refused.exit_code, message in refused.stderr) == (code, True), refused.stderr


def test_people_and_spaces_are_listed_as_somebody_may_know_them(db: Path) -> None:
    """A sitter who may enter one space knows who else does, and of no other space."""
    done(db, "people", "add", "sitter")
    done(db, "spaces", "add", "shared:garden")
    done(db, "grant", "sitter", "shared:garden", "--role", "guest")
    done(db, "grant", "alice", "shared:garden")

    people = json.loads(done(db, "people", "--person", "sitter", "--json"))["people"]
    spaces = json.loads(done(db, "spaces", "--person", "sitter", "--json"))["spaces"]

    assert {one["person_id"]: list(one["spaces"]) for one in people} == {
        "alice": ["shared:garden"],
        "sitter": ["private:sitter", "shared:garden"],
    }
    assert [one["space_id"] for one in spaces] == ["private:sitter", "shared:garden"]
    assert "bob" not in done(db, "spaces", "--person", "sitter")
    assert len(json.loads(done(db, "people", "--json"))["people"]) == 3
    assert call(db, "people", "--person", "zoe").exit_code == 1
