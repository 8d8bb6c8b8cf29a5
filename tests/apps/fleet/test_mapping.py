"""The resumable map: every household once in the results, whatever fails or interrupts it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

from family_recall.api import files
from family_recall.apps.fleet import places, report, steps
from family_recall.apps.fleet.steps import Options, Row, questions
from family_recall.errors import DatasetError, ModelError
from tests.apps.fleet.homes import NEW, do, make_homes, use_tiny_models, vectors
from tests.conftest import STORIES

N = len(STORIES)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    use_tiny_models(monkeypatch)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of three households; tests work on copies."""
    return make_homes(tmp_path_factory.mktemp("made"))


@pytest.fixture
def homes(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the three households."""
    return Path(shutil.copytree(made, tmp_path / "homes"))


def counted(
    monkeypatch: pytest.MonkeyPatch, step: str, fails: dict[str, BaseException]
) -> list[str]:
    """Have a step list the households it is done to, and fail at some; it goes on otherwise."""
    did: list[str] = []
    real = steps.STEPS[step]

    def do_it(entry: Any, options: Options) -> Row:
        did.append(entry.household_id)
        if entry.household_id in fails:
            raise fails[entry.household_id]
        return real(entry, options)

    monkeypatch.setitem(steps.STEPS, step, do_it)
    return did


def test_every_household_gets_the_new_models_vectors(homes: Path, tmp_path: Path) -> None:
    """A vector of the new model for every memory, once; done again, none is made."""
    first = do("reembed", homes, tmp_path / "ledger")
    again = do("reembed", homes, tmp_path / "other ledger")

    assert [(row["household"], row["made"]) for row in first.rows] == [(h, N) for h in "abc"]
    assert [row["made"] for row in again.rows] == [0, 0, 0]
    assert vectors(homes / "b.db")[NEW.model_id] == N


def test_an_interrupted_run_does_only_the_rest(
    homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the ledger has is not done again, and every household has one row at the end."""
    with monkeypatch.context() as patched:
        did = counted(patched, "migrate", {"b": KeyboardInterrupt()})
        with pytest.raises(KeyboardInterrupt):
            do("migrate", homes, tmp_path / "ledger")
        assert did == ["a", "b"]
    did = counted(monkeypatch, "migrate", {})

    done = do("migrate", homes, tmp_path / "ledger")

    assert did == ["b", "c"]
    assert [row["household"] for row in done.rows] == ["a", "b", "c"]
    assert done.done_before == 1


def test_a_household_that_fails_is_reported_and_tried_again(
    homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps no other from being done; the next run does it alone."""
    with monkeypatch.context() as patched:
        counted(patched, "migrate", {"a": OSError("disk"), "b": ZeroDivisionError("a bug")})
        done = do("migrate", homes, tmp_path / "ledger")
    assert {row["household"]: row["error"] for row in done.failures} == {
        "a": "OSError: disk",
        "b": "ZeroDivisionError: a bug",
    }
    did = counted(monkeypatch, "migrate", {})

    again = do("migrate", homes, tmp_path / "ledger")

    assert did == ["a", "b"]
    assert not again.failures


@pytest.mark.parametrize("row", ["null", "[1]", '{"household": "a"}', '"x"', "7"])
def test_a_damaged_ledger_is_refused(homes: Path, tmp_path: Path, row: str) -> None:
    """The error says what to delete."""
    do("migrate", homes, tmp_path / "ledger")
    file = tmp_path / "ledger" / "done.jsonl"
    line = json.dumps({"leg": "migrate", "of": "a", "record": json.loads(row)})
    file.write_text(file.read_text() + line + "\n")

    if row == "null":  # none yet
        assert not do("migrate", homes, tmp_path / "ledger").failures
        return
    with pytest.raises(DatasetError, match="delete the ledger"):
        do("migrate", homes, tmp_path / "ledger")


def test_a_damaged_file_fails_the_doctor_alone(homes: Path, tmp_path: Path) -> None:
    """A fault is named; the others are sound."""
    damaged = homes / "b.db"
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2 :: 7] = bytes(len(content[len(content) // 2 :: 7]))
    damaged.write_bytes(content)
    (homes / "c.db").write_bytes(b"no household")

    done = do("doctor", homes, tmp_path / "ledger")

    assert [row["household"] for row in done.failures] == ["b", "c"]
    assert "StoreError" in done.failures[0]["error"]
    assert "NotAStoreError" in done.failures[1]["error"]
    assert done.rows[0]["memories"] == N


def test_a_ledger_is_of_one_step_and_catalogue(homes: Path, tmp_path: Path) -> None:
    """What would mix two runs is refused, and named."""
    do("migrate", homes, tmp_path / "ledger")

    with pytest.raises(DatasetError, match="begun with step migrate, and this is step doctor"):
        do("doctor", homes, tmp_path / "ledger")
    do("reembed", homes, tmp_path / "other")
    with pytest.raises(DatasetError, match="begun with drop_others nothing"):
        do("reembed", homes, tmp_path / "other", drop_others=True)


def test_progress_counts_what_is_done_already(homes: Path, tmp_path: Path) -> None:
    """Households done and in all, from what earlier runs did."""
    at: list[tuple[int, int]] = []
    do("migrate", homes, tmp_path / "ledger", progress=lambda *done: at.append(done))
    do("migrate", homes, tmp_path / "ledger", progress=lambda *done: at.append(done))

    assert at == [(0, 3), (1, 3), (2, 3), (3, 3), (3, 3)]


def test_a_household_past_its_memory_fails_alone(
    homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What allocates more than it may is a failure of that household; the next one has its room."""
    real = steps.STEPS["migrate"]

    def greedy(entry: Any, options: Options) -> Row:
        if entry.household_id == "b":
            np.ones(40_000_000)  # 320 MB
        return real(entry, options)

    monkeypatch.setitem(steps.STEPS, "migrate", greedy)

    done = do("migrate", homes, tmp_path / "ledger", memory_mib=128)

    assert [row["household"] for row in done.failures] == ["b"]
    assert "MemoryError" in done.failures[0]["error"]


def test_households_of_an_object_store_are_put_back_whole(homes: Path, tmp_path: Path) -> None:
    """A step works on a private copy; what it changed is in the store, and nothing else is."""
    store = fsspec.filesystem("memory")
    for file in homes.glob("*.db"):
        store.put_file(str(file), f"/homes/{file.name}")
    before = store.cat_file("/homes/a.db")

    do("doctor", "memory://homes", tmp_path / "checked")
    assert store.cat_file("/homes/a.db") == before
    done = do("reembed", "memory://homes", tmp_path / "reembedded")

    assert [row["made"] for row in done.rows] == [N, N, N]
    assert sorted(store.find("/homes")) == ["/homes/a.db", "/homes/b.db", "/homes/c.db"]
    store.get_file("/homes/a.db", str(tmp_path / "fetched.db"))
    assert vectors(tmp_path / "fetched.db")[NEW.model_id] == N


def test_what_did_not_change_is_not_put_back(
    homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that finds nothing to do writes nothing."""
    fsspec.filesystem("memory").put_file(str(homes / "a.db"), "/same/a.db")
    do("migrate", "memory://same", tmp_path / "first")
    put: list[str] = []
    monkeypatch.setattr(places, "put", lambda _, place: put.append(place))

    do("migrate", "memory://same", tmp_path / "second")
    assert put == []
    do("reembed", "memory://same", tmp_path / "third")
    assert put == ["memory://same/a.db"]


def test_each_household_has_its_own_key(tmp_path: Path) -> None:
    """ID.key opens an encrypted household; without it that household alone fails."""
    homes, keys = make_homes(tmp_path / "homes", 2), tmp_path / "keys"
    keys.mkdir()
    key = "a passphrase that is long"
    (keys / "a.key").write_text(f"{key}\n")
    files.rekey(homes / "a.db", new_key=key)

    assert not do("doctor", homes, tmp_path / "with", keys=keys).failures
    (failure,) = do("doctor", homes, tmp_path / "without").failures
    assert failure["household"] == "a"
    assert "WrongKeyError" in failure["error"]


def write_dataset(folder: Path, name: str) -> None:
    """Write a dataset of two memories and two questions, one without an answer."""
    (folder / name).mkdir(parents=True)
    (folder / name / "memories.jsonl").write_text(
        f'{{"id": "{name}1", "text": "The cat is called Miso", "space": "s"}}\n'
        f'{{"id": "{name}2", "text": "The plumber comes on Tuesday", "space": "s"}}\n'
    )
    (folder / name / "queries.jsonl").write_text(
        f'{{"id": "{name}q", "text": "What is the cat called?", "space": "s", "category": "plain",'
        f' "gold": ["{name}1"]}}\n'
        f'{{"id": "{name}r", "text": "Who is Zorro?", "space": "s", "category": "none", '
        '"gold": []}\n'
    )


def test_an_evaluation_reports_on_all_households_together(tmp_path: Path) -> None:
    """The report counts every household's questions, and a table has a row for each."""
    for name in ("x", "y"):
        write_dataset(tmp_path / "sets", name)

    done = do("eval", tmp_path / "sets", tmp_path / "ledger")
    made = report("sets", done.rows, Options())

    assert (made.n_queries, made.n_memories, made.overall["n"]) == (4, 4, 2)
    assert [row["household"] for row in questions(done.rows)] == ["x", "x", "y", "y"]
    assert done.rows[0]["recall@10"] == 1.0


def test_timing_a_household_leaves_it_as_it_was(homes: Path, tmp_path: Path) -> None:
    """A copy is asked by the first person; the file has the same bytes afterwards."""
    do("doctor", homes, tmp_path / "opened")
    before = (homes / "a.db").read_bytes()

    done = do("bench", homes, tmp_path / "ledger", questions=2, rerank=False)

    assert done.rows[0]["questions"] == 2
    assert done.rows[0]["recall_ms_p50"] > 0
    assert (homes / "a.db").read_bytes() == before


def test_timing_uses_the_models_of_the_run(
    homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that --models names, not the shipped ones."""

    def refuse(*_: object, models: Path, **__: object) -> None:
        raise ModelError(f"asked for {models}")

    monkeypatch.setattr(steps, "time_household", refuse)

    done = do("bench", homes, tmp_path / "ledger", models=tmp_path / "new models")

    assert done.failures[0]["error"] == f"ModelError: asked for {tmp_path / 'new models'}"
