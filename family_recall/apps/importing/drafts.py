"""Shared by the readers: drafts of memories, keys, and the text of files."""

from __future__ import annotations

import codecs
import contextlib
import datetime as dt
import hashlib
import importlib
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from family_recall.apps.importing.limits import LIMITS, RAISE, Limits, OutOfTime, too_slow
from family_recall.errors import DatasetError
from family_recall.types.json_lines import open_regular

INVISIBLE = "\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff"
"""Characters that control the direction of a text, as part of a regular expression."""

_INVISIBLE = re.compile(f"[{INVISIBLE}]")


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory as a file has it.

    Args:
        key: Its id in the file, the same at every reading.
        where: File and line, for messages.
        text: The text of the memory.
        author_names: The author's names in the file, the display name first.
        fields: Other fields of the memory.
        relation: Subject, relation and object that the draft states.
    """

    key: str
    where: str
    text: str
    author_names: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    relation: tuple[str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of a file that is not stored, or not as it stands there.

    Args:
        where: File and line.
        reason: Its kind, in the plural.
        problem: What was expected and what was found, where the part is not understood; empty
            where it is passed over on purpose.
        key: The beginning of the keys that the part may have had when it was still understood:
            their memories stay. Empty where that is unknown, so that all of them stay.
        n: How many there are; ``where`` is the first.
    """

    where: str
    reason: str
    problem: str = ""
    key: str = ""
    n: int = 1

    @classmethod
    def because(cls, error: DatasetError, name: str, reason: str, key: str = "") -> LeftOut:
        """Return the part of a file that an error, which begins with its name, is about."""
        place = re.match(rf"{re.escape(name)}(?::\d+)?(?=: )", str(error))
        where = place[0] if place else name
        return cls(where, reason, str(error)[len(where) + 2 if place else 0 :], key)


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """Settings of a reader.

    Args:
        zone: The household's time zone.
        now: The current moment, with a zone.
        day_first: Whether 3/4/2026 is in April; None infers it from the file.
        columns: Headers of a table by field, several for the text, or its template; empty infers
            them.
        limits: What the file may cost to read.
        strict: Whether a part that is not understood refuses the whole file.
    """

    zone: dt.tzinfo
    now: dt.datetime
    day_first: bool | None = None
    columns: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    limits: Limits = LIMITS
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """The contents of a file.

    Args:
        drafts: The drafts in file order, with unique keys.
        left_out: The parts that are not stored.
        keeps: Whether the memory of a missing key stays, because the file does not reach so far
            back.
    """

    drafts: tuple[Draft, ...]
    left_out: tuple[LeftOut, ...] = ()
    keeps: Callable[[str], bool] = lambda _key: False

    @classmethod
    def of(
        cls,
        items: Iterable[Draft | LeftOut],
        settings: ReadSettings,
        keeps: Callable[[str], bool] = lambda _key: False,
    ) -> Reading:
        """Return a reading of the items that a reader yields, within the limits.

        Raises:
            DatasetError: For the first item beyond a limit; with ``strict``, for the first that
                is not understood.
        """
        items = tuple(_within_limits(items, settings.limits))
        for item in items if settings.strict else ():
            if isinstance(item, LeftOut) and item.problem:
                raise DatasetError(f"{item.where}: {item.problem}")
        drafts = tuple(item for item in items if isinstance(item, Draft))
        return cls(drafts, tuple(item for item in items if isinstance(item, LeftOut)), keeps)

    def missing(self, keys: Iterable[str]) -> list[str]:
        """Return the keys of an earlier reading that the file no longer has."""
        own = {draft.key for draft in self.drafts}
        unread = tuple(item.key for item in self.left_out if item.problem)
        return [
            key
            for key in keys
            if key not in own and not self.keeps(key) and not key.startswith(unread)
        ]


def _within_limits(items: Iterable[Draft | LeftOut], limits: Limits) -> Iterator[Draft | LeftOut]:
    """Yield items; raise for the first one beyond a limit."""
    where, n_chars = "", 0
    try:
        for n, item in enumerate(items, 1):
            where = item.where
            n_chars += len(item.text) + len(item.key) if isinstance(item, Draft) else 0
            if n > limits.items or n_chars > limits.megachars * 1e6:
                raise DatasetError(
                    f"{where}: expected at most {limits.items:,.0f} memories and omissions, of "
                    f"{limits.megachars:,.0f} million characters; split the file, or {RAISE}"
                )
            yield item
    except OutOfTime:
        if not where:
            raise
        raise too_slow(where) from None


class ContentKeys:
    """Keys made of contents, for drafts without an id; repeated contents are numbered."""

    def __init__(self) -> None:
        self._seen = Counter[str]()

    def key(self, *parts: str, prefix: str = "") -> str:
        """Return the key of some texts, the same at every reading of the file."""
        key = f"{prefix}{digest(*parts)}"
        self._seen[key] += 1
        n = self._seen[key]
        return key if n == 1 else f"{key} {n}"


