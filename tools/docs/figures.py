"""Draw the pictures of docs/explanation from the demo's household, as SVG for light and dark.

The library is asked while they are drawn, and each file describes its picture in words.

Examples:
  python -m tools.docs.figures
  python -m tools.docs.figures --folder elsewhere
"""

from __future__ import annotations

import json
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from family_recall import FamilyRecall, RecallContext
from family_recall.apps.demo import SCENES, Scene
from family_recall.apps.demo.nairs import HOME, NOW, TIMEZONE, move_in
from family_recall.apps.reports.plots import colour, plot
from family_recall.apps.reports.results import GROUPS
from family_recall.recall.ranking.calibration import OK_FROM
from tools.common import ROOT, parser_of
from tools.fit.platt import Platt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from family_recall.types import Answer

FOLDER = ROOT / "docs" / "explanation"
QUESTION, ASKER = "What did I tell Priya about vacation?", "rajesh"
TOP_K = 6
CLOSE = 0.06  # scores whose numbers would lie on each other


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, and draw."""
    parser = parser_of(__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to (default: docs)")
    options = parser.parse_args(arguments)
    for name, drawn in pictures(*ask()).items():
        (options.folder / name).write_text(f"{drawn}\n", "utf-8", newline="\n")
        print(options.folder / name)
    return 0


def ask() -> tuple[Answer, list[tuple[Scene, Answer]]]:
    """Ask the demo's household one question for six results, and all of the demo's questions."""
    with (
        tempfile.TemporaryDirectory(prefix="family_recall_pictures_") as folder,
        FamilyRecall.open(Path(folder) / "family.db", timezone=TIMEZONE) as home,
    ):
        move_in(home)
        home.warmup()
        ctx = RecallContext(ASKER, HOME, time_budget_ms=10_000, top_k=TOP_K, now=NOW)
        answer = home.recall(QUESTION, ctx)
        scenes = [(scene, home.recall(scene.question, scene.ctx())) for scene in SCENES]
    return answer, scenes


def pictures(answer: Answer, scenes: Sequence[tuple[Scene, Answer]]) -> dict[str, str]:
    """Return every picture by its file's name."""
    return {
        "funnel.svg": funnel(answer),
        "score.svg": score(answer),
        "confidence.svg": confidence(scenes),
    }


def funnel(answer: Answer) -> str:
    """Draw how many memories are left after each step."""
    spans = {span.stage: span for span in answer.trace.spans}
    steps = {
        "may be seen": (answer.trace.counts["visible"], "other"),
        "found by words": (spans["lexical"].n_out, "words"),
        "found by meaning": (spans["vector"].n_out, "meaning"),
        "found by links": (spans["graph"].n_out, "links"),
        "in one pool": (spans["fusion"].n_out, "other"),
        "scored": (spans["rank"].n_out, "other"),
        "read with the question": (spans["rerank"].n_in, "other"),
        "returned": (len(answer.results), "ink"),
    }

    def draw(axes: Axes) -> None:
        values = [n for n, _ in steps.values()]
        axes.barh(
            range(len(steps)), values, height=0.62, color=[colour(c) for _, c in steps.values()]
        )
        for at, n in enumerate(values):
            axes.annotate(
                f"{n}", (n, at), xytext=(4, -3.5), textcoords="offset points", fontsize=9.5
            )
        axes.set_xlim(0, max(values) * 1.1)
        _rows(axes, list(steps))

    text = ", ".join(f"{name} {n}" for name, (n, _) in steps.items())
    return plot("Memories, step by step", f"{answer.query_text} {text}.", draw, height=225).svg


