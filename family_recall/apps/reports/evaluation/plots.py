"""Plots by matplotlib, in the colours of the page that shows them.

matplotlib, the extra ``[report]``, writes a style into each element, which a page's policy
forbids. So only shapes and texts of its SVG are used, with classes in place of colours; a dark
page then has dark plots.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree as ET

from family_recall.apps.reports.templating import printable, render, stylesheet

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
STYLE = ("colours.css", "page.css", "plots.css", "plot_colours.css")
"""Style sheets of a page with plots."""

_INCH = 72  # units of matplotlib's SVG
_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_STYLE_ATTRIBUTES = (
    "fill-opacity", "opacity", "stroke-opacity", "stroke-width", "stroke-dasharray",
    "stroke-linecap", "stroke-linejoin", "text-anchor", "font-weight",
)  # fmt: skip
_NO_ROTATION = re.compile(r"^rotate\(-?0 ")


@dataclass(frozen=True, slots=True)
class Shape:
    """One path or, with a text, one label of a plot."""

    attributes: Mapping[str, str | None]
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot as the template ``plots.jinja`` shows it.

    Args:
        title: The line above it.
        description: What it shows, for people who cannot see it.
        shapes: In drawing order.
        height: In units, of which it is :data:`WIDTH` wide.
        key: What a colour means, by its name.
    """

    title: str
    description: str
    shapes: tuple[Shape, ...]
    height: float
    key: Mapping[str, str] = field(default_factory=dict)
    width: int = WIDTH


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

    svg = io.StringIO()
    # The reader's browser has the letters that matplotlib's own font lacks.
    with mpl.rc_context(_settings()), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure = Figure(figsize=(WIDTH / _INCH, height / _INCH), layout="constrained")
        draw(figure.subplots())
        figure.savefig(svg, format="svg", metadata={"Date": None})
    root = ET.fromstring(svg.getvalue())  # noqa: S314 -- written a line above
    return Plot(title, description, tuple(_shapes(root)), height, key or {})


def picture(
    title: str, description: str, draw: Callable[[Axes], None], *, height: float = 230.0
) -> str:
    """Return a plot as an SVG file of its own, which brings its colours, light and dark."""
    drawn = plot(title, description, draw, height=height)
    style = stylesheet("colours.css", "plot_colours.css")
    return render("picture.jinja", plot=drawn, style=style).strip()


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
        "figure.facecolor": "none",
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


def _shapes(root: ET.Element) -> list[Shape]:
    """Return the visible shapes and texts of an SVG, in drawing order."""
    defined = {path.get("id"): path for path in root.iter(f"{_SVG}path") if path.get("id")}
    shapes = []
    for element in root.iter():
        if element.tag == f"{_SVG}text":
            shapes.append(_label(element))
        elif element.tag == f"{_SVG}use":
            path = defined[element.get(_HREF, "")[1:]]
            position = f"translate({element.get('x')} {element.get('y')})"
            shapes.append(_path(path, {**_style(path), **_style(element)}, position))
        elif element.tag == f"{_SVG}path" and not element.get("id"):
            shapes.append(_path(element, _style(element), element.get("transform")))
    return [shape for shape in shapes if shape.text is not None or shape.attributes["class"]]


def _path(path: ET.Element, style: Mapping[str, str], transform: str | None) -> Shape:
    class_ = _class(style)
    return Shape(
        {
            "d": " ".join(path.get("d", "").split()),
            "transform": transform,
            "fill": None if "f-" in class_ else "none",
            "class": class_,
            **_attributes(style),
        }
    )


def _label(text: ET.Element) -> Shape:
    style, transform = _style(text), text.get("transform", "")
    attributes = {
        "x": text.get("x"),
        "y": text.get("y"),
        "transform": None if _NO_ROTATION.match(transform) else transform or None,
        "font-size": style["font-size"].removesuffix("px"),
        "class": _class(style),
        **_attributes(style),
    }
    return Shape(attributes, text.text or "")


def _style(element: ET.Element) -> dict[str, str]:
    pairs = (part.split(":", 1) for part in element.get("style", "").split(";") if ":" in part)
    return {name.strip(): value.strip() for name, value in pairs}


def _class(style: Mapping[str, str]) -> str:
    """Return the classes of a fill and a stroke; empty for a shape that has neither."""
    return " ".join(
        f"{prefix}-{COLOURS[int(style[kind][1:], 16) - 1]}"
        for kind, prefix in (("fill", "f"), ("stroke", "s"))
        if style.get(kind, "none") != "none"
    )


def _attributes(style: Mapping[str, str]) -> dict[str, str]:
    return {name: style[name] for name in _STYLE_ATTRIBUTES if name in style}
