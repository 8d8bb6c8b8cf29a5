"""A node is killed in the middle of a run: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from family_recall.apps.evaluation import EvaluationReport
from family_recall.apps.fleet import (
    FleetRun,
    Options,
    in_process,
    ray_engine,
    read_catalogue,
    report,
    run,
)
from family_recall.apps.fleet.mapping import Engine, Task, attempt
from family_recall.apps.fleet.ray_engine import on_ray, write_parquet
from family_recall.apps.fleet.steps import Row
from family_recall.errors import InvalidRequestError
from tests_fleet.conftest import OLD, TwoNodes, opened

MOMENT = "2026-03-01T18:30:00+00:00"


def do(step: str, catalogue: Path, ledger: Path, engine: Engine, **about: Any) -> FleetRun:
    """Run a step over a catalogue."""
    progress = about.pop("progress", None)
    return run(
        str(catalogue),
        read_catalogue(str(catalogue), datasets=step == "eval"),
        step,
        Options(**about),
        ledger=ledger,
        engine=engine,
        now=MOMENT,
        progress=progress,
    )


class Killing:
    """Kills a node when so many households are done."""

    def __init__(self, cluster: TwoNodes, at: int) -> None:
        """Kill the first node after ``at`` households."""
        self._cluster, self._at = cluster, at
        self.killed = False

    def __call__(self, done: int, total: int) -> None:
        """Be told how far the run is."""
        assert done <= total
        if done >= self._at and not self.killed:
            self.killed = True
            self._cluster.kill(0)


def test_every_household_is_whole_and_on_the_new_model(
    two_nodes: TwoNodes, homes: Path, tmp_path: Path
) -> None:
    """Of 60 households, one of two nodes killed after 20: none is lost, none done by halves.

    Each has one row, every memory it had, one vector of the new model for each, none of the old,
    and no fault that a complete check finds.
    """
    memories = {}
    for path in sorted(homes.glob("*.db")):
        with opened(path) as home:
            stats = home.maintenance.stats()
            memories[path.stem] = stats["memories"]
            assert stats["vectors"][OLD.model_id] == stats["memories"]
    kill = Killing(two_nodes, 20)

    done = do("reembed", homes, tmp_path / "ledger", on_ray(), drop_others=True, progress=kill)

    assert kill.killed
    assert not done.failures
    assert [row["household"] for row in done.rows] == sorted(memories)
    assert len(memories) == 60
    assert len({row["node"] for row in done.rows}) == 2
    (model,) = {row["model"] for row in done.rows}
    for name, n in memories.items():
        with opened(homes / f"{name}.db") as home:
            stats = home.maintenance.stats()
            assert stats["memories"] == n
            assert stats["vectors"][model] == n
            assert OLD.model_id not in stats["vectors"]
            assert not [finding for finding in home.maintenance.check() if finding.problem]


def test_an_evaluation_is_the_same_to_the_last_digit(
    two_nodes: TwoNodes, datasets: Path, tmp_path: Path
) -> None:
    """With a node killed on the way, the report is that of one process, but for milliseconds."""
    kill = Killing(two_nodes, 3)

    done = do("eval", datasets, tmp_path / "killed", on_ray(), progress=kill)
    alone = do("eval", datasets, tmp_path / "alone", in_process)

    assert kill.killed
    assert not done.failures
    assert measured(report("sets", done.rows, Options())) == measured(
        report("sets", alone.rows, Options())
    )


def measured(made: EvaluationReport) -> dict[str, Any]:
    """Return a report with every question, without what it took."""
    record = made.to_json(outcomes=True)
    del record["latency_ms"]
    for outcome in record["outcomes"]:
        del outcome["used_time_ms"]
    assert record["n_queries"] > 40
    assert record["n_hurried"] == 0
    return record


@pytest.mark.usefixtures("two_nodes")
def test_a_household_that_fails_for_a_while_is_tried_again(
    few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that ends its worker each time is tried four times and reported; the others are done.

    Among them is one whose disk fails three times, and not the fourth.
    """

    def dies(task: Task) -> Row:
        with (tmp_path / f"tries of {task.entry.household_id}").open("a+") as file:
            file.write(".")
            file.seek(0)
            tries = len(file.read())
        if task.entry.household_id == "home-000001":
            os._exit(1)
        if task.entry.household_id == "home-000002" and tries < ray_engine.TRIES:
            raise OSError("the disk")
        return attempt(task)

    monkeypatch.setattr(ray_engine, "_attempt", dies)
    done = do("doctor", few, tmp_path / "ledger", on_ray(workers=2))

    assert [row["household"] for row in done.failures] == ["home-000001"]
    assert "WorkerCrashedError" in done.failures[0]["error"]
    assert len(done.rows) == 10
    tries = {path.name[-1]: path.stat().st_size for path in tmp_path.glob("tries of *")}
    assert [tries[number] for number in "012"] == [1, ray_engine.TRIES, ray_engine.TRIES]


@pytest.mark.usefixtures("two_nodes")
def test_results_are_parquet(tmp_path: Path) -> None:
    """Any reader has a row for each household, with the columns of all; written again, once.

    And more memory than a node has is refused: Ray would wait for such a node for ever.
    """
    from pyarrow import parquet  # noqa: PLC0415

    rows: list[Row] = [
        {"household": "a", "error": None, "memories": 3, "gold": []},
        {"household": "b", "error": "OSError: disk"},
        {"household": "c", "error": None, "memories": 5, "gold": ["x"]},
    ]
    for _ in range(2):
        write_parquet(rows, tmp_path / "table")

    table = parquet.read_table(tmp_path / "table").to_pylist()
    assert [(row["household"], row["error"], row["memories"]) for row in table] == [
        ("a", None, 3),
        ("b", "OSError: disk", None),
        ("c", None, 5),
    ]
    with pytest.raises(InvalidRequestError, match=r"expected at most .* MiB a worker"):
        on_ray(memory_mib=10_000_000)
