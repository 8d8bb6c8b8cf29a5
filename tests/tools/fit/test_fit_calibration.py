"""tools/fit/calibration.py: judged questions in, the package's calibration file out."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from family_recall.dataflow import Profile
from family_recall.encoders import find_models
from family_recall.ranking import calibration
from family_recall.ranking.profiles import profiles
from family_recall.types import Contribution, Result
from tests.encoders.conftest import write_manifest
from tests.encoders.test_static import drawn_table, static_folder
from tools.fit import calibration as fit_calibration

ROOT = Path(__file__).resolve().parents[3]
TEXTS = {
    "kitchen": [
        "Mira baked a lemon cake for the school fair",
        "The oven timer is broken since Tuesday",
        "Arjun lost his front tooth at breakfast",
        "We are out of cardamom and rice",
    ],
    "garage": [
        "Dad parked the car behind the bakery",
        "The winter tyres are stacked under the workbench",
        "The plumber mends the boiler on Thursday",
        "Nila cycled to the lake without stopping",
    ],
}
QUESTIONS = {
    "kitchen": [
        ("Who baked the lemon cake?", [0]),
        ("What is broken since Tuesday?", [1]),
        ("Who lost a tooth at breakfast?", [2]),
        ("What is the capital of Peru?", []),
    ],
    "garage": [
        ("Where did Dad park the car?", [0]),
        ("Where are the winter tyres?", [1]),
        ("When does the plumber come?", [2]),
        ("Which film shall we watch?", []),
    ],
}


def fit(*arguments: str, models: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the tool."""
    env = {**os.environ, **({"FAMILY_RECALL_MODELS": str(models)} if models else {})}
    command = [sys.executable, "-m", "tools.fit.calibration", *arguments]
    return subprocess.run(command, capture_output=True, check=False, text=True, env=env, cwd=ROOT)


def both_embedders(folder: Path) -> Path:
    """Put a drawn static embedder beside the shipped models."""
    static_folder(folder, drawn_table(16))
    shipped = json.loads((find_models() / "manifest.json").read_text("utf-8"))["models"]
    others = [entry for entry in shipped if entry["role"] != "static_embedder"]
    drawn = json.loads((folder / "manifest.json").read_text("utf-8"))["models"]
    write_manifest(folder, [*others, *drawn])
    for file in find_models().iterdir():
        if not (folder / file.name).exists():
            (folder / file.name).symlink_to(file.resolve())
    return folder


def write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    """Write JSONL."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder with two small sets."""
    for name, texts in TEXTS.items():
        dev = tmp_path / "data" / name / "dev"
        dev.mkdir(parents=True)
        memories = [
            {"id": f"{name}/{i}", "text": text, "space": name, "occurred_at": f"2024-05-0{i + 1}"}
            for i, text in enumerate(texts)
        ]
        write_lines(dev / "memories.jsonl", memories)
        queries = [
            {"id": f"q{i}", "text": text, "space": name, "category": "plain",
             "gold": [f"{name}/{at}" for at in gold]}
            for i, (text, gold) in enumerate(QUESTIONS[name])
        ]  # fmt: skip
        write_lines(dev / "queries.jsonl", queries)
    return tmp_path / "data"


@pytest.mark.parametrize("name", ["locomo", "realtalk", "locomo_plus"])
def test_evaluation_sets_are_never_fitted_on(tmp_path: Path, name: str) -> None:
    """Their licence does not allow it; a link under another name and a licence change nothing."""
    output = tmp_path / "calibration.json"
    (tmp_path / name).mkdir()
    (tmp_path / "mine").symlink_to(tmp_path / name)

    by_name = fit(str(tmp_path), "--sets", f"beam,{name}", "--output", str(output))
    by_link = fit(
        str(tmp_path), "--sets", "mine,beam", "--licence", "mine=MIT", "--output", str(output)
    )

    for refused in (by_name, by_link):
        assert refused.returncode == 2
        assert f"{name} is for evaluation only" in refused.stderr
    assert not output.exists()


def test_a_set_of_unknown_licence_is_refused(data: Path) -> None:
    """Constants that ship come from data whose terms somebody has read."""
    refused = fit(str(data), "--sets", "kitchen,garage")

    assert refused.returncode == 2
    assert "--licence kitchen=NAME" in refused.stderr


def test_what_is_fitted_can_be_read_and_keeps_the_order_of_scores(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every profile and kind has a slope of 0 or more, and `no_match` lies below `weak`."""
    done = fit(
        str(data), "--sets", "kitchen,garage", "--licence", "kitchen=MIT", "--licence",
        "garage=CC0-1.0", "--output", str(tmp_path / "calibration.json"),
        models=both_embedders(tmp_path / "models"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = {
        (name, kind, reranked)
        for name, profile in profiles().items()
        for kind in ("full", "static", "words")
        for reranked in {False, "cross_encoder" in profile.weights}
    }
    monkeypatch.setattr("family_recall.ranking.calibration.resources.files", lambda _: tmp_path)

    fitted = calibration.calibrations.__wrapped__()

    assert set(fitted) == expected
    for one in fitted.values():
        assert one.platt.slope >= 0.0
        assert 0.0 <= one.no_match_below <= one.weak_below <= 1.0
    record = json.loads((tmp_path / "calibration.json").read_text("utf-8"))
    assert record["data"] == {"kitchen": "MIT", "garage": "CC0-1.0"}
    assert set(record["leave_one_set_out"]) == {"kitchen", "garage"}
    assert str(tmp_path) not in json.dumps(record)


def test_a_missing_answer_lends_its_talk_nothing() -> None:
    """Without the gold, the rest of its talk is as relevant as the best of the rest.

    With weights 1.0 for words and 0.5 for the talk: the neighbour had 0.2 + 0.5 × 0.9 = 0.65
    and keeps 0.2 + 0.5 × 0.2 = 0.30; the memory of another talk stays at 0.4 + 0.5 × 0.4 = 0.60.
    """
    gold = result("gold", "S1", words=0.9, talk=0.9)
    neighbour = result("neighbour", "S1", words=0.2, talk=0.9)
    elsewhere = result("elsewhere", "S2", words=0.4, talk=0.4)

    best = fit_calibration.best_without([gold, neighbour], {"gold"}, PROFILE)
    assert best == pytest.approx(0.30)
    best = fit_calibration.best_without([gold, neighbour, elsewhere], {"gold"}, PROFILE)
    assert best == pytest.approx(0.60)
    assert fit_calibration.best_without([gold], {"gold"}, PROFILE) == -math.inf
    assert fit_calibration.best_without([gold, neighbour], set(), PROFILE) == pytest.approx(1.35)


PROFILE = Profile("test", {"bm25": 1.0, "session": 0.5}, 1.0)


def result(doc_id: str, session_id: str, *, words: float, talk: float) -> Result:
    """Return a result with two features that count."""
    return Result(
        rank=1, doc_id=doc_id, score=words + 0.5 * talk, confidence=0.5, text=doc_id,
        space_id="home", kind="episode", author=None, title=None, session_id=session_id,
        url=None, section=None, occurred_at=None, superseded=False, source="lexical",
        contributions=(Contribution("bm25", words, 1.0), Contribution("session", talk, 0.5)),
    )  # fmt: skip
