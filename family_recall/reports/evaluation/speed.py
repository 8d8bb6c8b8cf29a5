"""Speed: what ``bench`` measured in, a page about time, size and memory out.

The figures are read as they stand in its JSON; ``tools/bench/speed.py --help`` says what each is.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from family_recall.reports.document import Section, document
from family_recall.reports.evaluation.drawing import colour, plot
from family_recall.reports.evaluation.parts import (
    cells,
    counts,
    figures,
    pairs,
    plots,
    quiet,
    style,
)
from family_recall.reports.evaluation.peers import beside_others
from family_recall.reports.evaluation.reading import Figures, number, three, value_at
from family_recall.reports.evaluation.sizes import by_size
from family_recall.reports.markup import Markup, folded, joined, tag

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ENDS = {"p50": "accent", "p95": "session", "p99": "bad"}
_STACKED = ("words", "meaning", "reading", "session", "links", "time", "itself")
_SHORT = 0.05
"""Milliseconds: a stage that never takes as long is among the others."""


def speed_page(
    report: Figures,
    *,
    machine: Mapping[str, str],
    made_at: dt.datetime,
    peers: Figures | None = None,
) -> str:
    """Write what ``bench`` measured as a page to be read in any browser, and kept.

    Args:
        report: The JSON of ``tools/bench/speed.py``.
        machine: What it ran on, see :func:`family_recall.evaluation.machine.describe`.
        made_at: When it was measured.
        peers: The JSON of ``tools/bench/peers/run.py``, where it was measured beside others.

    Raises:
        ImportError: If matplotlib is not installed; the message says how to get it.
        ValueError: If the figures are not such JSON.
    """
    try:
        sections = [one for one in _sections(report, machine, peers) if one[2]]
        header = _header(report, made_at)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"expected the figures of tools/bench/speed.py --json and of tools/bench/peers/run.py "
            f"--json, and {error} is missing or of another kind"
        ) from error
    return document("Speed and size", header, sections, style=style())


def _sections(
    report: Figures, machine: Mapping[str, str], peers: Figures | None
) -> Iterator[Section]:
    sizes: Sequence[Figures] = report["sizes"]
    if sizes:
        yield "latency", "A recall", _latency(sizes)
        yield "stages", "Where the time goes", _stages(sizes)
        yield "storing", "Storing and starting", _storing(sizes, report["import_ms"])
        yield "space", "Disk and memory", _space(sizes)
    yield "embedding", "Reading a question", _embedding(report["embedding"])
    yield "peers", "Beside others", beside_others(peers)
    yield "setup", "Machine and settings", _setup(report, machine)


def _header(report: Figures, made_at: dt.datetime) -> Markup:
    sizes = report["sizes"]
    told = [tag("span", f"{number(each['memories'])} memories") for each in sizes]
    return tag(
        "header",
        tag("p", "A measurement", class_="kicker"),
        tag("h1", "Speed and size"),
        tag("p", tag("strong", f"family_recall {report['version']}"), *told, class_="summary"),
        quiet(f"Measured {made_at:%d %B %Y, %H:%M}"),
    )


def _latency(sizes: Sequence[Figures]) -> Markup:
    largest = sizes[-1]
    total = largest["recall"]["total"]
    planted = largest["planted"]
    top = {
        "CPU, p50": (f"{total['cpu_ms']['p50']:.1f} ms", f"of {number(largest['memories'])}"),
        "wall, p50": (f"{total['ms']['p50']:.1f} ms", f"p99 {total['ms']['p99']:.1f} ms"),
        "planted": (f"{planted['found']} of {planted['n']}", "found in the first ten"),
    }
    rows = [
        cells(
            number(each["memories"]),
            *(three(each["recall"][what][unit]) for what, unit in _TOTALS),
        )
        for each in sizes
    ]
    head = ("Memories", *(f"{_SAID[what]}, {_UNIT[unit]}" for what, unit in _TOTALS))
    both = {"accent": "CPU", "session": "wall"}
    return joined(
        counts(top),
        plots(
            by_size("CPU time of a recall", sizes, _ends_of("cpu_ms"), key=_named(_ENDS)),
            by_size("Wall time of a recall", sizes, _ends_of("ms"), key=_named(_ENDS)),
            by_size(
                "CPU against wall, p50",
                sizes,
                {
                    "accent": value_at("recall", "total", "cpu_ms", "p50"),
                    "session": value_at("recall", "total", "ms", "p50"),
                },
                key=both,
            ),
            by_size(
                "What is quoted exactly: wall time",
                sizes,
                {named: value_at("identifiers", "ms", end) for end, named in _ENDS.items()},
                key=_named(_ENDS),
            ),
        ),
        folded("The figures", figures("Milliseconds, p50 / p95 / p99", head, *rows)),
        quiet("Wall time rises with whatever else the machine does; CPU time much less."),
    )


_TOTALS = (
    ("total", "cpu_ms"),
    ("total", "ms"),
    ("other_than_embedding", "cpu_ms"),
    ("other_than_embedding", "ms"),
)
_SAID = {"total": "total", "other_than_embedding": "without embedding"}
_UNIT = {"ms": "wall", "cpu_ms": "CPU"}


def _stages(sizes: Sequence[Figures]) -> Markup:
    took = {
        stage: [
            each["recall"]["stages"].get(stage, {"ms": {"p50": 0.0}})["ms"]["p50"] for each in sizes
        ]
        for stage in dict.fromkeys(name for each in sizes for name in each["recall"]["stages"])
    }
    ranked = sorted(took, key=lambda stage: -max(took[stage]))
    named = [stage for stage in ranked[: len(_STACKED)] if max(took[stage]) > _SHORT]
    rest = [sum(took[s][at] for s in took if s not in named) for at in range(len(sizes))]
    stacked = {**{stage: took[stage] for stage in named}, "all others": rest}
    colours = (*_STACKED[: len(named)], "ranks")

    def draw(axes: Axes) -> None:
        left = [0.0] * len(sizes)
        for named, times in zip(colours, stacked.values(), strict=True):
            axes.barh(range(len(sizes)), times, left=left, height=0.62, color=colour(named),
                      edgecolor=colour("paper"), linewidth=0.8)  # fmt: skip
            left = [so_far + ms for so_far, ms in zip(left, times, strict=True)]
        axes.set_yticks(range(len(sizes)), [number(each["memories"]) for each in sizes])
        axes.set_ylim(len(sizes) - 0.5, -0.5)
        axes.set(xlabel="milliseconds, p50 of each", ylabel="memories")
        axes.grid(visible=False, axis="y")

    said = "; ".join(
        f"{stage} " + ", ".join(f"{ms:.1f}" for ms in times) for stage, times in stacked.items()
    )
    key = {named: stage.replace("_", " ") for named, stage in zip(colours, stacked, strict=True)}
    rows = (
        cells(
            stage.replace("_", " "),
            *(
                three(found["ms"]) if (found := each["recall"]["stages"].get(stage)) else ""
                for each in sizes
            ),
        )
        for stage in took
    )
    head = ("Stage", *(number(each["memories"]) for each in sizes))
    return joined(
        plots(plot("Stages, one after another", said, draw, height=70 + 34 * len(sizes), key=key)),
        quiet(
            "The search by words and the encoding run side by side, and medians do not add up: "
            "the bars compare stages, they are no clock."
        ),
        folded("The figures", figures("Milliseconds, p50 / p95 / p99", head, *rows)),
    )


def _storing(sizes: Sequence[Figures], imports: Mapping[str, float]) -> Markup:
    told = {
        "accent": ("text_per_cpu_s", "texts per CPU second"),
        "session": ("text_per_s", "texts per second"),
        "meaning": ("vectors_per_cpu_s", "vectors per CPU second"),
    }
    return joined(
        plots(
            by_size(
                "Memories stored in a second",
                sizes,
                {n: value_at("ingest", key) for n, (key, _) in told.items()},
                key={named: of for named, (_, of) in told.items()},
                unit="a second",
            ),
            by_size(
                "A fresh process",
                sizes,
                {
                    "accent": value_at("start", "open_ms"),
                    "session": value_at("start", "first_answer_ms"),
                },
                key={"accent": "opens the file", "session": "first answer"},
            ),
        ),
        quiet(
            f"Importing the package takes {imports['package']:.0f} ms, with its native libraries "
            f"{imports['with_native_libraries']:.0f} ms."
        ),
    )


def _space(sizes: Sequence[Figures]) -> Markup:
    return joined(
        plots(
            by_size(
                "File, bytes a memory",
                sizes,
                {"accent": value_at("file_bytes_per_memory")},
                unit="bytes",
                from_zero=True,
            ),
            by_size(
                "Resident memory",
                sizes,
                {
                    "accent": value_at("start", "resident_mib"),
                    "soft": value_at("start", "resident_before_mib"),
                },
                key={"accent": "after asking", "soft": "before opening"},
                unit="MiB",
                from_zero=True,
            ),
        ),
        quiet("Memory of a fresh process that opens the file and answers."),
    )


def _embedding(found: Figures | None) -> Markup:
    if not found:
        return Markup("")
    rows = (
        cells(f"{n} tokens", three(times["cpu_ms"]), three(times["ms"]))
        for n, times in found["tokens"].items()
    )
    caption = f"{found['model_id']}: milliseconds of one text, p50 / p95 / p99"
    return figures(caption, ("", "CPU", "wall"), *rows)


def _setup(report: Figures, machine: Mapping[str, str]) -> Markup:
    work = report["machine"]
    told = {
        "questions a size": report["questions"],
        "scope": report["scope"],
        "encoder": report["encoder"],
        "fixed work, CPU ms": work["cpu_ms"],
        "fixed work, wall ms": work["ms"],
        "load at the start": work["load_1_min"],
    }
    return pairs({**told, **machine})


def _ends_of(unit: str) -> dict[str, Callable[[Figures], float]]:
    return {named: value_at("recall", "total", unit, end) for end, named in _ENDS.items()}


def _named(ends: Mapping[str, str]) -> dict[str, str]:
    return {named: end for end, named in ends.items()}
