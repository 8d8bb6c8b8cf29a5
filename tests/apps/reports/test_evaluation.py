"""Pages with plots: passive, well formed, escaped, and true to what was measured."""

from __future__ import annotations

import datetime as dt
import functools
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.apps.cli import main
from family_recall.apps.evaluation import EvaluationReport
from family_recall.apps.evaluation.alternatives import (
    Ablation,
    AblationRow,
    BaselineComparison,
    BudgetResult,
)
from family_recall.apps.evaluation.comparison import compare
from family_recall.apps.evaluation.measures import Interval
from family_recall.apps.evaluation.outcomes import Outcome, measured
from family_recall.apps.evaluation.report import summarise
from family_recall.apps.evaluation.timing import Timing, describe
from family_recall.apps.reports import templating
from family_recall.apps.reports.plots import COLOURS, STYLE
from family_recall.apps.reports.quality import quality_page, segments, worst
from family_recall.apps.reports.templating import stylesheet
from family_recall.apps.reports.timing import timing_page
from tests.apps.evaluation.small import QUERIES, memories
from tests.page_checks import (
    CHROMIUM,
    ReadPage,
    pictures_of,
    see_that_a_browser_renders,
    see_that_it_is_closed,
)
from tools.bench.speed_page import speed_page

pytest.importorskip("matplotlib")

NOW = dt.datetime(2026, 1, 10, 18, 0, tzinfo=dt.UTC)
HOPELESS = "Who lands on Friday evening?"
"""Asked with the gold of something else, so that it is among the worst."""
MACHINE = {"processor": "an abacus", "processors": "2"}


def outcome(name: str, ranking: str, gold: str, confidence: float, category: str) -> Outcome:
    """Return an outcome whose memories have single letters as ids."""
    return Outcome(
        name, category, tuple(gold), tuple(ranking), "ok" if confidence >= 0.5 else "no_match",
        confidence, 3.0 + confidence, sources=tuple("lexical" for _ in ranking), n_words=4,
        shares={"bm25": 0.75, "cosine": 0.25},
    )  # fmt: skip


def report(category: str = "when", **also: Any) -> EvaluationReport:
    """Return a report with every part that a page may show."""
    asked = (
        outcome("q1", "abc", "a", 0.9, "plain"),
        outcome("q2", "bca", "a", 0.8, category),
        outcome("q3", "bcd", "a", 0.2, category),
        outcome("q4", "bad", "a", 0.3, "plain"),
        outcome("q5", "xyz", "", 0.7, "plain"),
    )
    without = [msgspec.structs.replace(one, ranking=("b", "c", "a")) for one in asked]
    with_gold = [outcome for outcome in asked if outcome.gold]
    compared = compare(asked, without, seed=0)
    known: dict[str, Any] = {
        **summarise(asked, seed=0),
        "n_memories": 6,
        "config": {"dataset": "small", "seed": 0, "budget_ms": 1000.0, "rerank": True},
        "ablation": Ablation(
            measured(with_gold, 0),
            (AblationRow("graph", "stage", measured(with_gold, 0), compared),),
        ),
        "baseline": BaselineComparison("bm25", {"ndcg@10": 0.5}, compare(without, asked, seed=0)),
        "budgets": tuple(
            BudgetResult(ms, measured(with_gold, 0), 1.0, {"p50": ms / 2, "p95": ms, "p99": ms},
                   {"p50": 0.0, "p95": 0.0, "p99": 0.1}, 2)
            for ms in (5.0, 50.0)
        ),
        "outcomes": asked,
        **also,
    }  # fmt: skip
    return EvaluationReport(**known)


def page(made: EvaluationReport | None = None, **also: Any) -> str:
    """Render the page of a report."""
    return quality_page(made or report(), machine=MACHINE, made_at=NOW, **also)


def quantiles(ms: float) -> dict[str, dict[str, float]]:
    """Return times as in the JSON of the benchmark."""
    return {unit: {"p50": ms, "p95": 2 * ms, "p99": 3 * ms} for unit in ("ms", "cpu_ms")}


def size(n: int) -> dict[str, Any]:
    """Return the figures of one household size, as in the JSON of the benchmark."""
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
    """Render the page of the benchmark."""
    return speed_page({**BENCH, **also}, machine=MACHINE, made_at=NOW, peers=PEERS)


def timing(**also: Any) -> Timing:
    """Return the timing of one household."""
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
    """Render the page of one household."""
    return timing_page(timing(**also), name="family.db", made_at=NOW)


@functools.cache
def unchanged_page() -> str:
    """Render the page of the default report once."""
    return page()


PAGES: dict[str, Callable[[], str]] = {
    "quality": unchanged_page,
    "speed": speed,
    "household": household,
}


