"""The map on Ray: tasks on this machine or a cluster, at most so many at once, and tried again.

A task whose worker or node dies is done by another one. Ray is the extra ``[fleet]``, and is
imported only here and by the servers.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from family_recall.apps.fleet.mapping import TRANSIENT, Engine, Task, attempt, failed
from family_recall.apps.fleet.steps import Row
from family_recall.errors import InvalidRequestError

TRIES = 4
"""How often a household is tried, at most."""
_MIB = 1024 * 1024
_WORKER_MIB = 384
"""What a worker takes without its household: Python, Ray and the models; 310 were measured."""
_OBJECT_STORE_MIB = 128
"""Rows are small; Ray takes 30 % of the memory otherwise."""


def connect(address: str | None = None, *, workers: int | None = None) -> None:
    """Connect to a cluster, or start Ray on this machine; does nothing where that was done.

    Args:
        address: The cluster's, or ``auto``; None starts Ray here, for as long as this process.
        workers: Processors to start Ray with here; all of them, when left out.

    Raises:
        ImportError: If Ray is not installed; the message holds the command that installs it.
    """
    ray = imported()
    if ray.is_initialized():
        return
    local: dict[str, Any] = {
        "num_cpus": workers,
        "object_store_memory": _OBJECT_STORE_MIB * _MIB,
        "include_dashboard": False,
    }
    ray.init(
        address or "local",  # without it, Ray joins a cluster that happens to run here
        logging_level="error",
        log_to_driver=False,
        **(local if address is None else {}),
    )


def imported() -> Any:
    """Return Ray, with its usage reports switched off.

    Raises:
        ImportError: See :func:`connect`.
    """
    # Read when Ray starts here; a cluster that is running has its own setting.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray  # noqa: PLC0415 -- the extra
    except ImportError:
        raise ImportError(
            "ray is not installed; add it with: pip install 'family-recall[fleet]'"
        ) from None
    return ray


def on_ray(*, workers: int | None = None, memory_mib: int | None = None) -> Engine:
    """Return an engine that does tasks on the cluster that :func:`connect` connected to.

    Each takes one processor and, where the memory of a household is limited, reserves that and what
    a worker takes itself; no more are started than fit.

    Args:
        workers: Tasks at once; as many as the cluster has processors, when left out.
        memory_mib: What a household may allocate.

    Raises:
        InvalidRequestError: If no node has the memory for a worker.
    """
    n_bytes = None if memory_mib is None else (memory_mib + _WORKER_MIB) * _MIB
    most = max(node["Resources"].get("memory", 0) for node in imported().nodes())
    if n_bytes is not None and n_bytes > most:
        # Ray would wait for such a node for ever.
        raise InvalidRequestError(
            f"expected at most {most / _MIB:,.0f} MiB a worker, as much as a node has, got "
            f"{n_bytes // _MIB:,}"
        )
    return functools.partial(_rows, workers, n_bytes)


def _rows(workers: int | None, n_bytes: int | None, tasks: Iterable[Task]) -> Iterator[Row]:
    """Do tasks, a few more handed out than are running, and yield rows as they come."""
    ray = imported()
    remote = ray.remote(_attempt).options(
        num_cpus=1,
        memory=n_bytes,
        max_retries=TRIES - 1,
        retry_exceptions=list(TRANSIENT),
    )
    waiting = iter(tasks)
    running: dict[Any, Task] = {}
    try:
        while True:
            at_once = workers or max(2 * int(ray.cluster_resources().get("CPU", 1)), 1)
            while len(running) < at_once and (task := next(waiting, None)) is not None:
                running[remote.remote(task)] = task
            if not running:
                return
            (reference,), _ = ray.wait(list(running), num_returns=1)
            task = running.pop(reference)
            try:
                row = ray.get(reference)
            except ray.exceptions.RayError as error:
                row = failed(task, getattr(error, "cause", None) or error)
            yield row
    finally:  # where the run was stopped
        for reference in running:
            ray.cancel(reference)


def write_parquet(rows: Sequence[Row], folder: Path) -> None:
    """Write rows as a Parquet dataset, through Ray Data; what was in the folder is replaced."""
    import pyarrow as pa  # noqa: PLC0415 -- the extra
    import ray.data  # noqa: PLC0415 -- the extra
    from ray.util.scheduling_strategies import (  # noqa: PLC0415 -- the extra
        NodeAffinitySchedulingStrategy,
    )

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    here = ray.get_runtime_context().get_node_id()  # the folder may be on this machine alone
    ray.data.from_arrow(_table(pa, rows)).write_parquet(
        str(folder.resolve()),
        mode="overwrite",
        ray_remote_args={
            "num_cpus": 0,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(here, soft=False),
        },
    )


def _attempt(task: Task) -> Row:
    """Do a task on a worker; its row says on which node."""
    node = imported().get_runtime_context().get_node_id()
    return {**attempt(task), "node": node}


def _table(pa: Any, rows: Sequence[Row]) -> Any:
    """Return rows as an Arrow table with the columns of all: one that failed lacks most."""
    names = dict.fromkeys(name for row in rows for name in row)
    table = pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])
    columns = [
        pa.field(field.name, pa.string() if pa.types.is_null(field.type) else field.type)
        for field in table.schema
    ]
    return table.cast(pa.schema(columns))
