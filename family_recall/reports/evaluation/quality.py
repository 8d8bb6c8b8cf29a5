"""Quality: a report of ``eval`` in, a page about how good, how honest and how fast it was out."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence

from family_recall.evaluation.comparison import COMPARED
from family_recall.evaluation.intervals import Interval
from family_recall.evaluation.outcomes import DEEPEST_K, MEASURES, Outcome, values
from family_recall.evaluation.report import EvaluationReport
from family_recall.reports.document import Section, document
from family_recall.reports.evaluation import charts
from family_recall.reports.evaluation.parts import (
    cells,
    counts,
    figures,
    pairs,
    plots,
    quiet,
    style,
)
from family_recall.reports.markup import Markup, folded, joined, spoken, table, tag

N_WORST = 12
"""Questions that a page tells of because they went worst."""


def quality_page(
    report: EvaluationReport,
    *,
    machine: Mapping[str, str],
    made_at: dt.datetime,
    texts: Mapping[str, str] | None = None,
) -> str:
    """Write what an experiment measured as a page to be read in any browser, and kept.

    Args:
        report: With its outcomes.
        machine: What it ran on, see :func:`family_recall.evaluation.machine.describe`.
        made_at: When it was measured.
        texts: The questions' words by id, to stand beside the worst; without it the page holds
            no word of the dataset but its ids and categories.

    Raises:
        ImportError: If matplotlib is not installed; the message says how to get it.
    """
    sections = [one for one in _sections(report, machine, texts) if one[2]]
    title = str(report.config["dataset"])
    return document(title, _header(report, made_at), sections, style=style())


def _sections(
    report: EvaluationReport, machine: Mapping[str, str], texts: Mapping[str, str] | None
) -> Iterator[Section]:
    yield "measures", "How good", _measures(report)
    yield "categories", "By category", _categories(report)
    yield "confidence", "How honest", _confidence(report)
    yield "time", "How fast", _time(report)
    yield "budgets", "Time against quality", _budgets(report)
    yield "parts", "What parts are worth", _parts(report)
    yield "scores", "What scores are made of", _scores(report)
    yield "worst", "What went worst", _worst(report, texts)
    yield "setup", "Machine and settings", _setup(report, machine)


def _header(report: EvaluationReport, made_at: dt.datetime) -> Markup:
    asked = f"{report.n_queries:,} questions over {report.n_memories:,} memories"
    ndcg = report.overall.get("ndcg@10")
    good = [tag("strong", f"nDCG@10 {ndcg.value:.3f}")] if isinstance(ndcg, Interval) else []
    return tag(
        "header",
        tag("p", "An evaluation", class_="kicker"),
        tag("h1", str(report.config["dataset"]), dir="auto"),
        tag("p", *good, tag("span", asked), class_="summary"),
        quiet(f"Measured {made_at:%d %B %Y, %H:%M}"),
    )


def _measures(report: EvaluationReport) -> Markup:
    judged = [outcome for outcome in report.outcomes if outcome.gold]
    if not judged:
        return tag("p", "No question has gold, so there is nothing to measure ranking by.")
    right = sum(outcome.first_is_right for outcome in judged)
    top = {
        name: (f"{found.value:.3f}", _ends(found))
        for name in ("ndcg@10", "recall@10", "mrr@10")
        if isinstance(found := report.overall[name], Interval)
    }
    return joined(
        counts(
            {**top, "first is right": (f"{right / len(judged):.0%}", f"{right} of {len(judged)}")}
        ),
        plots(
            charts.recall_by_k(judged, int(report.config["seed"])),
            _measure_table("Means with 95 % intervals", {"": report.overall}, turned=True),
        ),
        quiet(
            f"{len(judged)} questions with gold. The intervals are of a bootstrap over questions: "
            "where the mean would fall if others like them had been asked."
        ),
    )


def _categories(report: EvaluationReport) -> Markup:
    if not report.by_category:
        return Markup("")
    return joined(
        plots(
            charts.by_segment("nDCG@10 by category", report.by_category, "ndcg@10", "accent"),
            charts.by_segment("recall@10 by category", report.by_category, "recall@10", "session"),
        ),
        quiet("A dot is the mean, the line through it its 95 % interval."),
        folded("The figures", _measure_table("By category", report.by_category)),
    )


def _confidence(report: EvaluationReport) -> Markup:
    parts = [
        plots(charts.reliability(report.calibration), charts.confidences(report.outcomes)),
        quiet(
            "Beside each dot stands how many questions it is of; the line through it is the 95 % "
            "interval of their share. ECE is the mean gap between promise and truth."
        ),
    ]
    for title, found in (
        ("Questions that nothing answers, told apart", report.abstention),
        ("The same questions asked without their gold, told apart", report.without_gold),
    ):
        if found and found.get("status"):
            area = "no AUROC" if found["auroc"] is None else f"AUROC {found['auroc']:.3f}"
            rows = (
                cells(group, *(str(n) for n in said.values()))
                for group, said in found["status"].items()
            )
            statuses = tuple(next(iter(found["status"].values())))
            parts.append(figures(f"{title}: {area}", ("", *statuses), *rows))
    return joined(*parts)


def _time(report: EvaluationReport) -> Markup:
    said = [
        tag(
            "p",
            f"{report.n_hurried:,} answers left a stage out for lack of time.",
            class_="quiet warn",
        )
    ] * bool(report.n_hurried)
    budget_ms = report.config["budget_ms"]
    return joined(
        plots(
            charts.latency(report.outcomes, report.latency_ms),
            charts.answered_within(report.outcomes),
        ),
        quiet(f"Each question was allowed {budget_ms:,g} ms. Wall time, on the machine below."),
        *said,
    )


def _budgets(report: EvaluationReport) -> Markup:
    judged = [row for row in report.budgets if row.measures["n"]]
    if not judged:
        return Markup("")
    rows = (
        cells(
            f"{row.budget_ms:g} ms",
            *(_mean(row.measures, name) for name in ("ndcg@10", "hit@10")),
            f"{row.n_pairs:.1f}",
            *(f"{row.used_ms[name]:.1f}" for name in ("p50", "p95")),
            f"{row.overshoot_ms['p99']:.1f}",
            str(row.n_hurried),
        )
        for row in judged
    )
    head = ("Budget", "nDCG@10", "hit@10", "pairs", "used p50", "p95", "over p99", "left out")
    return joined(
        plots(*charts.budgets(judged)),
        figures("What each budget buys; times in milliseconds", head, *rows),
        quiet(
            "Pairs are what the cross-encoder read for a question; left out counts the answers "
            "that did without a stage for lack of time."
        ),
    )


def _parts(report: EvaluationReport) -> Markup:
    parts: list[Markup] = []
    if report.ablation is not None and report.ablation.rows:
        parts += [
            plots(*(charts.ablation(report.ablation, name) for name in COMPARED[:2])),
            quiet(
                "Every question was asked once more without each part; whole questions were drawn "
                "again for the intervals, so they are of the difference."
            ),
        ]
    if report.baseline is not None:
        compared = report.baseline.comparison
        gain = report.baseline.gain()
        beyond = "" if gain is None else f", nDCG@10 {gain:+.0%}"
        rows = (
            cells(
                name,
                str(row.n),
                f"{row.first['ndcg@10']:.3f}",
                f"{row.second['ndcg@10']:.3f}",
                *(_change(row.difference[measure]) for measure in COMPARED),
            )
            for name, row in (*compared.by_category.items(), ("overall", compared.overall))
        )
        head = ("Category", "n", report.baseline.name, "all", *(f"Δ {m}" for m in COMPARED))
        parts.append(figures(f"Against {report.baseline.name} alone{beyond}", head, *rows))
    return joined(*parts)


def _scores(report: EvaluationReport) -> Markup:
    segments = (
        folded(f"By {name}", _measure_table(f"By {name}", rows))
        for name, rows in report.segments.items()
        if rows
    )
    drawn = [charts.shares(report.shares)] if report.shares else []
    if lengths := report.segments.get("length"):
        # "6-10 words" stands before "11-20 words".
        lengths = {name: lengths[name] for name in sorted(lengths, key=_first_number)}
        drawn.append(
            charts.by_segment("nDCG@10 by length of the question", lengths, "ndcg@10", "accent")
        )
    return joined(*([plots(*drawn)] if drawn else []), *segments)


def _first_number(name: str) -> int:
    return int(re.split(r"\D", name, maxsplit=1)[0] or 0)


def worst(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Give the questions that went worst: lowest nDCG@10 first, the surest first among those.

    One that nothing answers went wrong where it was answered with ``ok``.
    """

    def gone(outcome: Outcome) -> float:
        if not outcome.gold:
            return 0.0 if outcome.status == "ok" else 1.0
        return float(values([outcome], [f"ndcg@{DEEPEST_K}"])[0, 0])

    wrong = [outcome for outcome in outcomes if gone(outcome) < 1.0]
    return sorted(wrong, key=lambda one: (gone(one), -one.confidence, one.query_id))[:N_WORST]


