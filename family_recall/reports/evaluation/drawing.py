"""Drawing: what to plot in, a figure of the page out: matplotlib's lines in the sheet's colours.

matplotlib is the extra ``[report]``. It writes a style into each element, which a page's policy
forbids; so of its SVG only shapes and texts are taken, with classes in place of colours, and a
page in the dark has plots in the dark.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree as ET

from family_recall.reports.document import sheet
from family_recall.reports.markup import Markup, shown, tag

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (
    "ink", "soft", "line", "track", "paper", "accent", "good", "fair", "bad", "mark", "words",
    "meaning", "reading", "session", "links", "time", "ranks", "itself",
)  # fmt: skip
"""Variables of the shared sheet; a number stands for each while matplotlib draws."""

WIDTH = 360
"""Units a plot is wide: as many as a phone has pixels, so its letters are of a readable size."""

RULES = "".join(
    f".plot .f-{name} {{ fill: var(--{name}); }} .plot .s-{name} {{ stroke: var(--{name}); }}\n"
    for name in COLOURS
)

_INCH = 72  # units of matplotlib's SVG
_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_KEPT = (
    "fill-opacity", "opacity", "stroke-opacity", "stroke-width", "stroke-dasharray",
    "stroke-linecap", "stroke-linejoin", "text-anchor", "font-weight",
)  # fmt: skip
_UNTURNED = re.compile(r"^rotate\(-?0 ")


def check() -> None:
    """See that there is something to draw with.

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
    """Give the number that stands for one of :data:`COLOURS`."""
    return f"#{COLOURS.index(name) + 1:06x}"


def plot(
    title: str,
    said: str,
    draw: Callable[[Axes], None],
    *,
    height: float = 230.0,
    key: Mapping[str, str] | None = None,
) -> Markup:
    """Draw one plot.

    Args:
        title: Stands above it.
        said: What it shows, for who cannot see it.
        draw: Is given the axes; takes its colours from :func:`colour`.
        height: In units of which it is :data:`WIDTH` wide.
        key: What a colour means, by its name.
    """
    keys = [tag("li", tag("i", class_=f"g-{name}"), of) for name, of in (key or {}).items()]
    return tag(
        "figure",
        tag("figcaption", title),
        *([tag("ul", *keys, class_="key")] if keys else []),
        _svg(title, said, draw, height),
        class_="plot",
    )


def picture(title: str, said: str, draw: Callable[[Axes], None], *, height: float = 230.0) -> str:
    """Draw a plot as a file of its own, with the sheet's colours, light and dark, inside it."""
    roots = re.match(r"(:root \{.*?\}\n@media [^\n]*\{\n.*?\}\n\})", sheet(), re.DOTALL)
    style = f"{roots[1] if roots else ''}\n.plot {{ font-family: system-ui, sans-serif; }}\n{RULES}"
    return tag(
        "svg",
        tag("title", title),
        tag("desc", said),
        tag("style", Markup(style)),
        tag("rect", width=WIDTH, height=height, rx=8, class_="f-paper"),
        *_drawn(draw, height),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height:g}",
        class_="plot",
        role="img",
    )


def readable(text: str, width: int = 18) -> str:
    """Give a name that fits beside an axis: what XML can hold, on two lines at most."""
    lines = textwrap.wrap(shown(text).replace("_", " "), width, max_lines=2, placeholder=" …")
    return "\n".join(lines) or "(no name)"


def log_axis(
    axes: Axes, name: Literal["x", "y"], ticks: Sequence[float], label: Callable[[float], str]
) -> None:
    """Let an axis multiply from tick to tick, with plain numbers at them."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter  # noqa: PLC0415

    (axes.set_xscale if name == "x" else axes.set_yscale)("log")
    axis = axes.xaxis if name == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
    axis.set_minor_formatter(NullFormatter())
    axis.set_minor_locator(FixedLocator([]))


def _svg(title: str, said: str, draw: Callable[[Axes], None], height: float) -> Markup:
    return tag(
        "svg",
        tag("title", title),
        tag("desc", said),
        *_drawn(draw, height),
        viewBox=f"0 0 {WIDTH} {height:g}",
        role="img",
    )


def _drawn(draw: Callable[[Axes], None], height: float) -> list[Markup]:
    check()
    import matplotlib as mpl  # noqa: PLC0415 -- see check
    from matplotlib.figure import Figure  # noqa: PLC0415

    written = io.StringIO()
    # Whoever reads has the letters that matplotlib's own font lacks.
    with mpl.rc_context(_settings()), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure = Figure(figsize=(WIDTH / _INCH, height / _INCH), layout="constrained")
        draw(figure.subplots())
        figure.savefig(written, format="svg", metadata={"Date": None})
    return _taken(ET.fromstring(written.getvalue()))  # noqa: S314 -- written a line above


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


def _taken(root: ET.Element) -> list[Markup]:
    """Take the shapes and texts, in the order in which they lie on each other."""
    shapes = {
        path.get("id", ""): path for path in root.iter(f"{_SVG}path") if path.get("id") is not None
    }
    taken = []
    for element in root.iter():
        if element.tag == f"{_SVG}text":
            taken.append(_text(element))
        elif element.tag == f"{_SVG}use":
            shape = shapes[element.get(_HREF, "")[1:]]
            style = {**_style(shape), **_style(element)}
            at = f"translate({element.get('x')} {element.get('y')})"
            taken.append(_path(shape, style, at))
        elif element.tag == f"{_SVG}path" and element.get("id") is None:
            taken.append(_path(element, _style(element), element.get("transform")))
    return [one for one in taken if one]


def _path(shape: ET.Element, style: Mapping[str, str], transform: str | None) -> Markup:
    coloured = _class(style)
    if not coloured:
        return Markup("")
    fill = None if "f-" in coloured else "none"
    lines = " ".join(shape.get("d", "").split())
    return tag(
        "path", d=lines, transform=transform, fill=fill, class_=coloured, **_attributes(style)
    )


def _text(element: ET.Element) -> Markup:
    style = _style(element)
    turned = element.get("transform", "")
    return tag(
        "text",
        shown(element.text or ""),
        x=element.get("x"),
        y=element.get("y"),
        transform=None if _UNTURNED.match(turned) else turned or None,
        font_size=style["font-size"].removesuffix("px"),
        class_=_class(style),
        **_attributes(style),
    )


def _style(element: ET.Element) -> dict[str, str]:
    pairs = (part.split(":", 1) for part in element.get("style", "").split(";") if ":" in part)
    return {name.strip(): value.strip() for name, value in pairs}


def _class(style: Mapping[str, str]) -> str:
    named = []
    for kind, prefix in (("fill", "f"), ("stroke", "s")):
        value = style.get(kind, "none")
        if value != "none":
            named.append(f"{prefix}-{COLOURS[int(value[1:], 16) - 1]}")
    return " ".join(named)


def _attributes(style: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("-", "_"): style[name] for name in _KEPT if name in style}
