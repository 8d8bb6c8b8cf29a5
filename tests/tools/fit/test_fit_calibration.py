"""tools/fit/calibration.py: fit the package's calibration file on judged questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from family_recall.apps.evaluation import load_dataset
from family_recall.encoders.manifest import find_models
from family_recall.recall.ranking import calibration
from family_recall.recall.ranking.calibration import EVIDENCE
from family_recall.recall.ranking.profiles import profiles
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
    """Every profile and kind has its weights, of which that of the score is 0 or more."""
    output = tmp_path / "calibration.json"
    licences = ["--licence", "kitchen=MIT", "--licence", "garage=CC0-1.0"]
    far = tmp_path / "far.txt"
    far.write_text("Which tram goes to the museum?\nWho wrote the opera?\n", "utf-8")
    with monkeypatch.context() as patched:
        patched.setattr(fit_calibration, "FAR_QUESTIONS", far)
        patched.setenv("FAMILY_RECALL_MODELS", str(both_embedders(tmp_path / "models")))
        options = ["--sets", "kitchen,garage", *licences, "--output", str(output)]
        assert fit_calibration.main([str(data), *options]) == 0
    expected = {
        (name, kind, reranked)
        for name, profile in profiles().items()
        for kind in ("full", "static", "words")
        for reranked in {False, "cross_encoder" in profile.weights}
    }
    monkeypatch.setattr(
        "family_recall.recall.ranking.calibration.resources.files", lambda _: tmp_path
    )

    calibration._record.cache_clear()
    fitted = calibration.calibrations.__wrapped__()
    calibration._record.cache_clear()

    assert set(fitted) == expected
    for entry in fitted.values():
        assert min(entry.first["score"], entry.stored["score"]) >= 0.0
    record = json.loads(output.read_text("utf-8"))
    assert record["data"] == {"kitchen": "MIT", "garage": "CC0-1.0"}
    assert set(record["leave_one_set_out"]) == {"kitchen", "garage"}
    assert str(tmp_path) not in json.dumps(record)


def test_evidence_that_tells_nothing_weighs_nothing() -> None:
    """Of two kinds of evidence one tells right from wrong: the other, always 1, weighs 0."""
    at = {name: n for n, name in enumerate(EVIDENCE)}
    evidence = np.zeros((40, len(EVIDENCE)))
    evidence[:, at["asks"]] = 1.0
    evidence[:20, at["words"]] = 1.0
    right = np.arange(40) < 20

    model = fit_calibration.logistic(evidence, right, np.full(40, 10.0), {})

    assert model["words"] > 1.0
    assert model["asks"] == 0.0
    at_half = model["intercept"] + 0.5 * model["words"]
    assert at_half == pytest.approx(0.0, abs=1e-3)


def test_evidence_of_the_wrong_sign_is_left_out() -> None:
    """The better the score the more often wrong: a model without it."""
    evidence = np.zeros((40, len(EVIDENCE)))
    evidence[:, list(EVIDENCE).index("score")] = np.linspace(0.0, 1.0, 40)

    right, weights = np.arange(40) < 20, np.full(40, 10.0)

    assert fit_calibration.logistic(evidence, right, weights, {})["score"] < 0.0
    assert fit_calibration.logistic(evidence, right, weights, {"score": 1})["score"] == 0.0


def test_what_something_else_than_a_score_decides_is_counted() -> None:
    """Three of four times right, beside ten questions of which nine and a half were: 12.5 of 14."""
    asked = [
        fit_calibration.Asked("identifier", np.zeros(len(EVIDENCE)), right, right, stored=True)
        for right in (True, True, True, False)
    ]

    counted = fit_calibration.usual("identifier", [asked])

    assert counted == {"right": pytest.approx(12.5 / 14, abs=1e-4), "n": 4}


def test_every_set_is_asked_what_nothing_stored_has_a_word_on(data: Path) -> None:
    """From its first question's place to its last's, and none has an answer."""
    dataset = load_dataset(data / "kitchen" / "dev")

    far = fit_calibration.far_from(dataset)

    assert len(far) == len(fit_calibration.FAR_QUESTIONS.read_text("utf-8").splitlines()) > 50
    assert {query.space for query in far} == {"kitchen"}
    assert not any(query.gold for query in far)


def test_what_a_question_counts() -> None:
    """Of a set's 400: 7 % for what is far, and of the rest a quarter for one of a pair."""
    asked = [
        fit_calibration.Asked("score", np.zeros(1), right=True, found=True, stored=True, category=c)
        for c in ("direct", "list", "twin", "paired", "far", "far")
    ]

    shares = fit_calibration.shares_of(asked)
    without = fit_calibration.shares_of(asked[:4])

    assert shares.tolist() == pytest.approx([148.8, 148.8, 37.2, 37.2, 14.0, 14.0])
    assert without.tolist() == pytest.approx([160.0, 160.0, 40.0, 40.0])
