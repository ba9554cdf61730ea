"""Reads instruction files one by one, follows their imports, and keeps to the limits."""

import errno
import os

from msgspec.structs import replace

from bridle.context.globs import matches
from bridle.context.instruction_scope import (
    InstructionFile,
    Instructions,
    Kind,
    PathRule,
    Reason,
    Scope,
    is_inside,
)
from bridle.context.markdown import find_imports, split_rule, strip_comments
from bridle.host.files import read_bytes
from bridle.types.text import one_line, unmarked

_LARGEST = 4 * 1024 * 1024
_FILE_BYTES = 200_000
_TOTAL_BYTES = 400_000
_LEAST_BYTES = 1_000
"""Less room than this is not worth a piece of a file."""
_MOST_FILES = 500
_MOST_IMPORTS = 100
_MOST_PROBLEMS = 50
_HOPS = 4
_SENTENCE_ENDS = ".,;:!?)'\""


class InstructionReader:
    """What has been taken so far: each file once, in the order in which it was asked for."""

    def __init__(
        self,
        scope: Scope,
        *,
        reason: Reason,
        trigger: str | None = None,
        already: frozenset[str] = frozenset(),
    ) -> None:
        self._scope = scope
        self._reason: Reason = reason
        self._trigger = trigger
        self._seen = set(already)
        self._left = _TOTAL_BYTES
        self._files: list[InstructionFile] = []
        self._waiting: list[PathRule] = []
        self._problems: dict[str, None] = {}
        self._outside: dict[str, None] = {}

    def result(self) -> Instructions:
        return Instructions(
            files=tuple(self._files),
            problems=tuple(self._problems),
            waiting=tuple(self._waiting),
            seen=frozenset(self._seen),
            outside=tuple(self._outside),
        )

    def take(self, path: str, kind: Kind) -> None:
        """Add a file, if it is there, and what it imports."""
        if (text := self._open(path, kind)) is not None:
            self._add(self._found(path, kind, text), hops=0)

    def take_rule(self, path: str, kind: Kind, *, base: str) -> None:
        """Add a rule that counts everywhere; one with `paths` is kept waiting."""
        if (text := self._open(path, kind)) is None:
            return
        globs, body = split_rule(text)
        if not globs:
            self._add(self._found(path, kind, body), hops=0)
            return
        self._seen.discard(os.path.realpath(path))
        self._waiting.append(PathRule(path=path, kind=kind, base=base, globs=globs))

    def take_waiting(self, rule: PathRule) -> None:
        """Add a rule that covers the file that was read."""
        if (text := self._open(rule.path, rule.kind)) is None:
            return
        found = self._found(rule.path, rule.kind, split_rule(text)[1])
        self._add(replace(found, reason="path_glob_match", globs=rule.globs), hops=0)

    def take_text(self, name: str, kind: Kind, text: str) -> None:
        """Add instructions that stand in no file."""
        if text := self._fitting(name, text.strip()):
            self._files.append(self._found(name, kind, text))

    def report(self, problem: str) -> None:
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems[problem] = None

    def _found(self, path: str, kind: Kind, text: str) -> InstructionFile:
        return InstructionFile(path=path, kind=kind, text=text, reason=self._reason, trigger=self._trigger)

    def _open(self, path: str, kind: Kind) -> str | None:
        if not os.path.lexists(path):
            return None
        real = os.path.realpath(path)
        if real in self._seen or self._excluded(path, real, kind):
            return None
        self._seen.add(real)
        # Shared rules are often linked in; a link to a key or a password file is an attack.
        if not real.lower().endswith(".md") and not self._may_read(real, kind):
            self.report(f"{one_line(path)} is not read: it links to a file outside the project.")
            return None
        return self._text(path, real)

    def _add(self, file: InstructionFile, *, hops: int) -> None:
        text = strip_comments(file.text.replace("\0", "\ufffd")).strip()
        if text := self._fitting(file.path, text):
            self._files.append(replace(file, text=text))
            self._follow(file, text, hops=hops + 1)

    def _follow(self, file: InstructionFile, text: str, *, hops: int) -> None:
        for name in find_imports(text)[:_MOST_IMPORTS]:
            if (path := self._locate(name, os.path.dirname(file.path))) is None:
                continue
            real = os.path.realpath(path)
            if real in self._seen or self._excluded(path, real, file.kind):
                continue
            if not self._may_read(real, file.kind) and real not in self._scope.imports:
                self._outside[real] = None
                where = f"{one_line(file.path)} imports {one_line(path)}"
                self.report(
                    f"{where}, which is outside the project: copy it there, or agree when bridle asks at the "
                    "terminal."
                )
            elif hops > _HOPS:
                self.report(f"{one_line(path)} is not imported: it is more than {_HOPS} imports deep.")
            else:
                self._seen.add(real)
                self._import(file, path, self._text(path, real), hops=hops)

    def _import(self, file: InstructionFile, path: str, text: str | None, *, hops: int) -> None:
        if text is None:
            return
        if "\0" in text:
            self.report(f"{one_line(path)} is not imported: it is not a text file.")
            return
        imported = self._found(path, file.kind, text)
        self._add(replace(imported, reason="include", parent=file.path), hops=hops)

    def _locate(self, name: str, folder: str) -> str | None:
        spelled = name.partition("#")[0]
        for each in dict.fromkeys((spelled, spelled.rstrip(_SENTENCE_ENDS))):
            expanded = os.path.join(self._scope.home, each[2:]) if each.startswith("~/") else each
            path = os.path.normpath(os.path.join(folder, expanded))
            if each and os.path.isfile(path):
                return path
        return None

    def _may_read(self, real: str, kind: Kind) -> bool:
        if kind in ("Managed", "User"):
            return True
        return any(is_inside(real, root) for root in (self._scope.project, *self._scope.extra_dirs))

    def _excluded(self, path: str, real: str, kind: Kind) -> bool:
        if kind == "Managed":
            return False
        patterns = [self._absolute(pattern) for pattern in self._scope.excludes]
        return any(matches(pattern, each) for pattern in patterns for each in (path, real))

    def _absolute(self, pattern: str) -> str:
        if pattern.startswith("~/"):
            return os.path.join(self._scope.home, pattern[2:])
        return pattern if pattern.startswith("/") else f"**/{pattern}"

    def _text(self, path: str, real: str) -> str | None:
        try:
            data = read_bytes(real, _LARGEST)
        except IsADirectoryError:
            return None
        except OSError as error:
            reason = "larger than 4 MiB" if error.errno == errno.EFBIG else error.strerror
            self.report(f"{one_line(path)} is not read: {reason}.")
            return None
        return unmarked(data).decode("utf-8", "replace").replace("\r\n", "\n")

    def _fitting(self, path: str, text: str) -> str:
        """As much of a text as there is room for, with a notice when that is not all."""
        data = text.encode("utf-8", "replace")
        room = min(_FILE_BYTES, self._left)
        if len(self._files) >= _MOST_FILES or (len(data) > room and room < _LEAST_BYTES):
            limits = f"{_TOTAL_BYTES // 1000} KB and {_MOST_FILES} files"
            self.report(f"{one_line(path)} is skipped: instructions can have {limits} in total.")
            return ""
        self._left -= min(len(data), room)
        if len(data) <= room:
            return text
        self.report(f"{one_line(path)} is cut to its first {room // 1000} KB: shorten it.")
        notice = f"[The rest of this file, {len(data) - room} bytes, omitted; read it when you need it.]"
        return f"{data[:room].decode('utf-8', 'ignore')}\n\n{notice}"
