"""``family-recall`` for who sees what: grants, guardians, hidden fields, and the log of recalls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from family_recall import FamilyRecall
from tests.apps.cli.runner import call, call_in, done, done_in
from tests.conftest import NO_MODELS

HOME = "shared:household"


def texts(db: Path, question: str, *who: str) -> list[str]:
    """Ask, with time enough, and give what was found."""
    shown = done("recall", "--db", db, question, *who, "--budget-ms", "60000", "--json")
    return [result["text"] for result in json.loads(shown)["results"]]


@pytest.fixture
def family(tmp_path: Path) -> Path:
    """A household of two parents and a child, with a sitter who is no resident."""
    path = tmp_path / "family.db"
    people = (part for name in ("alice", "bob", "mia") for part in ("--person", name))
    done("init", "--db", path, *people)
    done("grant", "--db", path, "mia", HOME, "--role", "child")
    done("people", "add", "--db", path, "sitter")
    done("grant", "--db", path, "sitter", HOME, "--role", "guest", "--expires", "2199-01-01")
    done("add", "--db", path, "The spare key is under the blue pot", "--author", "alice")
    return path


def test_who_is_named_first_owns_what_is_shared(family: Path) -> None:
    """Without an owner nobody could read the log; making the household again demotes nobody."""
    done("init", "--db", family, "--person", "mia", "--person", "tom")

    with FamilyRecall.open(family, models=NO_MODELS) as home:
        roles = {one.person_id: one.role for one in home.spaces.grants() if one.space_id == HOME}
    expected = {"alice": "owner", "bob": "adult", "mia": "child", "tom": "adult", "sitter": "guest"}
    assert roles == expected


def test_a_person_of_a_known_id_inherits_nothing(family: Path) -> None:
    """Who comes by an id that was another's gets a private space of their own."""
    done("grant", "--db", family, "bob", "private:mia", "--role", "guest")
    done("add", "--db", family, "Mia hid the cake", "--author", "mia", "--space", "private:mia")
    done("people", "remove", "--db", family, "mia", "--said", "keep", "--yes")

    assert "in private:mia-2 (owner)" in done("people", "add", "--db", family, "mia")
    assert texts(family, "cake", "--person", "mia") == []
    assert texts(family, "cake", "--person", "bob")[0] == "Mia hid the cake"


def test_init_changes_no_space_that_is_there(family: Path) -> None:
    """One of everybody stays so, and somebody's private one is refused."""
    done("spaces", "add", "--db", family, "everybody", "--kind", "household")
    done("init", "--db", family, "--person", "alice", "--space", "everybody")
    before = done("spaces", "--db", family)
    refused = call("init", "--db", family, "--person", "tom", "--space", "private:bob")

    assert "household space everybody" in before
    assert "'private:bob' is a private space; name a shared one" in refused.stderr
    assert done("spaces", "--db", family) == before


def test_a_grant_can_be_revoked(family: Path) -> None:
    """From the next question on a person without a grant sees nothing; revoking twice is told."""
    assert texts(family, "spare key", "--person", "sitter")
    assert "sitter (guest" not in done("revoke", "--db", family, "sitter", HOME)
    assert texts(family, "spare key", "--person", "sitter") == []
    again = call("revoke", "--db", family, "sitter", HOME)
    assert (again.exit_code, again.stderr) == (1, f"Error: sitter has no grant for {HOME}\n")


def test_a_guardian_sees_what_is_for_guardians(family: Path) -> None:
    """What is told for a child's guardians is for them, until they are so no longer."""
    shown = done("guardian", "--db", family, "alice", "mia")
    assert "guardians of mia: alice" in shown
    done("add", "--db", family, "Mia sees Dr. Roy on Monday", "--guardians-of", "mia")
    doctor = ["Mia sees Dr. Roy on Monday"]
    seen = {
        who: doctor[0] in texts(family, "Dr. Roy", "--person", who)
        for who in ("alice", "bob", "mia")
    }
    assert seen == {"alice": True, "bob": False, "mia": False}
    done("guardian", "--db", family, "alice", "mia", "--remove")
    assert doctor[0] not in texts(family, "Dr. Roy", "--person", "alice")
    assert call("guardian", "--db", family, "alice", "mia", "--remove").exit_code == 1


def test_a_role_can_be_kept_from_fields(family: Path) -> None:
    """A guest finds the key, not who told of it; the list says what guests do not see."""
    shown = done("hide", "--db", family, HOME, "guest", "author", "url")
    assert f"in {HOME} the role guest does not see: author, url" in shown
    found = json.loads(
        done(
            "recall", "--db", family, "key", "--person", "sitter", "--budget-ms", "60000", "--json"
        )
    )
    assert [(one["text"][:13], one["author"]) for one in found["results"]] == [
        ("The spare key", None)
    ]
    assert "does not see" not in done("hide", "--db", family, HOME, "guest")
    assert all(
        one["hidden"] == {}
        for one in json.loads(done("spaces", "--db", family, "--json"))["spaces"]
    )


