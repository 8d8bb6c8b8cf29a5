"""How well candidates belong to a list: their likeness to its best.

A list names its kind (*all our injuries*), and what belongs to it often shares no word with that:
*nailgunned me thumb*. But it is like the few that the question does find.

Source: pseudo-relevance feedback with document vectors, after Rocchio 1971.
"""

from __future__ import annotations

import numpy as np

from family_recall.types import FloatArray

N_EXEMPLARS = 4
"""Best candidates that a list is gathered around: of 2, 3, 4, 6 and 8 the best on 91 lists."""


def centre(exemplars: FloatArray) -> FloatArray:
    """Return the unit vector in the middle of some unit vectors (m, d), m at least 1."""
    mean = exemplars.mean(axis=0)
    unit: FloatArray = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return unit


def belonging(bodies: FloatArray, exemplars: FloatArray, is_exemplar: FloatArray) -> FloatArray:
    """Return the mean cosine of each memory with the exemplars, itself left out.

    Args:
        bodies: Shape (n, d), unit rows, or zeros where a memory has no vector.
        exemplars: Shape (m, d), unit rows.
        is_exemplar: Shape (n,), 1 for a memory that is one of them, else 0.

    Returns:
        Shape (n,), in [-1, 1]; 0 without a vector, and for an exemplar that is alone.

    An exemplar is compared with the other one alone:

    >>> bodies = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], np.float32)
    >>> belonging(bodies, bodies[:2], np.array([1.0, 1.0, 0.0])).astype(float).round(3)
    array([0. , 0. , 0.7])
    """
    similarity = bodies.dot(exemplars.T).sum(axis=1) - is_exemplar
    others = len(exemplars) - is_exemplar
    mean: FloatArray = (similarity / np.maximum(others, 1)).astype(np.float32)
    mean[~bodies.any(axis=1)] = 0.0
    return mean
