"""``family-recall`` for who sees what: grants, guardians, hidden fields, and the log of recalls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from family_recall import FamilyRecall
from tests.cli.runner import call, done
from tests.conftest import NO_MODELS

HOME = "shared:household"


def texts(db: Path, question: str, *who: str) -> list[str]:
    """Ask, with time enough, and give what was found."""
    shown = done("recall", "--db", db, question, *who, "--budget-ms", "60000", "--json")
    return [result["text"] for result in json.loads(shown)["results"]]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A household of two parents and a child, with a sitter who is no resident."""
    path = tmp_path / "family.db"
    people = (part for name in ("alice", "bob", "mia") for part in ("--person", name))
    done("init", "--db", path, *people)
    done("grant", "--db", path, "mia", HOME, "--role", "child")
    done("people", "add", "--db", path, "sitter")
    done("grant", "--db", path, "sitter", HOME, "--role", "guest", "--expires", "2199-01-01")
    done("add", "--db", path, "The spare key is under the blue pot", "--author", "alice")
    return path


def test_who_is_named_first_owns_what_is_shared(db: Path) -> None:
    """Without an owner nobody could read the log; making the household again demotes nobody."""
    done("init", "--db", db, "--person", "mia", "--person", "tom")

    with FamilyRecall.open(db, models=NO_MODELS) as home:
        roles = {one.person_id: one.role for one in home.spaces.grants() if one.space_id == HOME}
    expected = {"alice": "owner", "bob": "adult", "mia": "child", "tom": "adult", "sitter": "guest"}
    assert roles == expected


def test_a_grant_can_be_revoked(db: Path) -> None:
    """From the next question on a person without a grant sees nothing; revoking twice is told."""
    assert texts(db, "spare key", "--person", "sitter")
    assert "sitter (guest" not in done("revoke", "--db", db, "sitter", HOME)
    assert texts(db, "spare key", "--person", "sitter") == []
    again = call("revoke", "--db", db, "sitter", HOME)
    assert (again.exit_code, again.stderr) == (1, f"Error: sitter has no grant for {HOME}\n")


def test_a_guardian_sees_what_is_for_guardians(db: Path) -> None:
    """What is told for a child's guardians is for them, until they are so no longer."""
    shown = done("guardian", "--db", db, "alice", "mia")
    assert "guardians of mia: alice" in shown
    done("add", "--db", db, "Mia sees Dr. Roy on Monday", "--guardians-of", "mia")
    doctor = ["Mia sees Dr. Roy on Monday"]
    seen = {
        who: doctor[0] in texts(db, "Dr. Roy", "--person", who) for who in ("alice", "bob", "mia")
    }
    assert seen == {"alice": True, "bob": False, "mia": False}
    done("guardian", "--db", db, "alice", "mia", "--remove")
    assert doctor[0] not in texts(db, "Dr. Roy", "--person", "alice")
    assert call("guardian", "--db", db, "alice", "mia", "--remove").exit_code == 1


def test_a_role_can_be_kept_from_fields(db: Path) -> None:
    """A guest finds the key, not who told of it; the list says what guests do not see."""
    shown = done("hide", "--db", db, HOME, "guest", "author", "url")
    assert f"in {HOME} the role guest does not see: author, url" in shown
    found = json.loads(
        done("recall", "--db", db, "key", "--person", "sitter", "--budget-ms", "60000", "--json")
    )
    assert [(one["text"][:13], one["author"]) for one in found["results"]] == [
        ("The spare key", None)
    ]
    assert "does not see" not in done("hide", "--db", db, HOME, "guest")
    assert all(
        one["hidden"] == {} for one in json.loads(done("spaces", "--db", db, "--json"))["spaces"]
    )


def test_a_household_space_is_everybodys(db: Path) -> None:
    """A household space needs no grant, and a shared one does."""
    assert "seen by everybody here" in done(
        "spaces", "add", "--db", db, "house", "--kind", "household"
    )
    done("add", "--db", db, "The boiler valve is stiff", "--space", "house")
    assert texts(db, "boiler valve", "--person", "sitter")[:1] == ["The boiler valve is stiff"]


def test_an_owner_reads_the_log(db: Path) -> None:
    """The log says who was given what and when, to an owner, and can be switched off."""
    texts(db, "spare key", "--person", "sitter", "--space", HOME)
    refused = call("audit", "--db", db, "--person", "mia")
    assert (
        json.loads(done("audit", "--db", db, "--person", "mia", "--json")) == []
    )  # of her own room
    assert refused.stdout == "nothing was recalled\n"
    done("grant", "--db", db, "alice", HOME, "--role", "owner")
    (entry,) = json.loads(done("audit", "--db", db, "--person", "alice", "--json"))
    assert (entry["person_id"], entry["asked_in"], entry["call"]) == ("sitter", HOME, "recall")
    assert [space for space, _ in entry["memories"]] == [HOME]
    line = done("audit", "--db", db, "--person", "alice", "--of", "sitter")
    assert f"sitter in {HOME}: recall returned {entry['memories'][0][1]}" in line
    assert done("audit", "--db", db, "--person", "alice", "--of", "bob") == "nothing was recalled\n"
    assert (
        done("audit", "--db", db, "--person", "alice", "--keep-days", "0")
        == "nothing was recalled\n"
    )
    assert call("audit", "--db", db, "--person", "sitter").exit_code == 0  # a room of their own
