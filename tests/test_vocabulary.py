"""The words of the code: the field's standard terms and plain modern English."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
REPLACED = {
    "talks": "sessions",
    "shelf": "shard",
    "shelves": "shards",
    "seal": "checksum",
    "seals": "checksums",
    "sealed": "checksummed",
    "veil": "redacted view",
    "veils": "redacted views",
    "veiled": "redacted",
    "ward": "child",
    "wards": "children",
    "fold": "deduplicate",
    "folds": "deduplicates",
    "folded": "deduplicated",
    "folding": "deduplication",
    "aside": "in the trash",
    "dear": "expensive",
    "dearer": "slower",
    "dearest": "slowest",
    "breathe": "yield",
    "mend": "fix or edit",
    "mends": "fixes or edits",
    "mended": "fixed or edited",
    "mending": "editing",
    "leafing": "browsing",
    "loopback": "localhost server",
    "residence": "heap trimming",
    "crowded": "contended",
    "crowding": "contention",
    "judgement": "feedback",
    "judgements": "feedback",
    "judging": "feedback",
    "sieve": "byte prefilter",
    "practise": "warm up",
    "rooms": "accessible spaces",
    "anew": "again",
    "amiss": "wrong",
    "seldom": "rarely",
    "whoever": "the person who",
    "hitherto": "so far",
    "thereby": "so",
    "albeit": "although",
    "amongst": "among",
    "forthwith": "at once",
    "heed": "attention",
    "hence": "so",
    "henceforth": "from now on",
    "herein": "here",
    "lest": "so that not",
    "nought": "nothing",
    "therein": "in it",
    "thereof": "of it",
    "unto": "to",
    "upon": "on",
    "whatsoever": "at all",
    "whence": "from where",
    "wherein": "in which",
    "whilst": "while",
    "whosoever": "anybody who",
}
"""What each word of an earlier vocabulary is called here."""
REPLACED_IN_PROSE = {
    "a talk": "a session",
    "turns of talk": "sessions",
    "edge ties": "edges",
    "the cast": "the entity linker",
    "is told": "is said, shown or recalled",
    "are told": "are said, shown or recalled",
    "was told": "was said",
    "being told": "by itself",
    "not told": "not said",
    "gives way": "yields",
    "give way": "yield",
    "came too late": "ranked below what was asked for",
    "nothing lies behind": "it is empty",
    "stand for them": "represent them",
    "set aside": "moved to the trash",
    "keeping watch": "integrity monitor",
    "taking care of": "maintenance of",
    "out of the way of": "yielding to",
}
"""What each phrase of it is called where people read: pages, guides, help and translations."""
OPENINGS = frozenset({"Give", "Hang", "Know", "Let", "Say", "Take", "Tell"})
"""First words of a docstring that hide what the function does."""
EARLIER_NAMES = ("# earlier format", "<!-- earlier name -->")
"""Ends a line with names that earlier versions have in files or code, in the words of then."""
HOUSEHOLD_TEXTS = (
    "family_recall/apps/demo/",
    "family_recall/recall/question/",
    "family_recall/english/times/",
    "tests/",
    "tools/",
)
"""Where strings hold what a family says, in a family's words."""

_WORD = re.compile(r"[A-Za-z]+")
_PHRASE = re.compile(rf"\b({'|'.join(REPLACED_IN_PROSE)})\b")
_OLD = re.compile(rf"\b({'|'.join(REPLACED)})\b", re.IGNORECASE)


def tracked(*suffixes: str) -> list[str]:
    """List the files that git tracks, by suffix."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    return [name for name in listed if name.endswith(suffixes) and (ROOT / name).is_file()]


def spoken(name: str, source: str) -> Iterator[tuple[int, str]]:
    """Yield the words of a Python file's names, comments and texts, with their lines."""
    docstrings = {
        node.body[0].lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and ast.get_docstring(node) is not None
    }
    strings_count = not name.startswith(HOUSEHOLD_TEXTS)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            words = re.sub(r"([a-z])([A-Z])", r"\1 \2", token.string).replace("_", " ")
            yield token.start[0], words
        elif token.type == tokenize.COMMENT or (
            token.type == tokenize.STRING and (strings_count or token.start[0] in docstrings)
        ):
            yield token.start[0], token.string


def old_words(name: str) -> list[str]:
    """Find the words of the earlier vocabulary in one file."""
    source = (ROOT / name).read_text(encoding="utf-8")
    rows = source.splitlines()
    lines = spoken(name, source) if name.endswith(".py") else enumerate(rows, 1)
    return [
        f"{name}:{line}: {word} (better: {REPLACED[word.lower()]})"
        for line, text in lines
        if not rows[line - 1].endswith(EARLIER_NAMES)
        for word in _OLD.findall(text)
    ]


def _prose(name: str) -> str:
    """Return a file's text in lower case on one line, so that no line break hides a phrase."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").lower().split())


def hidden_verbs(name: str) -> list[str]:
    """Find the docstrings of one file whose first word hides what is done."""
    source = (ROOT / name).read_text(encoding="utf-8")
    return [
        f"{name}:{getattr(node, 'lineno', 1)}: {text.splitlines()[0]}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and (text := ast.get_docstring(node))
        and text.split(maxsplit=1)[0] in OPENINGS
    ]


def test_no_file_uses_the_earlier_vocabulary() -> None:
    """Names, comments, docstrings, messages and pages use the field's words."""
    files = tracked(
        ".py", ".md", ".toml", ".jinja", ".html", ".css", ".yaml", "en.json", "cli_help.txt"
    )
    found = [
        word
        for name in files
        if "/cards" not in name and name != "tests/test_vocabulary.py"
        for word in old_words(name)
    ]

    assert not found, "\n".join(found)


def test_pages_and_help_use_no_earlier_phrase() -> None:
    """README, guides, the reference, the help of every command, and what Home Assistant shows."""
    read = [
        name
        for name in tracked(".md", ".json", ".yaml", "cli_help.txt")
        if name.startswith(("docs/", "custom_components/", "integrations/", "tests/snapshots/"))
        or "/" not in name
    ]
    found = [
        f"{name}: {phrase} (better: {REPLACED_IN_PROSE[phrase]})"
        for name in read
        if "/decisions/" not in name and name != "CHANGELOG.md"
        for phrase in _PHRASE.findall(_prose(name))
    ]

    assert {"README.md", "tests/snapshots/cli_help.txt"} <= {*read}
    assert not found, "\n".join(found)


def test_docstrings_begin_with_what_is_done() -> None:
    """A docstring begins with a verb that names the work: Return, Write, Delete."""
    found = [line for name in tracked(".py") for line in hidden_verbs(name)]

    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("def seal_of(row): ...", "seal"),
        ("x = 1  # kept aside", "aside"),
        ('"""Mends a file."""', "Mends"),
        ("class VeilTable: ...", "Veil"),
    ],
)
def test_a_word_is_found_wherever_it_hides(source: str, word: str) -> None:
    """Snake case, camel case, comments and docstrings are all searched."""
    texts = [text for _, text in spoken("family_recall/example.py", source + "\n")]

    assert any(word in _OLD.findall(text) for text in texts)
