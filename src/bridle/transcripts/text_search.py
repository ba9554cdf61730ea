"""Finds words in what was said in conversations: prompts and answers, not the output of tools."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bridle.transcripts.conversation import blocks_of
from bridle.transcripts.line import decode_line
from bridle.transcripts.listing import SessionInfo, locate, transcript_paths

SHORTEST_QUERY = 3
"""Fewer letters are in almost every conversation."""
_MOST_OF_ONE = 16 * 1024 * 1024
"""Of a longer file only the end is read."""
_MOST_BYTES = 256 * 1024 * 1024
_MOST_FOUND = 100
_BEFORE, _AROUND = 24, 120


def search_text(
    query: str,
    sessions: Iterable[SessionInfo],
    env: Mapping[str, str],
    *,
    is_over: Callable[[], bool] = lambda: False,
) -> dict[str, str]:
    """By session, the place that has all words of the query; it reads files, so use a thread.

    Conversations are read in the given order, until `is_over`, or much was read or found.
    """
    words = [word.casefold() for word in query.split()]
    found: dict[str, str] = {}
    if len("".join(words)) < SHORTEST_QUERY:
        return found
    left, paths = _MOST_BYTES, transcript_paths(env)
    for info in sessions:
        if is_over() or left <= 0 or len(found) >= _MOST_FOUND:
            break
        path = paths.get(info.session_id) or locate(info.session_id, env, info.cwd)
        data = b"" if path is None else _end_of(path)
        left -= len(data)
        if (place := _place(data, words, is_over)) is not None:
            found[info.session_id] = place
    return found


def _end_of(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _MOST_OF_ONE))
            return file.read(_MOST_OF_ONE)
    except OSError:
        return b""  # It was removed meanwhile.


def _place(data: bytes, words: list[str], is_over: Callable[[], bool]) -> str | None:
    """The newest passage with all words; only lines that can have them are decoded."""
    plain = [re.compile(re.escape(word.encode()), re.IGNORECASE) for word in words if _is_raw(word)]
    if any(each.search(data) is None for each in plain):
        return None
    for line in reversed(data.split(b"\n")):
        if is_over():
            return None
        if b'"user"' not in line and b'"assistant"' not in line:
            continue
        if all(each.search(line) for each in plain):
            for text in _said(decode_line(line) or {}):
                folded = text.casefold()
                if all(word in folded for word in words):
                    return _around(text, words[0])
    return None


def _is_raw(word: str) -> bool:
    """Whether the file has the word as it is, whatever the case of its letters."""
    return word.isascii() and '"' not in word and "\\" not in word


def _said(row: Mapping[str, Any]) -> Iterator[str]:
    """The texts of a prompt or an answer."""
    message = row.get("message")
    if row.get("type") not in ("user", "assistant") or row.get("isMeta") or not isinstance(message, dict):
        return
    content = message.get("content")
    if not isinstance(content, str | list):
        return
    for block in blocks_of(content):
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
            yield " ".join(block["text"].split())


def _around(text: str, word: str) -> str:
    """The words around a place, short enough for a row."""
    at = max(0, text.casefold().find(word))
    start = max(0, at - _BEFORE)
    if start:
        start = text.find(" ", start, at) + 1 or start
    end = start + _AROUND
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
