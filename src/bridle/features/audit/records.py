"""Records of a chain as lines: each carries the hash of the line before it and a MAC over itself.

A record is `{"i": …, "at": …, "kind": …, "data": …, "prev": …, "mac": …}`. The MAC covers the id of the
session and every byte of the line before `,"mac"`.
"""

import hashlib
import hmac
import os
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

FIRST = "0" * 64
"""What the first record has in place of a hash."""
_MAC = b',"mac":"'
_TAIL = len(_MAC) + 64 + 2
_HEAD_SIZE = 12 + 1 + 64 + 1 + 64 + 1


class Record(Struct, frozen=True, forbid_unknown_fields=True):
    """One line."""

    i: int
    at: str
    kind: str
    data: dict[str, Any]
    prev: str
    mac: str


class Head(Struct, frozen=True):
    """The last record that was written whole, kept beside the chain: it shows when the end is cut off."""

    index: int
    hash: str


_DECODER = msgspec.json.Decoder(Record)
_ENCODER = msgspec.json.Encoder()


class Key:
    """The secret of a user's chains. Who has it can write a chain that verifies."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._contents = hmac.digest(secret, b"bridle audit contents", "sha256")
        self.id = hashlib.sha256(b"bridle audit key" + secret).hexdigest()[:16]

    def sign(self, session: str, body: bytes) -> str:
        return hmac.digest(self._secret, session.encode() + b"\0" + body, "sha256").hex()

    def digest(self, content: bytes) -> str:
        """Stands for a content. It is keyed, so that no one finds short contents by trying them."""
        return hmac.digest(self._contents, content, "sha256").hex()

    def digest_of(self, value: object) -> str:
        """Stands for a value of JSON, whatever the order of its keys."""
        return self.digest(msgspec.json.encode(value, order="deterministic"))


def hash_of(line: bytes) -> str:
    """The hash of a line without its end."""
    return hashlib.sha256(line).hexdigest()


def write_record(
    key: Key, session: str, *, index: int, at: str, kind: str, data: Mapping[str, Any], prev: str
) -> bytes:
    """A line without its end."""
    body = _ENCODER.encode({"i": index, "at": at, "kind": kind, "data": data, "prev": prev})[:-1]
    return b'%b%b%b"}' % (body, _MAC, key.sign(session, body).encode())


def read_record(key: Key, session: str, line: bytes) -> Record | None:
    """The record of a line; None for one that the key has not signed."""
    body, tail = line[:-_TAIL], line[-_TAIL:]
    if not tail.startswith(_MAC) or not tail.endswith(b'"}'):
        return None
    if not hmac.compare_digest(key.sign(session, body).encode(), tail[len(_MAC) : -2]):
        return None
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def write_head(key: Key, session: str, index: int, line_hash: str) -> bytes:
    """Always of one size, so that one write replaces it whole."""
    body = f"{index:012d} {line_hash}".encode()
    return b"%b %b\n" % (body, key.sign(session, body).encode())


def read_head(key: Key, session: str, path: str) -> Head | None:
    """None where there is none.

    Raises:
        ValueError: it is damaged.
        OSError: it cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        data = os.read(descriptor, _HEAD_SIZE + 1)
    finally:
        os.close(descriptor)
    body, mac = data[:77], data[78:-1]
    if len(data) != _HEAD_SIZE or not hmac.compare_digest(key.sign(session, body).encode(), mac):
        raise ValueError("the head is damaged")
    return Head(int(body[:12]), body[13:].decode())
