"""Plots by matplotlib, the extra ``[report]``, in the colours of the page that shows them.

A plot is an SVG with its own light and dark colours. A page holds it as an image, since an image
may have the inline styles that matplotlib writes and the page's policy forbids.
"""

from __future__ import annotations

import base64
import io
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from family_recall.apps.reports.templating import escaped, printable, stylesheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from family_recall.apps.evaluation.measures import Interval

COLOURS = (
    "ink", "soft", "line", "track", "paper", "accent", "good", "fair", "bad", "second", "words",
    "meaning", "links", "time", "other",
)  # fmt: skip
"""Variables of the style sheet; while matplotlib draws, a number stands for each."""

WIDTH = 360
"""Units a plot is wide: as many as a phone has pixels, so that its letters are readable."""
CLOSE_BUDGET = {"linear": 3.0, "log": 1000.0}
"""A budget is drawn to scale up to so many times the longest time, by the scale of the axis."""
ROW = 24.0
"""Units a row of a plot with named rows is high."""
STYLE = ("colours.css", "page.css", "plots.css")
"""Style sheets of a page with plots."""

_INCH = 72  # units of matplotlib's SVG


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot as the template ``plots.jinja`` shows it.

    Args:
        title: The line above it.
        description: What it shows, for people who cannot see it.
        svg: The picture, a file of its own.
        key: What a colour means, by its name.
    """

    title: str
    description: str
    svg: str
    key: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The picture as the ``src`` of an image."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"


def check() -> None:
    """Check that matplotlib is installed.

    Raises:
        ImportError: If not, with the command that helps.
    """
    try:
        import matplotlib as mpl  # noqa: F401, PLC0415 -- an extra, and half a second
    except ImportError:
        raise ImportError(
            "matplotlib is not installed; add it with: pip install 'family-recall[report]'"
        ) from None


def colour(name: str) -> str:
    """Return the number that stands for one of :data:`COLOURS`."""
    return f"#{COLOURS.index(name) + 1:06x}"


def plot(
    title: str,
    description: str,
    draw: Callable[[Axes], None],
    *,
    height: float = 230.0,
    key: Mapping[str, str] | None = None,
) -> Plot:
    """Draw one plot; ``draw`` gets the axes, and its colours from :func:`colour`."""
    check()
    import matplotlib as mpl  # noqa: PLC0415 -- see check
    from matplotlib.figure import Figure  # noqa: PLC0415

    file = io.StringIO()
    # The reader's browser has the letters that matplotlib's own font lacks.
    with mpl.rc_context(_settings()), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure = Figure(figsize=(WIDTH / _INCH, height / _INCH), layout="constrained")
        draw(figure.subplots())
        figure.savefig(
            file, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
        )
    return Plot(title, description, _coloured(file.getvalue(), title, description), key or {})


def _coloured(svg: str, title: str, description: str) -> str:
    """Return a drawn SVG with the variables of the style sheet, and what it shows in words."""
    for name in COLOURS:
        svg = svg.replace(colour(name), f"var(--{name})")
    head, _, drawn = svg[svg.index("<svg") :].partition(">")
    words = f"<title>{escaped(title)}</title>\n<desc>{escaped(description)}</desc>"
    return f'{head} role="img">\n{words}\n<style>{stylesheet("colours.css")}</style>{drawn}'


def wrapped(text: str, width: int = 18) -> str:
    """Return a name that fits beside an axis and into XML, on two lines at most."""
    lines = textwrap.wrap(printable(text).replace("_", " "), width, max_lines=2, placeholder=" …")
    return "\n".join(lines) or "(no name)"


def log_axis(
    axes: Axes, name: Literal["x", "y"], ticks: Sequence[float], label: Callable[[float], str]
) -> None:
    """Make an axis logarithmic, with plain numbers at its ticks."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter  # noqa: PLC0415

    (axes.set_xscale if name == "x" else axes.set_yscale)("log")
    axis = axes.xaxis if name == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
    axis.set_minor_formatter(NullFormatter())
    axis.set_minor_locator(FixedLocator([]))


def budget_line(axes: Axes, budget_ms: float, longest_ms: float) -> None:
    """Draw a budget as an upright line: to scale where it is close to the times that are drawn.

    Where it lies further out it is dashed, at the right edge, with an arrow at its figure.
    """
    is_close = budget_ms <= CLOSE_BUDGET[axes.get_xscale()] * longest_ms
    right = max(1.14 * longest_ms, 1.04 * budget_ms if is_close else 0.0)
    axes.set_xlim(right=right)
    at = budget_ms if is_close else right
    style = "solid" if is_close else (0, (3, 3))
    axes.axvline(at, color=colour("bad"), linewidth=1.5, linestyle=style, clip_on=False)
    axes.annotate(
        f"budget {budget_ms:,g} ms{'' if is_close else ' →'}", (at, 1.0),
        xycoords=("data", "axes fraction"), xytext=(0, 4), textcoords="offset points",
        ha="right", fontsize=9.5, color=colour("bad"),
    )  # fmt: skip


def name_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Name the rows of a plot from top to bottom."""
    axes.set_yticks(range(len(labels)), labels, linespacing=1.15)
    axes.set_ylim(len(labels) - 0.45, -0.55)
    axes.grid(visible=False, axis="y")


def note(
    axes: Axes, text: str, x: float, y: float, offset: tuple[float, float], **style: Any
) -> None:
    """Write a small text beside a point; the offset is in units of the picture."""
    style = {"fontsize": 9.5, **style}
    axes.annotate(text, (x, y), xytext=offset, textcoords="offset points", **style)


def intervals(axes: Axes, rows: Sequence[Interval], colours: Sequence[str]) -> None:
    """Draw a dot for each mean, one a row, with a line through it for its interval."""
    for y, (row, name) in enumerate(zip(rows, colours, strict=True)):
        axes.plot([row.low, row.high], [y, y], color=colour(name), linewidth=2.5, alpha=0.45)
        axes.plot([row.value], [y], "o", color=colour(name), markersize=6)


def _settings() -> dict[Any, object]:
    soft, line = colour("soft"), colour("line")
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": "family_recall",
        "text.parse_math": False,  # a category may be called $5$
        "axes.formatter.use_mathtext": False,
        "axes.formatter.useoffset": False,
        "font.size": 10.5,
        "figure.facecolor": colour("paper"),
        "axes.facecolor": "none",
        "axes.edgecolor": line,
        "axes.labelcolor": soft,
        "axes.labelsize": 10.0,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": line,
        "grid.linewidth": 0.8,
        "xtick.color": soft,
        "ytick.color": soft,
        "xtick.major.size": 0.0,
        "ytick.major.size": 0.0,
        "text.color": colour("ink"),
    }