def score(answer: Answer) -> str:
    """Draw what the scores of the first results are made of."""
    parts = [
        {part.feature: part.amount for part in result.contributions if part.amount > 0}
        for result in answer.results
    ]
    groups = {
        group: used
        for group, names in GROUPS.items()
        if (used := [name for name in names if any(name in row for row in parts)])
    }
    labels = [
        "\n".join(textwrap.wrap(result.text, 26, max_lines=2, placeholder=" …"))
        for result in answer.results
    ]

    def draw(axes: Axes) -> None:
        left = np.zeros(len(parts))
        for group, names in groups.items():
            amounts = np.array([sum(row.get(name, 0.0) for name in names) for row in parts])
            axes.barh(
                range(len(parts)), amounts, left=left, height=0.62, color=colour(group),
                label=" + ".join(names).replace("_", " "), edgecolor=colour("paper"), linewidth=0.8,
            )  # fmt: skip
            left = left + amounts
        for at, result in enumerate(answer.results):
            axes.annotate(
                f"{result.score:.2f}", (result.score, at), xytext=(4, -3.5),
                textcoords="offset points", fontsize=9.5,
            )  # fmt: skip
        axes.set_xlim(0, float(left.max()) * 1.16)
        _rows(axes, labels)
        axes.legend(
            frameon=False, fontsize=8.5, ncols=2, loc="upper center", bbox_to_anchor=(0.3, -0.08),
            handlelength=0.9, columnspacing=1.0,
        )  # fmt: skip

    text = "; ".join(
        f"{result.text!r} {result.score:.2f} = "
        + " + ".join(f"{name} {amount:.2f}" for name, amount in row.items())
        for result, row in zip(answer.results, parts, strict=True)
    )
    return plot("A score is a sum", f"{answer.query_text} {text}.", draw, height=320).svg


def confidence(scenes: Sequence[tuple[Scene, Answer]]) -> str:
    """Draw how a score is read as a probability, with the demo's own first results on it."""
    record = json.loads((ROOT / "family_recall/recall/ranking/calibration.json").read_text())
    entry = record["profiles"]["default"]["full_reranked"]
    probability = Platt(entry["slope"], entry["offset"])
    points = [
        (scene, answer)
        for scene, answer in scenes
        if scene.profile == "default"
        and scene.with_models
        and answer.strategy != "TIMELINE"
        and any(span.stage == "rerank" for span in answer.trace.spans)
    ]
    colours = {"ok": "good", "weak": "fair", "no_match": "bad"}

    def draw(axes: Axes) -> None:
        scores = np.linspace(0.0, 1.2, 200)
        axes.plot(scores, probability(scores), color=colour("soft"), linewidth=1.4)
        axes.axhline(OK_FROM, color=colour("soft"), linewidth=1, linestyle=(0, (2, 3)))
        axes.annotate(
            "ok from here", (0.0, OK_FROM), xytext=(2, 3), textcoords="offset points", fontsize=8.5,
            color=colour("soft"),
        )  # fmt: skip
        labels_at: list[tuple[float, float, list[str]]] = []
        for scene, answer in sorted(points, key=lambda pair: pair[1].results[0].score):
            x, y, number = answer.results[0].score, answer.confidence, SCENES.index(scene) + 1
            axes.plot([x], [y], "o", color=colour(colours[answer.status]))
            if labels_at and x - labels_at[-1][0] < CLOSE:
                labels_at[-1][2].append(str(number))
            else:
                labels_at.append((x, y, [str(number)]))
        for x, y, numbers in labels_at:
            axes.annotate(
                ", ".join(sorted(numbers)), (x, y), xytext=(6, -10), textcoords="offset points",
                fontsize=9,
            )  # fmt: skip
        axes.set(
            xlim=(0, 1.2), ylim=(0, 1), xlabel="score of the first result", ylabel="confidence"
        )

    text = "; ".join(
        f"{SCENES.index(scene) + 1}. {scene.question} {answer.confidence:.2f}, {answer.status}"
        for scene, answer in points
    )
    return plot("From score to confidence", text, draw, height=250).svg


def _rows(axes: Axes, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), labels, linespacing=1.15)
    axes.set_ylim(len(labels) - 0.45, -0.55)
    axes.grid(visible=False, axis="y")


if __name__ == "__main__":
    sys.exit(main())
