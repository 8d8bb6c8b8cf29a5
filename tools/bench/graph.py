"""Measure igraph against numpy: PageRank, and what loading igraph costs.

Graphs are random, of the sizes that recalls walk. A call is the best of five times fifty.
Loading is measured in fresh processes of this environment, the median of five: `core` is what this
library loads, `import igraph` what it avoids, which depends on whether matplotlib is installed.

Examples:
  python -m tools.bench.graph
  python -m tools.bench.graph --json graph.json
"""

from __future__ import annotations

import functools
import importlib.util
import random
import statistics
import subprocess
import sys
import timeit
from collections.abc import Callable
from pathlib import Path

import numpy as np

from family_recall.recall.sources import graph_engine
from tools.common import parser_of, write_json

SIZES = ((30, 40), (80, 100), (400, 1500))
ENGINES = {
    "igraph": graph_engine.personalized_pagerank,
    "numpy": graph_engine.pagerank_by_numpy,
}
LOADS = {
    "core": (
        "from family_recall.recall.sources.graph_engine import engine; import numpy\n"
        "START\nengine()"
    ),
    "import igraph": "import numpy\nSTART\nimport igraph",
}
_PROGRAM = """
import time, pathlib
def resident(): return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) / 256
{before}
memory, start = resident(), time.perf_counter()
{load}
print((time.perf_counter() - start) * 1000, resident() - memory)
"""


def call_us(call: Callable[[], object]) -> float:
    """Return the microseconds of a call, best of five times fifty."""
    return min(timeit.repeat(call, number=50, repeat=5)) / 50 * 1e6


def measure_calls() -> dict[str, float]:
    """Time PageRank, in microseconds by engine and size."""
    shuffled, times = random.Random(0), {}
    for n, m in SIZES:
        drawn = [shuffled.sample(range(n), 2) for _ in range(m)]
        pairs = [(a, b) for a, b in drawn]
        weights = [shuffled.uniform(0.2, 1.0) for _ in drawn]
        reset = np.array([1.0] * 20 + [0.0] * (n - 20))
        for name, pagerank in ENGINES.items():
            size = f"{n} nodes, {m} edges, {name}"
            spread = functools.partial(pagerank, pairs, weights, reset, damping=0.5)
            times[f"pagerank: {size}"] = call_us(spread)
    return times


def measure_loads() -> dict[str, tuple[float, float]]:
    """Return milliseconds and MiB of each way to load igraph, medians of five processes."""
    loads = {}
    for name, program in LOADS.items():
        before, load = program.split("\nSTART\n")
        text = _PROGRAM.format(before=before, load=load)
        runs = [
            [float(part) for part in subprocess.check_output([sys.executable, "-c", text]).split()]
            for _ in range(5)
        ]
        ms, mib = (statistics.median(column) for column in zip(*runs, strict=True))
        loads[name] = (ms, mib)
    return loads


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    calls, loads = measure_calls(), measure_loads()
    with_matplotlib = importlib.util.find_spec("matplotlib") is not None
    print(f"{graph_engine.engine()}, {'with' if with_matplotlib else 'without'} matplotlib")
    for name, us in calls.items():
        print(f"{name:52} {us:8.0f} µs")
    for name, (ms, mib) in loads.items():
        print(f"{name:52} {ms:8.1f} ms {mib:6.1f} MiB")
    if options.json:
        write_json(options.json, {"calls_us": calls, "loads": loads, "matplotlib": with_matplotlib})


if __name__ == "__main__":
    main()