def _worst(report: EvaluationReport, texts: Mapping[str, str] | None) -> Markup:
    found = worst(report.outcomes)
    if not found:
        return tag("p", "Nothing: every ranking is as good as it can be.")
    rows = []
    for outcome in found:
        said = [spoken(texts[outcome.query_id])] if texts and outcome.query_id in texts else []
        named = tag("span", spoken(outcome.query_id), class_="id")
        kind = tag("small", spoken(outcome.category))
        rows.append(
            tag(
                "tr",
                tag("th", *said, tag("div", named), kind, scope="row"),
                tag("td", _found_at(outcome), class_="n"),
                tag("td", f"{outcome.confidence:.0%}", tag("small", outcome.status), class_="n"),
            )
        )
    return joined(
        table(
            "Lowest nDCG@10 first",
            ("Question", "Gold at", "Sure"),
            *rows,
            class_="worst",
        ),
        quiet("Gold at: the ranks of the memories that answer, among the first ten."),
    )


def _found_at(outcome: Outcome) -> str:
    if not outcome.gold:
        return "nothing answers"
    ranks = [str(at) for at, doc in enumerate(outcome.ranking, 1) if doc in outcome.gold]
    missing = len(outcome.gold) - len(ranks)
    return ", ".join([*ranks, *([f"{missing} missed"] if missing else [])])


