"""Household: the timing of one household in, a page about what a recall takes there out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from family_recall.evaluation.timing import Timing
from family_recall.reports.document import Section, document
from family_recall.reports.evaluation.drawing import colour, log_axis, plot, readable
from family_recall.reports.evaluation.parts import (
    cells,
    counts,
    figures,
    pairs,
    plots,
    quiet,
    style,
)
from family_recall.reports.markup import Markup, joined, spoken, table, tag

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHORTEST_MS = 0.001
"""What is measured as less stands here: its times are given to a thousandth, and 0 has no place."""

_ROW = 20.0


def timing_page(found: Timing, *, name: str, made_at: dt.datetime) -> str:
    """Write what recalls took as a page to be read in any browser, and kept.

    It holds no word of a question or a memory.

    Args:
        found: What was measured.
        name: What the household is called.
        made_at: When it was measured.

    Raises:
        ImportError: If matplotlib is not installed; the message says how to get it.
    """
    header = tag(
        "header",
        tag("p", "A measurement", class_="kicker"),
        tag("h1", name, dir="auto"),
        tag(
            "p",
            tag("strong", f"{found.total['ms']['p50']:.1f} ms"),
            tag("span", f"{found.questions:,} questions of {found.budget_ms:g} ms"),
            tag("span", f"{found.visible:,} of {found.memories:,} memories in sight"),
            class_="summary",
        ),
        quiet(f"Measured {made_at:%d %B %Y, %H:%M}"),
    )
    return document(f"What a recall takes: {name}", header, list(_sections(found)), style=style())


def _sections(found: Timing) -> Iterator[Section]:
    yield "recall", "A recall", _recall(found)
    yield "stages", "Where the time goes", _stages(found)
    if found.left_out:
        yield "skips", "What was left out", _left_out(found.left_out)
    yield "setup", "Machine", pairs(found.machine)


def _recall(found: Timing) -> Markup:
    over = found.over_ms
    return joined(
        counts(
            {
                "wall, p50": _told(found.total["ms"]),
                "CPU, p50": _told(found.total["cpu_ms"]),
                "past the budget, p99": (f"{over['p99']:.1f} ms", f"p95 {over['p95']:.1f} ms"),
                "first answer": (f"{found.first_ms:.0f} ms", f"opened in {found.open_ms:.0f} ms"),
            }
        ),
        plots(_quantiles(found)),
        quiet(
            f"Loading the models then took {found.warm_ms:,.0f} ms. Wall time rises with whatever "
            "else the machine does; CPU time, of the whole process, much less."
        ),
    )


def _quantiles(found: Timing) -> Markup:
    wall, cpu = found.total["ms"], found.total["cpu_ms"]

    def draw(axes: Axes) -> None:
        for aside, times, named in ((-0.2, wall, "session"), (0.2, cpu, "accent")):
            rows = [at + aside for at in range(len(times))]
            axes.barh(rows, list(times.values()), height=0.36, color=colour(named))
            for at, ms in zip(rows, times.values(), strict=True):
                axes.annotate(
                    f"{ms:.1f}", (ms, at), xytext=(-4, -3.5), textcoords="offset points",
                    fontsize=9.5, ha="right", color=colour("paper"),
                )  # fmt: skip
        longest = max(*wall.values(), *cpu.values())
        if found.budget_ms <= 1.5 * longest:
            axes.axvline(found.budget_ms, color=colour("bad"), linewidth=1)
        axes.set_xlim(0, 1.14 * longest)
        axes.set_yticks(range(len(wall)), list(wall))
        axes.set_ylim(len(wall) - 0.5, -0.5)
        axes.set_xlabel("milliseconds")
        axes.grid(visible=False, axis="y")

    said = "; ".join(f"{end}: wall {wall[end]:.1f}, CPU {cpu[end]:.1f} ms" for end in wall)
    key = {"session": "wall", "accent": "CPU"}
    if found.budget_ms <= 1.5 * max(*wall.values(), *cpu.values()):
        key["bad"] = "budget"
    return plot("How long recalls took", said, draw, height=190, key=key)


def _stages(found: Timing) -> Markup:
    stages = found.stages

    def draw(axes: Axes) -> None:
        for at, took in enumerate(stages.values()):
            low, high = max(took["p50"], SHORTEST_MS), max(took["p95"], SHORTEST_MS)
            axes.plot([low, high], [at, at], color=colour("session"), linewidth=2)
            axes.plot([low], [at], "o", color=colour("accent"), markersize=5)
        axes.set_yticks(range(len(stages)), [readable(name) for name in stages])
        axes.set_ylim(len(stages) - 0.5, -0.5)
        log_axis(axes, "x", (0.01, 0.1, 1, 10, 100, 1000), lambda ms: f"{ms:g}")
        axes.set_xlabel("milliseconds")
        axes.grid(visible=False, axis="y")

    said = "; ".join(f"{name} {took['p50']:.2f} ms" for name, took in stages.items())
    rows = (
        cells(
            name.replace("_", " "),
            f"{took['n']:,.0f}",
            *(f"{took[end]:.2f}" for end in ("p50", "p95", "p99")),
        )
        for name, took in stages.items()
    )
    return joined(
        plots(
            plot(
                "Stages",
                said,
                draw,
                height=56 + _ROW * len(stages),
                key={"accent": "p50", "session": "up to p95"},
            ),
            figures("Milliseconds where it ran", ("Stage", "n", "p50", "p95", "p99"), *rows),
        ),
        quiet("The search by words and the encoding run side by side."),
    )


def _left_out(skips: Mapping[str, Mapping[str, object]]) -> Markup:
    rows = (
        tag(
            "tr",
            tag("th", stage.replace("_", " "), scope="row"),
            tag("td", str(said["n"])),
            tag("td", spoken(str(said["why"]))),
        )
        for stage, said in skips.items()
    )
    return table("How often, and why most often", ("Stage", "n", "Why"), *rows)


def _told(times: Mapping[str, float]) -> tuple[str, str]:
    return f"{times['p50']:.1f} ms", f"p99 {times['p99']:.1f} ms"
