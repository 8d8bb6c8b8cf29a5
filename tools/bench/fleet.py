"""Measure a fleet: maps with Ray against a plain loop, and serving more households than fit.

Households are invented. A map's rate is from its first households done to its last, so that
starting Ray and loading models, which is printed apart, does not count; overhead is what a
household takes beyond the plain loop, times the workers. Processor time is that of the step itself
in the worker, and of all else that the calling process does. Served requests go over HTTP, one
after another or several at once; of the households some are asked far more than others (Zipf), or
all alike.

Examples:
  python -m tools.bench.fleet
  python -m tools.bench.fleet --homes 40 --most 200 --only maps
  python -m tools.bench.fleet --only costs --homes 6 --most 1565
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import http.client
import json
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np

from family_recall.apps.fleet import Options, in_process, ray_engine, read_catalogue, run
from family_recall.apps.fleet.mapping import Engine
from family_recall.apps.fleet.serving import Serving, running
from family_recall.apps.fleet.steps import STEPS, loaded_models, open_household
from tools.common import parser_of, resident_mib, say
from tools.fleet.invent import invented, write_file

MOMENT = "2026-03-01T18:30:00+00:00"
TOKEN = "a token of a measurement, of no use"  # noqa: S105
WORKERS = (1, 2)
CLIENTS = (1, 4)
QUESTIONS = ("Who called?", "What was in the parcel?", "When is the exam?", "Where is the key?")


def main(argv: Sequence[str] | None = None) -> int:
    """Print what was measured."""
    args = parser().parse_args(argv)
    os.environ.setdefault("RAY_worker_niceness", "0")  # as the loop that they are compared with
    with tempfile.TemporaryDirectory(prefix="family_recall_bench_") as scratch:
        made = Path(scratch) / "made"
        say(f"inventing {args.homes} households")
        for home, rng in invented(args.homes, args.seed, years=(10.0,), a_week=(10.0,)):
            write_file(home, rng, made / f"{home.name}.db", most=args.most)
        if args.only in {None, "maps"}:
            maps(made, Path(scratch))
        if args.only in {None, "serving"}:
            served(made, args.open_files, args.requests, args.seed)
        if args.only in {None, "costs"}:
            costs(made, Path(scratch))
    return 0


def costs(made: Path, scratch: Path) -> None:
    """Print the processor time of each step, of opening and asking, and the memory of an open file.

    In this process, for one household after another.
    """
    homes = fresh(made, scratch)
    entries = read_catalogue(str(homes))
    models = loaded_models(None)
    print(f"\n{'step':<9} {'cpu ms':>9} {'memories':>9} {'bytes':>11}")
    for step in ("reembed", "doctor", "migrate", "backup"):
        shutil.rmtree(scratch / "ledger", ignore_errors=True)
        rows = run(
            str(homes), entries, step, Options(to=str(scratch / "copies")),
            ledger=scratch / "ledger", engine=in_process, now=MOMENT,
        ).rows  # fmt: skip
        memories, n_bytes = (
            float(np.mean([row.get(name, 0) for row in rows])) for name in ("memories", "bytes")
        )
        cpu_ms = 1000.0 * float(np.mean([row["cpu_seconds"] for row in rows]))
        print(f"{step:<9} {cpu_ms:9.1f} {memories:9,.0f} {n_bytes:11,.0f}")
    before, begun = resident_mib(), time.process_time()
    opened = [open_household(Path(entry.place), entry, Options()) for entry in entries]
    for home in opened:
        home.recall(QUESTIONS[0], person_id="p0", time_budget_ms=1000.0)
    opening_ms = 1000.0 * (time.process_time() - begun) / len(opened)
    held = (resident_mib() - before) / len(opened)
    begun = time.process_time()
    for question in QUESTIONS:
        for home in opened:
            home.recall(question, person_id="p0", time_budget_ms=60.0)
    asking_ms = 1000.0 * (time.process_time() - begun) / len(opened) / len(QUESTIONS)
    print(f"opening, and the first question: {opening_ms:.1f} ms of a processor, {held:.2f} MiB")
    print(f"a further question within 60 ms: {asking_ms:.1f} ms of a processor")
    for home in opened:
        home.close()
    models.close()


def maps(made: Path, scratch: Path) -> None:
    """Print what a household takes in a plain loop, in a map here, and in maps with Ray."""
    print(
        f"{'step':<9} {'how':<22} {'start s':>8} {'a minute':>9} {'ms each':>8} {'overhead':>9} "
        f"{'step cpu':>9} {'rest cpu':>9}"
    )
    loaded_models(None)
    for step, loop in (("reembed", loop_reembed), ("doctor", loop_doctor)):
        homes = fresh(made, scratch)
        begun, begun_cpu = time.perf_counter(), time.process_time()
        loop(homes)
        n = len(list(made.iterdir()))
        alone_ms = 1000.0 * (time.perf_counter() - begun) / n
        cpu_ms = 1000.0 * (time.process_time() - begun_cpu) / n
        row(step, "plain loop", 0.0, alone_ms, cpu_ms, 0.0, alone_ms, 1)
        homes = fresh(made, scratch)
        row(step, "map in this process", *rate(homes, step, in_process, scratch), alone_ms, 1)
        for workers in WORKERS:
            ray_engine.connect(workers=workers)
            homes = fresh(made, scratch)
            engine = ray_engine.on_ray(workers=workers)
            measured = rate(homes, step, engine, scratch)
            row(step, f"Ray, {workers} worker(s)", *measured, alone_ms, workers)
            ray_engine.imported().shutdown()


def rate(
    homes: Path, step: str, engine: Engine, scratch: Path
) -> tuple[float, float, float, float]:
    """Return the seconds until the first ones are done, and the milliseconds of a further one.

    Those of the clock, and of a processor: in the step, and in this process beside it.
    """
    at: list[float] = []
    shutil.rmtree(scratch / "ledger", ignore_errors=True)
    begun, begun_cpu = time.perf_counter(), time.process_time()
    entries = read_catalogue(str(homes))
    done = run(
        str(homes), entries, step, Options(), ledger=scratch / "ledger", engine=engine,
        now=MOMENT, progress=lambda *_: at.append(time.perf_counter()),
    )  # fmt: skip
    if done.failures:
        raise SystemExit(f"{len(done.failures)} households failed: {done.failures[0]['error']}")
    # From the first whole round of the workers on: each has its models then.
    first = at[3]
    cpu_ms = 1000.0 * float(np.mean([row["cpu_seconds"] for row in done.rows]))
    rest_ms = 1000.0 * (time.process_time() - begun_cpu) / len(done.rows)
    if engine is in_process:
        rest_ms -= 1000.0 * float(np.mean([row["cpu_seconds"] for row in done.rows]))
    return first - begun, 1000.0 * (at[-1] - first) / (len(at) - 4), cpu_ms, rest_ms


def row(
    step: str,
    how: str,
    start_s: float,
    each_ms: float,
    cpu_ms: float,
    rest_ms: float,
    alone_ms: float,
    workers: int,
) -> None:
    """Print a line of the table."""
    overhead_ms = each_ms * workers - alone_ms
    print(
        f"{step:<9} {how:<22} {start_s:8.1f} {60_000.0 / each_ms:9,.0f} {each_ms:8.1f} "
        f"{overhead_ms:+6.1f} ms {cpu_ms:9.1f} {rest_ms:9.1f}",
        flush=True,
    )


def loop_reembed(homes: Path) -> None:
    """Do what the step does with nothing around it."""
    encoder = loaded_models(None).wait()
    for entry in read_catalogue(str(homes)):
        with open_household(Path(entry.place), entry, Options()) as home:
            home.maintenance.reembed(encoder=encoder)
            home.maintenance.stats()


def loop_doctor(homes: Path) -> None:
    """Do what the step does with nothing around it."""
    for entry in read_catalogue(str(homes)):
        STEPS["doctor"](entry, Options())


def fresh(made: Path, scratch: Path) -> Path:
    """Return a new copy of the households, of which nothing has been done."""
    shutil.rmtree(scratch / "homes", ignore_errors=True)
    return Path(shutil.copytree(made, scratch / "homes"))


def served(homes: Path, open_files: int, requests: int, seed: int) -> None:
    """Print what requests take where only some of the households can be open."""
    entries = read_catalogue(str(homes))
    names = [entry.household_id for entry in entries]
    ray_engine.connect(workers=1)
    port = free_port()
    print(f"\n{len(names)} households, {open_files} open at most, {requests} requests each line")
    print(f"{'asked':<8} {'at once':>7} {'p50 ms':>8} {'p99 ms':>8} {'a second':>9} {'opened':>7}")
    everything = Serving(shards=1, open_files=open_files)
    with running(entries, Options(), everything, token=TOKEN, port=port):
        for name in names:
            ask(port, name, "Who called?")
        for kind in ("all", "zipf"):
            for at_once in CLIENTS:
                rng = Random(seed)
                weights = [1.0 if kind == "all" else 1.0 / (i + 1) for i in range(len(names))]
                asked = rng.choices(names, weights, k=requests)
                before = n_opened(port)
                begun = time.perf_counter()
                with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
                    results = list(pool.map(lambda name: timed_ask(port, name), asked))
                took_s = time.perf_counter() - begun
                refused = sum(status != 200 for status, _ in results)
                p50, p99 = np.percentile([ms for status, ms in results if status == 200], (50, 99))
                opened = n_opened(port) - before
                print(
                    f"{kind:<8} {at_once:7} {p50:8.1f} {p99:8.1f} {requests / took_s:9.1f} "
                    f"{opened:7}" + (f"  {refused} refused" if refused else ""),
                    flush=True,
                )
    ray_engine.imported().shutdown()
    say(f"this process holds {resident_mib():.0f} MiB")


def n_opened(port: int) -> int:
    """Return how many households the fleet has opened so far."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("GET", "/", headers={"Authorization": f"Bearer {TOKEN}"})
        return sum(shard["opened"] for shard in json.load(connection.getresponse()))


