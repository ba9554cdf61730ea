"""Problems that language servers find in files that a conversation has changed, each reported once."""

from typing import Any
from weakref import WeakKeyDictionary

_MOST_EACH = 10
_MOST = 30
_LONGEST = 300
_SEVERITIES = {1: "error", 2: "warning"}
_ERROR = 1


class Diagnostics:
    """Problems by conversation."""

    def __init__(self) -> None:
        self._touched: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()
        self._reported: WeakKeyDictionary[object, dict[str, set[str]]] = WeakKeyDictionary()
        self._found: dict[str, list[str]] = {}
        """What is wrong with each file by now, the worst first."""

    def touch(self, session: object, path: str) -> None:
        """A conversation has changed a file: what was known of it may be wrong by now."""
        self._touched.setdefault(session, set()).add(path)
        self._found.pop(path, None)

    def publish(self, path: str, found: list[Any]) -> None:
        """A server says what is wrong with a file; it may say that more than once."""
        rows = [row for each in found if (row := _row(each)) is not None]
        self._found[path] = [text for _, text in sorted(rows)]

    def news(self, session: object) -> str | None:
        """Problems that were not reported to this conversation yet."""
        reported = self._reported.setdefault(session, {})
        parts: list[str] = []
        room = _MOST
        for path in sorted(self._touched.get(session, ())):
            if path not in self._found:
                continue
            now = self._found[path]
            fresh = [text for text in now if text not in reported.get(path, ())]
            reported[path] = set(now)
            shown = fresh[: min(_MOST_EACH, room)]
            room -= len(shown)
            if shown:
                left = f"\n  ({len(fresh) - len(shown)} more)" if len(fresh) > len(shown) else ""
                parts.append(f"{path}:\n" + "\n".join(f"  {text}" for text in shown) + left)
        if not parts:
            return None
        return "Language servers report problems in changed files:\n" + "\n".join(parts)


def _row(diagnostic: Any) -> tuple[tuple[int, int], str] | None:
    match diagnostic:
        case {"message": str() as message, "range": {"start": {"line": int() as line}}}:
            pass
        case _:
            return None
    severity = diagnostic.get("severity", _ERROR)
    if severity not in _SEVERITIES:
        return None
    source = diagnostic.get("source")
    said_by = f" ({source})" if isinstance(source, str) else ""
    text = f"line {line + 1}: {_SEVERITIES[severity]}: {' '.join(message.split())[:_LONGEST]}{said_by}"
    return (severity, line), text
