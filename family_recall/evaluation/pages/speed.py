"""Speed: what ``bench`` measured in, a page about time, size and memory out.

The figures are read as they stand in its JSON; ``tools/bench.py --help`` says what each is.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from family_recall.evaluation.pages.drawing import colour, log_axis, plot, readable
from family_recall.evaluation.pages.parts import (
    cells,
    counts,
    figures,
    pairs,
    plots,
    quiet,
    style,
)
from family_recall.inspecting.document import Section, document
from family_recall.inspecting.markup import Markup, folded, joined, tag

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Figures = Mapping[str, Any]
"""JSON of a measurement, or a part of it."""

_TICKS = tuple(part * 10.0**power for power in range(-2, 7) for part in (1, 2, 5))
_ENDS = {"p50": "accent", "p95": "talk", "p99": "bad"}
_STACKED = ("words", "meaning", "reading", "talk", "links", "time", "itself")
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
        report: The JSON of ``tools/bench.py``.
        machine: What it ran on, see :func:`family_recall.evaluation.machine.describe`.
        made_at: When it was measured.
        peers: The JSON of ``tools/bench_peers/run.py``, where it was measured beside others.

    Raises:
        ImportError: If matplotlib is not installed; the message says how to get it.
        ValueError: If the figures are not such JSON.
    """
    try:
        sections = [one for one in _sections(report, machine, peers) if one[2]]
        header = _header(report, made_at)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"expected the figures of tools/bench.py --json and of tools/bench_peers/run.py "
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
    yield "peers", "Beside others", _peers(peers)
    yield "setup", "Machine and settings", _setup(report, machine)


def _header(report: Figures, made_at: dt.datetime) -> Markup:
    sizes = report["sizes"]
    told = [tag("span", f"{_number(each['memories'])} memories") for each in sizes]
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
        "CPU, p50": (f"{total['cpu_ms']['p50']:.1f} ms", f"of {_number(largest['memories'])}"),
        "wall, p50": (f"{total['ms']['p50']:.1f} ms", f"p99 {total['ms']['p99']:.1f} ms"),
        "planted": (f"{planted['found']} of {planted['n']}", "found in the first ten"),
    }
    rows = [
        cells(
            _number(each["memories"]),
            *(_three(each["recall"][what][unit]) for what, unit in _TOTALS),
        )
        for each in sizes
    ]
    head = ("Memories", *(f"{_SAID[what]}, {_UNIT[unit]}" for what, unit in _TOTALS))
    both = {"accent": "CPU", "talk": "wall"}
    return joined(
        counts(top),
        plots(
            _by_size("CPU time of a recall", sizes, _ends_of("cpu_ms"), key=_named(_ENDS)),
            _by_size("Wall time of a recall", sizes, _ends_of("ms"), key=_named(_ENDS)),
            _by_size(
                "CPU against wall, p50",
                sizes,
                {
                    "accent": _at("recall", "total", "cpu_ms", "p50"),
                    "talk": _at("recall", "total", "ms", "p50"),
                },
                key=both,
            ),
            _by_size(
                "What is quoted exactly: wall time",
                sizes,
                {named: _at("identifiers", "ms", end) for end, named in _ENDS.items()},
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
        axes.set_yticks(range(len(sizes)), [_number(each["memories"]) for each in sizes])
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
                _three(found["ms"]) if (found := each["recall"]["stages"].get(stage)) else ""
                for each in sizes
            ),
        )
        for stage in took
    )
    head = ("Stage", *(_number(each["memories"]) for each in sizes))
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
        "talk": ("text_per_s", "texts per second"),
        "meaning": ("vectors_per_cpu_s", "vectors per CPU second"),
    }
    return joined(
        plots(
            _by_size(
                "Memories stored in a second",
                sizes,
                {n: _at("ingest", key) for n, (key, _) in told.items()},
                key={named: of for named, (_, of) in told.items()},
                unit="a second",
            ),
            _by_size(
                "A fresh process",
                sizes,
                {
                    "accent": _at("start", "open_ms"),
                    "talk": _at("start", "first_answer_ms"),
                },
                key={"accent": "opens the file", "talk": "first answer"},
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
            _by_size(
                "File, bytes a memory",
                sizes,
                {"accent": _at("file_bytes_per_memory")},
                unit="bytes",
                from_zero=True,
            ),
            _by_size(
                "Resident memory",
                sizes,
                {
                    "accent": _at("start", "resident_mib"),
                    "soft": _at("start", "resident_before_mib"),
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
        cells(f"{n} tokens", _three(times["cpu_ms"]), _three(times["ms"]))
        for n, times in found["tokens"].items()
    )
    caption = f"{found['model_id']}: milliseconds of one text, p50 / p95 / p99"
    return figures(caption, ("", "CPU", "wall"), *rows)


def _peers(peers: Figures | None) -> Markup:
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
    title = f"A recall among {_number(size['memories'])}"
    return plot(title, said, draw, height=56 + 26 * len(names))


def _peer_rows(size: Figures) -> Iterator[tuple[str, ...]]:
    for name, found in size["peers"].items():
        memories = _number(size["memories"])
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


def _by_size(
    title: str,
    sizes: Sequence[Figures],
    lines: Mapping[str, Callable[[Figures], float]],
    *,
    key: Mapping[str, str] | None = None,
    unit: str = "milliseconds",
    from_zero: bool = False,
) -> Markup:
    """Draw values over the number of memories, both on axes where they multiply."""
    ordered = sorted(sizes, key=lambda each: int(each["memories"]))
    across = [each["memories"] for each in ordered]
    up = {named: [value(each) for each in ordered] for named, value in lines.items()}

    def draw(axes: Axes) -> None:
        for named, values in up.items():
            axes.plot(across, values, "o-", color=colour(named), markersize=5)
        log_axis(axes, "x", across, _number)
        every = [value for values in up.values() for value in values]
        if from_zero:
            axes.set_ylim(0, max(every) * 1.12)
            axes.locator_params(axis="y", nbins=5)
            axes.yaxis.set_major_formatter(lambda value, _: _number(value))
        else:
            low, high = min(every) / 2, max(every) * 2
            log_axis(axes, "y", [tick for tick in _TICKS if low <= tick <= high], _number)
            axes.set_ylim(low, high)
        if len(across) == 1:
            axes.set_xlim(across[0] / 3, across[0] * 3)
        axes.set(xlabel="memories", ylabel=unit)

    names = key or dict.fromkeys(up, title)
    said = "; ".join(
        f"{names[named]}: " + ", ".join(f"{value:,.1f}" for value in values)
        for named, values in up.items()
    )
    at = ", ".join(_number(n) for n in across)
    return plot(title, f"At {at} memories. {said}.", draw, key=key)


def _ends_of(unit: str) -> dict[str, Callable[[Figures], float]]:
    return {named: _at("recall", "total", unit, end) for end, named in _ENDS.items()}


def _at(*way: str) -> Callable[[Figures], float]:
    """Give what reads the number that stands at the end of some keys."""

    def read(each: Figures) -> float:
        value: Any = each
        for key in way:
            value = value[key]
        return float(value)

    return read


def _named(ends: Mapping[str, str]) -> dict[str, str]:
    return {named: end for end, named in ends.items()}


def _three(quantiles: Mapping[str, float]) -> str:
    return " / ".join(f"{value:.1f}" for value in quantiles.values())


def _number(value: float) -> str:
    return f"{value:,g}" if value < 1_000_000 else f"{value / 1_000_000:g} M"
