"""New problems that an editor finds in files that a conversation has changed, each reported once."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from bridle.features.editors.selection import framed
from bridle.host.lsp.documents import path_of
from bridle.types.text import encodable

_MOST_EACH = 10
_MOST = 30
_MOST_FILES = 20
_LONGEST = 300
_SEVERITIES: Mapping[Any, str] = {"error": "error", "warning": "warning", 1: "error", 2: "warning"}
_LOOKS = (0.4, 1.0, 2.0, 4.0)
"""Seconds between the checks after a change, because linters need an unknown time."""

Ask = Callable[[str], Awaitable["Sequence[Problem] | None"]]
"""The problems of a file now; None when they are unknown."""


class Problem(Struct, frozen=True, kw_only=True):
    severity: str
    message: str
    line: int
    source: str = ""

    @property
    def kind(self) -> tuple[str, str, str]:
        """What stays the same when lines move."""
        return self.severity, self.message, self.source

    def __str__(self) -> str:
        by = f" ({self.source})" if self.source else ""
        return f"line {self.line}: {self.severity}: {self.message}{by}"


class Problems:
    """Compares files before and after they were changed, separately for each conversation."""

    def __init__(self, *, before: Ask, after: Ask, looks: Sequence[float] = _LOOKS) -> None:
        """`before` is called while a tool call waits, and `after` in the background."""
        self._ask_before, self._ask = before, after
        self._looks = looks
        self._before: dict[str, Counter[tuple[str, str, str]]] = {}
        self._fresh: WeakKeyDictionary[object, dict[str, list[Problem]]] = WeakKeyDictionary()
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._stirred: dict[str, asyncio.Event] = {}

    async def foresee(self, paths: Sequence[str]) -> None:
        """Note what is wrong with files that are about to be changed."""
        for path in paths[:_MOST_FILES]:
            if path in self._looking:
                continue  # The problems of the previous change are not reported yet.
            found = await self._ask_before(path)
            if found is None:
                self._before.pop(path, None)
            else:
                self._before[path] = Counter(each.kind for each in found)

    def touch(self, conversation: object, paths: Sequence[str]) -> None:
        """A conversation has changed files: look at them for a while."""
        for path in paths[:_MOST_FILES]:
            if path not in self._before:
                continue
            if (known := self._looking.pop(path, None)) is not None:
                known.cancel()
            self._stirred[path] = asyncio.Event()
            self._looking[path] = asyncio.create_task(self._look(conversation, path))

    def stir(self, params: Mapping[str, Any]) -> None:
        """The editor says that there is news about files."""
        uris = params.get("uris")
        for uri in uris[:1_000] if isinstance(uris, list) else ():
            path = path_of(uri) if isinstance(uri, str) else None
            if path is not None and path in self._stirred:
                self._stirred[path].set()

    def news(self, conversation: object) -> str | None:
        """Problems that were not reported to this conversation yet."""
        fresh = self._fresh.pop(conversation, None)
        if not fresh:
            return None
        parts: list[str] = []
        room = _MOST
        for path, found in sorted(fresh.items()):
            self._before.setdefault(path, Counter()).update(each.kind for each in found)
            shown = sorted(found, key=lambda each: (each.severity, each.line))[: min(_MOST_EACH, room)]
            room -= len(shown)
            left = f"\n  ({len(found) - len(shown)} more)" if len(found) > len(shown) else ""
            parts.append(f"{path}:" + "".join(f"\n  {each}" for each in shown) + left)
        return framed("The editor reports new problems in changed files:\n" + "\n".join(parts))

    async def close(self) -> None:
        looking = [*self._looking.values()]
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)

    async def _look(self, conversation: object, path: str) -> None:
        stirred = self._stirred[path]
        try:
            for pause in self._looks:
                try:
                    async with asyncio.timeout(pause):
                        await stirred.wait()
                except TimeoutError:
                    pass  # Not every editor says when there is news.
                stirred.clear()
                found = await self._ask(path)
                if found is not None:
                    self._note(conversation, path, found)
        finally:
            if self._looking.get(path) is asyncio.current_task():
                del self._looking[path], self._stirred[path]

    def _note(self, conversation: object, path: str, found: Sequence[Problem]) -> None:
        known = Counter(self._before.get(path, Counter()))
        fresh: list[Problem] = []
        for each in found:
            if known[each.kind]:
                known[each.kind] -= 1
            else:
                fresh.append(each)
        reports = self._fresh.setdefault(conversation, {})
        if fresh:
            reports[path] = fresh
        else:
            reports.pop(path, None)


def read_problems(texts: Sequence[str], path: str) -> list[Problem] | None:
    """The errors and warnings of a file in an editor's answer; None where it is none."""
    try:
        files = msgspec.json.decode(texts[0]) if texts else None
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(files, list):
        return None
    listed = [each for each in files if _is_about(each, path)]
    return [row for file in listed for each in file["diagnostics"][:1_000] if (row := _row(each)) is not None]


def _is_about(file: Any, path: str) -> bool:
    match file:
        case {"uri": str() as uri, "diagnostics": list()}:
            return uri == path or path_of(uri) == path
        case _:
            return False


def _row(diagnostic: Any) -> Problem | None:
    match diagnostic:
        case {"message": str() as message, "range": {"start": {"line": int() as line}}}:
            pass
        case _:
            return None
    severity, source = diagnostic.get("severity", 1), diagnostic.get("source")
    key = severity.lower() if isinstance(severity, str) else severity
    if not isinstance(key, str | int) or key not in _SEVERITIES:
        return None
    return Problem(
        severity=_SEVERITIES[key],
        message=encodable(" ".join(message.split())[:_LONGEST]),
        line=line + 1,
        source=encodable(source[:50]) if isinstance(source, str) else "",
    )