def test_a_household_space_is_everybodys(family: Path) -> None:
    """A household space needs no grant, and a shared one does."""
    assert "seen by everybody here" in done(
        "spaces", "add", "--db", family, "house", "--kind", "household"
    )
    done("add", "--db", family, "The boiler valve is stiff", "--space", "house")
    assert texts(family, "boiler valve", "--person", "sitter")[:1] == ["The boiler valve is stiff"]


def test_an_owner_reads_the_log(family: Path) -> None:
    """The log says who was given what and when, to an owner, and can be switched off."""
    texts(family, "spare key", "--person", "sitter", "--space", HOME)
    refused = call("audit", "--db", family, "--person", "mia")
    assert (
        json.loads(done("audit", "--db", family, "--person", "mia", "--json")) == []
    )  # of her own room
    assert refused.stdout == "nothing was recalled\n"
    done("grant", "--db", family, "alice", HOME, "--role", "owner")
    (entry,) = json.loads(done("audit", "--db", family, "--person", "alice", "--json"))
    assert (entry["person_id"], entry["asked_in"], entry["call"]) == ("sitter", HOME, "recall")
    assert [space for space, _ in entry["memories"]] == [HOME]
    line = done("audit", "--db", family, "--person", "alice", "--of", "sitter")
    assert f"sitter in {HOME}: recall returned {entry['memories'][0][1][:6]}" in line
    assert (
        done("audit", "--db", family, "--person", "alice", "--of", "bob")
        == "nothing was recalled\n"
    )
    assert (
        done("audit", "--db", family, "--person", "alice", "--keep-days", "0")
        == "nothing was recalled\n"
    )
    assert call("audit", "--db", family, "--person", "sitter").exit_code == 0  # a room of their own


def test_init_gives_everybody_a_space_of_their_own_and_a_shared_one(db: Path) -> None:
    """Two people share the household, whose owner is the first, and own a private space each."""
    people = json.loads(done("people", "--db", db, "--json"))["people"]
    spaces = json.loads(done("spaces", "--db", db, "--json"))["spaces"]

    assert [(one["person_id"], one["name"], one["spaces"]) for one in people] == [
        ("alice", "Alice", {"private:alice": "owner", "shared:household": "owner"}),
        ("bob", "Robert", {"private:bob": "owner", "shared:household": "adult"}),
    ]
    assert {(one["space_id"], one["kind"]) for one in spaces} == {
        ("shared:household", "shared"),
        ("private:alice", "private"),
        ("private:bob", "private"),
    }


def test_a_household_grows_by_people_spaces_and_grants(db: Path) -> None:
    """A sitter with a nickname becomes a guest of the garden until March."""
    before = done("people", "--db", db) + done("spaces", "--db", db)
    added = done("people", "add", "--db", db, "sitter=Sam", "--alias", "Sammy")
    added += done("spaces", "add", "--db", db, "shared:garden")
    shown = done(
        "grant", "--db", db, "sitter", "shared:garden", "--role", "guest", "--until", "2026-03-01"
    )

    assert "sitter: Sam, also Sammy; in private:sitter (owner), shared:garden (guest" in shown
    assert "shared space shared:garden: seen by sitter (guest until 2026-03-01)" in shown
    assert "private space private:sitter: seen by sitter (owner)" in added
    after = done("people", "--db", db) + done("spaces", "--db", db)
    changed = set(after.splitlines()) - set(before.splitlines())
    said = {*added.splitlines()[1:-1], *shown.splitlines()}
    hints = {line for line in said if line.startswith("they see nothing shared yet")}
    assert len(hints) == 1
    assert changed == said - hints  # and no other line
    again = ("grant", "--db", db, "sitter", "shared:garden", "--role", "guest")
    assert done(*again, "--until", "2026-03-01") == "nothing changed: it was so already\n"


def test_people_and_spaces_are_listed_as_somebody_may_know_them(diary: Path) -> None:
    """A sitter who may enter one space knows who else does, and of no other space."""
    done_in(diary, "people", "add", "sitter")
    done_in(diary, "spaces", "add", "shared:garden")
    done_in(diary, "grant", "sitter", "shared:garden", "--role", "guest")
    done_in(diary, "grant", "alice", "shared:garden")

    people = json.loads(done_in(diary, "people", "--person", "sitter", "--json"))["people"]
    spaces = json.loads(done_in(diary, "spaces", "--person", "sitter", "--json"))["spaces"]

    assert {one["person_id"]: list(one["spaces"]) for one in people} == {
        "alice": ["shared:garden"],
        "sitter": ["private:sitter", "shared:garden"],
    }
    assert [one["space_id"] for one in spaces] == ["private:sitter", "shared:garden"]
    assert "bob" not in done_in(diary, "spaces", "--person", "sitter")
    assert len(json.loads(done_in(diary, "people", "--json"))["people"]) == 3
    assert call_in(diary, "people", "--person", "zoe").exit_code == 1
