"""Write the files of `models/` from trained weights: int8 for CPUs, and fp16 made from those.

The embedder's graph gives `embedding` [B, 384], the mean of the tokens at unit length, and
`tokens` [B, S, 64], each token's last hidden state projected and at unit length. The
cross-encoder's gives `logit` [B, 1]. Every int8 file is measured against its float parent.

Examples:
  python -m tools.train.quantise embedder --trained ~/embedder --texts ~/pairs
  python -m tools.train.quantise cross_encoder --trained ~/cross_encoder --texts ~/pairs
  python -m tools.train.quantise embedder --trained ~/embedder --float ~/embedder/embedder.onnx
  python -m tools.train.quantise embedder --fp16 ~/embedder.fp16.onnx
  python -m tools.train.quantise embedder --restore ~/embedder
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import onnx

from tools.common import MODELS, parser_of, say, write_json
from tools.train.base_weights import open_tokenizer
from tools.train.cards.loader import CARDS
from tools.train.export.fidelity import cross_encoder_fidelity, embedder_fidelity
from tools.train.export.graph import build, read_built
from tools.train.export.manifest import file_facts, put_entry
from tools.train.export.onnx_sessions import encode, encode_pair, run_each
from tools.train.export.static_int8 import Recipe, quantise
from tools.train.export.texts import mixed_pairs, mixed_texts, public_texts
from tools.train.export.weights import (
    Bert,
    EmbedderHead,
    ScoreHead,
    read_bert,
    read_head,
    write_weights,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Tokenizer

    from tools.train.export.onnx_sessions import Inputs

ROLES = {
    "embedder": {"name": "family-embedder", "model_id": "family-embedder-int8/5"},
    "cross_encoder": {
        "name": "family-cross-encoder",
        "model_id": "family-cross-encoder-int8/5",
    },
}
MAX_CALIBRATION_TOKENS = 96
MAX_TOKENS = {"question": 128, "memory": 256}
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def main(argv: Sequence[str] | None = None) -> int:
    """Write what the options ask for."""
    made = parser()
    args = made.parse_args(argv)
    if args.fp16:
        bert, head = read_built(args.out / f"{args.role}.int8.onnx")
        onnx.save(build(bert, head, half=True), args.fp16)
        say(f"{args.fp16}: {args.fp16.stat().st_size / 1e6:.1f} MB, from {args.role}.int8.onnx")
        return 0
    if args.restore:
        restore(args.out, args.role, args.restore)
        return 0
    if not args.trained:
        made.error("--trained FOLDER is needed, as the trainers write it (or --fp16, --restore)")
    weights = args.trained / "model.safetensors"
    bert, head = read_bert(weights), read_head(weights)
    if args.float:
        onnx.save(build(bert, head), args.float)
        say(f"{args.float}: {args.float.stat().st_size / 1e6:.1f} MB, unrounded")
        return 0
    tokenizer = open_tokenizer(args.trained / "tokenizer.json")
    inputs = calibration_inputs(args, tokenizer)
    calibration, held_out = inputs[: -args.n_fidelity], inputs[-args.n_fidelity :]
    say(f"{len(calibration)} texts to calibrate on, {len(held_out)} others to measure on")
    path = args.out / f"{args.role}.int8.onnx"
    if not args.measure_only:
        write(args, path, bert, head, calibration)
    measure = embedder_fidelity if args.role == "embedder" else cross_encoder_fidelity
    report = measure(path, build(bert, head), held_out)
    write_json((args.out / f"{args.role}.fidelity.json"), report)
    print(json.dumps(report, indent=2))
    return 0


def write(
    args: argparse.Namespace,
    path: Path,
    bert: Bert,
    head: EmbedderHead | ScoreHead,
    calibration: Sequence[Inputs],
) -> None:
    """Write the int8 file, what goes with it, and its entry in the manifest."""
    args.out.mkdir(parents=True, exist_ok=True)
    recipe = Recipe(alpha=args.alpha)
    smoothed, sites = quantise(bert, head, calibration, run_each, recipe=recipe, progress=say)
    model = build(smoothed, head, sites=sites, quantise_words=True)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    shutil.copyfile(args.trained / "tokenizer.json", args.out / "tokenizer.json")
    entry: dict[str, object] = {
        **ROLES[args.role],
        "role": args.role,
        **file_facts(path),
        "licence": "Apache-2.0",
        "precision": "int8",
        "max_tokens": MAX_TOKENS,
        "pooling": "mean",
        "query_prefix": "",
        "memory_prefix": "",
        "tokenizer": file_facts(args.out / "tokenizer.json"),
    }
    if isinstance(head, EmbedderHead):
        tokenizer = open_tokenizer(args.out / "tokenizer.json")
        np.save(args.out / "token_idf.npy", token_idf(tokenizer, idf_texts(args)))
        entry |= {
            "dimensions": bert.words.shape[1],
            "token_dimensions": head.projection.shape[1],
            "token_idf": file_facts(args.out / "token_idf.npy"),
            "level": args.level,
        }
    put_entry(args.out, entry)


def restore(models: Path, role: str, folder: Path) -> None:
    """Write the float weights of a shipped int8 file, to continue training from."""
    bert, head = read_built(models / f"{role}.int8.onnx")
    folder.mkdir(parents=True, exist_ok=True)
    write_weights(folder / "model.safetensors", bert, head)
    shutil.copyfile(models / "tokenizer.json", folder / "tokenizer.json")
    say(f"{folder}: float weights of {role}.int8.onnx")


def calibration_inputs(args: argparse.Namespace, tokenizer: Tokenizer) -> list[Inputs]:
    """Encode texts, or pairs, to calibrate on, and after them those to measure on."""
    rng = random.Random(args.seed)
    n = args.n_calibration + args.n_fidelity
    if args.role == "embedder":
        texts = mixed_texts(args.texts, args.cards, n, rng)
        return [encode(tokenizer, text, MAX_CALIBRATION_TOKENS) for text in texts]
    pairs = mixed_pairs(args.texts, args.cards, n, rng)
    return [encode_pair(tokenizer, *pair, MAX_CALIBRATION_TOKENS) for pair in pairs]


def idf_texts(args: argparse.Namespace) -> list[str]:
    """Return the texts to count tokens in: every public one, or else invented ones."""
    if args.texts is None:
        return mixed_texts(None, args.cards, args.n_calibration, random.Random(args.seed))
    return [line for lines in public_texts(args.texts).values() for line in lines]


def token_idf(tokenizer: Tokenizer, texts: Sequence[str]) -> npt.NDArray[np.float16]:
    """Return the inverse document frequency of every id, ``log(1 + (n − df + ½)/(df + ½))``.

    Zero for special tokens and punctuation; an id never seen gets the highest value.
    """
    counts: Counter[int] = Counter()
    for start in range(0, len(texts), 2000):
        for encoding in tokenizer.encode_batch_fast(list(texts[start : start + 2000])):
            counts.update(set(encoding.ids))
    size = tokenizer.get_vocab_size()
    df = np.array([counts[i] for i in range(size)], dtype=np.float64)
    idf = np.log1p((len(texts) - df + 0.5) / (df + 0.5))
    idf[list(punctuation_ids(tokenizer))] = 0.0
    say(f"idf of {int((df > 0).sum())} seen tokens over {len(texts)} texts")
    return idf.astype(np.float16)


def punctuation_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Return the ids of special tokens and of tokens without a letter or digit."""
    return frozenset(
        index
        for token, index in tokenizer.get_vocab().items()
        if token in SPECIAL_TOKENS or not any(c.isalnum() for c in token.removeprefix("##"))
    )


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = parser_of(__doc__)
    made.add_argument("role", choices=ROLES, help="which model")
    made.add_argument("--trained", type=Path, help="folder with model.safetensors, tokenizer.json")
    made.add_argument(
        "--texts",
        type=Path,
        help="folder with <set>/pairs.jsonl.gz, its share-alike sets not read, to set the scales "
        "by beside invented lines (default: those alone)",
    )
    made.add_argument("--n-calibration", type=int, default=1750, help="texts (default: 1750)")
    made.add_argument("--n-fidelity", type=int, default=500, help="held out (default: 500)")
    made.add_argument("--cards", type=Path, default=CARDS, help="file of conversation cards")
    made.add_argument("--out", type=Path, default=MODELS, help="folder to write (default: models/)")
    made.add_argument("--float", type=Path, help="write the unrounded graph here instead")
    made.add_argument("--fp16", type=Path, help="write fp16, made from the int8 file, here instead")
    made.add_argument(
        "--restore", type=Path, help="write the int8 file's weights into this folder instead"
    )
    made.add_argument("--alpha", type=float, default=0.85, help="SmoothQuant α (default: 0.85)")
    made.add_argument(
        "--level",
        type=float,
        default=0.0,
        help="cosine of two texts that have nothing in common, of an embedder (default: 0)",
    )
    made.add_argument("--seed", type=int, default=17, help="of every draw (default: 17)")
    made.add_argument(
        "--measure-only", action="store_true", help="keep the file in --out and measure it"
    )
    return made


if __name__ == "__main__":
    sys.exit(main())
