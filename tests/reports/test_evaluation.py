"""Pages with plots: closed, whole, escaped, and true to what was measured."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.cli import main
from family_recall.evaluation import EvaluationReport
from family_recall.evaluation.ablation import Ablation, AblationRow
from family_recall.evaluation.baseline import BaselineComparison
from family_recall.evaluation.budgets import BudgetResult
from family_recall.evaluation.comparison import compare
from family_recall.evaluation.intervals import Interval
from family_recall.evaluation.machine import describe
from family_recall.evaluation.outcomes import Outcome, measured
from family_recall.evaluation.report import summarise
from family_recall.evaluation.timing import Timing
from family_recall.reports import templating
from family_recall.reports.evaluation import charts, quality_page, speed_page, timing_page
from family_recall.reports.evaluation.plots import COLOURS, STYLE
from family_recall.reports.evaluation.quality import worst
from family_recall.reports.templating import stylesheet
from tests.evaluation.small import QUERIES, memories
from tests.page_checks import (
    CHROMIUM,
    ReadPage,
    see_that_a_browser_renders,
    see_that_it_is_closed,
)

pytest.importorskip("matplotlib")

NOW = dt.datetime(2026, 1, 10, 18, 0, tzinfo=dt.UTC)
ASTRAY = "Who lands on Friday evening?"
"""Asked with the gold of something else, so it is among what went worst."""
MACHINE = {"processor": "an abacus", "processors": "2"}


def outcome(name: str, ranking: str, gold: str, confidence: float, category: str) -> Outcome:
    """Give an outcome whose memories are called by single letters."""
    return Outcome(
        name, category, tuple(gold), tuple(ranking), "ok" if confidence >= 0.5 else "no_match",
        confidence, 3.0 + confidence, sources=tuple("lexical" for _ in ranking), n_words=4,
        shares={"bm25": 0.75, "cosine": 0.25},
    )  # fmt: skip


def report(category: str = "when", **also: Any) -> EvaluationReport:
    """Make a report with every part that a page may tell of."""
    asked = (
        outcome("q1", "abc", "a", 0.9, "plain"),
        outcome("q2", "bca", "a", 0.8, category),
        outcome("q3", "bcd", "a", 0.2, category),
        outcome("q4", "bad", "a", 0.3, "plain"),
        outcome("q5", "xyz", "", 0.7, "plain"),
    )
    without = [dataclasses.replace(one, ranking=("b", "c", "a")) for one in asked]
    judged = [one for one in asked if one.gold]
    compared = compare(asked, without, seed=0)
    known: dict[str, Any] = {
        **summarise(asked, seed=0),
        "n_memories": 6,
        "config": {"dataset": "small", "seed": 0, "budget_ms": 1000.0, "rerank": True},
        "ablation": Ablation(
            measured(judged, 0), (AblationRow("graph", "stage", measured(judged, 0), compared),)
        ),
        "baseline": BaselineComparison("bm25", compare(without, asked, seed=0)),
        "budgets": tuple(
            BudgetResult(ms, measured(judged, 0), 1.0, {"p50": ms / 2, "p95": ms, "p99": ms},
                   {"p50": 0.0, "p95": 0.0, "p99": 0.1}, 2)
            for ms in (5.0, 50.0)
        ),
        "outcomes": asked,
        **also,
    }  # fmt: skip
    return EvaluationReport(**known)


def page(made: EvaluationReport | None = None, **also: Any) -> str:
    """Write the page of a report."""
    return quality_page(made or report(), machine=MACHINE, made_at=NOW, **also)


def quantiles(ms: float) -> dict[str, dict[str, float]]:
    """Give times as the bench has them."""
    return {unit: {"p50": ms, "p95": 2 * ms, "p99": 3 * ms} for unit in ("ms", "cpu_ms")}


def size(n: int) -> dict[str, Any]:
    """Give what the bench says of a household of a size."""
    ms = n / 1000
    return {
        "memories": n,
        "ingest": {"text_per_s": 900, "text_per_cpu_s": 1000, "vectors_per_cpu_s": 20_000},
        "recall": {
            "stages": {
                name: {"ms": quantiles(ms)["ms"]} for name in ("lexical", "late_interaction")
            },
            "total": quantiles(ms),
            "other_than_embedding": quantiles(ms),
        },
        "planted": {"n": 8, "found": 8},
        "identifiers": {"n": 2, "found": 2, **quantiles(0.5)},
        "file_bytes_per_memory": 2600,
        "start": {
            "open_ms": 9.0,
            "first_answer_ms": 40.0,
            "resident_mib": 107.0,
            "resident_before_mib": 62.0,
        },
    }


BENCH: dict[str, Any] = {
    "version": "0.1.0",
    "questions": 5,
    "scope": "all",
    "encoder": "fake",
    "machine": {"ms": 30.0, "cpu_ms": 60.0, "load_1_min": 0.5},
    "import_ms": {"package": 40.0, "with_native_libraries": 200.0},
    "embedding": {"model_id": "tiny", "tokens": {"8": quantiles(1.0)}},
    "sizes": [size(1_000), size(10_000)],
}
PEERS: dict[str, Any] = {
    "date": "2026-01-10",
    "command": "python -m tools.bench.peers.run",
    "sizes": [
        {
            "memories": 10_000,
            "peers": {
                "family_recall": {
                    "cpu_ms_mean": 6.5, "wall_ms": {"p50": 7.0, "p95": 9.0}, "planted_found": 8,
                    "planted": 8, "bytes_per_memory": 1782.0, "resident_mib": 84.0,
                },
                "slow_one": {"stopped_at": 4096, "ingest_wall_s": 240.0},
                "broken_one": {"failed": "no wheel"},
            },
        }
    ],
}  # fmt: skip


def speed(**also: Any) -> str:
    """Write the page of the bench."""
    return speed_page({**BENCH, **also}, machine=MACHINE, made_at=NOW, peers=PEERS)


def timing(**also: Any) -> Timing:
    """Give what one household took."""
    known: dict[str, Any] = {
        "memories": 90, "visible": 75, "questions": 40, "budget_ms": 60.0, "open_ms": 9.0,
        "first_ms": 50.0, "warm_ms": 1000.0, "total": quantiles(20.0),
        "stages": {
            "lexical": {"n": 40, **quantiles(1.0)["ms"]}, "weigh": {"n": 40, **quantiles(0.0)["ms"]}
        },
        "left_out": {"rerank": {"n": 40, "why": "no time for more pairs"}},
        "over_ms": quantiles(0.0)["ms"], "machine": MACHINE, **also,
    }  # fmt: skip
    return Timing(**known)


def household(**also: Any) -> str:
    """Write the page of one household."""
    return timing_page(timing(**also), name="family.db", made_at=NOW)


PAGES = {"quality": page, "speed": speed, "household": household}


@pytest.fixture(scope="module", params=PAGES)
def html(request: pytest.FixtureRequest) -> str:
    """Give the pages, one after the other."""
    return PAGES[request.param]()


def test_a_page_is_closed_to_everything_but_its_own_style(html: str) -> None:
    """The policy names the hash of the one sheet; no script, no link out, no style inline."""
    see_that_it_is_closed(html)
    assert "url(" not in html


def test_a_page_is_well_formed_and_every_plot_has_words(html: str) -> None:
    """All that is opened is closed; a plot has a title and says what it shows."""
    found = ReadPage(html)
    names = [name for name, _ in found.elements]

    assert (found.open, found.wrong) == ([], [])
    assert names.count("svg") >= 2
    for at, (name, attributes) in enumerate(found.elements):
        if name == "svg":
            assert attributes["role"] == "img"
            assert names[at + 1 : at + 3] == ["title", "desc"]
    assert len(found.all("table")) == len(found.all("caption"))
    assert all(said for said in re.findall(r"<desc>(.*?)</desc>", html))
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {(a["href"] or "")[1:] for a in found.all("a")} <= set(ids)


def test_plots_take_their_colours_from_the_sheet(html: str) -> None:
    """No colour stands in a plot, so light and dark are the sheet's; each class has its rule."""
    drawn = "".join(re.findall(r"<svg.*?</svg>", html, re.DOTALL))
    (sheet,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    used = set(re.findall(r"\b[fs]-([a-z]+)", " ".join(re.findall(r'class="([^"]*)"', drawn))))

    assert "#" not in re.sub(r"&#x?\w+;", "", drawn)
    assert used
    assert used <= set(COLOURS)
    for name in used:
        assert f".plot .f-{name} {{ fill: var(--{name}); }}" in sheet
        assert sheet.count(f"--{name}: #") == 2, name


def test_a_dot_stands_where_its_value_is() -> None:
    """Read off the picture with the numbers at its axis: 0.25 and 0.8 are where they should be."""
    rows: dict[str, dict[str, int | Interval]] = {
        "low": {"n": 4, "ndcg@10": Interval(0.25, 0.1, 0.4)},
        "high": {"n": 4, "ndcg@10": Interval(0.8, 0.7, 0.9)},
    }
    shapes = charts.by_segment("by", rows, "ndcg@10", "accent").shapes
    ticks = {
        float(shape.text or ""): float(shape.attributes["x"] or "")
        for shape in shapes
        if re.fullmatch(r"[01]\.\d", shape.text or "")
    }
    per_unit = (ticks[0.8] - ticks[0.2]) / 0.6
    dots = [
        re.match(r"translate\(([\d.]+) ", shape.attributes.get("transform") or "")
        for shape in shapes
        if "f-accent" in (shape.attributes["class"] or "")
    ]
    values = [(float(dot[1]) - ticks[0.2]) / per_unit + 0.2 for dot in dots if dot]

    assert values == pytest.approx([0.25, 0.8], abs=0.005)


@settings(max_examples=8, deadline=None)
@given(st.text(min_size=1, max_size=60))
def test_any_name_is_shown_as_a_name(name: str) -> None:
    """Whatever a category is called, the page has the elements it has for a plain word."""
    found, plain = ReadPage(page(report(name))), ReadPage(page(report("zz")))
    lines = {"text", "path"}  # a long name takes two lines, and its place in the order is its own

    assert (found.open, found.wrong) == ([], [])
    assert sorted(n for n, _ in found.elements if n not in lines) == sorted(
        n for n, _ in plain.elements if n not in lines
    )


def test_hostile_names_do_nothing() -> None:
    """Tags, formulas, zero bytes and marks that turn the order of letters are only letters."""
    hostile = "</svg></style><script>alert(1)</script>$\\frac{1}{0}$\x00\u202e\ud800"
    made = page(report(hostile), texts={"q3": hostile})
    found = ReadPage(made)

    see_that_it_is_closed(made)
    assert not set("\x00\u202e") & set(made)
    assert "$\\frac{1}{0}$" in found.text
    made.encode()


def test_what_went_worst_is_told_first() -> None:
    """q3 was never found and q5 surely answered though nothing does: both are 0, q5 the surer."""
    assert [one.query_id for one in worst(report().outcomes)] == ["q5", "q3", "q2", "q4"]


def test_words_of_questions_are_told_only_where_they_are_given() -> None:
    """Without them a page names a question by its id."""
    told = page(texts={"q3": "Where is the umbrella?"})

    assert "Where is the umbrella?" in ReadPage(told).text
    assert "umbrella" not in page()
    assert "q3" in ReadPage(page()).text


def test_the_figures_on_the_page_are_the_reports() -> None:
    """The measures, the calibration error, the machine and the settings stand there as they are."""
    made = report()
    text = ReadPage(page(made)).text
    ndcg = made.overall["ndcg@10"]

    assert isinstance(ndcg, Interval)
    assert f"{ndcg.value:.3f}" in text
    assert f"{ndcg.low:.3f} to {ndcg.high:.3f}" in text
    assert f"ECE {made.calibration['ece']:.3f}" in text
    assert "an abacus" in text
    assert "dataset" in text


def test_a_section_is_left_out_where_nothing_was_measured() -> None:
    """Without budgets, parts and gold there are no such sections, and the page is whole."""
    bare = ReadPage(page(report(budgets=(), ablation=None, baseline=None)))
    asked = (outcome("q5", "xyz", "", 0.7, "plain"),)
    goldless = ReadPage(
        page(report(**summarise(asked, seed=0), outcomes=asked, ablation=None, baseline=None,
                    budgets=()))
    )  # fmt: skip

    ids = {attributes.get("id") for _, attributes in bare.elements}
    assert not ids & {"budgets", "parts"}
    assert {"measures", "categories", "confidence", "time", "worst", "setup"} <= ids
    assert "nothing to measure ranking by" in goldless.text
    assert (goldless.open, goldless.wrong) == ([], [])


def test_the_same_report_gives_the_same_page() -> None:
    """No random name and no date but the given one is in it."""
    assert page() == page()
    assert speed() == speed()
    assert household() == household()


def test_the_bench_page_tells_of_peers_that_gave_no_figures() -> None:
    """One that was stopped and one that failed stand in the table, and are not drawn."""
    text = ReadPage(speed()).text

    assert "slow one" in text
    assert "stopped" in text
    assert "failed" in text
    assert "1,782" in text


def test_figures_of_another_kind_are_refused_with_what_is_wrong() -> None:
    """What is missing is named, and so is what would have been right."""
    with pytest.raises(ValueError, match=r"tools/bench/speed\.py --json.*missing.*'planted'"):
        speed(sizes=[{key: value for key, value in size(1_000).items() if key != "planted"}])


def test_one_size_is_a_page_too() -> None:
    """With nothing to draw a line to, the dots stand alone."""
    found = ReadPage(speed(sizes=[size(1_000)], embedding=None))

    assert (found.open, found.wrong) == ([], [])


def test_a_households_page_tells_what_was_left_out_and_why() -> None:
    """With the budget drawn where recalls came near it, and a stage that took no time at all."""
    near = ReadPage(household(budget_ms=60.0))
    far = ReadPage(household(budget_ms=600.0, left_out={}))

    assert "no time for more pairs" in near.text
    assert "75 of 90 memories in sight" in near.text
    assert {"class": "g-bad"} in near.all("i")
    assert {"class": "g-bad"} not in far.all("i")
    assert "What was left out" not in far.text


def test_the_machine_is_named() -> None:
    """Processor, system and versions; nothing in it is empty."""
    told = describe()

    assert {"processor", "processors", "system", "Python", "numpy"} <= set(told)
    assert all(told.values())


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the small dataset as files."""
    folder = tmp_path_factory.mktemp("small")
    stored = [{"id": m.id, "text": m.text, "space": m.space} for m in memories()]
    asked = [
        {"id": q.id, "text": q.text, "space": q.space, "category": q.category, "gold": [*q.gold]}
        for q in QUERIES
    ]
    asked.append({**asked[0], "id": "astray", "text": ASTRAY, "gold": ["home/6"]})
    for name, records in (("memories", stored), ("queries", asked)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def test_eval_writes_a_page(dataset: Path, tmp_path: Path) -> None:
    """The words of its questions are in it only where that was asked for."""
    file = tmp_path / "page.html"
    call = ["eval", str(dataset), "--no-rerank", "--report", str(file)]

    done = CliRunner().invoke(main, call)
    first = file.read_text(encoding="utf-8")
    again = CliRunner().invoke(main, [*call, "--report-texts"])

    assert (done.exit_code, again.exit_code) == (0, 0), done.output + again.output
    assert f"{file}: " in done.stderr
    assert ReadPage(first).open == []
    assert "astray" in ReadPage(first).text
    assert not [text for text in (ASTRAY, *(q.text for q in QUERIES)) if text in first]
    assert ASTRAY in ReadPage(file.read_text(encoding="utf-8")).text


def test_without_matplotlib_eval_ends_at_once_and_says_how_to_get_it(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line with the command, before anything was asked, and no file."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    file = tmp_path / "page.html"

    done = CliRunner().invoke(main, ["eval", str(dataset), "--report", str(file)])

    assert done.exit_code == 1
    assert done.stderr == (
        "Error: matplotlib is not installed; add it with: pip install 'family-recall[report]'\n"
    )
    assert done.stdout == ""
    assert not file.exists()


def test_bench_writes_a_page(tmp_path: Path) -> None:
    """Of an invented household, with its figures and no word of a memory."""
    file = tmp_path / "page.html"

    done = CliRunner().invoke(
        main, ["bench", "--invented", "40", "--questions", "3", "--report", str(file)]
    )

    assert done.exit_code == 0, done.output
    assert "3 questions of 60 ms" in ReadPage(file.read_text(encoding="utf-8")).text


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to render with")
def test_a_browser_renders_it_with_its_style_and_without_complaint(
    html: str, tmp_path: Path
) -> None:
    """Chromium lays both pages out and finds nothing to refuse in them."""
    see_that_a_browser_renders(html, tmp_path)


def test_the_sheet_is_shared() -> None:
    """A page with plots has every rule of the page of a recall, and adds its own below."""
    assert stylesheet(*STYLE) in page()
    assert stylesheet(*templating.STYLE) == stylesheet(*STYLE[:2])