def timed_ask(port: int, household_id: str) -> tuple[int, float]:
    """Ask a household something; return status and milliseconds."""
    question = QUESTIONS[int(household_id[-2:]) % len(QUESTIONS)]
    begun = time.perf_counter()
    status = ask(port, household_id, question)
    return status, (time.perf_counter() - begun) * 1000.0


def ask(port: int, household_id: str, question: str) -> int:
    """Ask a household something within 60 ms; return the status."""
    body = {"arguments": {"question": question}, "ctx": {"person_id": "p0"}}
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        connection.request("POST", f"/{household_id}/recall", json.dumps(body), headers)
        reply = connection.getresponse()
        reply.read()
        return reply.status


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = parser_of(__doc__)
    made.add_argument("--homes", type=int, default=100, help="households (default: 100)")
    made.add_argument("--most", type=int, default=50, help="memories of each (default: 50)")
    made.add_argument("--open-files", type=int, default=20, help="open at most (default: 20)")
    made.add_argument("--requests", type=int, default=600, help="requests a line (default: 600)")
    made.add_argument("--seed", type=int, default=0, help="of every draw (default: 0)")
    made.add_argument(
        "--only", choices=("maps", "serving", "costs"), help="one part (default: all)"
    )
    return made


if __name__ == "__main__":
    sys.exit(main())
