"""What the scripts share: the repository's folders, command lines, progress and JSON files."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "models"
FIXTURES = ROOT / "tests" / "fixtures"


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is a docstring as it is laid out, its ``Examples:`` last."""
    about, examples = (doc or "").split("\nExamples:")
    return argparse.ArgumentParser(
        description=about,
        epilog="examples:" + examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def say(message: str) -> None:
    """Print progress on stderr, with the processor seconds used so far."""
    print(f"[{time.process_time():6.1f} s] {message}", file=sys.stderr, flush=True)


def write_json(path: Path, record: Any) -> None:
    """Write a record as a file of indented JSON."""
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def resident_mib() -> float:
    """Return this process's resident memory (VmRSS), 0 where there is no /proc."""
    return memory_mib("VmRSS")


def memory_mib(field: str) -> float:
    """Return a field of /proc/self/status such as VmPeak in MiB, 0 where there is no /proc."""
    try:
        status = Path("/proc/self/status").read_text("ascii")
    except OSError:
        return 0.0
    return int(status.split(f"{field}:")[1].split()[0]) / 1024
