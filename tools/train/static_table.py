"""Distil the static embedder: a table of token vectors whose weighted mean represents a text.

It starts from the teacher's vectors of single tokens, turned onto the axes that keep most of the
teacher's vectors of texts, weighted by inverse document frequency. Table and weights then learn
two losses at once: the cosine to the teacher's vector of the same text, and InfoNCE between
questions and the memories that answer them, every other text of the batch a negative. The rows
are rounded to int8, and what is written is measured on texts that were not learnt from.

The teacher's vectors are kept in the output folder, so that a run that was stopped goes on.

Examples:
  python -m tools.train.static_table --data ~/pairs ~/mined --out ~/static
  python -m tools.train.static_table --teacher ~/trial/embedder.onnx --data ~/pairs --out ~/static
  python -m tools.train.static_table --smoke --out /tmp/smoke
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import random
import shutil
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from family_recall.encoders.static import StaticEncoder, StaticTable, write_table
from tools.common import MODELS, parser_of, say, write_json
from tools.train.base_weights import open_tokenizer
from tools.train.command_line import add_training_options, settle
from tools.train.embedder import answering
from tools.train.export.fidelity import NEAREST, top_overlap
from tools.train.export.manifest import file_facts, put_entry
from tools.train.export.onnx_sessions import session
from tools.train.groups import Mixture
from tools.train.loop import train
from tools.train.mixture import mixture

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnxruntime as ort
    from tokenizers import Tokenizer

Floats = npt.NDArray[np.float32]

NAME = "family-static-embedder"
DIM = 256
MAX_TOKENS = {"question": 128, "memory": 256}
MAX_QUESTION, MAX_MEMORY = 64, 144
SCALE = 20.0
EXCLUDED = -1e4
TEXTS, HELD_OUT = 24_000, 1_000
SMOKE_TEXTS, SMOKE_HELD_OUT, SMOKE_TOKENS = 128, 32, 64
TEXTS_A_STEP = 256
TEXTS_A_FILE = 2_000
TOKENS_A_RUN = 64
LONGEST_TIMED = 20  # words, as questions have
STEPS, BATCH, RATE = 4_000, 96, 2e-3
HELD_APART = frozenset({"ikat", "madial", "realmem", "vehicle"})
"""Sets that the ranker's weights and the calibration are fitted on. A table has a row for every
word and learns questions by heart: nDCG@10 on ikat went from 0.6 to 0.98 with its pairs."""
DISTANCE_SHARE = 10.0
"""Weight of the cosine to the teacher beside a nat of InfoNCE."""


@dataclass(frozen=True, slots=True)
class Teacher:
    """A graph with the output `embedding`, and its tokeniser."""

    opened: ort.InferenceSession
    tokenizer: Tokenizer

    def embed(self, ids: Sequence[Sequence[int]]) -> Floats:
        """Embed texts of one length, special tokens among the ids; (n, width)."""
        rows = np.array(ids, dtype=np.int64)
        tensors = {
            "input_ids": rows,
            "attention_mask": np.ones_like(rows),
            "token_type_ids": np.zeros_like(rows),
        }
        feed = {tensor.name: tensors[tensor.name] for tensor in self.opened.get_inputs()}
        vectors: Floats = self.opened.run(["embedding"], feed)[0]
        return vectors

    def texts(self, texts: Sequence[str]) -> Floats:
        """Embed texts, one run each, as the library runs them; (n, width)."""
        rows = []
        for text in texts:
            ids = self.tokenizer.encode(text).ids
            ids = ids if len(ids) <= MAX_MEMORY else [*ids[: MAX_MEMORY - 1], ids[-1]]
            rows.append(self.embed([ids])[0])
        return np.array(rows, np.float32)

    def tokens(self, n: int) -> Floats:
        """Embed the first `n` tokens of the vocabulary, each as a whole text; (n, width)."""
        probe = self.tokenizer.encode("a").ids
        first, last = probe[0], probe[-1]
        parts = []
        for start in range(0, n, TOKENS_A_RUN):
            ids = range(start, min(start + TOKENS_A_RUN, n))
            parts.append(self.embed([[first, token, last] for token in ids]))
            if start % (TOKENS_A_RUN * 64) == 0:
                say(f"teacher: token {start} of {n}")
        return np.concatenate(parts)


class Student(nn.Module):
    """The table (n_ids, dim) and the logarithms of the weights (n_ids,)."""

    def __init__(self, table: Floats, weights: Floats) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.from_numpy(table))
        self.log_weights = nn.Parameter(torch.from_numpy(np.log(weights)))

    def forward(self, texts: Sequence[Sequence[int]]) -> Tensor:
        """Return unit vectors (n, dim) of texts, each a list of ids; an empty one is zero."""
        lengths = [len(ids) for ids in texts]
        flat = torch.tensor([i for ids in texts for i in ids], dtype=torch.long)
        starts = torch.tensor([0, *np.cumsum(lengths)[:-1].tolist()], dtype=torch.long)
        flat, starts = flat.to(self.table.device), starts.to(self.table.device)
        summed = functional.embedding_bag(
            flat,
            self.table,
            starts,
            mode="sum",
            per_sample_weights=self.log_weights[flat].exp(),
        )
        return functional.normalize(summed, dim=-1)

    def rounded(self) -> StaticTable:
        """Return the table as it is stored."""
        return StaticTable.of(
            self.table.detach().cpu().numpy(), self.log_weights.detach().exp().cpu().numpy()
        )


class Losses:
    """What one batch costs."""

    def __init__(
        self,
        student: Student,
        tokenizer: Tokenizer,
        data: Mixture,
        taught: tuple[Sequence[str], Tensor],
        batch: int,
    ) -> None:
        self.student = student
        self.tokenizer = tokenizer
        self.data = data
        self.targets = taught[1]
        self.ids = self.encoded(taught[0], MAX_MEMORY)
        self.batch = batch

    def __call__(self, rng: random.Random) -> Mapping[str, Tensor]:
        """Return one less the cosine to the teacher, and InfoNCE in nats."""
        at = [rng.randrange(len(self.ids)) for _ in range(min(TEXTS_A_STEP, len(self.ids)))]
        pupils = self.student([self.ids[i] for i in at])
        distance = 1.0 - (pupils * self.targets[at]).sum(dim=-1).mean()
        groups = [g for g in self.data.draw(self.batch, rng) if g.positive is not None]
        texts = [g.positive or "" for g in groups]
        texts += [rng.choice(g.negatives) for g in groups if g.negatives]
        questions = self.student(self.encoded([g.query for g in groups], MAX_QUESTION))
        stored = self.student(self.encoded(texts, MAX_MEMORY))
        answers = answering(groups, texts).to(questions.device)
        logits = (SCALE * questions @ stored.T).masked_fill(answers, EXCLUDED)
        target = torch.arange(len(groups), device=questions.device)
        return {
            "distance": DISTANCE_SHARE * distance,
            "pairs": functional.cross_entropy(logits, target),
        }

    def encoded(self, texts: Sequence[str], longest: int) -> list[list[int]]:
        """Return the ids of texts, without special tokens."""
        encodings = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids[:longest] for encoding in encodings]


def main(argv: Sequence[str] | None = None) -> int:
    """Distil, write the table and its entry, and measure it."""
    args = settle(parser().parse_args(argv))
    tokenizer = open_tokenizer(args.tokenizer)
    teacher = Teacher(session(args.teacher), tokenizer)
    data = without(mixture(args.data, args.cards), HELD_APART)
    n_texts, n_held_out = (SMOKE_TEXTS, SMOKE_HELD_OUT) if args.smoke else (TEXTS, HELD_OUT)
    texts = drawn(data, n_texts + n_held_out, random.Random(args.seed))
    vectors = teacher_vectors(teacher, texts, args)
    axes = principal_axes(vectors[:n_texts], args.dim)
    targets = turned(vectors, axes)
    student = Student(
        turned(token_vectors(teacher, args), axes), inverse_frequency(tokenizer, texts)
    ).to(args.device)
    known = torch.from_numpy(targets[:n_texts]).to(args.device)
    losses = Losses(student, tokenizer, data, (texts[:n_texts], known), args.batch)
    train(student, args.plan, losses)
    write(args, student.rounded())
    report = measure(args.out, texts[n_texts:], targets[n_texts:])
    write_json((args.out / "static.fidelity.json"), report)
    print(json.dumps(report, indent=2))
    return 0


def without(data: Mixture, names: frozenset[str]) -> Mixture:
    """Return the mixture without some sets."""
    remaining = [
        (source, share)
        for source, share in zip(data.sources, data.shares, strict=True)
        if source.name not in names
    ]
    return Mixture([source for source, _ in remaining], [share for _, share in remaining])


def drawn(data: Mixture, n: int, rng: random.Random) -> list[str]:
    """Draw `n` different texts: questions, what answers them, what does not."""
    texts: dict[str, None] = {}
    while len(texts) < n:
        for group in data.draw(16, rng):
            texts[group.query] = None
            if group.positive:
                texts[group.positive] = None
            if group.negatives:
                texts[rng.choice(group.negatives)] = None
    different = [text for text in texts if text.strip()]
    rng.shuffle(different)
    return different[:n]


def teacher_vectors(teacher: Teacher, texts: Sequence[str], args: argparse.Namespace) -> Floats:
    """Compute the teacher's vectors of texts, a file of them at a time."""
    parts = []
    for start in range(0, len(texts), TEXTS_A_FILE):
        part = texts[start : start + TEXTS_A_FILE]
        parts.append(cached(args, f"texts {part!r}", functools.partial(teacher.texts, part)))
        say(f"teacher: text {start + len(part)} of {len(texts)}")
    return np.concatenate(parts)