def _setup(report: EvaluationReport, machine: Mapping[str, str]) -> Markup:
    settings = {name.replace("_", " "): _plain(value) for name, value in report.config.items()}
    return pairs({**settings, **machine})


def _plain(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "all", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def _measure_table(
    caption: str, rows: Mapping[str, Mapping[str, int | Interval]], *, turned: bool = False
) -> Markup:
    """Make a table of means with intervals: a row a segment, or where turned a row a measure."""
    if turned:
        (row,) = rows.values()
        lines = (
            cells(n, _mean(row, n), _ends(i)) for n in MEASURES if isinstance(i := row[n], Interval)
        )
        return figures(caption, ("", "mean", "95 %"), *lines)
    lines = (
        tag(
            "tr",
            tag("th", spoken(name), scope="row"),
            tag("td", str(row["n"]), class_="n"),
            *(
                tag("td", f"{found.value:.3f}", tag("small", _ends(found)), class_="n")
                for measure in MEASURES
                if isinstance(found := row[measure], Interval)
            ),
        )
        for name, row in rows.items()
    )
    return figures(caption, ("", "n", *MEASURES), *lines)


def _mean(row: Mapping[str, int | Interval], name: str) -> str:
    found = row[name]
    return f"{found.value:.3f}" if isinstance(found, Interval) else str(found)


def _ends(found: Interval) -> str:
    return f"{found.low:.3f} to {found.high:.3f}"


def _change(found: Interval) -> str:
    return f"{found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
