"""Measure speed and memory of the shipped models on one core.

Question lengths are in tokens, [CLS] and [SEP] included. Wall time of one thread, medians, the
models interleaved; a shared machine moves them by half, so compare within one run.

Examples:
  python -m tools.bench.models
  python -m tools.bench.models --models ~/models --json models.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.common import parser_of, write_json

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import numpy as np
import onnxruntime as ort
from rich.console import Console
from rich.table import Table

from family_recall.encoders.manifest import find_models, read_manifest
from family_recall.encoders.static import StaticEncoder
from family_recall.encoders.transformer import BiEncoder, CrossEncoder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

QUESTION_TOKENS = (8, 16, 32)
SENTENCE_TOKENS = 20
PAIR_TOKENS = (64, 128)
RUNS = 200
BATCH = 400
N_STARTS = 5
WORD = "tea "  # one token
CPU_FLAGS = ("amx_int8", "avx512_vnni", "avx_vnni", "avx512f", "avx2")
START = """
import os, time
began = time.perf_counter()
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
from pathlib import Path
from family_recall.encoders.{module} import {name} as Model
model = Model.load(Path({folder!r}))
{use}
took = (time.perf_counter() - began) * 1000
# Not getrusage: its high-water mark starts at that of the process that forked.
resident = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")]
print(took, *resident)
"""
STARTS = {
    "embedder": ("transformer", "BiEncoder", "model.encode_question('Where is the key?')"),
    "cross_encoder": ("transformer", "CrossEncoder", "model.score('Where?', 'Here.')"),
    "static_embedder": ("static", "StaticEncoder", "model.encode_question('Where is the key?')"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure every model of the folder, print the table."""
    args = _parser().parse_args(argv)
    folder = find_models(args.models)
    rows = [row for role in STARTS for row in measure(folder, role)]
    report = {"machine": machine(), "rows": rows}
    if args.json:
        write_json(args.json, report)
    show(report)
    return 0


def measure(folder: Path, role: str) -> list[dict[str, Any]]:
    """Measure one model; no row where the folder lacks it."""
    entry = read_manifest(folder).find_entry(role)
    if entry is None:
        return []
    rows: list[dict[str, Any]] = []
    if role == "cross_encoder":
        scorer = CrossEncoder(entry)
        for n in PAIR_TOKENS:
            text = WORD * (n - 11)
            n_tokens = scorer.count_tokens(WORD * 8, text)
            took = latencies(partial(scorer.score, WORD * 8, text))
            rows.append(_latency_row(role, f"one pair of {n_tokens} tokens", took))
            rows.append(_row(role, f"pairs of {n_tokens} tokens", 1000 / np.median(took), "1/s"))
    else:
        encoder = BiEncoder(entry) if role == "embedder" else StaticEncoder(entry)
        for n in QUESTION_TOKENS:
            text = WORD * (n - 2)
            took = latencies(partial(encoder.encode_question, text))
            rows.append(_latency_row(role, f"one question of {n} tokens", took))
        sentence = [WORD * (SENTENCE_TOKENS - 2)]
        for threads in (1, 2):
            rate = per_second(lambda: encoder.encode_memories(sentence), threads)
            what = f"sentences of {SENTENCE_TOKENS} tokens, {threads} thread{'s' * (threads > 1)}"
            rows.append(_row(role, what, rate, "1/s"))
    cold_ms, resident_kib = start(folder, role)
    rows.append(_row(role, "first answer in a fresh process", cold_ms, "ms"))
    rows.append(_row(role, "resident memory then", resident_kib / 1024, "MiB"))
    if role != "static_embedder":
        rows.append(_row(role, "operators by time", operators(entry.model.path), ""))
    return rows


def latencies(run: Callable[[], object]) -> list[float]:
    """Measure the milliseconds of each run, after a few to warm up."""
    took = []
    for _ in range(RUNS + 20):
        began = time.perf_counter()
        run()
        took.append((time.perf_counter() - began) * 1000)
    return took[20:]


def per_second(run: Callable[[], object], threads: int) -> float:
    """Measure the runs a second, over `threads` threads on one model."""
    run()
    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: run(), range(BATCH)))
    return BATCH / (time.perf_counter() - began)


def start(folder: Path, role: str) -> tuple[float, float]:
    """Measure median milliseconds to a fresh process's first answer; KiB resident then (Linux)."""
    module, name, use = STARTS[role]
    code = START.format(module=module, name=name, use=use, folder=str(folder))
    runs = [
        [float(x) for x in subprocess.check_output([sys.executable, "-c", code]).split()]
        for _ in range(N_STARTS)
    ]
    cold_ms, resident_kib = np.median(runs, axis=0)
    return float(cold_ms), float(resident_kib)


def operators(path: Path, n_tokens: int = 64) -> str:
    """Return the operators that take most of the time, with their shares, by ONNX's profile."""
    with tempfile.TemporaryDirectory() as scratch:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(scratch) / "profile")
        opened = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        row = np.arange(2000, 2000 + n_tokens, dtype=np.int64)[None]
        feed = {inputs.name: np.ones_like(row) for inputs in opened.get_inputs()} | {
            "input_ids": row
        }
        feed |= {"token_type_ids": np.zeros_like(row)} if "token_type_ids" in feed else {}
        for _ in range(30):
            opened.run(None, feed)
        events = json.loads(Path(opened.end_profiling()).read_text("utf-8"))
    spent: Counter[str] = Counter()
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("kernel_time"):
            spent[event["args"]["op_name"]] += event["dur"]
    total = sum(spent.values())
    return ", ".join(f"{name} {took / total:.0%}" for name, took in spent.most_common(4))


def machine() -> dict[str, object]:
    """Return what decides the kernels: MLAS takes the first of `CPU_FLAGS` the processor has."""
    info = Path("/proc/cpuinfo")
    words = info.read_text("utf-8").split() if info.is_file() else []
    return {
        "onnxruntime": ort.__version__,
        "cores": os.cpu_count(),
        "int8": [flag for flag in CPU_FLAGS if flag in words],
    }


def show(report: dict[str, Any]) -> None:
    """Print the table."""
    table = Table("model", "what", "value", "p95", title=str(report["machine"]))
    for row in report["rows"]:
        value = row["value"] if isinstance(row["value"], str) else f"{row['value']:,.2f}"
        p95 = f"{row['p95']:.2f}" if "p95" in row else ""
        table.add_row(row["model"], row["what"], f"{value} {row['unit']}".strip(), p95)
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def _latency_row(model: str, what: str, took: Sequence[float]) -> dict[str, Any]:
    p95 = round(float(np.percentile(took, 95)), 4)
    return _row(model, what, float(np.median(took)), "ms") | {"p95": p95}


def _row(model: str, what: str, value: float | str, unit: str) -> dict[str, Any]:
    shown = value if isinstance(value, str) else round(float(value), 4)
    return {"model": model, "what": what, "value": shown, "unit": unit}


def _parser() -> argparse.ArgumentParser:
    made = parser_of(__doc__)
    made.add_argument("--models", type=Path, help="folder of models (default: the shipped ones)")
    made.add_argument("--json", type=Path, help="write the report here as well")
    return made


if __name__ == "__main__":
    sys.exit(main())
