"""TREC files: outcomes in, a run and its qrels out, and back.

Both are lines of fields between blanks: ``qid Q0 docno rank score tag`` and ``qid 0 docno 1``.
An id's own blanks, control characters and per cent signs are written as in a web address, so
``S 1`` is ``S%201``; reading turns them back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from family_recall.errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from family_recall.evaluation.outcomes import Outcome

TAG = "family_recall"
_UNSAFE = re.compile(r"[%\s\x00-\x1f\x7f\ud800-\udfff]")
_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")


def write_run(path: Path, outcomes: Sequence[Outcome], *, tag: str = TAG) -> None:
    """Write rankings as a TREC run. A question without results has no line.

    Tools order a run by its scores, compared as 32-bit floats, and break ties by docno from
    the end of the alphabet. Where that is not the order given (ties, results in order of time
    or made diverse) a score is lowered to the next below the one before it, so that every tool
    reads the ranking that was measured.

    Source: trec_eval 9, ``form_res_rels.c``; https://trec.nist.gov/data/.
    """
    lines = (
        f"{escaped(outcome.query_id)} Q0 {escaped(doc_id)} {rank} {score:.9g} {tag}\n"
        for outcome in outcomes
        for rank, (doc_id, score) in enumerate(
            zip(outcome.ranking, falling(outcome.scores), strict=True), 1
        )
    )
    path.write_text("".join(lines), encoding="utf-8")


def write_qrels(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write the gold as TREC qrels, each with relevance 1. No gold, no line."""
    lines = (
        f"{escaped(outcome.query_id)} 0 {escaped(doc_id)} 1\n"
        for outcome in outcomes
        for doc_id in outcome.gold
    )
    path.write_text("".join(lines), encoding="utf-8")


def read_run(path: Path) -> dict[str, tuple[str, ...]]:
    """Read a TREC run: each question's ranking, by score, ties as in :func:`write_run`.

    Raises:
        DatasetError: If the file cannot be read, or a line has not six fields with a number as
            the fifth, or names a memory of its question twice. The message names file and line.
    """
    hits: dict[str, dict[str, np.float32]] = {}
    for where, (name, _, doc_id, _, score, _) in _fields(path, 6):
        found = hits.setdefault(unescaped(name), {})
        if unescaped(doc_id) in found:
            raise DatasetError(f"{where}: {doc_id!r} stands in the run of {name!r} twice")
        try:
            found[unescaped(doc_id)] = np.float32(score)
        except ValueError:
            raise DatasetError(f"{where}: expected a score, got {score!r}") from None
    return {name: _ranked(found) for name, found in hits.items()}


def read_qrels(path: Path) -> dict[str, tuple[str, ...]]:
    """Read TREC qrels: the memories of each question with a relevance above 0.

    Raises:
        DatasetError: If the file cannot be read, or a line has not four fields with a whole
            number as the last. The message names file and line.
    """
    gold: dict[str, tuple[str, ...]] = {}
    for where, (name, _, doc_id, relevance) in _fields(path, 4):
        if not relevance.lstrip("-").isdecimal():
            raise DatasetError(f"{where}: expected a whole relevance, got {relevance!r}")
        if int(relevance) > 0:
            gold[unescaped(name)] = (*gold.get(unescaped(name), ()), unescaped(doc_id))
    return gold


def falling(scores: Sequence[float]) -> list[float]:
    """Give scores as 32-bit floats that fall strictly, each lowered no more than it must be.

    >>> falling([0.5, 0.25])
    [0.5, 0.25]
    >>> [score < 0.25 for score in falling([0.25, 0.75, 0.25])]
    [False, True, True]
    """
    fallen: list[float] = []
    last = np.float32(np.inf)
    for score in scores:
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        fallen.append(float(last))
    return fallen


def escaped(name: str) -> str:
    """Write an id so that it holds no blank.

    >>> escaped("talk 7/100%")
    'talk%207/100%25'
    """
    return _UNSAFE.sub(
        lambda found: "".join(f"%{b:02X}" for b in found[0].encode("utf-8", "surrogatepass")), name
    )


def unescaped(name: str) -> str:
    """Read what :func:`escaped` wrote; what is no escape stays as it is."""
    return _ESCAPED.sub(_unescaped, name)


def _unescaped(found: re.Match[str]) -> str:
    try:
        return bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return found[0]


def _ranked(found: Mapping[str, np.float32]) -> tuple[str, ...]:
    by_docno = sorted(found, reverse=True)
    return tuple(sorted(by_docno, key=lambda doc_id: -found[doc_id]))


def _fields(path: Path, n: int) -> Iterator[tuple[str, list[str]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path}: expected UTF-8, got {error.reason}") from None
    for line_no, line in enumerate(text.split("\n"), 1):
        fields = line.split()
        if fields and len(fields) != n:
            raise DatasetError(f"{path}:{line_no}: expected {n} fields, got {len(fields)}")
        if fields:
            yield f"{path}:{line_no}", fields
