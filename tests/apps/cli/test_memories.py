"""``family-recall add``, ``correct`` and ``stats``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.apps.cli.runner import call_in, done, done_in


def test_add_reads_standard_input_and_names_what_it_kept(db: Path) -> None:
    """The same id with the same words again is unchanged."""
    args = ("add", "--db", db, "-", "--id", "pump", "--at", "2026-01-09", "--json")

    assert json.loads(done(*args, stdin="The pump squeaks\n"))["outcome"] == "created"
    assert json.loads(done(*args, stdin="The pump squeaks\n")) == {
        "doc_id": "pump",
        "outcome": "unchanged",
    }


def test_stats_count_what_is_there(db: Path) -> None:
    """One memory, in JSON and in text."""
    assert json.loads(done("stats", "--db", db, "--json"))["memories"] == 1
    assert "memories" in done("stats", "--db", db)


def test_a_correction_says_what_changed(diary: Path) -> None:
    """By its author; the rest stays, and another person's is refused."""
    assert done_in(
        *(diary, "correct", "gate", "Bob mended the fence", "--person", "bob"),
        *("--label", "garden", "--title", "Fence"),
    ).splitlines() == [
        "corrected gate in shared:household",
        "  text: Bob mended the gate → Bob mended the fence",
        "  title: (none) → Fence",
        "  labels: (none) → garden",
    ]
    again = ("correct", "gate", "--person", "bob", "--title", "")
    assert "  title: Fence → (none)" in done_in(diary, *again)
    assert done_in(diary, *again) == "unchanged gate: it already reads so\n"
    for args, code, message in (
        (("cake", "Bob baked it", "--person", "bob"), 1, "only by its author"),
        (("gate", "--person", "bob"), 2, "expected a new TEXT or an option"),
        (("nope", "x", "--person", "bob"), 1, "no memory 'nope'"),
    ):
        refused = call_in(diary, "correct", *args)
        assert (refused.exit_code, message in refused.stderr) == (code, True), refused.stderr


def test_a_fact_told_again_replaces_the_earlier_one(db: Path) -> None:
    """With a key alone both are facts; the later is first, and says when it changed."""
    for text, value, day in (
        ("The boat shed opens with 4417", "4417", "2026-01-05"),
        ("New lock down there, so it is 9052", "9052", "2026-02-07"),
    ):
        done("add", text, "--db", db, "--fact-key", "boat_shed_code", "--fact-value", value,
             "--at", day, "--id", value)  # fmt: skip
    asked = ("recall", "--db", db, "boat shed code", "--now", "2026-03-01")

    answer = json.loads(done(*asked, "--json"))
    by_id = {result["doc_id"]: result for result in answer["results"]}
    assert [answer["results"][0]["doc_id"], by_id["4417"]["superseded_by"]] == ["9052", "9052"]
    assert by_id["9052"]["kind"] == "fact"
    assert "— 7 February 2026 (until then: 4417)" in done(*asked)
