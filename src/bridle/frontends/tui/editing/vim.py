"""Vim's way of editing the prompt: commands are read as text and carried out when they are complete."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from bridle.frontends.tui.editing import motions
from bridle.frontends.tui.editing.editor import Editor
from bridle.frontends.tui.editing.vim_motions import Search, move_to
from bridle.frontends.tui.editing.vim_objects import find_object
from bridle.frontends.tui.terminal.keys import Key

Mode = Literal["INSERT", "NORMAL", "VISUAL"]

_MOTION = r"gg|[hjklwbeWBE0^$;,G{}]|[fFtT]."
_COMMAND = re.compile(
    rf"(?P<count>[1-9]\d*)?"
    rf"(?:(?P<op>[dcy])(?P<count2>[1-9]\d*)?(?:(?P<target>{_MOTION})|(?P<object>[ia].)|(?P<line>(?P=op)))"
    rf"|(?P<shift>>>|<<)|(?P<motion>{_MOTION})|r(?P<char>.)|(?P<simple>[xXsSDCYpPuJiaIAoOvV~.]))",
    re.DOTALL,
)
_START = re.compile(r"(?:[1-9]\d*)?(?:[dcy](?:[1-9]\d*)?(?:g|[fFtTia])?|>|<|g|[fFtTr])?")
_SHORT = {"x": "dl", "X": "dh", "s": "cl", "S": "cc", "D": "d$", "C": "c$", "Y": "yy"}
_KEYS = {
    "left": "h",
    "right": "l",
    "up": "k",
    "down": "j",
    "backspace": "h",
    "home": "0",
    "end": "$",
    "delete": "x",
}
_INDENT = "  "
_MOST = 10_000


class _Register(NamedTuple):
    text: str
    is_lines: bool


class Vim:
    """Reads keys as vim does and edits with them; it starts inserting."""

    def __init__(self, editor: Editor, *, remaps: Mapping[str, str] | None = None) -> None:
        """`remaps` are two keys, such as `jj`, that leave insert mode."""
        self.editor = editor
        self.mode: Mode = "INSERT"
        self.anchor = 0
        """Where a selection began."""
        self._remaps = remaps or {}
        self._keys = ""
        self._register = _Register("", is_lines=False)
        self._search: Search | None = None
        self._repeat: tuple[str, str] | None = None
        """The last change: the command, and what was typed after it."""
        self._inserted = ""
        self._command = ""
        self._before_insert: int | None = None
        """How many changes could be undone before the command that began to insert."""

    @property
    def pending(self) -> str:
        """The keys of a command that is not complete."""
        return self._keys

    @property
    def selection(self) -> tuple[int, int] | None:
        """The part that is selected in visual mode."""
        if self.mode != "VISUAL":
            return None
        low, high = sorted((self.anchor, self.editor.cursor))
        return low, motions.right(self.editor.text, high)

    def press(self, key: Key) -> bool:
        """Do what the key means; False when it means nothing to vim and the usual rules apply."""
        if self.mode == "INSERT":
            return self._press_inserting(key)
        if key.name == "escape" or str(key) == "ctrl+[":
            self._keys, self.mode = "", "NORMAL"
            return True
        if str(key) == "ctrl+r" and self.mode == "NORMAL":
            return self.editor.redo()
        typed = key.text or _KEYS.get(str(key), "")
        if not typed:
            return False
        self._keys += typed
        changes = self.editor.changes
        self._try()
        self._began_insert(changes)
        return True

    def _press_inserting(self, key: Key) -> bool:
        if key.name == "escape" or str(key) == "ctrl+[":
            self._leave_insert()
            return True
        if not self.editor.press(key):
            return False
        self._inserted = self._inserted + key.text if key.text else self._inserted
        if key.text and self._remaps.get(self._inserted[-2:]) == "<Esc>":
            at = self.editor.cursor
            self.editor.delete(at - 2, at)
            self._inserted = self._inserted[:-2]
            self._leave_insert()
        return True

    def _began_insert(self, changes: int) -> None:
        """What is typed now is undone together with the command before it."""
        if self.mode == "INSERT":
            self._before_insert = changes

    def _leave_insert(self) -> None:
        self.mode = "NORMAL"
        if self._before_insert is not None:
            self.editor.join_changes(self._before_insert)
            self._before_insert = None
        if self._command:
            self._repeat = (self._command, self._inserted)
        self._command = self._inserted = ""
        text, at = self.editor.text, self.editor.cursor
        if at > motions.line_start(text, at):
            self.editor.move(motions.left(text, at))

    def _try(self) -> None:
        if self.mode == "VISUAL" and self._act_on_selection():
            return
        found = _COMMAND.fullmatch(self._keys)
        if found is not None:
            keys, self._keys = self._keys, ""
            self._do(found, keys)
            self._stay_on_text()
        elif not _START.fullmatch(self._keys):
            self._keys = ""

    def _act_on_selection(self) -> bool:
        """Carry out what acts on a selection; False when the keys are a motion."""
        selected = self.selection
        if selected is None or self._keys in ("i", "a"):
            return selected is not None
        if self._keys[0] in "ia":
            self._select(self._keys)
            return True
        if self._keys not in ("d", "x", "c", "s", "y", "v", "V", "~", ">", "<"):
            return False
        keys, self._keys, self.mode = self._keys, "", "NORMAL"
        start, end = selected
        match keys:
            case "v" | "V":
                pass
            case "~":
                self.editor.replace(start, end, self.editor.text[start:end].swapcase())
                self.editor.move(start)
            case ">" | "<":
                self._indent(start, end, keys)
            case _:
                op = {"x": "d", "s": "c"}.get(keys, keys)
                self._operate(op, start, end, is_lines=False)
        self._stay_on_text()
        return True

    def _select(self, keys: str) -> None:
        """Select an object, such as the word around the cursor."""
        self._keys = ""
        span = find_object(self.editor.text, self.editor.cursor, keys[1], around=keys[0] == "a")
        if span is not None and span[0] < span[1]:
            self.anchor = span[0]
            self.editor.move(motions.left(self.editor.text, span[1]))

    def _do(self, found: re.Match[str], keys: str) -> None:
        count = min(int(found["count"] or 1) * int(found["count2"] or 1), _MOST)
        has_count = found["count"] is not None or found["count2"] is not None
        if (simple := found["simple"]) is not None:
            self._simple(simple, count, keys)
        elif (motion := found["motion"]) is not None:
            self._move(motion, count, has_count=has_count)
        elif (char := found["char"]) is not None:
            self._replace_characters(char, count, keys)
        elif found["shift"] is not None:
            self._shift_lines(found["shift"][0], count, keys)
        else:
            self._operator(found, count, keys, has_count=has_count)

    def _move(self, motion: str, count: int, *, has_count: bool) -> None:
        if motion in "jk":
            for _ in range(count):
                if not self.editor.move_rows(1 if motion == "j" else -1):
                    break
            return
        target = move_to(self.editor, motion, count, has_count=has_count, search=self._search)
        if target is not None:
            self._search = target.search or self._search
            self.editor.move(target.at)

    def _operator(self, found: re.Match[str], count: int, keys: str, *, has_count: bool) -> None:
        op, text, at = found["op"], self.editor.text, self.editor.cursor
        if found["line"] is not None:
            start, end = self._lines(count)
            self._change_lines(op, start, end)
        elif (name := found["object"]) is not None:
            span = find_object(text, at, name[1], around=name[0] == "a")
            if span is None:
                return
            self._operate(op, *span, is_lines=False)
        else:
            motion = found["target"]
            if op == "c" and motion in "wW" and at < len(text) and not text[at].isspace():
                self._change_words(count, keys, big=motion == "W")
                return
            target = move_to(
                self.editor, motion, count, has_count=has_count, search=self._search, operating=True
            )
            if target is None:
                return
            self._search = target.search or self._search
            if target.is_lines:
                low, high = sorted((at, target.at))
                self._change_lines(op, motions.line_start(text, low), motions.line_end(text, high))
            else:
                low, high = sorted((at, target.at))
                self._operate(
                    op, low, motions.right(text, high) if target.inclusive else high, is_lines=False
                )
        if op != "y":
            self._note(keys)

    def _change_words(self, count: int, keys: str, *, big: bool) -> None:
        """Changing a word leaves the space behind it."""
        text, end = self.editor.text, self.editor.cursor
        for _ in range(count):
            end = motions.word_right(text, end, big=big)
        self._operate("c", self.editor.cursor, end, is_lines=False)
        self._note(keys)

    def _operate(self, op: str, start: int, end: int, *, is_lines: bool) -> None:
        self._register = _Register(self.editor.text[start:end], is_lines=is_lines)
        if op == "y":
            self.editor.move(start)
            return
        self.editor.delete(start, end)
        self.editor.move(start)
        if op == "c":
            self.mode = "INSERT"

    def _change_lines(self, op: str, start: int, end: int) -> None:
        text = self.editor.text
        self._register = _Register(text[start:end], is_lines=True)
        if op == "y":
            return
        if op == "c":
            self.editor.delete(start, end)
            self.mode = "INSERT"
            return
        if end < len(text):
            end += 1
        elif start > 0:
            start -= 1
        self.editor.delete(start, end)
        self.editor.move(motions.first_word(self.editor.text, min(start, len(self.editor.text))))

    def _simple(self, command: str, count: int, keys: str) -> None:
        if command in _SHORT:
            prefix = str(count) if count > 1 else ""
            found = _COMMAND.fullmatch(prefix + _SHORT[command])
            if found is not None:
                self._do(found, keys)
            return
        match command:
            case "u":
                for _ in range(count):
                    self.editor.undo()
            case ".":
                self._repeat_last(count)
            case "p" | "P":
                self._put(count, before=command == "P")
                self._note(keys)
            case "J":
                self._join(max(count - 1, 1))
                self._note(keys)
            case "~":
                self._swap_case(count)
                self._note(keys)
            case "v" | "V":
                self.mode, self.anchor = "VISUAL", self.editor.cursor
            case _:
                self._begin_insert(command)
                self._note(keys)

    def _begin_insert(self, command: str) -> None:
        text, at = self.editor.text, self.editor.cursor
        self.mode = "INSERT"
        match command:
            case "a":
                self.editor.move(motions.right(text, at) if at < motions.line_end(text, at) else at)
            case "I":
                self.editor.move(motions.first_word(text, at))
            case "A":
                self.editor.move(motions.line_end(text, at))
            case "o":
                self.editor.move(motions.line_end(text, at))
                self.editor.newline()
            case "O":
                start = motions.line_start(text, at)
                self.editor.replace(start, start, "\n")
                self.editor.move(start)
            case _:
                pass

    def _replace_characters(self, char: str, count: int, keys: str) -> None:
        text, at = self.editor.text, self.editor.cursor
        end = at
        for _ in range(count):
            if end >= motions.line_end(text, at):
                return
            end = motions.right(text, end)
        self.editor.replace(at, end, char * count)
        self.editor.move(at + len(char) * (count - 1))
        self._note(keys)

    def _swap_case(self, count: int) -> None:
        text, at = self.editor.text, self.editor.cursor
        end = min(at + count, motions.line_end(text, at))
        self.editor.replace(at, end, text[at:end].swapcase())

    def _join(self, count: int) -> None:
        for _ in range(count):
            end = motions.line_end(self.editor.text, self.editor.cursor)
            if end == len(self.editor.text):
                return
            start = motions.first_word(self.editor.text, end + 1)
            self.editor.replace(end, start, " ")
            self.editor.move(end)

    def _put(self, count: int, *, before: bool) -> None:
        text, at = self.editor.text, self.editor.cursor
        put = self._register.text
        if not put and not self._register.is_lines:
            return
        if self._register.is_lines:
            block = "\n".join([put] * count)
            start = motions.line_start(text, at) if before else motions.line_end(text, at)
            self.editor.replace(start, start, f"{block}\n" if before else f"\n{block}")
            self.editor.move(start if before else start + 1)
            return
        start = at if before or at == motions.line_end(text, at) else motions.right(text, at)
        self.editor.replace(start, start, put * count)
        self.editor.move(motions.left(self.editor.text, self.editor.cursor))

    def _shift_lines(self, direction: str, count: int, keys: str) -> None:
        start, end = self._lines(count)
        self._indent(start, end, direction)
        self._note(keys)

    def _indent(self, start: int, end: int, direction: str) -> None:
        start, end = motions.line_start(self.editor.text, start), motions.line_end(self.editor.text, end)
        lines = self.editor.text[start:end].split("\n")
        if direction == ">":
            changed = [_INDENT + line if line else line for line in lines]
        else:
            changed = [
                line.removeprefix(_INDENT) if line.startswith(_INDENT) else line.lstrip(" ") for line in lines
            ]
        self.editor.replace(start, end, "\n".join(changed))
        self.editor.move(motions.first_word(self.editor.text, start))

    def _lines(self, count: int) -> tuple[int, int]:
        """From the start of this line to the end of the last of so many."""
        text, at = self.editor.text, self.editor.cursor
        start, end = motions.line_start(text, at), motions.line_end(text, at)
        for _ in range(count - 1):
            if end < len(text):
                end = motions.line_end(text, end + 1)
        return start, end

    def _repeat_last(self, count: int) -> None:
        if self._repeat is None:
            return
        keys, inserted = self._repeat
        for _ in range(count):
            self._keys, changes = keys, self.editor.changes
            self._try()
            if self.mode == "INSERT":
                self._before_insert = changes
                for character in inserted:
                    self.editor.insert(character)
                self._inserted = inserted
                self._leave_insert()

    def _note(self, keys: str) -> None:
        """This command is what `.` repeats; what is typed now belongs to it."""
        if self.mode == "INSERT":
            self._command, self._inserted = keys, ""
        else:
            self._repeat = (keys, "")

    def _stay_on_text(self) -> None:
        """Outside insert mode the cursor is on a character, not behind the last one."""
        text, at = self.editor.text, self.editor.cursor
        if self.mode == "NORMAL" and at == motions.line_end(text, at) and at > motions.line_start(text, at):
            # Not a motion of its own: moving up and down keeps the intended column.
            self.editor.cursor = motions.left(text, at)
