"""Average a trained model with the weights it started from, part by part.

What training taught stays for the most part, and what it made the model forget comes back
(WiSE-FT, Wortsman et al. 2022, arXiv:2109.01903). A head that only the trained model has is kept.

Examples:
  python -m tools.train.average_weights ~/embedder ~/minilm/model --share 0.7 --out ~/averaged
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors.numpy import load_file, save_file

from tools.common import parser_of

if TYPE_CHECKING:
    from collections.abc import Sequence

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"


def main(argv: Sequence[str] | None = None) -> int:
    """Write the averaged weights and the tokeniser into the output folder."""
    args = parser().parse_args(argv)
    trained, start = (load_file(folder / WEIGHTS) for folder in (args.trained, args.start))
    averaged = {}
    for name, value in trained.items():
        before = start.get(name)
        if before is not None and before.shape != value.shape:
            raise SystemExit(f"{name}: {value.shape} trained, {before.shape} at the start")
        mixed = value if before is None else args.share * value + (1 - args.share) * before
        averaged[name] = np.ascontiguousarray(mixed, dtype=np.float32)
    args.out.mkdir(parents=True, exist_ok=True)
    save_file(averaged, args.out / WEIGHTS)
    shutil.copyfile(args.trained / TOKENIZER, args.out / TOKENIZER)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = parser_of(__doc__)
    made.add_argument("trained", type=Path, help="folder of the trained model")
    made.add_argument("start", type=Path, help="folder of the weights it started from")
    made.add_argument("--share", type=float, default=0.7, help="of the trained (default: 0.7)")
    made.add_argument("--out", type=Path, required=True, help="folder to write")
    return made


if __name__ == "__main__":
    sys.exit(main())
