"""The page of a household's recalls: how long they and their stages took."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from family_recall.apps.evaluation.timing import Timing
from family_recall.apps.reports.plots import (
    STYLE,
    Plot,
    budget_line,
    colour,
    log_axis,
    name_rows,
    note,
    plot,
    wrapped,
)
from family_recall.apps.reports.templating import render_report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MIN_MS = 0.001
"""Shorter times are drawn here: they are measured in thousandths, and a logarithm has no 0."""

_ROW = 20.0


def timing_page(timing: Timing, *, name: str, made_at: dt.datetime) -> str:
    """Return what recalls took as a page to read in any browser, and to save.

    It holds no word of a question or a memory.

    Args:
        timing: What was measured.
        name: What the household is called.
        made_at: When it was measured.

    Raises:
        ImportError: If matplotlib is not installed; the message says how to get it.
    """
    return render_report(
        "household.jinja",
        style=STYLE,
        timing=timing,
        name=name,
        made_at=made_at,
        plots={"recall": [_recalls(timing)], "stages": [_stage_ranges(timing)]},
    )


def _recalls(timing: Timing) -> Plot:
    wall, cpu = timing.total["ms"], timing.total["cpu_ms"]
    longest = max(*wall.values(), *cpu.values())

    def draw(axes: Axes) -> None:
        for shift, times, bar_colour in ((-0.2, wall, "accent"), (0.2, cpu, "second")):
            rows = [row + shift for row in range(len(times))]
            axes.barh(rows, list(times.values()), height=0.36, color=colour(bar_colour))
            for row, ms in zip(rows, times.values(), strict=True):
                note(axes, f"{ms:.1f}", ms, row, (-4, -3.5), ha="right", color=colour("paper"))
        axes.set_xlim(left=0)
        budget_line(axes, timing.budget_ms, longest)
        name_rows(axes, list(wall))
        axes.set_xlabel("milliseconds")

    values = "; ".join(f"{end}: wall {wall[end]:.1f}, CPU {cpu[end]:.1f} ms" for end in wall)
    key = {"accent": "wall", "second": "CPU", "bad": "the budget"}
    return plot("How long recalls took", values, draw, height=190, key=key)


def _stage_ranges(timing: Timing) -> Plot:
    stages = timing.stages

    def draw(axes: Axes) -> None:
        for row, times in enumerate(stages.values()):
            low, high = max(times["p50"], MIN_MS), max(times["p95"], MIN_MS)
            axes.plot([low, high], [row, row], color=colour("accent"), linewidth=2.5, alpha=0.45)
            axes.plot([low], [row], "o", color=colour("accent"), markersize=5)
        name_rows(axes, [wrapped(name) for name in stages])
        log_axis(axes, "x", (0.01, 0.1, 1, 10, 100, 1000), lambda ms: f"{ms:g}")
        budget_line(axes, timing.budget_ms, max(times["p95"] for times in stages.values()))
        axes.set_xlabel("milliseconds")

    values = "; ".join(f"{name} {times['p50']:.2f} ms" for name, times in stages.items())
    key = {"accent": "p50, and a line up to p95", "bad": "the budget"}
    return plot("Stages", values, draw, height=56 + _ROW * len(stages), key=key)
