"""A manifest entry in; what is wrong with its files, or with what its graph gives, out."""

from __future__ import annotations

from dataclasses import dataclass

from family_recall.encoders.bi_encoder import BiEncoder
from family_recall.encoders.cross_encoder import CrossEncoder
from family_recall.encoders.manifest import ModelEntry, ModelFile, sha256_of
from family_recall.encoders.static import ROLE as STATIC
from family_recall.encoders.static import StaticEncoder
from family_recall.errors import ModelError

SHORT = "when does grandma land?"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found: ``what`` is a file or ``run``, ``problem`` is None where it is well."""

    what: str
    problem: str | None


def check(entry: ModelEntry) -> list[Finding]:
    """Read every file anew; if all are as promised, open the graph and run it, short and long.

    Returns:
        One finding a file, in the order of `ModelEntry.files`, then one called ``run`` unless a
        file is not as it should be.
    """
    findings = [Finding(_shown(file), _problem(file)) for file in entry.files]
    if all(finding.problem is None for finding in findings):
        findings.append(Finding("run", _run(entry)))
    return findings


def _shown(file: ModelFile) -> str:
    return file.path.name


def _problem(file: ModelFile) -> str | None:
    try:
        n_bytes = file.path.stat().st_size
        if n_bytes != file.n_bytes:
            return f"{n_bytes:,} bytes, expected {file.n_bytes:,}"
        have = sha256_of(file.path)
    except OSError as error:
        return error.strerror or "cannot be read"
    return None if have == file.sha256 else f"sha256 {have}, expected {file.sha256}"


def _run(entry: ModelEntry) -> str | None:
    # Longer than any model reads, so cut to the most tokens the entry allows.
    long = "grandma " * max(entry.max_question_tokens, entry.max_memory_tokens)
    try:
        if entry.role != "cross_encoder":
            encoder = StaticEncoder(entry) if entry.role == STATIC else BiEncoder(entry)
            encoder.encode_question(SHORT)
            encoder.encode_question(long)
            encoder.encode_memories(["", long])
        else:
            scorer = CrossEncoder(entry)
            scorer.score(SHORT, "")
            scorer.score(long, long)
    except ModelError as error:
        return str(error)
    return None
