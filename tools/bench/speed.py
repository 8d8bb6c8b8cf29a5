"""Measure speed and size on a synthetic household of each size; see tools/bench/data.py.

A question is asked across all six spaces of the household, the largest of which holds over half
of the memories, or with --scope large in that one alone. `ms` is wall time, `cpu_ms` the
processor time of the whole process; a stage has wall time only, from the trace. Stages may
overlap: words are searched while the question is encoded.
Without --model a fast fake encoder stands in, so that all but embedding is measured; with it
the shipped embedder reads the questions (and the planted memories; the others keep the fake
vectors, which cost the same to search). Divide by `machine.cpu_ms` to compare two machines.

Examples:
  python -m tools.bench.speed
  python -m tools.bench.speed --sizes 1000,10000 --questions 50 --model --json bench.json
  python -m tools.bench.speed --sizes 1000000 --keep million.db
  python -m tools.bench.speed --report bench.html --peers peers.json
"""

from __future__ import annotations

import argparse
import datetime as dt
import functools
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import apsw
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from family_recall import RecallContext, __version__
from family_recall.api import FamilyRecall
from family_recall.apps.evaluation import synthetic
from family_recall.apps.evaluation.timing import describe, quantiles, timed
from family_recall.apps.reports import plots
from family_recall.encoders.base import Encoder, Encoding, batch_size_of
from family_recall.encoders.transformer import BiEncoder
from family_recall.errors import ModelError
from tools.bench.data import FakeEncoder, Floats, Ints
from tools.bench.speed_page import speed_page
from tools.common import parser_of, resident_mib, say, write_json