@pytest.fixture(scope="module", params=PAGES)
def html(request: pytest.FixtureRequest) -> str:
    """Return each page in turn."""
    return PAGES[request.param]()


def test_a_page_allows_nothing_but_its_own_style(html: str) -> None:
    """The policy has the hash of the style sheet; no script, external link or inline style."""
    see_that_it_is_closed(html)
    assert "url(" not in html


def test_a_page_is_well_formed_and_every_plot_has_words(html: str) -> None:
    """Every element is closed; a plot has a title and a description."""
    read_page = ReadPage(html)
    names = [name for name, _ in read_page.elements]

    assert (read_page.open, read_page.wrong) == ([], [])
    assert names.count("img") >= 2
    assert all(attributes["alt"] for attributes in read_page.all("img"))
    assert len(read_page.all("table")) == len(read_page.all("caption"))
    for picture in pictures_of(html):
        assert re.search(r"<title>.+?</title>\s*<desc>.+?</desc>", picture, re.DOTALL)
    ids = [attributes["id"] for _, attributes in read_page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {(a["href"] or "")[1:] for a in read_page.all("a")} <= set(ids)


def test_plots_have_the_colours_of_the_style_sheet(html: str) -> None:
    """A plot has variables in place of colours, and each has a value for light and dark."""
    for picture in pictures_of(html):
        (sheet,) = re.findall(r"<style>(.*?)</style>", picture, re.DOTALL)
        drawn = picture.replace(sheet, "")
        used = set(re.findall(r"var\(--([a-z]+)\)", drawn))

        assert not re.search(r"#[0-9a-f]{6}\b", drawn)
        assert {"ink", "line", "soft"} & used <= used <= set(COLOURS)
        for name in used:
            assert sheet.count(f"--{name}: #") == 2, name


def test_a_dot_is_drawn_at_its_value() -> None:
    """Measured with the numbers at the axis, 0.25 and 0.8 are where they should be."""
    rows: dict[str, dict[str, int | Interval]] = {
        "low": {"n": 4, "ndcg@10": Interval(0.25, 0.1, 0.4)},
        "high": {"n": 4, "ndcg@10": Interval(0.8, 0.7, 0.9)},
    }
    picture = segments("by", rows).svg
    labels = re.findall(r'<text [^>]*?x="([\d.]+)"[^>]*>([01]\.\d)</text>', picture)
    ticks = {float(label): float(x) for x, label in labels}
    per_unit = (ticks[0.8] - ticks[0.2]) / 0.6
    dots = re.findall(r'<use [^>]*?x="([\d.]+)"[^>]*fill: var\(--accent\)', picture)
    values = [(float(x) - ticks[0.2]) / per_unit + 0.2 for x in dots]

    assert values == pytest.approx([0.25, 0.8], abs=0.005)


@functools.cache
def with_category(name: str) -> ReadPage:
    """Read the page of a report with a category of this name, in tables and plots."""
    return ReadPage(page(report(name, budgets=(), ablation=None)))


@settings(max_examples=8, deadline=None)
@given(st.text(min_size=1, max_size=60))
def test_any_name_is_shown_as_a_name(name: str) -> None:
    """Whatever a category is called, the page has the elements it has for a plain word."""
    read_page, plain = with_category(name), with_category("zz")
    assert (read_page.open, read_page.wrong) == ([], [])
    assert sorted(n for n, _ in read_page.elements) == sorted(n for n, _ in plain.elements)


def test_hostile_names_do_nothing() -> None:
    """Tags, formulas, zero bytes and marks that turn the order of letters are only letters."""
    hostile = "</svg></style><script>alert(1)</script>$\\frac{1}{0}$\x00\u202e\ud800"
    made = page(report(hostile), texts={"q3": hostile})
    read_page = ReadPage(made)

    see_that_it_is_closed(made)
    assert not set("\x00\u202e") & set(made)
    assert "$\\frac{1}{0}$" in read_page.text
    for picture in pictures_of(made):
        ET.fromstring(picture)  # noqa: S314 -- our own
        assert "<script" not in picture
    made.encode()


def test_the_worst_questions_come_first() -> None:
    """q3 was never found and q5 surely answered though nothing does: both are 0, q5 the surer."""
    assert [outcome.query_id for outcome in worst(report().outcomes)] == ["q5", "q3", "q2", "q4"]


def test_words_of_questions_are_shown_only_on_request() -> None:
    """Without them a page shows a question by its id."""
    with_texts = page(texts={"q3": "Where is the umbrella?"})

    assert "Where is the umbrella?" in ReadPage(with_texts).text
    assert "umbrella" not in unchanged_page()
    assert "q3" in ReadPage(unchanged_page()).text


def test_the_figures_on_the_page_are_the_reports() -> None:
    """The page shows the measures, the calibration error, the machine and the settings."""
    made = report()
    text = ReadPage(unchanged_page()).text
    ndcg = made.overall["ndcg@10"]

    assert isinstance(ndcg, Interval)
    assert f"{ndcg.value:.3f}" in text
    assert f"{ndcg.low:.3f} to {ndcg.high:.3f}" in text
    assert f"ECE {made.calibration['ece']:.3f}" in text
    assert "an abacus" in text
    assert "dataset" in text


def test_a_section_is_left_out_where_nothing_was_measured() -> None:
    """Without budgets, parts and gold there are no such sections, and the page is well formed."""
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
    """It contains no random name, and no date but ``made_at``."""
    assert page() == unchanged_page()
    assert speed() == speed()
    assert household() == household()


def test_the_speed_page_lists_peers_without_figures() -> None:
    """A peer that was stopped and one that failed are in the table, and not in the plot."""
    text = ReadPage(speed()).text

    assert "slow one" in text
    assert "stopped" in text
    assert "failed" in text
    assert "1,782" in text


def test_figures_of_another_kind_are_refused() -> None:
    """The message names the missing figure and the tools that write the right ones."""
    with pytest.raises(ValueError, match=r"tools/bench/speed\.py --json.*missing.*'planted'"):
        speed(sizes=[{key: value for key, value in size(1_000).items() if key != "planted"}])


def test_a_single_size_has_a_page() -> None:
    """Its plots have dots without lines."""
    read_page = ReadPage(speed(sizes=[size(1_000)], embedding=None))

    assert (read_page.open, read_page.wrong) == ([], [])


def test_a_households_page_shows_which_stages_were_skipped_and_why() -> None:
    """It draws a stage that took no time, and the budget: dashed where it lies further out."""
    near = ReadPage(household(budget_ms=60.0))
    far = ReadPage(household(budget_ms=600.0, left_out={}))

    assert "no time for more pairs" in near.text
    assert "75 of 90 memories in sight" in near.text
    for page_read, figure, are_dashed in (
        (near, "budget 60 ms", [False, False]),
        (far, "600 ms →", [True, False]),  # the axis of the stages is logarithmic
    ):
        pictures = pictures_of(page_read.html)
        lines = [re.findall(r"<path [^>]*stroke: var\(--bad\)[^>]*>", p) for p in pictures]
        assert figure in pictures[0]
        assert ["stroke-dasharray" in line for (line,) in lines] == are_dashed
    assert "What was left out" not in far.text


def test_the_machine_is_named() -> None:
    """Processor, system and versions are there, and none is empty."""
    machine = describe()

    assert {"processor", "processors", "system", "Python", "numpy"} <= set(machine)
    assert all(machine.values())


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the small dataset."""
    folder = tmp_path_factory.mktemp("small")
    stored = [{"id": m.id, "text": m.text, "space": m.space} for m in memories()]
    asked = [
        {"id": q.id, "text": q.text, "space": q.space, "category": q.category, "gold": [*q.gold]}
        for q in QUERIES
    ]
    asked.append({**asked[0], "id": "hopeless", "text": HOPELESS, "gold": ["home/6"]})
    for name, records in (("memories", stored), ("queries", asked)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def test_eval_writes_a_page(dataset: Path, tmp_path: Path) -> None:
    """It contains the words of its questions only on request."""
    file = tmp_path / "page.html"
    call = ["eval", str(dataset), "--no-rerank", "--report", str(file)]

    done = CliRunner().invoke(main, call)
    first = file.read_text(encoding="utf-8")
    again = CliRunner().invoke(main, [*call, "--report-texts"])

    assert (done.exit_code, again.exit_code) == (0, 0), done.output + again.output
    assert f"{file}: " in done.stderr
    assert ReadPage(first).open == []
    assert "hopeless" in ReadPage(first).text
    assert not [text for text in (HOPELESS, *(q.text for q in QUERIES)) if text in first]
    assert HOPELESS in ReadPage(file.read_text(encoding="utf-8")).text


def test_without_matplotlib_eval_fails_at_once_and_says_how_to_install_it(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It prints one line with the command before any question is asked, and writes no file."""
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
    """It shows the figures of an invented household and no word of a memory."""
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
    """Chromium renders each page, and its policy refuses nothing in it."""
    see_that_a_browser_renders(html, tmp_path)


def test_the_sheet_is_shared() -> None:
    """A page with plots has the rules of the page of a recall, followed by its own."""
    assert stylesheet(*STYLE) in unchanged_page()
    assert stylesheet(*templating.STYLE) == stylesheet(*STYLE[:2])
