"""``family-recall relate`` and ``unrelate``: what they store, list and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.apps.cli.runner import call_in, done_in


def test_what_is_related_is_kept_and_listed(diary: Path) -> None:
    """Told with evidence and a beginning, it comes back so, and names what people call it."""
    told = done_in(
        *(diary, "relate", "Alice", "married to", "Bob", "--evidence", "cake"),
        *("--since", "2020-05-01", "--confidence", "0.9"),
    )

    assert told == (
        "Alice married to Bob, in shared:household, 0.90 sure, since 2020-05-01, evidence cake\n"
    )
    assert done_in(diary, "relate", "--person", "bob") == told
    assert "Alice" in done_in(diary, "understand", "who is Bob's wife?", "--person", "bob")


def test_what_is_related_is_for_who_may_see_it(diary: Path) -> None:
    """A private space's is its owner's, another band's for those it opens to, and time counts."""
    done_in(diary, "relate", "Bob", "owes", "Carl", "--space", "private:bob")
    done_in(diary, "relate", "Bob", "works for", "Dora", "--band", "amber")
    done_in(diary, "relate", "Mia", "pupil of", "Ms Roe", "--until", "2025-07-01")

    def seen(*who: str) -> list[str]:
        return [one["object"] for one in json.loads(done_in(diary, "relate", *who, "--json"))]

    assert seen("--person", "bob") == ["Carl", "Dora"]
    assert seen("--person", "alice") == ["Dora"]
    assert seen() == []
    assert seen("--as-of", "2025-01-01") == ["Ms Roe"]
    assert seen("--person", "bob", "--space", "private:bob") == ["Carl", "Dora"]
    assert call_in(diary, "relate", "--person", "alice", "--space", "private:bob").exit_code == 1


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("Alice", "knows"), 2, "expected SUBJECT RELATION OBJECT, or none of them to list, got 2"),
        (("a", "b", "c", "--evidence", "nope"), 1, "evidence 'nope' is no memory"),
        (("a", "b", "c", "--confidence", "2"), 1, "confidence must be in [0, 1]"),
        (("a", "b", "c", "--space", "moon"), 1, "moon"),
        (("a", " ", "c"), 1, "relation must be a text that is not empty"),
    ],
)
def test_what_cannot_be_related_is_refused(
    diary: Path, args: tuple[str, ...], code: int, message: str
) -> None:
    """In one line, and nothing is kept."""
    result = call_in(diary, "relate", *args)

    assert (result.exit_code, message in result.stderr) == (code, True), result.stderr
    assert done_in(diary, "relate") == "no relations\n"


def test_a_relation_is_taken_back_as_it_was_told(diary: Path) -> None:
    """By an owner, and with all that says which is meant; what is not there says how to go on."""
    since = ("--since", "2020-05-01")
    done_in(diary, "relate", "Alice", "married to", "Bob", *since, "--band", "amber")
    assert ", since 2020-05-01, band amber" in done_in(diary, "relate", "--person", "bob")
    line = ("unrelate", "Alice", "married to", "Bob", "--band", "amber")

    for who, extra, message in (
        ("bob", since, "only an owner of 'shared:household'"),
        ("alice", (), "with these options; to list what there is: family-recall relate"),
    ):
        refused = call_in(diary, *line, *extra, "--person", who)
        assert (refused.exit_code, message in refused.stderr) == (1, True), refused.stderr
    assert done_in(diary, *line, *since, "--person", "alice") == (
        "removed: Alice married to Bob, in shared:household\n"
    )
    assert done_in(diary, "relate", "--person", "bob") == "no relations\n"
