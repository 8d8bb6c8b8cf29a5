"""``family-recall eval`` and ``compare``: what they print, write, and say when they cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ir_measures
import pytest

from family_recall.apps.evaluation.checkpoint import Checkpoint
from family_recall.types.stages import optional_stages
from tests.apps.cli.runner import call, done, write_lines
from tests.apps.evaluation.small import QUERIES, memories


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the small dataset as files; one id has a blank."""
    folder = tmp_path_factory.mktemp("small")
    stored = [
        {
            "id": memory.id,
            "text": memory.text,
            "space": memory.space,
            "speaker": memory.speaker,
            "session": memory.session,
        }
        for memory in memories()
    ]
    asked = [
        {
            "id": query.id.replace("q", "q "),
            "text": query.text,
            "space": query.space,
            "category": query.category,
            "gold": list(query.gold),
        }
        for query in QUERIES
    ]
    for name, records in (("memories", stored), ("queries", asked)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def saved(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what ``eval`` wrote: a report, a run and qrels, and what it printed."""
    out = tmp_path_factory.mktemp("saved")
    printed = done(
        *(
            "eval",
            folder,
            "--no-rerank",
            "--budget-ms",
            "60000",
            "--ablate",
            "lexical,bm25_squared",
        ),
        *("--remove-gold", "--rationales", "2"),
        *("--run", out / "full.run", "--qrels", out / "gold.qrels", "--save", out / "full.json"),
    )
    (out / "printed.txt").write_text(printed, encoding="utf-8")
    done("eval", folder, "--no-rerank", "--profile", "annie", "--save", out / "annie.json")
    return out


def test_the_report_says_what_each_part_is_worth(saved: Path) -> None:
    """The full configuration, a row for each part, then promise against truth, and rationales."""
    printed = (saved / "printed.txt").read_text(encoding="utf-8")
    rows = {line.split()[0]: line for line in printed.splitlines() if line.strip()}

    assert rows["nothing"].split()[1].startswith(("0.", "1."))
    for part in ("lexical", "bm25_squared"):
        assert rows[part].count("[") == 3
    assert "confidence" in rows
    assert "first result right: ECE 0." in printed
    assert "gold removed: 3 questions asked a second time, less sure in" in printed
    assert "recognised: AUROC " in printed
    assert "rationales" in printed


def test_the_two_files_give_ir_measures_our_figures(saved: Path) -> None:
    """What the saved report says of nDCG, recall and reciprocal rank, the reference tool says."""
    record = json.loads((saved / "full.json").read_text(encoding="utf-8"))
    wanted = {
        "ndcg@10": ir_measures.parse_measure("nDCG@10"),
        "recall@10": ir_measures.parse_measure("R@10"),
        "mrr@10": ir_measures.parse_measure("RR@10"),
    }

    theirs = ir_measures.calc_aggregate(
        list(wanted.values()),
        list(ir_measures.read_trec_qrels(str(saved / "gold.qrels"))),
        list(ir_measures.read_trec_run(str(saved / "full.run"))),
    )

    assert {name: record["overall"][name]["value"] for name in wanted} == pytest.approx(
        {name: theirs[measure] for name, measure in wanted.items()}, abs=1e-12
    )


def test_the_saved_report_holds_everything(saved: Path) -> None:
    """Every question, each part's difference by category, and the second asking."""
    record = json.loads((saved / "full.json").read_text(encoding="utf-8"))

    assert [one["id"] for one in record["outcomes"]] == ["q 0", "q 1", "q 2", "q 3"]
    assert [row["without"] for row in record["ablation"]["rows"]] == ["lexical", "bm25_squared"]
    for row in record["ablation"]["rows"]:
        assert set(row["against_full"]["by_category"]) == {"plain", "when"}
    assert record["without_gold"]["n"] == 3
    assert set(record["segments"]) == {"mode", "strategy", "source", "length"}
    assert sum(record["shares"].values()) == pytest.approx(1.0)


def test_a_single_part_is_told_by_category(folder: Path) -> None:
    """With one part left out, its worth stands by category below the table."""
    printed = done("eval", folder, "--no-rerank", "--ablate", "graph")

    assert "without graph, second, and with it, first:" in printed
    assert "rankings differ" in printed


def test_one_command_prints_what_all_is_worth_beyond_bm25(folder: Path) -> None:
    """The pipeline's table, then both by category with intervals, and the gain as a share."""
    printed = done("eval", folder, "--no-rerank", "--baseline", "bm25")
    record = json.loads(done("eval", folder, "--no-rerank", "--baseline", "bm25", "--json"))

    assert "bm25, first, and all of this, second:" in printed
    assert "ndcg@10 of bm25 and " in printed
    found = record["baseline"]
    assert found["name"] == "bm25"
    assert (
        found["comparison"]["overall"]["second"]["ndcg@10"] == record["overall"]["ndcg@10"]["value"]
    )


def test_a_report_compared_with_its_own_run_is_the_same(saved: Path) -> None:
    """A run written from a report is that report's ranking, whatever the profile reordered."""
    printed = done("compare", saved / "full.json", saved / "full.run")

    assert "0 of 3 rankings differ" in printed
    assert printed.endswith(
        "it is undecided whether full.run is better than full.json: "
        "ndcg@10 +0.000, 95 % interval +0.000 to +0.000, 3 questions\n"
    )


def test_two_reports_are_compared_in_text_and_json(saved: Path) -> None:
    """The JSON says the same by category, with a verdict for each measure."""
    printed = done("compare", saved / "full.json", saved / "annie.json")
    record = json.loads(done("compare", saved / "full.json", saved / "annie.json", "--json"))

    assert "3 questions" in printed
    assert set(record) == {"overall", "by_category", "n_changed", "n_left_out"}
    assert set(record["by_category"]) == {"plain", "when"}
    assert set(record["overall"]["verdict"].values()) <= {"better", "worse", "undecided"}


def test_two_runs_are_compared_by_their_qrels(saved: Path) -> None:
    """Without qrels the way out is said in one line."""
    runs = (saved / "full.run", saved / "full.run")

    assert "undecided" in done("compare", *runs, "--qrels", saved / "gold.qrels")
    result = call("compare", *runs)
    assert result.exit_code == 1
    assert "name its qrels with --qrels" in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_evaluation_that_was_stopped_goes_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C after the second answer says how; the same command then prints what it would have.

    With other options the folder is refused in one line.
    """
    line = ("eval", folder, "--budget-ms", "60000", "--ablate", "graph")
    going_on = (*line, "--checkpoint", tmp_path / "kept")
    keep = Checkpoint.keep

    def press_after_two(self: Checkpoint, leg: str, of: str, record: dict[str, Any]) -> None:
        keep(self, leg, of, record)
        if of == "q 1":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "keep", press_after_two)
        stopped = call(*going_on)
    again = done(*going_on)

    assert stopped.exit_code == 130
    assert stopped.stderr == (
        f"Interrupted: ask: 1 of 4; saved in {tmp_path / 'kept'}; the same command continues "
        "from there\n"
    )
    assert timeless(again) == timeless(done(*line))
    refused = call(*going_on, "--no-rerank")
    assert refused.exit_code == 1
    assert "begun with cross-encoder allowed" in refused.stderr
    assert refused.stderr.count("\n") == 1


def timeless(printed: str) -> list[str]:
    """Return the lines of a report but that of its milliseconds."""
    return [line for line in printed.splitlines() if not line.startswith("latency: ")]


def test_what_cannot_be_left_out_is_named_before_anything_is_stored(folder: Path) -> None:
    """A misspelt part ends the command with what there is."""
    result = call("eval", folder, "--ablate", "lexikal")

    assert result.exit_code == 1
    assert "cannot leave out 'lexikal': expected all, stages, features" in result.stderr


def test_the_help_names_every_stage() -> None:
    """What may be left out is in the help of --ablate."""
    shown = " ".join(done("eval", "--help").split())

    for stage in (*optional_stages(), "context"):
        assert stage in shown


def test_eval_prints_a_table_and_json(tmp_path: Path) -> None:
    """The keys of the JSON are the report's; the table names every category."""
    folder = tmp_path / "set"
    folder.mkdir()
    memory = {"id": "h/1", "text": "The plumber comes on Thursday", "space": "h"}
    write_lines(folder / "memories.jsonl", memory)
    asked = {"id": "q1", "text": "When does the plumber come?", "space": "h"}
    write_lines(
        folder / "queries.jsonl",
        {**asked, "category": "plain", "gold": ["h/1"]},
        {**asked, "id": "q2", "text": "Who won the cup?", "category": "none", "gold": []},
    )

    report = json.loads(done("eval", folder, "--no-rerank", "--json"))
    shown = done("eval", folder, "--no-rerank")

    assert list(report) == [
        *("overall", "by_category", "segments", "shares", "firsts", "calibration", "abstention"),
        *("latency_ms", "n_queries", "n_hurried", "n_memories", "config"),
        *("ablation", "baseline", "without_gold", "faithfulness", "budgets"),
    ]
    assert report["config"]["rerank"] is False
    for row in ("plain", "overall", "95 % from", "95 % to"):
        assert any(row in line and "1.000" in line for line in shown.splitlines())
    assert "unanswerable: " in shown
    assert "2 questions, 1 memories" in shown
