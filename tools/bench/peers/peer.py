"""Measure one peer on a folder of texts and vectors, and print its figures as a line of JSON.

It runs in the peer's own environment, so it needs nothing but numpy. Filling and asking are two
processes: the second opens the files that the first left, as an application does.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tools.common import resident_mib

Floats = npt.NDArray[np.float32]

FOUND_WITHIN = 10
N_CANDIDATES = 50  # of each half of a hybrid search, where a peer has that setting
N_WARMUP = 10
INGESTED = 4_096  # memories added at a time
RRF_K = 60


class Peer(Protocol):
    """The calls that are measured of a peer."""

    version: str

    def add(self, first: int, texts: Sequence[str], vectors: Floats) -> None:
        """Store some memories, numbered from ``first``."""

    def finish(self) -> None:
        """Do what makes everything stored searchable, and leave it on the disk."""

    def search(self, text: str, vector: Floats) -> list[int]:
        """Return the numbers of the ten best memories for a question, best first."""


@dataclass(frozen=True)
class Data:
    """Memories and questions with their vectors, the same for every peer."""

    folder: Path

    def parts(self, n: int) -> Iterator[tuple[int, list[str], Floats]]:
        """Yield the first n memories a part at a time: the first's number, texts, vectors."""
        texts: list[str] = []
        first = 0
        with (self.folder / "texts.jsonl").open("rb") as lines:
            for at, line in enumerate(lines):
                texts.append(json.loads(line)["text"])
                if len(texts) == INGESTED or at + 1 == n:
                    # Mapped again for each part: what was read would stay resident.
                    vectors = np.load(self.folder / "vectors.npy", mmap_mode="r")
                    yield first, texts, np.array(vectors[first : at + 1])
                    first, texts = at + 1, []
                if at + 1 == n:
                    return

    def questions(self) -> list[dict[str, Any]]:
        """Return the questions: ``text``, and ``planted``, the number of the expected memory."""
        with (self.folder / "questions.jsonl").open("rb") as lines:
            return [json.loads(line) for line in lines]

    def question_vectors(self) -> Floats:
        """Return the vectors of the questions (q, dim)."""
        loaded: Floats = np.load(self.folder / "questions.npy")
        return loaded


def fused(*runs: Sequence[int]) -> list[int]:
    """Fuse runs by reciprocal rank, as everybody writes it by hand: the ten best."""
    scores: dict[int, float] = {}
    for run in runs:
        for rank, number in enumerate(run, 1):
            scores[number] = scores.get(number, 0.0) + 1.0 / (RRF_K + rank)
    return sorted(scores, key=lambda number: (-scores[number], number))[:FOUND_WITHIN]


def main(make: Callable[[Path, Data], Peer]) -> None:
    """Fill or ask, as the command line says, and print figures as one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("step", choices=("fill", "ask"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--memories", type=int, required=True)
    parser.add_argument("--limit-s", type=float, default=300.0)
    options = parser.parse_args()
    data = Data(options.data)
    if options.step == "fill":
        figures = fill(make, data, options.folder, options.memories, options.limit_s)
    else:
        figures = ask(make, data, options.folder)
    print(json.dumps(figures))


def fill(
    make: Callable[[Path, Data], Peer], data: Data, folder: Path, n: int, limit_s: float
) -> dict[str, Any]:
    """Store n memories, or as many as the limit allows."""
    wall, cpu = time.perf_counter(), time.process_time()
    peer = make(folder, data)
    opened = time.perf_counter() - wall
    wall_s = cpu_s = 0.0
    stored = 0
    for first, texts, vectors in data.parts(n):
        wall, cpu = time.perf_counter(), time.process_time()
        peer.add(first, texts, vectors)
        wall_s += time.perf_counter() - wall
        cpu_s += time.process_time() - cpu
        stored += len(texts)
        if wall_s > limit_s and stored < n:
            return {"version": peer.version, "stopped_at": stored, "ingest_wall_s": wall_s}
    wall, cpu = time.perf_counter(), time.process_time()
    peer.finish()
    wall_s += time.perf_counter() - wall
    cpu_s += time.process_time() - cpu
    return {
        "version": peer.version,
        "make_ms": opened * 1000.0,
        "ingest_per_s": n / wall_s,
        "ingest_per_cpu_s": n / cpu_s,
        "ingest_resident_mib": resident_mib(),
    }


def ask(make: Callable[[Path, Data], Peer], data: Data, folder: Path) -> dict[str, Any]:
    """Open what was filled and ask every question."""
    questions, vectors = data.questions(), data.question_vectors()
    wall = time.perf_counter()
    peer = make(folder, data)
    peer.search(questions[0]["text"], vectors[0])
    first = time.perf_counter() - wall
    for question, vector in zip(questions[:N_WARMUP], vectors, strict=False):
        peer.search(question["text"], vector)
    walls, cpus, n_found, planted = [], [], 0, 0
    for question, vector in zip(questions, vectors, strict=True):
        wall, cpu = time.perf_counter(), time.process_time()
        numbers = peer.search(question["text"], vector)
        walls.append((time.perf_counter() - wall) * 1000.0)
        cpus.append((time.process_time() - cpu) * 1000.0)
        if question["planted"] is not None:
            planted += 1
            n_found += question["planted"] in numbers[:FOUND_WITHIN]
    return {
        "open_and_first_answer_ms": first * 1000.0,
        "wall_ms": {f"p{q}": float(np.percentile(walls, q)) for q in (50, 95)},
        "cpu_ms": {f"p{q}": float(np.percentile(cpus, q)) for q in (50, 95)},
        "cpu_ms_mean": float(np.mean(cpus)),
        "planted_found": n_found,
        "planted": planted,
        "resident_mib": resident_mib(),
    }
