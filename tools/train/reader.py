"""Make the shipped cross-encoder again, from the last one, in one command and one night.

Five steps, each left out if its output is there already, so that an interrupted run continues:
the shipped weights as float ones, the written and the invented homes as datasets, hard negatives
mined from them and from the other sets by the pipeline, training (from its last checkpoint), and
rounding. For two cores; with a GPU add `--device cuda --batch 96`.

Examples:
  python -m tools.train.reader --data ~/pairs --sets ~/sets --work ~/reader
  python -m tools.train.reader --data ~/pairs --sets ~/sets --work ~/reader --steps 20000
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.common import MODELS, parser_of, say
from tools.train import cross_encoder, generate_homes, mine_negatives, quantise, written_homes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

MINED = ("ikat", "madial", "realmem", "vehicle")
"""Public sets that may be trained on, mined where they are in the folder of sets."""

STEPS = 2600
SEED = 61


def main(argv: Sequence[str] | None = None) -> int:
    """Run the steps that are still to be done."""
    args = parser().parse_args(argv)
    work: Path = args.work
    start, sets, mined, trained = (work / name for name in ("start", "sets", "mined", "trained"))
    _once(start / "model.safetensors", quantise.main, "cross_encoder", "--restore", start)
    _once(_questions(sets / "written"), written_homes.main, "--out", sets / "written")
    homes = ("--homes", "12", "--seed", "41")
    _once(_questions(sets / "invented"), generate_homes.main, *homes, "--out", sets / "invented")
    for name in ("written", "invented", *MINED):
        folder = args.sets if name in MINED else sets
        if (folder / name).is_dir():
            pairs = mined / name / "pairs.jsonl.gz"
            _once(pairs, mine_negatives.main, folder, "--sets", name, "--no-rerank", "--out", mined)
    training = ("--steps", args.steps, "--seed", SEED, "--out", trained, "--start", start)
    device = ("--threads", args.threads, "--device", args.device, "--batch", args.batch)
    cross_encoder.main([str(each) for each in ("--data", args.data, mined, *training, *device)])
    rounding = ("cross_encoder", "--trained", trained, "--texts", args.data, "--out", args.out)
    return quantise.main([str(each) for each in rounding])


def _questions(folder: Path) -> Path:
    return folder / "dev" / "queries.jsonl"


def _once(made: Path, step: Callable[[Sequence[str]], int], *arguments: str | Path) -> None:
    """Run a step unless what it makes last is there."""
    if made.exists():
        say(f"{made}: there already")
        return
    say(f"making {made}")
    step([str(argument) for argument in arguments])


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = parser_of(__doc__)
    add = made.add_argument
    add("--data", type=Path, required=True, help="folder with <set>/pairs.jsonl.gz")
    add("--sets", type=Path, required=True, help=f"folder with {', '.join(MINED)}")
    add("--work", type=Path, required=True, help="folder of what is made on the way")
    add("--out", type=Path, default=MODELS, help="models folder to write (default: the shipped)")
    add("--steps", type=int, default=STEPS, help=f"batches (default: {STEPS})")
    add("--batch", type=int, default=12, help="questions a batch (default: 12)")
    add("--threads", type=int, default=1, help="of torch (default: 1)")
    add("--device", default="cpu", help="cpu or cuda (default: cpu)")
    return made


if __name__ == "__main__":
    sys.exit(main())
