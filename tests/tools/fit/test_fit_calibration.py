"""tools/fit/calibration.py: fit the package's calibration file on judged questions."""

from __future__ import annotations

import json
import math
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


def test_evaluation_sets_are_never_fitted_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their licence does not allow it; a link under another name and a licence change nothing."""
    output = tmp_path / "calibration.json"
    for name in ("locomo", "realtalk", "locomo_plus"):
        (tmp_path / name).mkdir()
        (tmp_path / f"mine-{name}").symlink_to(tmp_path / name)
        for options in (
            ["--sets", f"beam,{name}"],
            ["--sets", f"mine-{name},beam", "--licence", f"mine-{name}=MIT"],
        ):
            with pytest.raises(SystemExit) as refused:
                fit_calibration.main([str(tmp_path), *options, "--output", str(output)])
            assert refused.value.code == 2
            assert f"{name} is for evaluation only" in capsys.readouterr().err
    assert not output.exists()


def test_a_set_of_unknown_licence_is_refused(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Constants that ship come from data whose terms somebody has read."""
    with pytest.raises(SystemExit) as refused:
        fit_calibration.main([str(data), "--sets", "kitchen,garage"])

    assert refused.value.code == 2
    assert "--licence kitchen=NAME" in capsys.readouterr().err


def test_what_is_fitted_can_be_read_and_keeps_the_order_of_scores(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every profile and kind has a slope of 0 or more, and `no_match` lies below `weak`."""
    output = tmp_path / "calibration.json"
    licences = ["--licence", "kitchen=MIT", "--licence", "garage=CC0-1.0"]
    with monkeypatch.context() as patched:
        patched.setenv("FAMILY_RECALL_MODELS", str(both_embedders(tmp_path / "models")))
        options = ["--sets", "kitchen,garage", *licences, "--output", str(output)]
        assert fit_calibration.main([str(data), *options]) == 0
    expected = {
        (name, kind, reranked)
        for name, profile in profiles().items()
        for kind in ("full", "static", "words")
        for reranked in {False, "cross_encoder" in profile.weights}
    }
    monkeypatch.setattr("family_recall.ranking.calibration.resources.files", lambda _: tmp_path)

    fitted = calibration.calibrations.__wrapped__()

    assert set(fitted) == expected
    for entry in fitted.values():
        assert entry.platt.slope >= 0.0
        assert 0.0 <= entry.no_match_below <= entry.weak_below <= 1.0
    record = json.loads(output.read_text("utf-8"))
    assert record["data"] == {"kitchen": "MIT", "garage": "CC0-1.0"}
    assert set(record["leave_one_set_out"]) == {"kitchen", "garage"}
    assert str(tmp_path) not in json.dumps(record)


def test_a_missing_answer_adds_nothing_to_its_session() -> None:
    """Without the gold, the rest of its session is as relevant as the best of the rest.

    With weights 1.0 for words and 0.5 for the session: the neighbour had 0.2 + 0.5 × 0.9 = 0.65
    and keeps 0.2 + 0.5 × 0.2 = 0.30; the memory of another session stays at 0.4 + 0.5 × 0.4 = 0.60.
    """
    gold = result("gold", "S1", words=0.9, session=0.9)
    neighbour = result("neighbour", "S1", words=0.2, session=0.9)
    elsewhere = result("elsewhere", "S2", words=0.4, session=0.4)

    best = fit_calibration.best_without([gold, neighbour], {"gold"}, PROFILE)
    assert best == pytest.approx(0.30)
    best = fit_calibration.best_without([gold, neighbour, elsewhere], {"gold"}, PROFILE)
    assert best == pytest.approx(0.60)
    assert fit_calibration.best_without([gold], {"gold"}, PROFILE) == -math.inf
    assert fit_calibration.best_without([gold, neighbour], set(), PROFILE) == pytest.approx(1.35)


PROFILE = Profile("test", {"bm25": 1.0, "session": 0.5}, 1.0)


def result(doc_id: str, session_id: str, *, words: float, session: float) -> Result:
    """Return a result with two features that count."""
    return Result(
        rank=1, doc_id=doc_id, score=words + 0.5 * session, confidence=0.5, text=doc_id,
        space_id="home", kind="episode", author=None, title=None, session_id=session_id,
        url=None, section=None, occurred_at=None, superseded=False, source="lexical",
        contributions=(Contribution("bm25", words, 1.0), Contribution("session", session, 0.5)),
    )  # fmt: skip