def token_vectors(teacher: Teacher, args: argparse.Namespace) -> Floats:
    """Compute the teacher's vector of every token; in a smoke run most are random."""
    n = teacher.tokenizer.get_vocab_size()
    first = SMOKE_TOKENS if args.smoke else n
    vectors = cached(args, f"tokens {first}", functools.partial(teacher.tokens, first))
    rest = np.random.default_rng(args.seed).standard_normal((n - first, vectors.shape[1]))
    return np.concatenate([vectors, (rest / np.sqrt(vectors.shape[1])).astype(np.float32)])


def cached(args: argparse.Namespace, what: str, make: Callable[[], Floats]) -> Floats:
    """Return the cached vectors of the output folder, or compute them and cache them there."""
    key = hashlib.sha256(f"{file_facts(args.teacher)['sha256']} {what}".encode()).hexdigest()
    path = args.out / f"teacher-{key[:16]}.npy"
    if not path.is_file():
        partial = path.with_suffix(".part.npy")
        np.save(partial, make())
        partial.replace(path)
    vectors: Floats = np.load(path)
    return vectors


def principal_axes(vectors: Floats, dim: int) -> Floats:
    """Return the axes that keep most of some vectors (n, width): shape (width, dim)."""
    wide = vectors.astype(np.float64)
    _, axes = np.linalg.eigh(wide.T @ wide)
    if dim > axes.shape[1]:
        raise SystemExit(f"--dim must be at most {axes.shape[1]}, as the teacher has; got {dim}")
    principal: Floats = axes[:, ::-1][:, :dim].astype(np.float32)
    return principal


