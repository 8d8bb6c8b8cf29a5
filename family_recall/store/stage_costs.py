"""The cost of each stage on this device, stored so that it outlasts a process.

A file may be copied from a laptop to a telephone: each kind of device has rows of its own.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass

import apsw

from family_recall.store.file import sql


@dataclass(frozen=True, slots=True)
class StageCost:
    """Milliseconds a stage rarely exceeds: ``fixed_ms``, and ``unit_ms`` for each unit.

    ``runs`` counts the runs it rests on.
    """

    fixed_ms: float
    unit_ms: float
    runs: int = 0


def device() -> str:
    """Return the kind of device, as far as a stage's cost depends on it."""
    return f"{platform.machine() or 'unknown'}-{os.cpu_count() or 1}"


def load(connection: apsw.Connection, on: str) -> dict[str, StageCost]:
    """Read the costs on one kind of device, by stage."""
    rows = sql.rows(
        connection,
        "SELECT stage, fixed_ms, unit_ms, runs FROM stage_cost WHERE device = ?",
        (on,),
    )
    return {stage: StageCost(fixed_ms, unit_ms, runs) for stage, fixed_ms, unit_ms, runs in rows}


def store(connection: apsw.Connection, on: str, costs: Mapping[str, StageCost]) -> bool:
    """Write costs in a transaction of their own; False if somebody else is writing.

    Ends the read transaction of a connection that is lent for reading. It never waits, since the
    costs are measured again within a minute.
    """
    timeout_ms = connection.pragma("busy_timeout")
    connection.set_busy_timeout(0)
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT OR REPLACE INTO main.stage_cost(device, stage, fixed_ms, unit_ms, runs)"
            " VALUES(?, ?, ?, ?, ?)",
            [(on, stage, cost.fixed_ms, cost.unit_ms, cost.runs) for stage, cost in costs.items()],
        )
        connection.execute("COMMIT")
    except (apsw.BusyError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError, apsw.CantOpenError):
        return False
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.set_busy_timeout(timeout_ms)
    return True
