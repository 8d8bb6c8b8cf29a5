"""Keys of encrypted files: a passphrase, or 32 random bytes.

SQLite3 Multiple Ciphers encrypts each page of the file and of its log with ChaCha20 and signs it
with Poly1305 (utelle.github.io/SQLite3MultipleCiphers).
"""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import TypeAlias

import apsw

from family_recall.errors import WrongKeyError
from family_recall.store.file.disk_files import first_bytes, journal_of, log_of

Secret: TypeAlias = str | bytes
"""A passphrase as text, or a key of exactly 32 random bytes."""

MAGIC = b"SQLite format 3\x00"
"""The first bytes of an unencrypted database."""

KEY_BYTES = 32
SALT_BYTES = 16  # a file's first bytes are its salt
MAX_KEY_FILE_BYTES = 4096
_ITERATIONS = 64_007  # what SQLite3 Multiple Ciphers asks of ChaCha20, so its tools open our files
_PAGE = 4096
_MANY_VALUES = 200  # 4096 random bytes have about 256 distinct values; plain pages have fewer


class Key:
    """The key of one file. A passphrase is stretched once per salt, not per connection."""

    def __init__(self, secret: Secret) -> None:
        """Check a secret.

        Raises:
            WrongKeyError: If it cannot be a key, or the installed apsw cannot encrypt.
        """
        if not hasattr(apsw, "mc_version"):
            raise WrongKeyError(
                "a key was given, and the installed apsw cannot encrypt: the package apsw was "
                "installed over apsw-sqlite3mc; pip uninstall apsw, then "
                "pip install --force-reinstall apsw-sqlite3mc"
            )
        if isinstance(secret, bytes) and len(secret) != KEY_BYTES:
            raise WrongKeyError(f"a key of bytes must have {KEY_BYTES}, got {len(secret)}")
        if not secret:
            raise WrongKeyError("a passphrase must say something, got an empty one")
        self._secret = secret
        self._raw: dict[bytes, str] = {}
        self._lock = threading.Lock()

    def unlock(self, connection: apsw.Connection, path: Path) -> None:
        """Use this key for a new connection; a wrong key fails at first use."""
        start = first_bytes(path, SALT_BYTES) if path.exists() else b""
        salt = start if len(start) == SALT_BYTES else os.urandom(SALT_BYTES)
        connection.pragma("key", self.pragma(salt))

    def pragma(self, salt: bytes) -> str:
        """Return the value for ``PRAGMA key`` and ``PRAGMA rekey``, for a file's salt."""
        if isinstance(self._secret, bytes):
            return f"raw:{self._secret.hex()}"
        with self._lock:
            if salt not in self._raw:
                stretched = hashlib.pbkdf2_hmac(
                    "sha256", self._secret.encode(), salt, _ITERATIONS, KEY_BYTES
                )
                self._raw[salt] = f"raw:{stretched.hex()}{salt.hex()}"
            return self._raw[salt]


def key_of(secret: Secret | Key | None) -> Key | None:
    """Return the key of a secret, or None."""
    return Key(secret) if isinstance(secret, str | bytes) else secret


def read_key_file(path: Path) -> Secret:
    """Read a key file: 32 random bytes, or 64 hexadecimal digits, or a passphrase on one line.

    Raises:
        WrongKeyError: If it cannot be read, is empty or too large, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_KEY_FILE_BYTES + 1)
    except OSError as error:
        raise WrongKeyError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    if len(content) > MAX_KEY_FILE_BYTES:
        raise WrongKeyError(
            f"{path}: expected a key of at most {MAX_KEY_FILE_BYTES:,} bytes, got more; "
            "is it the key file?"
        )
    if len(content) == KEY_BYTES and not (content.isascii() and content.decode().isprintable()):
        return content
    try:
        text = content.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise WrongKeyError(
            f"{path}: expected {KEY_BYTES} bytes or a line of UTF-8, got {len(content)} bytes of "
            "neither"
        ) from None
    if not text:
        raise WrongKeyError(f"{path}: expected a key, got an empty file")
    try:
        return bytes.fromhex(text) if len(text) == 2 * KEY_BYTES else text
    except ValueError:
        return text


def is_plain(path: Path) -> bool:
    """Return whether a file begins like an unencrypted SQLite database."""
    return first_bytes(path, _PAGE).startswith(MAGIC)


def looks_encrypted(path: Path) -> bool:
    """Return whether a file consists of whole pages and looks like random bytes.

    With a log or journal the last page may be incomplete, after a process was killed.
    """
    start = first_bytes(path, _PAGE)
    whole = path.stat().st_size % _PAGE == 0 or log_of(path).exists() or journal_of(path).exists()
    return whole and not start.startswith(MAGIC) and len(set(start)) >= _MANY_VALUES
