"""Reads `keybindings.json`, in which users change what keys do."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bridle.config.problems import Problem
from bridle.frontends.tui.keymap.defaults import ABOUT_CONTEXTS, ACTIONS, CONTEXTS, DEFAULTS, RESERVED
from bridle.frontends.tui.keymap.keymap import USUAL, Chord, Keymap, display, parse_chord
from bridle.host.files import read_bytes, write_new
from bridle.types.text import encodable, unmarked

_LARGEST = 1 << 20
_MOST_PROBLEMS = 20
_LONGEST_MESSAGE = 400
_ABOUT_FILE = [
    "Your keyboard shortcuts. bridle reads this file again whenever you save it.",
    "Change a key, or delete lines to keep the default. null removes a binding.",
    "Keys: ctrl+x, alt+p, shift+tab, f5, pageup. Pressed one after the other: ctrl+x ctrl+e.",
    "An action can also be a slash command: command:compact.",
    "All actions and contexts: bridle docs keybindings, or /docs keybindings.",
]


class KeymapFile:
    """The keys as the file has them; `refresh` reads it again when it has changed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._stamp: tuple[int, int] | None = None
        self.keymap: Keymap = USUAL
        self.problems: Sequence[Problem] = ()
        self.refresh()

    def refresh(self) -> bool:
        """Read the file if it is not the one that was read last; True when the keys may differ."""
        stamp = _stamp(self.path)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        self.keymap, self.problems = load_keymap(self.path)
        return True


def load_keymap(path: str) -> tuple[Keymap, Sequence[Problem]]:
    """The default keys with the changes from the file, which may be missing, and what is wrong with it."""
    try:
        text = unmarked(read_bytes(path, _LARGEST)).decode()
    except FileNotFoundError:
        return USUAL, ()
    except (OSError, UnicodeDecodeError) as error:
        return USUAL, (
            Problem(
                file=path,
                line=1,
                broken=True,
                message=f"the file cannot be read ({error}); fix or remove it.",
            ),
        )
    # Most have no such file.
    import json

    try:
        data = json.loads(text, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        broken = Problem(file=path, line=error.lineno, broken=True, message=f"not valid JSON: {error.msg}.")
        return USUAL, (broken,)
    except (ValueError, RecursionError):
        message = "a number is too large or the nesting too deep; fix or remove it."
        return USUAL, (Problem(file=path, line=1, broken=True, message=message),)
    return _Reading(path, text).read(data)


def create_keymap_file(path: str) -> None:
    """Write the template where there is no file yet.

    Raises:
        OSError: it cannot be written.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    try:
        write_new(path, template().encode(), mode=0o600)
    except FileExistsError:
        pass  # The user's own.


def template() -> str:
    """A file that binds every key to what it does anyway, with comments: a start for changes."""
    import json

    blocks = [
        {
            "//": ABOUT_CONTEXTS[context],
            "context": context,
            "bindings": {keys: action for keys, action in table.items() if keys not in RESERVED},
        }
        for context, table in DEFAULTS.items()
    ]
    return json.dumps({"//": _ABOUT_FILE, "bindings": blocks}, indent=2) + "\n"


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its keys as they were written, also those that are there twice."""

    def get(self, name: str) -> Any:
        return next((value for key, value in reversed(self) if key == name), None)


class _Reading:
    def __init__(self, path: str, text: str) -> None:
        self._path, self._text = path, text
        self._at = 0
        self._problems: list[Problem] = []
        self._unsaid = 0

    def read(self, data: object) -> tuple[Keymap, Sequence[Problem]]:
        blocks = data.get("bindings") if isinstance(data, _Pairs) else None
        if not isinstance(blocks, list) or isinstance(blocks, _Pairs):
            self._report('needs a list "bindings".')
            return USUAL, self._problems
        own: dict[str, dict[Chord, str | None]] = {context: {} for context in CONTEXTS}
        for block in blocks:
            self._read_block(block, own)
        # The user's own come first, and are the ones that hints name.
        tables = {
            context: {**own[context], **{chord: usual[chord] for chord in usual if chord not in own[context]}}
            for context, usual in USUAL.bindings.items()
        }
        for context, table in tables.items():
            self._check_chords(context, table)
        if self._unsaid:
            self._problems.append(Problem(file=self._path, message=f"{self._unsaid} more problems."))
        return Keymap(tables), self._problems

    def _read_block(self, block: object, tables: Mapping[str, dict[Chord, str | None]]) -> None:
        if not isinstance(block, _Pairs):
            self._report('each entry of "bindings" must be an object with "context" and "bindings".')
            return
        context, bindings = block.get("context"), block.get("bindings")
        self._find(str(context))
        if context not in CONTEXTS:
            self._report(f"unknown context {context!r}; use one of {', '.join(CONTEXTS)}.")
            return
        if not isinstance(bindings, _Pairs):
            self._report(f'the context {context} needs an object "bindings".')
            return
        seen: set[Chord] = set()
        for keys, action in bindings:
            self._find(keys)
            if (chord := self._read_binding(keys, action)) is None:
                continue
            if chord in seen:
                self._report(f"{keys!r} is bound twice in {context}; the last one counts.")
            seen.add(chord)
            tables[context][chord] = action

    def _read_binding(self, keys: str, action: object) -> Chord | None:
        try:
            chord = parse_chord(keys)
        except ValueError as error:
            self._report(f"{keys!r} cannot be bound: {error}.")
            return None
        for reserved in (key for key in chord if key in RESERVED):
            self._report(f"{reserved} cannot be bound: {RESERVED[reserved]}.")
            return None
        if action is None or (
            isinstance(action, str) and (action in ACTIONS or action.startswith("command:"))
        ):
            return chord
        self._report(f"unknown action {action!r}; bridle docs keybindings lists them.")
        return None

    def _check_chords(self, context: str, table: Mapping[Chord, str | None]) -> None:
        for chord in _hidden(table):
            self._find(" ".join(chord), anywhere=True)
            self._report(f"{display(chord)} has no effect in {context}: longer shortcuts start with it.")

    def _find(self, word: str, *, anywhere: bool = False) -> None:
        """Go to where this word stands next, for the line of the next report."""
        found = self._text.find(msgspec.json.encode(encodable(word)).decode(), 0 if anywhere else self._at)
        if found >= 0:
            self._at = found + 1

    def _report(self, message: str) -> None:
        if len(self._problems) >= _MOST_PROBLEMS:
            self._unsaid += 1
            return
        line = self._text.count("\n", 0, self._at) + 1
        self._problems.append(Problem(file=self._path, line=line, message=message[:_LONGEST_MESSAGE]))


def _hidden(table: Mapping[Chord, str | None]) -> Iterator[Chord]:
    starts = {chord[:size] for chord, action in table.items() if action for size in range(1, len(chord))}
    return (chord for chord, action in table.items() if action and chord in starts)


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
