"""A name that nobody has is refused in words of this household; a moment may be in words."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

import family_recall as fr
from tests.apps.cli.runner import call_in, done_in


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("add", "x", "--author", "alise"),
            "nobody here is called 'alise'; nothing was stored. Did you mean alice? To store",
        ),
        (("add", "x", "--author", "zzz"), "nobody here is called 'zzz'; nothing was stored. To"),
        (("add", "x", "--space", "shared:housold"), "Did you mean shared:household?"),
        (
            ("recall", "gate?", "--person", "bob", "--space", "private:alice"),
            "no space 'private:alice' for bob; spaces: private:bob, shared:household",
        ),
        (("relate", "Alise", "married to", "Bob"), "Did you mean Alice? If not: --new"),
        (("relate", "Alice", "married to", "Bobb"), "Did you mean Bob? If not: --new"),
        (("add", "x", "--at", "the usual"), "Invalid value for --at: 'the usual' is no moment"),
        (("add", "x", "--importance", "5"), "Error: --importance must be in [0, 1]"),
        (("recall", "x", "--top-k", "0"), "Error: --top-k must be 1 or more"),
        (("timeline", "blah"), "Error: PERIOD must be words for a time"),
        (("people", "add", ""), "expected an id, such as mia or mia=Mia"),
        (("people", "list"), "there is no family-recall people list; family-recall people alone"),
        (("people", "ad", "x"), "Did you mean family-recall people add?"),
        (
            ("forget", "--about", "Alise", "--person", "alice", "--dry-run"),
            "nothing of 'Alise', and nobody here is called so. Did you mean alice?",
        ),
        (("feedback", "gate?", "gate", "--person", "bob"), "Add --accept or --reject"),
        (("grant", "bob", "shared:household", "--until", "yesterday"), "'yesterday' is over"),
        (("init", "--country", "XX"), "no country has the ISO 3166 code 'XX'; write two letters"),
        (("init", "--country", "UK"), "did you mean GB?"),
        (("understand", "gate?", "--country", "ZZ"), "no country has the ISO 3166 code 'ZZ'"),
        (("init", "--timezone", "Europe/Londn"), "did you mean Europe/London?"),
        (("forget", "nosuch", "--person", "alice"), "Error: no memory 'nosuch' that you can see"),
        (("mcp", "--person", "tim"), "no person 'tim'; people here: alice, bob"),
        (("browse", "--person", "tim"), "no person 'tim'; people here: alice, bob"),
    ],
)
def test_an_unknown_name_is_refused_with_the_one_that_may_be_meant(
    diary: Path, words: tuple[str, ...], message: str
) -> None:
    """Nothing is stored, and nobody else's private space is named to a person."""
    before = done_in(diary, "stats", "--json")
    result = call_in(diary, *words)

    assert result.exit_code in {1, 2}
    assert message in result.stderr
    assert (
        json.loads(done_in(diary, "stats", "--json"))["memories"]
        == (json.loads(before)["memories"])
    )
    assert done_in(diary, "relate") == "no relations\n"


def test_what_is_meant_as_it_is_written_is_stored(diary: Path) -> None:
    """--heard keeps a name as heard, --new one that is like another; a new thing needs neither."""
    done_in(diary, "add", "The parcel is here", "--author", "Alise", "--heard", "--id", "parcel")
    done_in(diary, "relate", "Alise", "delivers to", "Alice", "--new")
    done_in(diary, "relate", "Alise", "works at", "the post office")  # she is known by now
    answer = json.loads(done_in(diary, "recall", "parcel", "--person", "alice", "--json"))

    assert answer["results"][0]["author"] == "Alise"
    assert done_in(diary, "relate").count("Alise") == 2


def test_an_author_is_found_by_any_of_their_names(diary: Path) -> None:
    """A name in any case and an alias stand for the person."""
    done_in(diary, "people", "add", "alice=Alice", "--alias", "Mum")
    for name in ("ALICE", "mum"):
        done_in(diary, "add", f"{name} was here", "--author", name)
    answer = json.loads(done_in(diary, "recall", "who was here", "--person", "bob", "--json"))

    assert {one["author"] for one in answer["results"] if "here" in one["text"]} == {"alice"}


@pytest.mark.parametrize(
    ("words", "days", "hour"), [("yesterday", 1, 0), ("yesterday at 6 pm", 1, 18)]
)
def test_a_moment_in_words_counts_from_now_where_the_household_lives(
    tmp_path: Path, words: str, days: int, hour: int
) -> None:
    """Fourteen hours ahead of UTC, yesterday is the day before the one there."""
    zone = ZoneInfo("Pacific/Kiritimati")
    path = tmp_path / "family.db"
    done_in(path, "init", "--person", "alice", "--timezone", zone.key)
    done_in(path, "add", "Bins out", "--at", words, "--author", "alice")
    with fr.FamilyRecall.open(path, create=False) as home:
        (result,) = home.recall("bins", person_id="alice").results

    assert result.occurred_at is not None
    said = dt.datetime.fromisoformat(result.occurred_at).astimezone(zone)
    day = dt.datetime.now(zone).date() - dt.timedelta(days=days)
    assert (said.date(), said.hour) == (day, hour)


def test_a_grant_until_a_weekday_ends_on_the_coming_one(diary: Path) -> None:
    """Read backwards, it would have ended before it began."""
    done_in(diary, "people", "add", "sitter")
    done_in(diary, "grant", "sitter", "shared:household", "--role", "guest", "--until", "Friday")
    with fr.FamilyRecall.open(diary, create=False) as home:
        (until,) = [one.expires_at for one in home.spaces.grants() if one.expires_at]

    assert dt.datetime.now(dt.UTC) < until.astimezone(dt.UTC)


def test_who_asks_as_nobody_is_told_so(diary: Path) -> None:
    """And one who asks as somebody is not."""
    assert "Asked by nobody who lives here" in done_in(diary, "recall", "the gate?")
    assert "Asked by nobody" not in done_in(diary, "recall", "the gate?", "--person", "bob")


def test_the_doctor_ends_with_a_verdict(diary: Path) -> None:
    """Its last line sums up all that stands above it."""
    assert done_in(diary, "doctor").splitlines()[-1] == f"everything is sound, {diary} too"
    diary.write_bytes(b"nothing of a database" * 1000)
    damaged = call_in(diary, "doctor")
    assert damaged.exit_code == 1
    assert damaged.stdout.splitlines()[-1] == "1 fault found, see above"
