"""Archive: a household out as JSON Lines and back in, the same bytes both ways."""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import (
    FamilyRecall,
    Grant,
    Hidden,
    Memory,
    RecallContext,
    Relation,
    RelationResult,
)
from family_recall.errors import DatasetError, InvalidRequestError
from family_recall.types import BANDS, CATEGORIES, KINDS
from family_recall.types.erasure import Receipt
from tests.conftest import HOME, NOW, Wall, move_in, open_home, recall, remember, written

texts = st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40
).filter(lambda text: bool(text.strip()))  # fmt: skip
moments = st.one_of(
    st.none(),
    st.datetimes(dt.datetime(3, 1, 1), dt.datetime(9997, 1, 1)),  # noqa: DTZ001  naive on purpose
    st.datetimes(
        dt.datetime(1970, 1, 2),  # noqa: DTZ001  the zone comes beside it
        dt.datetime(2100, 1, 1),  # noqa: DTZ001  see above
        timezones=st.sampled_from([dt.UTC, dt.timezone(dt.timedelta(hours=5, minutes=30))]),
    ),
)
memories = st.builds(
    Memory,
    text=texts,
    space_id=st.sampled_from([HOME, "private:priya"]),
    doc_id=st.one_of(st.none(), st.sampled_from(["a", "b", "c"])),
    author=st.sampled_from([None, "Priya", "Somebody Else"]),
    title=st.one_of(st.none(), texts),
    summary=st.one_of(st.none(), texts),
    kind=st.sampled_from(KINDS),
    category=st.sampled_from(CATEGORIES),
    session_id=st.sampled_from([None, "talk-1", "talk-2"]),
    labels=st.lists(texts, max_size=2).map(tuple),
    importance=st.floats(0, 1),
    valence=st.one_of(st.integers(-1, 1), st.floats(-1, 1)),
    band=st.sampled_from(BANDS),
    fact_key=st.sampled_from([None, "birthday"]),
    fact_value=st.one_of(st.none(), texts),
    occurred_at=moments,
    valid_from=moments,
)


def exported(home: FamilyRecall, folder: Path, name: str = "export.jsonl") -> bytes:
    """Export a household; return the file's bytes."""
    home.maintenance.export_to(folder / name, feedback=True, log=True, overwrite=True)
    return (folder / name).read_bytes()


@settings(max_examples=40, deadline=None)
@given(told=st.lists(memories, min_size=1, max_size=10))
def test_an_export_of_an_import_is_the_same_file(told: list[Memory]) -> None:
    """Export, import, export: the same bytes; and the household is sound and answers alike."""
    with tempfile.TemporaryDirectory() as name:
        folder, wall = Path(name), Wall()
        with open_home(folder / "a.db", wall=wall) as home:
            move_in(home)
            for memory in told:
                wall.tick(seconds=1.5)
                home.remember(memory)
            home.relations.add(Relation("Priya", "sister of", "Mia", HOME, confidence=0.5))
            home.spaces.grant(Grant("priya", HOME, "owner"))
            home.erasure.set_rule("casual", 36_000)
            home.spaces.hide(Hidden(HOME, "child", ("author", "title")))
            home.people.add_guardian("priya", "mia")
            remember(home, "What nobody wants to keep", doc_id="gone")
            receipt = home.forget("gone", person_id="priya")
            right = written(recall(home, told[0].text, "priya"))
            audit = home.audit.entries("priya")
            first = exported(home, folder)
        with open_home(folder / "b.db", wall=wall) as home:
            home.maintenance.import_from(folder / "export.jsonl")
            assert [one for one in home.maintenance.check() if one.problem] == []
            assert exported(home, folder) == first
            assert home.audit.entries("priya") == audit
            assert home.erasure.receipts() == [receipt]
            assert home.erasure.verify(receipt).forgotten
            home.flush()
            assert written(recall(home, told[0].text, "priya")) == right


def test_everything_comes_along(home: FamilyRecall, tmp_path: Path, wall: Wall) -> None:
    """Both time axes, replaced versions, relations, names, what was judged, and what came of it."""
    before = wall.tick(days=1)
    wall.tick(days=1)
    remember(home, "The spare key is under the red pot", doc_id="key", kind="fact")
    home.relations.add(Relation("Rajesh", "married to", "Priya", HOME, evidence=("march", "goa")))
    context = RecallContext(person_id="rajesh", now=NOW, time_budget_ms=60_000)
    for _ in range(3):
        home.feedback("where is the spare key?", "key", accepted=True, ctx=context)
    exported(home, tmp_path)

    with open_home(tmp_path / "new.db", wall=wall) as new:
        new.maintenance.import_from(tmp_path / "export.jsonl")
        new.flush()
        assert (new.people.all(), new.spaces.all(), new.spaces.grants()) == (
            home.people.all(), home.spaces.all(), home.spaces.grants(),
        )  # fmt: skip
        for known_at in (None, before):
            question: dict[str, Any] = {"known_at": known_at, "person_id": "rajesh"}
            answers = [recall(one, "where is the spare key?", **question) for one in (home, new)]
            assert written(answers[0]) == written(answers[1])
        assert new.learning.all("rajesh") == home.learning.all("rajesh")
        told = [recall(one, "what did Rajesh tell Priya?", "rajesh") for one in (home, new)]
        assert (
            told[0].relations
            == told[1].relations
            == (
                RelationResult(
                    "Rajesh Rao", "married to", "Priya Rao", HOME, evidence=("march", "goa")
                ),
            )
        )


