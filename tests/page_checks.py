"""Reads the HTML of a page, and checks what no page of ours may hold."""

from __future__ import annotations

import base64
import colorsys
import hashlib
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
VOID = {"meta", "br", "input", "img"}
RUNS_OR_LOADS = {
    "script", "link", "base", "iframe", "frame", "object", "embed", "applet", "portal",
    "image", "picture", "source", "video", "audio", "track", "use", "foreignobject", "animate",
    "set",
}  # fmt: skip
"""Elements that run something, load something, or change where links lead."""
SENDS = {"form", "input", "button", "select", "textarea"}
LOADED = {"src", "srcset", "data", "poster", "background", "xlink:href", "ping", "formaction"}
PAINTED = {"fill", "stroke", "clip-path", "mask", "filter", "cursor", "marker-start", "marker-end"}
"""Attributes of SVG that may name something to load."""


class ReadPage(HTMLParser):
    """A page's elements with their attributes, its text, and elements that were not closed."""

    def __init__(self, html: str) -> None:
        """Parse it completely."""
        super().__init__()
        self.html = html
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the last open element."""
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        """Collect the text."""
        if "style" not in self.open:
            self.text += data

    def all(self, name: str) -> list[dict[str, str | None]]:
        """Return the attributes of each element of a name."""
        return [attributes for element, attributes in self.elements if element == name]


def pictures_of(html: str) -> list[str]:
    """Return the SVGs that a page holds as images."""
    encoded = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', html)
    return [base64.b64decode(picture).decode() for picture in encoded]


def see_that_nothing_runs_or_loads(
    page: ReadPage, links: tuple[str, ...] = ("#",), *, forms: bool = False
) -> None:
    """Check that a page is well formed and passive: no script, nothing to load, no inline style.

    Its pictures are in the page itself. Links begin with one of ``links``. Forms, where allowed,
    send to their own site.
    """
    assert (page.open, page.wrong) == ([], [])
    assert not {name for name, _ in page.elements} & (RUNS_OR_LOADS | (set() if forms else SENDS))
    for name, attributes in page.elements:
        assert not [key for key in attributes if key == "style" or key.startswith("on")], name
        if name == "img":
            assert str(attributes["src"]).startswith("data:image/svg+xml;base64,")
        assert not (LOADED - ({"src"} if name == "img" else set()) | {"autofocus"}) & set(
            attributes
        ), name
        assert not [key for key in PAINTED & set(attributes) if "url(" in str(attributes[key])]
        assert str(attributes.get("href", links[0])).startswith(links), attributes
        assert re.match(r"/(?!/)", str(attributes.get("action", "/"))), attributes
    (sheet,) = re.findall(r"<style>(.*?)</style>", page.html, re.DOTALL)
    assert not re.search(r"url\(|@import|expression\(", sheet)


def see_that_it_is_closed(html: str) -> None:
    """Check that a file's policy allows its style sheet, by hash, and its own pictures."""
    page = ReadPage(html)
    (sheet,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    (policy,) = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]

    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    see_that_nothing_runs_or_loads(page)


def see_that_a_browser_renders(html: str, folder: Path) -> None:
    """Check that Chromium renders a page and its policy refuses nothing in it."""
    file, shot = folder / "page.html", folder / "page.png"
    file.write_text(html, encoding="utf-8")
    done = subprocess.run(
        [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu",
         "--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}",
         "--window-size=500,900", f"--screenshot={shot}", file.as_uri()],
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip

    assert shot.exists(), done.stderr
    assert "CONSOLE" not in done.stderr
    assert "Content Security Policy" not in done.stderr


HUES = """() => {
  const colours = new Set();
  for (const element of document.querySelectorAll('body, body *')) {
    const style = getComputedStyle(element);
    const used = [style.backgroundColor];
    const writes = [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (writes) used.push(element instanceof SVGElement ? style.fill : style.color);
    if (element instanceof SVGGeometryElement) used.push(style.fill, style.stroke);
    if (parseFloat(style.borderTopWidth) > 0) used.push(style.borderTopColor);
    used.forEach(colour => colours.add(colour));
  }
  return [...colours];
}"""
"""Every colour that is used on a page, as computed."""

OUTSIDE = """() => [...document.querySelectorAll('nav a, nav p')].filter(element => {
  const box = element.getBoundingClientRect(), nav = element.closest('nav');
  return box.left < 0 || box.right > document.documentElement.clientWidth
    || nav.scrollWidth > nav.clientWidth || nav.scrollHeight > nav.clientHeight;
}).map(element => element.textContent)"""
"""What a page's navigation holds that is not wholly seen."""

WIDER_THAN_THE_WINDOW = (
    "document.documentElement.scrollWidth - document.documentElement.clientWidth"
)


def hues(colours: list[str]) -> list[int]:
    """Return the hues among computed colours in degrees, 20 or more apart; greys have none."""
    apart: list[int] = []
    for text in colours:
        numbers = [float(number) for number in re.findall(r"[\d.]+", text)]
        red, green, blue, *alpha = numbers if len(numbers) >= 3 else (0.0, 0.0, 0.0)
        if text.startswith("color("):  # of color-mix(): each part from 0 to 1
            red, green, blue = 255 * red, 255 * green, 255 * blue
        hue, _, saturation = colorsys.rgb_to_hls(red / 255, green / 255, blue / 255)
        chroma = max(red, green, blue) - min(red, green, blue)
        if chroma < 40 or saturation < 0.15 or (alpha and alpha[0] == 0.0):
            continue
        degrees = round(360 * hue)
        if all(min(abs(degrees - h), 360 - abs(degrees - h)) >= 20 for h in apart):
            apart.append(degrees)
    return sorted(apart)
