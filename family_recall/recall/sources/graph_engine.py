"""PageRank of small graphs, by igraph. The only module that loads igraph.

`import igraph` also imports plotting, and with it matplotlib if that is installed: a second and
40 MiB. So its compiled core is loaded alone, from its file, in 13 ms and 3 MiB. Where it is missing
or cannot be loaded, numpy computes the same.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import logging
import math
import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec, spec_from_loader
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

log = logging.getLogger("family_recall")

Ends: TypeAlias = Sequence[tuple[int, int]]
Doubles: TypeAlias = npt.NDArray[np.float64]

_TOLERANCE = 1e-6  # of the total weight, by power iteration

_CORE = "igraph._igraph"
_loading = threading.Lock()


def engine() -> str:
    """Name what computes graphs here: igraph with its version, or numpy."""
    return "numpy" if _core() is None else f"igraph {importlib.metadata.version('igraph')}"


def personalized_pagerank(
    ends: Ends, weights: Sequence[float], reset: Doubles, *, damping: float
) -> Doubles:
    """Spread restart weights over a graph whose edges are walked both ways.

    Args:
        ends: The nodes at either end of each edge, numbered from 0.
        weights: Of the edges, above 0.
        reset: Shape (n,), one a node, 0 or more, not all 0; where the walk restarts.
        damping: Probability of walking on, in [0, 1).

    Returns:
        Shape (n,), 0 or more, summing to 1. igraph and numpy agree within 0.000002.

    A node without edges returns its weight to the restart distribution.

    Source: Haveliwala 2002, doi:10.1145/511446.511513.
    """
    core = _core()
    if core is None or not ends:
        return pagerank_by_numpy(ends, weights, reset, damping=damping)
    graph = core.GraphBase(len(reset), ends, False)
    ranks = graph.personalized_pagerank(
        directed=False,
        damping=damping,
        reset=reset.tolist(),
        weights=list(weights),  # a tuple would be the name of an attribute
        implementation="prpack",
    )
    return np.array(ranks, np.float64)


def pagerank_by_numpy(
    ends: Ends, weights: Sequence[float], reset: Doubles, *, damping: float
) -> Doubles:
    """Compute what :func:`personalized_pagerank` does, by power iteration.

    As many rounds as leave less than 0.000001 of the weight: 20 at a damping of 0.5.
    """
    n = len(reset)
    start: Doubles = reset / reset.sum()
    pairs = np.array(ends, np.int64).reshape(-1, 2)
    src, dst = np.concatenate([pairs, pairs[:, ::-1]]).T
    both = np.tile(np.array(weights, np.float64), 2)
    strength = np.bincount(src, both, n)
    share = both / strength[src]
    unlinked = strength == 0.0
    rank = start
    for _ in range(math.ceil(math.log(_TOLERANCE) / math.log(damping)) if damping else 0):
        walked = np.bincount(dst, rank[src] * share, n) + rank[unlinked].sum() * start
        rank = (1.0 - damping) * start + damping * walked
    return rank


def _core() -> Any:
    """Return igraph's compiled module, loaded once; None where there is none."""
    with _loading:
        return _load()


@functools.cache
def _load() -> ModuleType | None:
    try:
        # If igraph is imported, its core is loaded, and must not be initialised twice.
        return importlib.import_module(_CORE) if "igraph" in sys.modules else _load_core()
    except Exception as error:  # noqa: BLE001  whatever a broken library raises, numpy remains
        log.debug("igraph cannot be used: %s", error)
        return None


def _load_core() -> ModuleType:
    """Load the core without its package, and leave it to an `import igraph` that follows."""
    package = find_spec("igraph")
    spec = package and PathFinder.find_spec(_CORE, package.submodule_search_locations)
    if spec is None or spec.loader is None:
        raise ImportError("igraph is not installed")
    core = module_from_spec(spec)
    spec.loader.exec_module(core)
    sys.meta_path.insert(0, _LoadedCore(core))
    # It put itself here; imported from the finder instead, it becomes an attribute of its package.
    sys.modules.pop(_CORE, None)
    return core


class _LoadedCore(MetaPathFinder, Loader):
    """Finds the core that is already loaded: a process cannot initialise it a second time."""

    def __init__(self, core: ModuleType) -> None:
        self._core = core

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import the core; None for any other module."""
        del path, target
        return spec_from_loader(fullname, self) if fullname == _CORE else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the loaded core."""
        del spec
        return self._core

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: it has run."""