def test_feedback_is_exported_only_on_request(home: FamilyRecall, tmp_path: Path) -> None:
    """Feedback is personal: an export has it only if requested."""
    context = RecallContext(person_id="rajesh", now=NOW, time_budget_ms=60_000)
    home.feedback("where is the spare key?", "key", accepted=True, ctx=context)

    assert "feedback" not in home.maintenance.export_to(tmp_path / "without.jsonl").records
    with_feedback = home.maintenance.export_to(tmp_path / "with.jsonl", feedback=True)
    assert with_feedback.records["feedback"] == 1


def test_the_log_is_exported_only_on_request(home: FamilyRecall, tmp_path: Path) -> None:
    """Who recalled what, and what was forgotten: only if requested."""
    home.spaces.grant(Grant("priya", HOME, "owner"))
    recall(home, "where is the spare key?", "priya")
    home.audit.keep_days(9)
    home.forget("cake", person_id="priya", undo_for=dt.timedelta(days=1))

    without = home.maintenance.export_to(tmp_path / "without.jsonl")
    assert not {"audit", "audit_memory", "receipt"} & set(without.records)
    with_log = home.maintenance.export_to(tmp_path / "with.jsonl", log=True)
    assert with_log.records["audit"] >= 1
    assert with_log.records["receipt"] == 1
    header = json.loads((tmp_path / "with.jsonl").read_bytes().splitlines()[0])
    assert header["info"]["audit_days"] == "9"
    # In the trash of the household, and nowhere else.
    assert b"chocolate" not in (tmp_path / "with.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("table", "fields", "said"),
    [
        ("audit", {"call": "spied"}, "CHECK constraint failed: call"),
        ("audit", {"person": 99}, "expected a record of audit that fits those before it"),
        ("audit", {"at_s": "now"}, "cannot store TEXT value in REAL column audit.at_s"),
        ("audit_memory", {"entry": 99}, "expected a record of audit_memory that fits those before"),
        ("audit_memory", {"rank": 0}, "CHECK constraint failed: rank"),
        ("receipt", {"receipt_id": "another"}, "expected a receipt under its id"),
        ("receipt", {"record": {}}, "this is not a receipt"),
        ("receipt", {"record": {"rows": ["a row"]}}, "this is not a receipt"),
    ],
)
def test_a_log_that_cannot_be_is_refused(
    home: FamilyRecall, tmp_path: Path, table: str, fields: dict[str, Any], said: str
) -> None:
    """What is imported is bounded: calls there are, people there are, receipts one can check."""
    home.spaces.grant(Grant("priya", HOME, "owner"))
    recall(home, "where is the spare key?", "priya")
    home.forget("cake", person_id="priya")
    assert home.audit.entries("priya")  # written by now
    lines = exported(home, tmp_path).splitlines()
    at = next(no for no, one in enumerate(lines) if json.loads(one).get("table") == table)
    changed(at + 1, **fields)(lines)
    (tmp_path / "broken.jsonl").write_bytes(b"\n".join(lines) + b"\n")

    with open_home(tmp_path / "new.db") as new, pytest.raises(DatasetError, match=said):
        new.maintenance.import_from(tmp_path / "broken.jsonl")


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": ["1"]}, {"rows": [-1]}, {"rows": [1 << 63]}, {"rows": [True]}, {"rows": 7},
        {"proof": {}}, {"proof": 7}, {"proof": {"at": 1, "rewritten": True}},
        {"proof": {"at": "now", "rewritten": 1}}, {"counts": {"memories": -1}},
        {"proof": {"at": "now", "rewritten": True, "bytes_read": -1}},
        {"proof": {"at": "now", "rewritten": True, "searched": None}},
    ],
)  # fmt: skip
def test_what_is_no_receipt_is_refused(home: FamilyRecall, wrong: dict[str, Any]) -> None:
    """Row numbers and counts are counts, a proof is a proof: an error, and no search."""
    receipt = home.forget("cake", person_id="priya").to_json()

    with pytest.raises(InvalidRequestError):
        Receipt.from_json(receipt | wrong)


