"""The page of the benchmark: time, size and memory over the number of memories."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import FileSystemLoader

from family_recall.apps.reports.plots import (
    STYLE,
    Plot,
    colour,
    log_axis,
    name_rows,
    note,
    plot,
    wrapped,
)
from family_recall.apps.reports.templating import FOLDERS, environment, render_report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Figures = Mapping[str, Any]
"""JSON of a measurement, or a part of it."""

_TICKS = tuple(part * 10.0**power for power in range(-2, 7) for part in (1, 2, 5))
_STACK_COLOURS = ("accent", "second", "good", "fair")
_MIN_STAGE_MS = 0.05
"""A stage that never takes as long is drawn among the others."""


def number(value: float) -> str:
    """Return a number of memories, milliseconds or bytes: short from a million on."""
    return f"{value:,g}" if value < 1_000_000 else f"{value / 1_000_000:g} M"


def by_size(
    title: str,
    sizes: Sequence[Figures],
    paths: Mapping[str, str],
    *,
    key: Mapping[str, str] | None = None,
    unit: str = "milliseconds",
    from_zero: bool = False,
) -> Plot:
    """Draw values over the number of memories, on logarithmic axes.

    Args:
        title: What is drawn.
        sizes: One measurement for each number of memories.
        paths: By the name of its colour, where a line's value is in a measurement, such as
            ``recall.total.ms.p50``.
        key: What each colour is, where there are several.
        unit: Of the values.
        from_zero: Whether values are drawn from 0 on, on a linear axis.
    """
    sizes = sorted(sizes, key=lambda size: int(size["memories"]))
    memories = [size["memories"] for size in sizes]
    lines = {name: [_value_at(size, path) for size in sizes] for name, path in paths.items()}
    highest = max(max(values) for values in lines.values())
    lowest = min(min(values) for values in lines.values())

    def draw(axes: Axes) -> None:
        for name, values in lines.items():
            axes.plot(memories, values, "o-", color=colour(name), markersize=5)
        log_axis(axes, "x", memories, number)
        if from_zero:
            axes.set_ylim(0, highest * 1.12)
            axes.locator_params(axis="y", nbins=5)
            axes.yaxis.set_major_formatter(lambda value, _: number(value))
        else:
            low, high = lowest / 2, highest * 2
            log_axis(axes, "y", [tick for tick in _TICKS if low <= tick <= high], number)
            axes.set_ylim(low, high)
        if len(memories) == 1:
            axes.set_xlim(memories[0] / 3, memories[0] * 3)
        axes.set(xlabel="memories", ylabel=unit)

    names = key or dict.fromkeys(lines, title)
    values = "; ".join(
        f"{names[name]}: " + ", ".join(f"{value:,.1f}" for value in values)
        for name, values in lines.items()
    )
    at = ", ".join(number(n) for n in memories)
    return plot(title, f"At {at} memories. {values}.", draw, key=key)


def stages(sizes: Sequence[Figures]) -> Plot:
    """Draw the medians of all stages, one after another, a bar for each number of memories."""
    medians = {
        stage: [_median(size, stage) for size in sizes]
        for stage in dict.fromkeys(name for size in sizes for name in size["recall"]["stages"])
    }
    slowest = sorted(medians, key=lambda stage: -max(medians[stage]))[: len(_STACK_COLOURS)]
    shown = [stage for stage in slowest if max(medians[stage]) > _MIN_STAGE_MS]
    others = [medians[stage] for stage in medians if stage not in shown]
    parts = {stage.replace("_", " "): medians[stage] for stage in shown}
    parts["all others"] = [sum(each) for each in zip(*others, strict=True)] or [0.0] * len(sizes)
    colours = (*_STACK_COLOURS[: len(shown)], "other")

    def draw(axes: Axes) -> None:
        left = [0.0] * len(sizes)
        for name, times in zip(colours, parts.values(), strict=True):
            axes.barh(range(len(sizes)), times, left=left, height=0.62, color=colour(name),
                      edgecolor=colour("paper"), linewidth=0.8)  # fmt: skip
            left = [start + ms for start, ms in zip(left, times, strict=True)]
        name_rows(axes, [number(size["memories"]) for size in sizes])
        axes.set(xlabel="milliseconds, p50 of each", ylabel="memories")

    values = "; ".join(
        f"{stage} " + ", ".join(f"{ms:.1f}" for ms in times) for stage, times in parts.items()
    )
    key = dict(zip(colours, parts, strict=True))
    return plot("Stages, one after another", values, draw, height=70 + 34 * len(sizes), key=key)


def beside_peers(size: Figures) -> Plot | None:
    """Draw what each library took for a recall; None where none gave figures."""
    cpu_ms = {
        name: figures["cpu_ms_mean"]
        for name, figures in size["peers"].items()
        if "cpu_ms_mean" in figures
    }
    names = sorted(cpu_ms, key=lambda name: cpu_ms[name])
    if not names:
        return None

    def draw(axes: Axes) -> None:
        colours = [colour("accent" if "family_recall" in name else "other") for name in names]
        axes.barh(range(len(names)), [cpu_ms[n] for n in names], height=0.6, color=colours)
        for row, name in enumerate(names):
            note(axes, f"{cpu_ms[name]:.1f}", cpu_ms[name], row, (4, -3.5))
        name_rows(axes, [wrapped(name) for name in names])
        axes.set_xlim(0, max(cpu_ms.values()) * 1.14)
        axes.set_xlabel("milliseconds of CPU, mean")

    values = "; ".join(f"{name} {cpu_ms[name]:.1f} ms" for name in names)
    title = f"A recall among {number(size['memories'])}"
    return plot(title, values, draw, height=56 + 26 * len(names))


def _value_at(figures: Figures, path: str) -> float:
    value: Any = figures
    for key in path.split("."):
        value = value[key]
    return float(value)


def _median(size: Figures, stage: str) -> float:
    times = size["recall"]["stages"].get(stage)
    return float(times["ms"]["p50"]) if times else 0.0


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
        machine: What it ran on, see :func:`family_recall.apps.evaluation.timing.describe`.
        made_at: When it was measured.
        peers: The JSON of ``tools/bench/peers/run.py``, where others were measured too.

    Raises:
        ImportError: If matplotlib is not installed; the message says how to get it.
        ValueError: If the figures are not such JSON.
    """
    environment().loader = FileSystemLoader((*FOLDERS, Path(__file__).parent))
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
