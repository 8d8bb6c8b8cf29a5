"""Many households at once, on one machine or a cluster: maps over their files, and serving.

Ray, fsspec and Parquet are the extra ``[fleet]``; they are imported when a map or a server starts.
"""

from __future__ import annotations

from family_recall.apps.fleet.mapping import FleetRun, in_process, run
from family_recall.apps.fleet.places import Entry, read_catalogue
from family_recall.apps.fleet.steps import STEPS, Options, report

__all__ = [
    "STEPS",
    "Entry",
    "FleetRun",
    "Options",
    "in_process",
    "read_catalogue",
    "report",
    "run",
]
