"""tools/train/average_weights.py: trained weights and those before in, their average out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tools.train.average_weights import main

if TYPE_CHECKING:
    from pathlib import Path


def folder(path: Path, **tensors: list[float]) -> str:
    """Write a model folder."""
    path.mkdir()
    save_file({k: np.array(v, np.float32) for k, v in tensors.items()}, path / "model.safetensors")
    (path / "tokenizer.json").write_text("{}")
    return str(path)


def test_the_average_is_taken_part_by_part_and_the_head_is_kept(tmp_path: Path) -> None:
    """Three quarters of 4 and a quarter of 8 are 5."""
    trained = folder(tmp_path / "a", encoder=[4.0, 0.0], head=[3.0])
    start = folder(tmp_path / "b", encoder=[8.0, 1.0], pooler=[9.0])
    main([trained, start, "--share", "0.75", "--out", str(tmp_path / "c")])
    made = load_file(tmp_path / "c" / "model.safetensors")

    assert {name: value.tolist() for name, value in made.items()} == {
        "encoder": [5.0, 0.25],
        "head": [3.0],
    }
    assert (tmp_path / "c" / "tokenizer.json").is_file()


def test_models_of_two_sizes_are_refused(tmp_path: Path) -> None:
    """With the part and both sizes."""
    trained = folder(tmp_path / "a", encoder=[4.0, 0.0])
    start = folder(tmp_path / "b", encoder=[8.0])

    with pytest.raises(SystemExit, match=r"encoder: \(2,\) trained, \(1,\) at the start"):
        main([trained, start, "--out", str(tmp_path / "c")])
