"""Fill a store for every peer, ask them in rounds, and say what all rounds together show."""

from __future__ import annotations

import functools
import json
import os
import shutil
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.bench.peers.entries import Entry
from tools.common import ROOT, say

ASK_LIMIT_S = 900.0

_MEDIANS = ("cpu_ms_mean", "open_and_first_answer_ms", "resident_mib")
_QUANTILES = ("cpu_ms", "wall_ms")


@dataclass(frozen=True)
class Bench:
    """One size: its data, where stores go, and how processes are bound."""

    data: Path
    stores: Path
    n: int
    core: int | None
    limit_s: float

    def measure(
        self, entries: Sequence[Entry], pythons: Mapping[str, Path | str], n_rounds: int
    ) -> dict[str, dict[str, Any]]:
        """Fill all stores, then ask in rounds; ``failed`` says why a peer has no figures."""
        shutil.rmtree(self.stores, ignore_errors=True)
        self.stores.mkdir(parents=True)
        filled: dict[str, dict[str, Any]] = {}
        for entry in entries:
            python = pythons[entry.name]
            if entry.store not in filled:
                say(f"{self.n:,} memories: fill {entry.store}")
                filled[entry.store] = (
                    {"failed": python} if isinstance(python, str) else self.fill(entry, python)
                )
        failed = {"failed", "stopped_at"}
        figures = {entry.name: filled[entry.store] for entry in entries}
        by_name = {entry.name: entry for entry in entries}
        asked: dict[str, list[dict[str, Any]]] = {}
        for at in range(n_rounds):
            say(f"{self.n:,} memories: round {at + 1} of {n_rounds}")
            for name in order_of(list(by_name), at):
                if failed & figures[name].keys():
                    continue
                answered = self.run("ask", by_name[name], pythons[name], ASK_LIMIT_S)
                if "failed" in answered:
                    figures[name] = answered
                else:
                    asked.setdefault(name, []).append(answered)
        shutil.rmtree(self.stores, ignore_errors=True)
        return {
            name: each if failed & each.keys() else {**each, **summary(asked[name])}
            for name, each in figures.items()
        }

    def fill(self, entry: Entry, python: Path) -> dict[str, Any]:
        """Fill a store; its size is added to the figures."""
        # Beyond three times the limit it does not even stop between two parts.
        filled = self.run("fill", entry, python, self.limit_s * 3)
        store = self.stores / entry.store
        n_bytes = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
        return filled if "failed" in filled else {**filled, "bytes_per_memory": n_bytes / self.n}

    def run(self, step: str, entry: Entry, python: Path | str, limit_s: float) -> dict[str, Any]:
        """Fill or ask in a process of the peer's own."""
        command = [str(python), "-m", entry.module, step, "--data", str(self.data)]
        command += ["--folder", str(self.stores / entry.store), "--memories", str(self.n)]
        command += ["--limit-s", str(self.limit_s)]
        alone = entry.name != entry.store
        done = run_command(command, limit_s, alone=alone, core=self.core)
        if isinstance(done, str):
            return {"failed": done}
        figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return figures


def order_of(names: Sequence[str], at: int) -> list[str]:
    """Return who asks after whom in a round: all once, and each first in its turn.

    Whatever else the machine does for a while then falls on every peer alike.

    >>> [order_of(["ours", "theirs"], at) for at in range(3)]
    [['ours', 'theirs'], ['theirs', 'ours'], ['ours', 'theirs']]
    """
    first = at % len(names)
    return [*names[first:], *names[:first]]


def summary(rounds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the medians of one peer's rounds, and the least and the most CPU ms.

    Args:
        rounds: What :func:`tools.bench.peers.peer.ask` measured, one or more times.

    Returns:
        The same keys; ``cpu_ms_least`` and ``cpu_ms_most`` of the means; ``planted_found`` of the
        round that found the fewest; and ``rounds``, each as it was.
    """
    means = [each["cpu_ms_mean"] for each in rounds]
    return {
        **{name: statistics.median(each[name] for each in rounds) for name in _MEDIANS},
        **{
            name: {
                quantile: statistics.median(each[name][quantile] for each in rounds)
                for quantile in rounds[0][name]
            }
            for name in _QUANTILES
        },
        "cpu_ms_least": min(means),
        "cpu_ms_most": max(means),
        "planted_found": min(each["planted_found"] for each in rounds),
        "planted": rounds[0]["planted"],
        "rounds": list(rounds),
    }


def run_command(
    command: Sequence[str], limit_s: float, *, alone: bool = False, core: int | None = None
) -> subprocess.CompletedProcess[str] | str:
    """Run a command, on one core if it is given; a sentence where it fails."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "FAMILY_RECALL_BENCH": "alone" if alone else "",
        # No telemetry while measuring.
        "ANONYMIZED_TELEMETRY": "False",
        "HF_HUB_OFFLINE": "1",
        "LANCEDB_TELEMETRY": "0",
    }
    # Before the program starts: numerical libraries count the cores when they are loaded.
    pin = None if core is None else functools.partial(os.sched_setaffinity, 0, {core})
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            text=True,
            timeout=limit_s,
            env=environment,
            preexec_fn=pin,
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {limit_s:.0f} s"
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return lines[-1][:200]
    return done