def digest(*parts: str) -> str:
    """Return a digest of some texts as 16 hexadecimal digits."""
    sized = b"".join(
        len(raw).to_bytes(8, "big") + raw for raw in (p.encode("utf-8", "replace") for p in parts)
    )
    return hashlib.blake2b(sized, digest_size=8).hexdigest()


def distinct(words: Iterable[object]) -> tuple[str, ...]:
    """Return distinct words, stripped, without empty ones."""
    stripped = (visible(str(word)).strip() for word in words)
    return tuple(dict.fromkeys(word for word in stripped if word))


def visible(text: str) -> str:
    """Return a text without direction marks."""
    return _INVISIBLE.sub("", text)


_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def problem_of(text: str) -> str:
    """Return what is wrong with a text of :func:`decoded`; empty where nothing is."""
    match = _NO_TEXT.search(text)
    if match is None:
        return ""
    if match[0] == "\0":
        return "expected text, got the character 0; is it text?"
    return (
        f"expected UTF-8 or UTF-16, got byte 0x{ord(match[0]) & 0xFF:02x}; save the file as UTF-8"
    )


def whole_characters(line: str) -> str:
    """Return an unfolded line of :func:`decoded` with the characters that a fold had split."""
    with contextlib.suppress(UnicodeEncodeError):  # half a character of UTF-16
        line = line.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return line


_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def text_of(path: Path, limits: Limits = LIMITS) -> str:
    r"""Return the text of a file, with ``\n`` as line ends; see :func:`decoded`."""
    try:
        with open_regular(path) as file:
            content = file.read(limits.bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: of a path with a lone surrogate
        raise unreadable(path, error) from None
    return decoded(content, str(path), limits)


def zipped_text(path: Path, limits: Limits) -> tuple[str, str]:
    """Return the text of the chat in a zip archive, and its path with the archive's."""
    try:
        with open_regular(path) as zipped, zipfile.ZipFile(zipped) as archive:
            info = _chat_in(archive, path)
            name = f"{path}/{info.filename}"
            with archive.open(info) as file:
                return decoded(file.read(limits.bytes + 1), name, limits), name
    except DatasetError:
        raise
    except OSError as error:
        raise unreadable(path, error) from None
    except Exception as error:  # noqa: BLE001 -- zipfile lets through what its parts raise
        raise DatasetError(
            f"{path}: expected a zip archive that can be read, got: {error or type(error).__name__}"
        ) from None


def _chat_in(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    texts = [info for info in archive.infolist() if info.filename.endswith(".txt")]
    top = [info for info in texts if info.filename == "_chat.txt"] or texts
    if len(top) != 1:
        names = ", ".join(info.filename for info in texts[:5]) or "none"
        raise DatasetError(
            f"{path}: expected one chat (.txt) in the archive, got {names}; unpack it and import "
            "the one that you mean"
        )
    # The other methods unpack as much at once as the archive says.
    if top[0].compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise DatasetError(f"{path}: packed in an unusual way; unpack it, and import the chat")
    return top[0]


def decoded(content: bytes, name: str, limits: Limits = LIMITS) -> str:
    r"""Return the text of UTF-8 or UTF-16 bytes, with ``\n`` as line ends.

    Bytes that are none are lone surrogates, which :func:`problem_of` finds again.
    """
    if len(content) > limits.bytes:
        raise DatasetError(
            f"{name}: expected at most {limits.bytes:,} bytes, got more; split it, or {RAISE}"
        )
    encoding = next((e for mark, e in _BYTE_ORDER_MARKS if content.startswith(mark)), None)
    if encoding is None:
        # UTF-16 of western text without a mark has a zero in every other byte.
        even, odd = (content[i:4096:2].count(0) * 4 > min(len(content), 4096) for i in (0, 1))
        encoding = "utf-8" if even == odd else "utf-16-be" if even else "utf-16-le"
    if encoding.startswith("utf-8"):
        text = content.decode(encoding, "surrogateescape")
    else:
        half = content[len(content) & ~1 :]  # a last character that is cut
        text = content[: len(content) & ~1].decode(encoding, "surrogatepass")
        text += half.decode("ascii", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def unreadable(path: Path, error: OSError | ValueError) -> DatasetError:
    """Return the error for a file that cannot be opened or read."""
    why = error.strerror if isinstance(error, OSError) else error
    return DatasetError(f"{path}: cannot be read ({why}); check the path")


@contextlib.contextmanager
def readable(name: str, expected: str) -> Iterator[None]:
    """Turn any error of a library in the block into one that names the file."""
    try:
        yield
    except DatasetError:
        raise
    except Exception as error:  # noqa: BLE001 -- a parser of foreign files raises many kinds
        why = f"{type(error).__name__}: {str(error)[:120]}" if str(error) else type(error).__name__
        raise DatasetError(
            f"{name}: expected {expected} that can be read, got {why}; correct the file"
        ) from None


def library(name: str) -> Any:
    """Import a module of the extra ``import``; the error says how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise DatasetError(
            f"this format needs {error.name}, which is not installed; "
            "pip install 'family-recall[import]'"
        ) from None
