"""What each stage costs on this device: numbers in a small table, so that they outlast a process.

A file may be copied from a laptop to a telephone: each kind of device has rows of its own.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass

import apsw

from family_recall.stores.file import sql


@dataclass(frozen=True, slots=True)
class StageCost:
    """Milliseconds a stage seldom exceeds: ``fixed_ms``, and ``unit_ms`` for each unit.

    ``runs`` counts what that rests on.
    """

    fixed_ms: float
    unit_ms: float
    runs: int = 0


def device() -> str:
    """Name the kind of device, as far as a stage's cost depends on it; no machine by itself."""
    return f"{platform.machine() or 'unknown'}-{os.cpu_count() or 1}"


def load(connection: apsw.Connection, on: str) -> dict[str, StageCost]:
    """Read what is known of one kind of device, by stage."""
    found = sql.rows(
        connection,
        "SELECT stage, fixed_ms, unit_ms, runs FROM stage_cost WHERE device = ?",
        (on,),
    )
    return {stage: StageCost(fixed_ms, unit_ms, runs) for stage, fixed_ms, unit_ms, runs in found}


def keep(connection: apsw.Connection, on: str, costs: Mapping[str, StageCost]) -> bool:
    """Write costs in a transaction of their own, if nobody else is writing; say whether.

    Takes over a connection that is lent for reading: what is learned again in a minute waits
    for nobody.
    """
    waited_ms = connection.pragma("busy_timeout")
    connection.set_busy_timeout(0)
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT OR REPLACE INTO stage_cost(device, stage, fixed_ms, unit_ms, runs)"
            " VALUES(?, ?, ?, ?, ?)",
            [(on, stage, one.fixed_ms, one.unit_ms, one.runs) for stage, one in costs.items()],
        )
        connection.execute("COMMIT")
    except (apsw.BusyError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError, apsw.CantOpenError):
        return False
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.set_busy_timeout(waited_ms)
    return True
