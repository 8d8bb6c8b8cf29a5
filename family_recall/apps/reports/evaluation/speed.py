"""The page of ``tools/bench/speed.py``: time, disk and memory, from the figures in its JSON."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from family_recall.apps.reports.evaluation.plots import STYLE
from family_recall.apps.reports.evaluation.speed_charts import (
    Figures,
    beside_peers,
    by_size,
    number,
    stages,
)
from family_recall.apps.reports.templating import render_report

_QUANTILES = {"p50": "accent", "p95": "second", "p99": "soft"}
_QUANTILE_KEY = {colour: quantile for quantile, colour in _QUANTILES.items()}


def speed_page(
    report: Figures,
    *,
    machine: Mapping[str, str],
    made_at: dt.datetime,
    peers: Figures | None = None,
) -> str:
    """Return what the benchmark measured as a page to read in any browser, and to save.

    Args:
        report: The JSON of ``tools/bench/speed.py``; its ``--help`` says what each figure is.
        machine: What it ran on, see :func:`family_recall.apps.evaluation.machine.describe`.
        made_at: When it was measured.
        peers: The JSON of ``tools/bench/peers/run.py``, where others were measured too.

    Raises:
        ImportError: If matplotlib is not installed; the message says how to get it.
        ValueError: If the figures are not such JSON.
    """
    try:
        return render_report(
            "speed.jinja",
            style=STYLE,
            report=report,
            machine=machine,
            made_at=made_at,
            peers=peers,
            plots=_plots(report, peers),
            size_names=[number(size["memories"]) for size in report["sizes"]],
            number=number,
            quantiles=_quantiles,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            "expected the figures of tools/bench/speed.py --json and of tools/bench/peers/run.py "
            f"--json; missing or of another kind: {error}"
        ) from error


def _plots(report: Figures, peers: Figures | None) -> dict[str, list[Any]]:
    plots: dict[str, list[Any]] = {}
    if sizes := report["sizes"]:
        plots = {
            "latency": [
                _quantile_plot("CPU time of a recall", sizes, "recall.total.cpu_ms"),
                _quantile_plot("Wall time of a recall", sizes, "recall.total.ms"),
                by_size(
                    "CPU against wall, p50",
                    sizes,
                    {"second": "recall.total.cpu_ms.p50", "accent": "recall.total.ms.p50"},
                    key={"second": "CPU", "accent": "wall"},
                ),
                _quantile_plot("What is quoted exactly: wall time", sizes, "identifiers.ms"),
            ],
            "stages": [stages(sizes)],
            "storing": [
                by_size(
                    "Memories stored in a second",
                    sizes,
                    {
                        "accent": "ingest.text_per_cpu_s",
                        "second": "ingest.text_per_s",
                        "good": "ingest.vectors_per_cpu_s",
                    },
                    key={
                        "accent": "texts per CPU second",
                        "second": "texts per second",
                        "good": "vectors per CPU second",
                    },
                    unit="a second",
                ),
                by_size(
                    "A fresh process",
                    sizes,
                    {"accent": "start.open_ms", "second": "start.first_answer_ms"},
                    key={"accent": "opens the file", "second": "first answer"},
                ),
            ],
            "space": [
                by_size(
                    "File, bytes a memory",
                    sizes,
                    {"accent": "file_bytes_per_memory"},
                    unit="bytes",
                    from_zero=True,
                ),
                by_size(
                    "Resident memory",
                    sizes,
                    {"accent": "start.resident_mib", "soft": "start.resident_before_mib"},
                    key={"accent": "after asking", "soft": "before opening"},
                    unit="MiB",
                    from_zero=True,
                ),
            ],
        }
    if peers:
        plots["peers"] = [drawn for size in peers["sizes"] if (drawn := beside_peers(size))]
    return plots


def _quantile_plot(title: str, sizes: list[Figures], path: str) -> Any:
    paths = {colour: f"{path}.{quantile}" for quantile, colour in _QUANTILES.items()}
    return by_size(title, sizes, paths, key=_QUANTILE_KEY)


def _quantiles(times: Mapping[str, float]) -> str:
    """Return quantiles side by side."""
    return " / ".join(f"{ms:.1f}" for ms in times.values())