def turned(vectors: Floats, axes: Floats) -> Floats:
    """Project vectors on those axes, and scale them to unit length."""
    projected = vectors @ axes
    unit: Floats = projected / np.maximum(np.linalg.norm(projected, axis=1, keepdims=True), 1e-9)
    return unit


def inverse_frequency(tokenizer: Tokenizer, texts: Sequence[str]) -> Floats:
    """Return a token's first weight: its smoothed inverse document frequency in the texts."""
    counts: Counter[int] = Counter()
    for encoding in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False):
        counts.update(set(encoding.ids))
    df = np.array([counts[i] for i in range(tokenizer.get_vocab_size())], np.float64)
    idf: Floats = np.log1p((len(texts) - df + 0.5) / (df + 0.5)).astype(np.float32)
    return np.maximum(idf, 0.05)


def write(args: argparse.Namespace, table: StaticTable) -> None:
    """Write the file, the tokeniser beside it, and its entry in the manifest."""
    path = args.out / "static.npz"
    write_table(path, table)
    tokenizer = args.out / "tokenizer.json"
    if not (tokenizer.is_file() and tokenizer.samefile(args.tokenizer)):
        shutil.copyfile(args.tokenizer, tokenizer)
    facts = file_facts(path)
    entry: dict[str, object] = {
        "name": NAME,
        # Of the content: whatever changes a vector changes the name it is stored under.
        "model_id": f"{NAME}/{str(facts['sha256'])[:12]}",
        "role": "static_embedder",
        **facts,
        "licence": "Apache-2.0",
        "precision": "int8",
        "dimensions": table.rows.shape[1],
        "max_tokens": MAX_TOKENS,
        "pooling": "mean",
        "query_prefix": "",
        "memory_prefix": "",
        "tokenizer": file_facts(tokenizer),
    }
    put_entry(args.out, entry)


def measure(folder: Path, texts: Sequence[str], targets: Floats) -> dict[str, object]:
    """Compare the written table with the teacher, on texts it was not trained on."""
    encoder = StaticEncoder.load(folder)
    pupils = np.array([encoding.pooled for encoding in encoder.encode_memories(texts)])
    cosine = (pupils * targets).sum(axis=1)
    short = [text for text in texts if len(text.split()) <= LONGEST_TIMED] or list(texts)
    took = []
    for text in [*short[:20], *short]:
        start = time.perf_counter()
        encoder.encode_question(text)
        took.append((time.perf_counter() - start) * 1e6)
    path = folder / "static.npz"
    return {
        "file": path.name,
        "bytes": path.stat().st_size,
        "dimensions": encoder.dim,
        "n_texts": len(texts),
        "cosine_mean": round(float(cosine.mean()), 5),
        "cosine_p01": round(float(np.quantile(cosine, 0.01)), 5),
        "top10_overlap": round(top_overlap(targets, pupils, NEAREST), 4),
        "words_per_timed_text_p50": float(np.median([len(text.split()) for text in short])),
        "latency_us": {f"p{q}": round(float(np.percentile(took[20:], q)), 1) for q in (50, 95)},
    }


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = parser_of(__doc__)
    made.add_argument(
        "--teacher",
        type=Path,
        default=MODELS / "embedder.int8.onnx",
        help="graph with the output `embedding` (default: models/embedder.int8.onnx)",
    )
    made.add_argument(
        "--tokenizer",
        type=Path,
        default=MODELS / "tokenizer.json",
        help="the teacher's (default: models/tokenizer.json)",
    )
    made.add_argument("--dim", type=int, default=DIM, help=f"length of a row (default: {DIM})")
    add_training_options(made, steps=STEPS, batch=BATCH, rate=RATE)
    return made


if __name__ == "__main__":
    sys.exit(main())
