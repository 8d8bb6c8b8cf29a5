"""tools/train/reader.py: the steps that make the cross-encoder, each of them once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

from tools.train import reader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def test_what_is_there_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a run that broke off in training, only training and rounding are to be done."""
    done: list[str] = []

    def step(name: str, makes: str) -> Callable[[Sequence[str]], int]:
        def run(arguments: Sequence[str]) -> int:
            done.append(name)
            if name == "train" and done.count("train") == 1:
                raise KeyboardInterrupt
            if makes:
                flag = "--restore" if name == "restore" else "--out"
                out = Path(arguments[list(arguments).index(flag) + 1])
                sets = arguments[list(arguments).index("--sets") + 1] if name == "mine" else ""
                path = out / sets / makes
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            return 0

        return run

    def quantise(arguments: Sequence[str]) -> int:
        made = "--restore" in arguments
        return step("restore" if made else "round", "model.safetensors" * made)(arguments)

    monkeypatch.setattr("tools.train.quantise.main", quantise)
    monkeypatch.setattr("tools.train.written_homes.main", step("written", "dev/queries.jsonl"))
    monkeypatch.setattr("tools.train.generate_homes.main", step("invented", "dev/queries.jsonl"))
    monkeypatch.setattr("tools.train.mine_negatives.main", step("mine", "pairs.jsonl.gz"))
    monkeypatch.setattr("tools.train.cross_encoder.main", step("train", ""))
    (tmp_path / "sets" / "realmem").mkdir(parents=True)
    arguments = [
        *("--data", str(tmp_path), "--sets", str(tmp_path / "sets")),
        *("--work", str(tmp_path / "work"), "--out", str(tmp_path / "models")),
    ]

    with pytest.raises(KeyboardInterrupt):
        reader.main(arguments)
    assert done == ["restore", "written", "invented", "mine", "mine", "mine", "train"]
    assert reader.main(arguments) == 0
    assert done[7:] == ["train", "round"]