def test_an_export_goes_into_a_new_household_alone(home: FamilyRecall, tmp_path: Path) -> None:
    """Its numbers are the file's own, so it cannot be mixed with another household."""
    exported(home, tmp_path)

    with pytest.raises(InvalidRequestError, match="has something in it"):
        home.maintenance.import_from(tmp_path / "export.jsonl")
    with pytest.raises(InvalidRequestError, match="exists"):
        home.maintenance.export_to(tmp_path / "export.jsonl")


def changed(line: int, **fields: Any) -> Any:
    """Return a function that changes some fields of one line (counted from 1)."""

    def change(lines: list[bytes]) -> None:
        record = json.loads(lines[line - 1]) | fields
        lines[line - 1] = json.dumps(record).encode()

    return change


def dropped(line: int) -> Any:
    """Return a function that removes one line."""
    return lambda lines: lines.pop(line - 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            changed(1, format=3),
            r":1: format 3, this version reads format 2; export again",
        ),
        (changed(1, records={"memory": -1}), r":1: .*`int` [<>]=.* at `\$.records"),
        (changed(1, records={"person": 10**9}), r":1: .*`int` [<>]=.* at `\$.records"),
        (changed(1, info={"timezone": "Atlantis/Deep"}), r"timezone must be an IANA name"),
        (changed(1, info={"schema": "1"}), r":1: .*unknown field `schema`"),
        (changed(1, info={"audit_days": "-1"}), r":1: .*audit_days"),
        (changed(2, person_id=""), r":2: person_id must be a text that is not empty"),
        (changed(2, no="one"), r":2: .*datatype mismatch"),
        (changed(2, no=2**70), r":2: .*too big"),
        (changed(2, height=3), r":2: unknown field 'height'"),
        (changed(2, table="sqlite_schema"), r":2: expected a table of person, "),
        (changed(2, aliases=[1]), r":2: aliases must be a text"),
        (changed(8, role="king"), r":8: .*king"),
        (changed(14, text=" "), r":14: text must be a text that is not empty"),
        (changed(14, importance=7), r":14: importance must be in"),
        (changed(14, recorded_s=1e300), r":14: .*CHECK constraint failed: recorded_s"),
        (changed(14, content_hash="zz"), r":14: expected content_hash to be hexadecimal digits"),
        (
            changed(15, id=1099511627777),
            r":15: expected a record of memory that fits those before it",
        ),
        (changed(14, space=9), r":14: expected a record of memory that fits those before it"),
        (changed(14, id=5), r"places: 1 memories without a partition; the export is not whole"),
        (dropped(14), r"expected 7 of memory, got 6; the file was cut short"),
        (dropped(2), r":7: expected a record of access that fits those before it"),
        (lambda lines: lines.append(lines[13]), r":\d+: expected 7 of memory, got more"),
        (lambda lines: lines.insert(2, b"[" * 100_000), r":3: expected one JSON object"),
        (lambda lines: lines.insert(2, b'{"a": "\xff"}'), r":3: expected UTF-8"),
        (lambda lines: lines.clear(), r":1: expected the first line of an export"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(
    home: FamilyRecall, tmp_path: Path, change: Any, said: str
) -> None:
    """A broken export leaves the household empty, and the error says where it is broken."""
    lines = exported(home, tmp_path).splitlines()
    change(lines)
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(b"\n".join(lines) + b"\n")

    with open_home(tmp_path / "new.db") as new:
        with pytest.raises((DatasetError, InvalidRequestError), match=said):
            new.maintenance.import_from(broken)
        assert new.maintenance.stats()["memories"] == 0
        assert new.people.all() == []
        new.maintenance.import_from(tmp_path / "export.jsonl")


def test_a_line_without_an_end_is_refused(tmp_path: Path) -> None:
    """A line longer than any record can be is not read into memory."""
    path = tmp_path / "long.jsonl"
    path.write_bytes(b'{"family_recall":"export","x":"' + b"x" * (33 * 1024 * 1024))

    with open_home(tmp_path / "new.db") as new, pytest.raises(DatasetError, match=r":1: .* bytes"):
        new.maintenance.import_from(path)


def test_where_the_household_lives_comes_along(tmp_path: Path) -> None:
    """Time zone and country are the export's, and days are named by that zone."""
    with FamilyRecall.open(
        tmp_path / "a.db", timezone="Asia/Kolkata", country="IN", models=tmp_path / "none"
    ) as home:
        move_in(home)
        remember(home, "late at night", occurred_at="2025-03-01T20:00:00+00:00")
        first = exported(home, tmp_path)
    with FamilyRecall.open(tmp_path / "b.db", models=tmp_path / "none") as new:
        new.maintenance.import_from(tmp_path / "export.jsonl")
        assert new.region.country == "IN"
        assert exported(new, tmp_path) == first
        assert [one for one in new.maintenance.check() if one.problem] == []
        assert recall(new, "what happened on Sunday 2 March 2025?").results
