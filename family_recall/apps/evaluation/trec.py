"""TREC files of runs and qrels, written here and read by ir_measures.

Lines are ``qid Q0 docno rank score tag`` and ``qid 0 docno 1``. Blanks, control characters and per
cent signs of an id are escaped as in a web address, so ``S 1`` is ``S%201``; reading undoes that.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from family_recall.api.files import write_text
from family_recall.apps.evaluation.outcomes import Outcome
from family_recall.errors import DatasetError

TAG = "family_recall"
_UNSAFE = re.compile(r"[%\s\x00-\x1f\x7f\ud800-\udfff]")
_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")


def write_run(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write rankings as a TREC run. A question without results has no line.

    Tools order a run by its scores, compared as 32-bit floats, and break ties by docno from
    the end of the alphabet. Where that is not the order given (ties, results in order of time
    or diversified) a score is lowered to the next below the one before it, so that every tool
    reads the ranking that was measured.

    Source: trec_eval 9, ``form_res_rels.c``; https://trec.nist.gov/data/.
    """
    lines = (
        f"{escaped(outcome.query_id)} Q0 {escaped(doc_id)} {rank} {score:.9g} {TAG}\n"
        for outcome in outcomes
        for rank, (doc_id, score) in enumerate(
            zip(outcome.ranking, falling(outcome.scores), strict=True), 1
        )
    )
    write_text(path, "".join(lines))


def write_qrels(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write the gold as TREC qrels, each with relevance 1. No gold, no line."""
    lines = (
        f"{escaped(outcome.query_id)} 0 {escaped(doc_id)} 1\n"
        for outcome in outcomes
        for doc_id in outcome.gold
    )
    write_text(path, "".join(lines))


def read_run(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the ranking of each question, by score, ties as in :func:`write_run`.

    Raises:
        DatasetError: If the file cannot be read, a line is not one of a run, or names a memory
            of its question twice. The message names file and line.
    """
    from ir_measures import read_trec_run  # noqa: PLC0415 -- the extra `eval`

    scores: dict[str, dict[str, np.float32]] = {}
    for where, hit in _records(path, read_trec_run, "qid Q0 docno rank score tag"):
        of_question = scores.setdefault(unescaped(hit.query_id), {})
        doc_id = unescaped(hit.doc_id)
        if doc_id in of_question:
            raise DatasetError(f"{where}: {doc_id!r} is in the run of {hit.query_id!r} twice")
        of_question[doc_id] = np.float32(hit.score)
    return {name: _ranked(of_question) for name, of_question in scores.items()}


def read_qrels(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the memories of each question with a relevance above 0.

    Raises:
        DatasetError: If the file cannot be read, or a line is not one of qrels. The message
            names file and line.
    """
    from ir_measures import read_trec_qrels  # noqa: PLC0415 -- the extra `eval`

    gold: dict[str, tuple[str, ...]] = {}
    for _, qrel in _records(path, read_trec_qrels, "qid 0 docno relevance"):
        if qrel.relevance > 0:
            name = unescaped(qrel.query_id)
            gold[name] = (*gold.get(name, ()), unescaped(qrel.doc_id))
    return gold


def falling(scores: Sequence[float]) -> list[float]:
    """Return scores as 32-bit floats that fall strictly, each lowered no more than it must be.

    >>> falling([0.5, 0.25])
    [0.5, 0.25]
    >>> [score < 0.25 for score in falling([0.25, 0.75, 0.25])]
    [False, True, True]
    """
    lowered: list[float] = []
    last = np.float32(np.inf)
    for score in scores:
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        lowered.append(float(last))
    return lowered


def escaped(name: str) -> str:
    """Return an id with its blanks, control characters and per cent signs escaped.

    >>> escaped("session 7/100%")
    'session%207/100%25'
    """
    return _UNSAFE.sub(
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass")),
        name,
    )


def unescaped(name: str) -> str:
    """Return the id that :func:`escaped` wrote; anything else stays as it is."""

    def character(match: re.Match[str]) -> str:
        try:
            return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return match[0]

    return _ESCAPED.sub(character, name)


def _ranked(scores: Mapping[str, np.float32]) -> tuple[str, ...]:
    by_docno = sorted(scores, reverse=True)
    return tuple(sorted(by_docno, key=lambda doc_id: -scores[doc_id]))


def _records(
    path: Path, read: Callable[[io.StringIO], Iterable[Any]], fields: str
) -> Iterator[tuple[str, Any]]:
    """Yield each record that ``read`` makes of the file, with its place."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path}: expected UTF-8, got {error.reason}") from None
    for number, line in enumerate(text.split("\n"), 1):
        where = f"{path}:{number}"
        try:
            # Line by line, since ir_measures does not say which line it cannot read.
            yield from ((where, record) for record in read(io.StringIO(line)))
        except ValueError:
            raise DatasetError(f"{where}: expected {fields}, got {line[:80]!r}") from None
