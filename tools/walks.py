"""Count, or list, the functions and files of the package that one call passes.

A family of two is opened and asked once, so that models are loaded and caches filled; then one call
of each kind is profiled, in the calling thread and new ones: a question, a memory, a forgetting. A
function counts once, however often it runs.

Examples:
  python -m tools.walks
  python -m tools.walks --list recall
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import family_recall
from family_recall import FamilyRecall, Person, Space
from tools.common import parser_of

PACKAGE = str(Path(family_recall.__file__).parent)
BUDGET_MS = 60_000.0


def main() -> int:
    """Print a line for each walk, or the functions of one by file, in the order they begin."""
    parser = parser_of(__doc__)
    parser.add_argument("--list", choices=("recall", "remember", "forget"), metavar="WALK")
    args: argparse.Namespace = parser.parse_args()
    for walk, codes in walks().items():
        files = dict.fromkeys(code.co_filename for code in codes)
        print(f"{walk}: {len(codes)} functions in {len(files)} files")
        if args.list == walk:
            for file in files:
                names = [code.co_qualname for code in codes if code.co_filename == file]
                print(f"  {file.removeprefix(PACKAGE + os.sep)}: {', '.join(names)}")
    return 0


def walks() -> dict[str, list[CodeType]]:
    """Return the functions that each call passes, in the order in which they were entered."""
    with (
        tempfile.TemporaryDirectory(prefix="family_recall_walks_") as folder,
        FamilyRecall.open(Path(folder) / "family.db", timezone="Europe/London") as home,
    ):
        home.people.add(Person("tom", "Tom"))
        home.people.add(Person("sarah", "Sarah"))
        home.spaces.add(Space("shared:household", "household"))
        moment = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
        home.remember("The alarm code is 4402", author="tom", occurred_at=moment)
        home.remember("Sarah parked the car behind the school", author="tom")
        home.warmup()
        home.recall("Where is the car?", person_id="tom", time_budget_ms=BUDGET_MS)
        ids: list[str] = []
        return {
            "recall": passed(
                lambda: home.recall(
                    "What's the alarm code?", person_id="tom", time_budget_ms=BUDGET_MS
                )
            ),
            "remember": passed(
                lambda: ids.append(
                    home.remember("Grandma lands at 7:40 on Friday", author="tom").doc_id
                )
            ),
            "forget": passed(lambda: home.forget(ids[0], person_id="tom")),
        }


def passed(call: Callable[[], object]) -> list[CodeType]:
    """Return the package's functions that a call enters, in any thread; comprehensions excepted."""
    codes: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        del argument
        code = frame.f_code
        if (
            event == "call"
            and code.co_filename.startswith(PACKAGE)
            and not code.co_name.startswith("<")
        ):
            codes.setdefault(code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(codes)


if __name__ == "__main__":
    sys.exit(main())
