"""Peers: what other libraries took for the same recalls in, a section beside our own out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from family_recall.reports.evaluation.drawing import colour, plot, readable
from family_recall.reports.evaluation.parts import figures, plots, quiet
from family_recall.reports.evaluation.reading import Figures, number
from family_recall.reports.markup import Markup, folded, joined, tag

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def beside_others(peers: Figures | None) -> Markup:
    """Draw and tabulate the JSON of ``tools/bench/peers/run.py``; nothing where there is none."""
    if peers is None:
        return Markup("")
    drawn = [_beside(size) for size in peers["sizes"]]
    rows = [
        tag("tr", *(tag("th", name, scope="row"), *(tag("td", v, class_="n") for v in values)))
        for size in peers["sizes"]
        for name, *values in _peer_rows(size)
    ]
    head = ("", "memories", "CPU ms", "wall p50", "p95", "planted", "bytes", "MiB")
    return joined(
        plots(*drawn),
        folded("The figures", figures("Beside others", head, *rows)),
        quiet(f"Measured {peers['date']} with {peers['command']}"),
    )


def _beside(size: Figures) -> Markup:
    told = {
        name: found["cpu_ms_mean"]
        for name, found in size["peers"].items()
        if "cpu_ms_mean" in found
    }
    names = sorted(told, key=lambda name: told[name])

    def draw(axes: Axes) -> None:
        ours = [colour("accent" if "family_recall" in name else "ranks") for name in names]
        axes.barh(range(len(names)), [told[name] for name in names], height=0.6, color=ours)
        for at, name in enumerate(names):
            axes.annotate(
                f"{told[name]:.1f}", (told[name], at), xytext=(4, -3.5),
                textcoords="offset points", fontsize=9.5,
            )  # fmt: skip
        axes.set_yticks(range(len(names)), [readable(name) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(0, max(told.values()) * 1.14)
        axes.set_xlabel("milliseconds of CPU, mean")
        axes.grid(visible=False, axis="y")

    if not names:
        return Markup("")
    said = "; ".join(f"{name} {told[name]:.1f} ms" for name in names)
    title = f"A recall among {number(size['memories'])}"
    return plot(title, said, draw, height=56 + 26 * len(names))


def _peer_rows(size: Figures) -> Iterator[tuple[str, ...]]:
    for name, found in size["peers"].items():
        memories = number(size["memories"])
        if "cpu_ms_mean" not in found:
            why = "stopped" if "stopped_at" in found else "failed"
            yield (name.replace("_", " "), memories, why, *[""] * 5)
            continue
        yield (
            name.replace("_", " "), memories, f"{found['cpu_ms_mean']:.2f}",
            f"{found['wall_ms']['p50']:.1f}", f"{found['wall_ms']['p95']:.1f}",
            f"{found['planted_found']} of {found['planted']}",
            f"{found['bytes_per_memory']:,.0f}", f"{found['resident_mib']:.0f}",
        )  # fmt: skip
