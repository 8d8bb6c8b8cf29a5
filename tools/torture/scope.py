"""Ask in many random households whether anything hidden changes an answer.

Runs the promises of tests/promises/test_scope.py and test_whose_source.py on other households than
the tests do. Each is asked by three people or voices, and each answer is compared with one from a
household that holds only what the asker may see; or one person's imports and other calls of sources
are, with and without what another brought. Households are drawn in batches, batch i from the seed
--seed + i, so that a batch that fails can be run again by itself, and shrunk, with the command that
is printed.

Examples:
  python -m tools.torture.scope
  python -m tools.torture.scope --households 100000 --processes 8
  python -m tools.torture.scope --of sources --households 2000
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import subprocess
import sys
import time

from tools.common import ROOT, parser_of

TESTS = {
    "recall": "tests/promises/test_scope.py::test_what_is_hidden_changes_nothing",
    "sources": "tests/promises/test_whose_source.py::test_what_others_brought_changes_nothing",
}


def run(test: str, seed: int, households: int) -> tuple[int, bool, str]:
    """Run one batch; return its seed, whether it passed, and the end of its output."""
    known = {"FAMILY_RECALL_WORLDS": str(households), "FAMILY_RECALL_SEED": str(seed)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=0"]
    done = subprocess.run(
        [*command, test],
        cwd=ROOT,
        env={**os.environ, **known, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return seed, done.returncode == 0, done.stdout[-4000:]


def main() -> int:
    """Run all batches; the exit status is 1 if one failed."""
    parser = parser_of(__doc__)
    parser.add_argument("--of", choices=TESTS, default="recall", help="what is compared")
    parser.add_argument("--households", type=int, default=2_000, metavar="N", help="in all")
    parser.add_argument("--batch", type=int, default=100, metavar="N", help="households a batch")
    parser.add_argument("--processes", type=int, default=1, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the first batch")
    args: argparse.Namespace = parser.parse_args()
    began, done, failed = time.monotonic(), 0, 0
    seeds = range(args.seed, args.seed + -(-args.households // args.batch))
    test = TESTS[args.of]
    with concurrent.futures.ThreadPoolExecutor(args.processes) as pool:
        for seed, passed, printed in pool.map(lambda seed: run(test, seed, args.batch), seeds):
            done += args.batch
            failed += not passed
            if not passed:
                print(printed)
                print(f"again: FAMILY_RECALL_SEED={seed} FAMILY_RECALL_WORLDS={args.batch} "
                      f"python -m pytest {test}")  # fmt: skip
            print(
                f"{done} households, {failed} batches failed, {time.monotonic() - began:.0f} s",
                flush=True,
            )
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
