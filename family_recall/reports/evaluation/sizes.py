"""Sizes: what was measured with more and more memories in, a plot of lines over them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from family_recall.reports.evaluation.drawing import colour, log_axis, plot
from family_recall.reports.evaluation.reading import Figures, number
from family_recall.reports.markup import Markup

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TICKS = tuple(part * 10.0**power for power in range(-2, 7) for part in (1, 2, 5))


def by_size(
    title: str,
    sizes: Sequence[Figures],
    lines: Mapping[str, Callable[[Figures], float]],
    *,
    key: Mapping[str, str] | None = None,
    unit: str = "milliseconds",
    from_zero: bool = False,
) -> Markup:
    """Draw values over the number of memories, both on axes where they multiply.

    Args:
        title: What is drawn.
        sizes: One measurement for each number of memories.
        lines: By the name of its colour, what reads a line's value from a measurement.
        key: What each colour is, where there are several.
        unit: Of the values.
        from_zero: Whether values are drawn from 0 on, on an axis where they add up.
    """
    ordered = sorted(sizes, key=lambda each: int(each["memories"]))
    across = [each["memories"] for each in ordered]
    up = {named: [value(each) for each in ordered] for named, value in lines.items()}

    def draw(axes: Axes) -> None:
        for named, values in up.items():
            axes.plot(across, values, "o-", color=colour(named), markersize=5)
        log_axis(axes, "x", across, number)
        every = [value for values in up.values() for value in values]
        if from_zero:
            axes.set_ylim(0, max(every) * 1.12)
            axes.locator_params(axis="y", nbins=5)
            axes.yaxis.set_major_formatter(lambda value, _: number(value))
        else:
            low, high = min(every) / 2, max(every) * 2
            log_axis(axes, "y", [tick for tick in _TICKS if low <= tick <= high], number)
            axes.set_ylim(low, high)
        if len(across) == 1:
            axes.set_xlim(across[0] / 3, across[0] * 3)
        axes.set(xlabel="memories", ylabel=unit)

    names = key or dict.fromkeys(up, title)
    said = "; ".join(
        f"{names[named]}: " + ", ".join(f"{value:,.1f}" for value in values)
        for named, values in up.items()
    )
    counted = ", ".join(number(n) for n in across)
    return plot(title, f"At {counted} memories. {said}.", draw, key=key)
