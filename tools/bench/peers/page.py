"""The page: a table a size, and how ours compare with the nearest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.bench.peers.entries import PEERS, Entry


def markdown(report: Mapping[str, Any]) -> str:
    """Write the page: a table a size, and what was ahead of what."""
    work = report["machine"]
    about = (
        f"Measured {report['date']} with `{report['command']}` on {work['processors']} processors "
        f"({work['processor']}), {work['memory']}, {work['system']}, Python {work['Python']}, "
        f"load {report['load_1_min']} at the start. {_how(report)}"
    )
    head = (
        "| | recall CPU ms, mean (least–most) | recall wall ms, p50 / p95 | planted in first ten "
        "| memories/s stored (per CPU s) | bytes/memory | MiB asking | open + first ms |"
    )
    lines = [about]
    for size in report["sizes"]:
        lines += [
            "",
            f"### {size['memories']:,} memories",
            "",
            head,
            "|---|---|---|---|---|---|---|---|",
        ]
        lines += [
            _line(entry, size["peers"][entry.name])
            for entry in PEERS
            if entry.name in size["peers"]
        ]
        ahead = _ahead(size["peers"])
        lines += ["", *ahead] if ahead else []
    return "\n".join(lines) + "\n"


def _how(report: Mapping[str, Any]) -> str:
    core = report["core"]
    where = "not pinned to a core" if core is None else f"each alone on core {core}"
    return (
        f"Processes are {where}; of what is asked, the medians of {report['rounds']} rounds, in "
        "which the peers take turns."
    )


def _line(entry: Entry, figures: Mapping[str, Any]) -> str:
    if "failed" in figures:
        return f"| {entry.title} | failed: {figures['failed']} | | | | | | |"
    if "stopped_at" in figures:
        stopped = f"stopped: {figures['stopped_at']:,} stored in {figures['ingest_wall_s']:.0f} s"
        return f"| {entry.title} | {stopped} | | | | | | |"
    return (
        f"| {entry.title} | {figures['cpu_ms_mean']:.2f} "
        f"({figures['cpu_ms_least']:.2f}–{figures['cpu_ms_most']:.2f}) "
        f"| {figures['wall_ms']['p50']:.1f} / {figures['wall_ms']['p95']:.1f} "
        f"| {figures['planted_found']} of {figures['planted']} "
        f"| {figures['ingest_per_s']:,.0f} ({figures['ingest_per_cpu_s']:,.0f}) "
        f"| {figures['bytes_per_memory']:,.0f} | {figures['resident_mib']:.0f} "
        f"| {figures['open_and_first_answer_ms']:,.0f} |"
    )


def _ahead(peers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Compare each of ours with the hybrid peer that needs the least processor time."""
    hybrid = {
        entry.name: peers[entry.name]["cpu_ms_mean"]
        for entry in PEERS
        if entry.hybrid and entry.environment and "cpu_ms_mean" in peers.get(entry.name, {})
    }
    if not hybrid:
        return []
    nearest = min(hybrid, key=lambda name: hybrid[name])
    return [
        f"- {entry.title}: {hybrid[nearest] / peers[entry.name]['cpu_ms_mean']:.2f} times as fast, "
        f"in CPU time, as the nearest hybrid peer ({nearest})."
        for entry in PEERS
        if entry.environment is None and "cpu_ms_mean" in peers.get(entry.name, {})
    ]