SIZES = (1_000, 10_000, 100_000)
LARGEST = 1_000_000  # memories: 3.3 GB of scratch space, and 1 GB of memory
N_QUESTIONS = 200
N_WARMUP = 10
BUDGET_MS = 1_000.0  # no stage is left out for lack of time
INGESTED = 4_096  # memories generated and stored at a time
EMBEDDED_TOKENS = (8, 16, 32, 64)
EMBEDDING_RUNS = 40
N_STARTS = 3
FOUND_WITHIN = 10
_SMALL_TABLE = 5.0  # bytes a memory
SECTIONS = {
    "machine": "processors, numpy's threads if set, and the milliseconds of a fixed piece of work",
    "import_ms": "the package alone, and with the native libraries (FamilyRecall)",
    "embedding": "the shipped model by tokens; null where there is none",
    "sizes": "one entry a size, with:",
    "  memories": "how many",
    "  ingest": "texts, and vectors given, per second; resident memory afterwards",
    "  recall": "stages, total, other_than_embedding: p50, p95, p99; visible; skips",
    "  identifiers": "questions that quote an order: total times, and how many came first",
    "  planted": "how many of the planted memories were found in the first ten",
    "  file_bytes_per_memory": "the file, after closing",
    "  bytes_by_table": "the same by table, its indexes apart",
    "  start": "a fresh process: open, first answer, resident memory",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when a planted memory is not found, else 0."""
    options = _parser().parse_args(arguments)
    if options.start:
        print(json.dumps(measure_start(options.start, model=options.model)))
        return 0
    peers = _peers(options.peers) if options.peers else None
    if options.report:
        try:
            plots.check()
        except ImportError as error:
            raise SystemExit(f"--report: {error}") from None
    report: dict[str, Any] = {
        "version": __version__,
        "questions": options.questions,
        "scope": options.scope,
        "encoder": "shipped" if options.model else "fake",
        "machine": machine(),
        "import_ms": import_ms(),
        "embedding": embedding(),
        "sizes": [],
    }
    for size in options.sizes:
        say(f"{size:,} memories")
        report["sizes"].append(
            measure(
                size,
                options.questions,
                scope=options.scope,
                model=options.model,
                keep=options.keep if size == options.sizes[-1] else None,
            )
        )
    if options.json == "-":
        print(json.dumps(report, indent=2))
    else:
        # Into a file, tables keep a width of their own.
        show(report, Console(width=None if sys.stdout.isatty() else 110))
        if options.json:
            write_json(Path(options.json), report)
    if options.report:
        written = speed_page(
            report,
            machine=describe(),
            made_at=dt.datetime.now().astimezone(),
            peers=peers,
        )
        options.report.write_text(written, "utf-8", newline="\n")
        say(f"{options.report}: {len(written.encode()) / 1000:,.0f} kB")
    lost = [name for size in report["sizes"] for name in size["planted"]["lost"]]
    if lost:
        say(f"not among the first {FOUND_WITHIN}: {', '.join(lost)}")
    return int(bool(lost))


def measure(
    n: int, n_questions: int, *, scope: str, model: bool, keep: Path | None = None
) -> dict[str, Any]:
    """Fill a household of n memories, ask, and start a fresh process on its file.

    Raises:
        SystemExit: If ``keep`` is there already.
    """
    if keep is not None and keep.exists():
        raise SystemExit(f"--keep {keep}: is there already; name a new file, or remove it")
    encoder = _Timed(_encoder(model=model))
    with tempfile.TemporaryDirectory(prefix="family_recall_bench_") as scratch:
        path = Path(scratch) / "bench.db" if keep is None else keep
        with FamilyRecall.open(path, timezone="UTC", encoder=encoder) as home:
            synthetic.furnish(home)
            ingest = measure_ingest(home, n, encoder)
            questions = synthetic.questions(n_questions, n)
            space_id = synthetic.LARGE if scope == "large" else None
            recall, planted = measure_recall(home, questions, space_id, encoder)
            quoted = measure_identifiers(home, order_questions(n_questions, n))
        n_bytes = path.stat().st_size
        by_table = bytes_by_table(path)
        command = [sys.executable, "-m", "tools.bench.speed", "--start", str(path)]
        runs = [json.loads(_output(command + ["--model"] * model)) for _ in range(N_STARTS)]
    return {
        "memories": n,
        "ingest": ingest,
        "recall": recall,
        "planted": planted,
        "identifiers": quoted,
        "file_bytes_per_memory": round(n_bytes / n),
        "bytes_by_table": {name: round(size / n, 1) for name, size in by_table.items()},
        "start": {name: round(statistics.median(run[name] for run in runs), 2) for name in runs[0]},
    }


def order_questions(n: int, n_memories: int) -> list[synthetic.Question]:
    """Generate up to n questions that quote an order, evenly over the household."""
    planted = synthetic.planted_at(n_memories)
    quoted = [at for at in range(1, n_memories, synthetic.ORDER_EVERY) if at not in planted]
    chosen = quoted[:: max(len(quoted) // n, 1)][:n]
    return [synthetic.Question(f"What came of {synthetic.order(at)}?", f"m{at}") for at in chosen]


def measure_ingest(home: FamilyRecall, n: int, encoder: _Timed) -> dict[str, float]:
    """Store n texts, then vectors; generating the texts and encoding do not count.

    The household is generated and stored a part at a time, so that a million need no more memory.
    """
    made = synthetic.memories(n)
    text = {"ms": 0.0, "cpu_ms": 0.0}
    with _progress() as bar:
        storing = bar.add_task("texts", total=n)
        while part := list(itertools.islice(made, INGESTED)):
            took, _ = timed(functools.partial(home.remember_many, part, embed="later"))
            text = {unit: text[unit] + took[unit] for unit in text}
            bar.advance(storing, len(part))
        encoder.cpu_s = 0.0
        reading = bar.add_task("vectors", total=n)
        vectors, _ = timed(
            functools.partial(home.flush, progress=lambda done: bar.update(reading, completed=done))
        )
    return {
        "text_per_s": round(n / text["ms"] * 1000),
        "text_per_cpu_s": round(n / text["cpu_ms"] * 1000),
        "vectors_per_cpu_s": round(n / (vectors["cpu_ms"] / 1000 - encoder.cpu_s)),
        "resident_mib": round(resident_mib()),
    }


def measure_recall(
    home: FamilyRecall,
    questions: Sequence[synthetic.Question],
    space_id: str | None,
    encoder: _Timed,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Ask all questions; return times by stage and in total, and which planted ones were found."""
    ctx = RecallContext(person_id=synthetic.ASKER, space_id=space_id, time_budget_ms=BUDGET_MS)
    for question in questions[:N_WARMUP]:
        home.recall(question.text, ctx)
    stages: dict[str, list[float]] = {}
    totals: list[Mapping[str, float]] = []
    others: list[Mapping[str, float]] = []
    ranks: dict[str, int | None] = {}
    skips: dict[str, int] = {}
    for question in questions:
        encoder.cpu_s = 0.0
        total, answer = timed(functools.partial(home.recall, question.text, ctx))
        spans: dict[str, float] = {}
        for span in answer.trace.spans:
            spans[span.stage] = spans.get(span.stage, 0.0) + span.ms
        for stage, ms in spans.items():
            stages.setdefault(stage, []).append(ms)
        for skip in answer.trace.skips:
            left_out = f"{skip.stage}: {skip.detail}"
            skips[left_out] = skips.get(left_out, 0) + 1
        totals.append(total)
        # Words are searched meanwhile: what embedding adds is what it takes beyond them.
        added = max(spans.get("embed", 0.0) - spans.get("lexical", 0.0), 0.0)
        others.append(
            {"ms": total["ms"] - added, "cpu_ms": total["cpu_ms"] - encoder.cpu_s * 1000.0}
        )
        if question.planted:
            first = [result.doc_id for result in answer.results[:FOUND_WITHIN]]
            rank = first.index(question.planted) + 1 if question.planted in first else None
            ranks[question.planted] = rank
    recall = {
        "visible": answer.trace.counts.get("visible"),
        "stages": {stage: {"ms": quantiles(ms)} for stage, ms in stages.items()},
        "total": _both(totals),
        "other_than_embedding": _both(others),
        "skips": skips,
    }
    lost = [name for name, rank in ranks.items() if rank is None]
    return recall, {"n": len(ranks), "found": len(ranks) - len(lost), "lost": lost, "ranks": ranks}


def measure_identifiers(
    home: FamilyRecall, questions: Sequence[synthetic.Question]
) -> dict[str, Any]:
    """Ask for memories that quote an order, in every space: total times, and hits at rank 1."""
    ctx = RecallContext(person_id=synthetic.ASKER, time_budget_ms=BUDGET_MS)
    took = [timed(functools.partial(home.recall, each.text, ctx)) for each in questions]
    first = [answer.results[0].doc_id if answer.results else None for _, answer in took]
    n_first = sum(doc_id == each.planted for doc_id, each in zip(first, questions, strict=True))
    return {"n": len(questions), "found": n_first, **_both([times for times, _ in took])}


def bytes_by_table(path: Path) -> dict[str, int]:
    """Return how many bytes of a file's pages each table and its indexes take, most first."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    sizes = Counter[str]()
    for name, table, size in connection.execute(
        "SELECT d.name, coalesce(s.tbl_name, d.name), sum(d.pgsize) FROM dbstat d"
        " LEFT JOIN sqlite_schema s ON s.name = d.name GROUP BY d.name"
    ):
        shared = re.match(r"(words|vectors)_\d+", str(table))
        group = shared[1] if shared else str(table)
        sizes[group if shared or name == table else f"{group}, indexes"] += int(str(size))
    connection.close()
    return dict(sizes.most_common())


def measure_start(path: Path, *, model: bool) -> dict[str, float]:
    """Open a file in this fresh process and answer once: milliseconds, and MiB afterwards."""
    encoder = _encoder(model=model)
    before = resident_mib()
    question, *more = synthetic.questions(30, 10_000)
    ctx = RecallContext(person_id=synthetic.ASKER, time_budget_ms=BUDGET_MS)
    opened, home = timed(lambda: FamilyRecall.open(path, create=False, encoder=encoder))
    with home:
        first, _ = timed(lambda: home.recall(question.text, ctx))
        for each in more:
            home.recall(each.text, ctx)
        after = resident_mib()
    return {
        "open_ms": opened["ms"],
        "first_answer_ms": first["ms"],
        "first_answer_cpu_ms": first["cpu_ms"],
        "resident_before_mib": before,
        "resident_mib": after,
    }


def embedding() -> dict[str, Any] | None:
    """Time the shipped model on questions of 8 to 64 tokens, the two special ones included."""
    try:
        model = BiEncoder.load()
    except (ModelError, ImportError) as error:
        say(f"no embedding measured: {error}")
        return None
    words = synthetic.vocabulary()[500:]  # one token each: the vocabulary is the tokenizer's
    measured = {}
    for n_tokens in EMBEDDED_TOKENS:
        texts = [
            " ".join(words[at * n_tokens : (at + 1) * n_tokens - 2])
            for at in range(EMBEDDING_RUNS + 5)
        ]
        times = [timed(functools.partial(model.encode_question, text))[0] for text in texts]
        measured[str(n_tokens)] = _both(times[5:])
    return {"model_id": model.model_id, "tokens": measured}


def machine() -> dict[str, Any]:
    """Time a fixed piece of work, best of five: 20 products of 512 × 512 and a Python loop."""
    square = np.random.default_rng(0).standard_normal((512, 512), dtype=np.float32)

    def work() -> float:
        total = float(sum((square @ square)[0, 0] for _ in range(20)))
        for number in range(200_000):
            total += number % 7
        return total

    runs = [timed(work)[0] for _ in range(5)]
    return {
        "processors": os.cpu_count(),
        # numpy's own threads: unset, small products may spin on every processor.
        "openblas_num_threads": os.environ.get("OPENBLAS_NUM_THREADS"),
        "load_1_min": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "ms": round(min(run["ms"] for run in runs), 2),
        "cpu_ms": round(min(run["cpu_ms"] for run in runs), 2),
    }


def import_ms() -> dict[str, float]:
    """Time two imports in fresh processes, medians; Python's own start is not in it."""
    code = "import time; s = time.perf_counter(); {}; print((time.perf_counter() - s) * 1000)"
    statements = {
        "package": "import family_recall",
        "with_native_libraries": "from family_recall import FamilyRecall",
    }
    return {
        name: round(
            statistics.median(
                float(_output([sys.executable, "-c", code.format(statement)]))
                for _ in range(N_STARTS)
            ),
            1,
        )
        for name, statement in statements.items()
    }


def show(report: Mapping[str, Any], console: Console) -> None:
    """Print the report as tables."""
    work, imports = report["machine"], report["import_ms"]
    console.print(
        f"family_recall {report['version']}, {report['questions']} questions, scope "
        f"{report['scope']}, {report['encoder']} encoder\n"
        f"machine: {work['processors']} processors, fixed work "
        f"{work['cpu_ms']:.1f} ms CPU\nimport: {imports['package']:.0f} ms, with native "
        f"libraries {imports['with_native_libraries']:.0f} ms",
        highlight=False,
    )
    sizes = report["sizes"]
    if sizes:
        columns = [f"{entry['memories']:,}" for entry in sizes]
        console.print(_recall_table(sizes, columns), _size_table(sizes, columns))
        console.print(_bytes_table(sizes, columns))
    if report["embedding"] is not None:
        table = Table("tokens", "ms", "cpu_ms", title="Embedding one text, p50 / p95 / p99")
        for n_tokens, times in report["embedding"]["tokens"].items():
            table.add_row(n_tokens, _three(times["ms"]), _three(times["cpu_ms"]))
        console.print(table)


def _recall_table(sizes: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    table = Table("stage", *columns, title="Recall, ms, p50 / p95 / p99")
    for stage in dict.fromkeys(name for entry in sizes for name in entry["recall"]["stages"]):
        cells = [entry["recall"]["stages"].get(stage) for entry in sizes]
        table.add_row(stage, *(_three(cell["ms"]) if cell else "" for cell in cells))
    table.add_section()
    for name in ("total", "other_than_embedding"):
        for unit in ("ms", "cpu_ms"):
            cells = [_three(entry["recall"][name][unit]) for entry in sizes]
            table.add_row(f"{name.replace('_', ' ')}, {unit}", *cells)
    return table


def _size_table(sizes: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    table = Table("", *columns, title="Ingest, file, start")
    rows: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "texts / s": lambda e: f"{e['ingest']['text_per_s']:,}",
        "texts / CPU s": lambda e: f"{e['ingest']['text_per_cpu_s']:,}",
        "vectors / CPU s": lambda e: f"{e['ingest']['vectors_per_cpu_s']:,}",
        "file bytes / memory": lambda e: f"{e['file_bytes_per_memory']:,}",
        "open, ms": lambda e: f"{e['start']['open_ms']:.1f}",
        "first answer, ms": lambda e: f"{e['start']['first_answer_ms']:.1f}",
        "resident, MiB (before opening)": lambda e: (
            f"{e['start']['resident_mib']:.0f} ({e['start']['resident_before_mib']:.0f})"
        ),
        "identifier recall, ms, p50 / p95 / p99": lambda e: _three(e["identifiers"]["ms"]),
        "identifiers found first": lambda e: (
            f"{e['identifiers']['found']} of {e['identifiers']['n']}"
        ),
        "planted found": lambda e: f"{e['planted']['found']} of {e['planted']['n']}",
    }
    for name, cell in rows.items():
        table.add_row(name, *(cell(entry) for entry in sizes))
    return table


def _bytes_table(sizes: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    table = Table("table", *columns, title="File, bytes a memory")
    others = [0.0] * len(sizes)
    for name in dict.fromkeys(name for entry in sizes for name in entry["bytes_by_table"]):
        cells = [entry["bytes_by_table"].get(name, 0.0) for entry in sizes]
        if max(cells) < _SMALL_TABLE:
            others = [other + cell for other, cell in zip(others, cells, strict=True)]
        else:
            table.add_row(name, *(f"{cell:,.0f}" for cell in cells))
    table.add_row("others", *(f"{cell:,.0f}" for cell in others))
    return table


class _Timed:
    """An `Encoder` that sums the processor time of another one."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.model_id, self.dim, self.token_dim = encoder.model_id, encoder.dim, encoder.token_dim
        self.batch_size = batch_size_of(encoder)
        self.cpu_s = 0.0

    def encode_question(self, text: str) -> Encoding:
        start = time.thread_time()
        try:
            return self._encoder.encode_question(text)
        finally:
            self.cpu_s += time.thread_time() - start

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        start = time.thread_time()
        try:
            return self._encoder.encode_memories(texts)
        finally:
            self.cpu_s += time.thread_time() - start

    def token_ids(self, text: str) -> Ints:
        return self._encoder.token_ids(text)

    def token_weights(self, token_ids: Ints) -> Floats:
        return self._encoder.token_weights(token_ids)


class _Mixed(_Timed):
    """The shipped embedder; memories that are not planted get fake vectors."""

    def __init__(self, model: Encoder) -> None:
        super().__init__(model)
        self._fake = FakeEncoder()

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        known = [text for text, _ in synthetic.PLANTED]
        return [
            (self._encoder if text.endswith(tuple(known)) else self._fake).encode_memories([text])[
                0
            ]
            for text in texts
        ]


def _encoder(*, model: bool) -> Encoder:
    return _Mixed(BiEncoder.load()) if model else FakeEncoder()


def _both(times: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    return {unit: quantiles([each[unit] for each in times]) for unit in ("ms", "cpu_ms")}


def _three(quantiles: Mapping[str, float]) -> str:
    return " / ".join(f"{value:.2f}" for value in quantiles.values())


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def _peers(file: Path) -> dict[str, Any]:
    try:
        read: dict[str, Any] = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SystemExit(
            f"--peers {file}: expected the JSON of tools/bench/peers/run.py --json ({error})"
        ) from None
    return read


def _sizes(text: str) -> list[int]:
    sizes = [int(size) for size in text.replace("_", "").split(",")]
    if not 1 <= min(sizes) <= max(sizes) <= LARGEST:
        raise argparse.ArgumentTypeError(f"sizes must be from 1 to {LARGEST:,}, got {text}")
    return sizes


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    keys = "\n".join(f"  {name:<24} {meaning}" for name, meaning in SECTIONS.items())
    parser.epilog = f"JSON keys:\n{keys}\n\n{parser.epilog}"
    parser.add_argument(
        "--sizes",
        type=_sizes,
        default=list(SIZES),
        metavar="N,…",
        help="memories in the household, 1 to 1000000 (default: 1000,10000,100000)",
    )
    parser.add_argument(
        "--questions",
        type=int,
        default=N_QUESTIONS,
        metavar="N",
        help="questions a size, eight about planted memories first (default: %(default)s)",
    )
    parser.add_argument(
        "--scope",
        choices=("all", "large"),
        default="all",
        help="ask across all spaces, or the largest one only (default: %(default)s)",
    )
    parser.add_argument("--json", metavar="FILE", help="write JSON too; - prints it alone")
    parser.add_argument(
        "--model", action="store_true", help="let the shipped embedder read the questions"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="leave the last size's household here"
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write a page with plots, to read and keep"
    )
    parser.add_argument(
        "--peers",
        type=Path,
        metavar="FILE",
        help="with --report: what tools/bench/peers/run.py --json wrote, to draw beside it",
    )
    parser.add_argument("--start", type=Path, help=argparse.SUPPRESS)
    return parser


def _progress() -> Progress:
    return Progress(console=Console(stderr=True), disable=not sys.stderr.isatty())


if __name__ == "__main__":
    sys.exit(main())
