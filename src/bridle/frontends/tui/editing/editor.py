"""The prompt while it is being written: text, cursor, undo, cut and paste."""

from collections.abc import Callable
from typing import NamedTuple

from bridle.frontends.tui.editing import motions
from bridle.frontends.tui.editing.attachments import Attachment, Attachments
from bridle.frontends.tui.editing.wrapping import Layout, lay_out
from bridle.frontends.tui.style.sanitize import clean
from bridle.frontends.tui.terminal.keys import Key

MOST_CHARACTERS = 1_000_000
_MOST_PASTED = 10_000_000
"""A folded paste takes no space in the input."""
_MOST_UNDO = 300


class Draft(NamedTuple):
    """A prompt as it is sent."""

    text: str
    """With pasted texts in their places; images keep their placeholders."""
    shown: str
    """As it was seen."""
    attachments: dict[int, Attachment]


class _Snapshot(NamedTuple):
    text: str
    cursor: int


class Editor:
    """Several lines of text with a cursor that never stands inside a character."""

    def __init__(self, *, readline_words: bool = False) -> None:
        """`readline_words` lets ctrl+w cut back to a space, as shells do."""
        self.text = ""
        self.cursor = 0
        self.columns = 80
        """How wide the text is shown, for moving up and down; rendering sets it."""
        self.attachments = Attachments()
        self.kill_ring = KillRing()
        self.readline_words = readline_words
        self._undo: list[_Snapshot] = []
        self._redo: list[_Snapshot] = []
        self._last = ""
        """What the last change was: changes of one kind in a row are undone together."""
        self._goal: int | None = None
        self._yanked: tuple[int, int] | None = None
        self._stash: _Snapshot | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been written."""
        return not self.text

    @property
    def has_stash(self) -> bool:
        """Whether a draft is put aside."""
        return self._stash is not None

    def insert(self, text: str) -> None:
        """Type text at the cursor; what does not fit is left out."""
        text = text[: MOST_CHARACTERS - len(self.text)]
        if text:
            joins = "typing" if len(text) == 1 and not text.isspace() else ""
            self._change(joins)
            self._replace(self.cursor, self.cursor, text)

    def paste(self, text: str) -> None:
        """Put pasted text at the cursor, as a placeholder when it is long; control characters are dropped."""
        self._change("")
        folded = self.attachments.fold(clean(text[:_MOST_PASTED], tab=4))
        self._replace(self.cursor, self.cursor, folded[: MOST_CHARACTERS - len(self.text)])

    def add_image(self, media_type: str, data: bytes) -> None:
        """Attach an image at the cursor."""
        self._change("")
        self._replace(self.cursor, self.cursor, self.attachments.add_image(media_type, data) + " ")

    def newline(self) -> None:
        """Begin another line."""
        self.insert("\n")

    def enter(self) -> bool:
        """Whether enter sends the prompt: after a backslash it begins another line instead."""
        if self.text[: self.cursor].endswith("\\"):
            self._change("")
            self._replace(self.cursor - 1, self.cursor, "\n")
            return False
        return True

    def submit(self) -> Draft:
        """The prompt as it is sent; the editor is empty afterwards."""
        draft = Draft(self.attachments.expand(self.text), self.text, self.attachments.used(self.text))
        self.set("")
        self._undo.clear()
        self._redo.clear()
        return draft

    def set(self, text: str, *, cursor: int | None = None) -> None:
        """Have another text, with the cursor at its end; it can be undone."""
        self._change("")
        self.text = text[:MOST_CHARACTERS]
        self.cursor = motions.snap(self.text, len(self.text) if cursor is None else cursor)

    def replace(self, start: int, end: int, text: str) -> None:
        """Change a part, for completions; the cursor is behind it afterwards."""
        self._change("")
        self._replace(start, end, text)

    def delete(self, start: int, end: int, *, keep: bool = False) -> None:
        """Remove a part; `keep` lets it be put back with `yank`."""
        start, end = sorted((start, end))
        if start == end:
            return
        kind = "kill" if keep else "delete"
        joins = keep and self._last == "kill"
        before = end == self.cursor
        self._change(kind)
        if keep:
            self.kill_ring.add(self.text[start:end], joins=joins, before=before)
        self._replace(start, end, "")

    def yank(self) -> None:
        """Put back what was cut last."""
        self._put_back(self.cursor, self.kill_ring.newest())

    def yank_older(self) -> None:
        """Right after putting something back: put back what was cut before it instead."""
        if self._yanked is not None:
            start, end = self._yanked
            self.text = self.text[:start] + self.text[end:]
            self.cursor = start
            self._put_back(start, self.kill_ring.older())

    def undo(self) -> bool:
        """Take the last change back; False when there is none."""
        return self._restore(self._undo, self._redo)

    def redo(self) -> bool:
        """Redo the change that was undone; False when there is none."""
        return self._restore(self._redo, self._undo)

    @property
    def changes(self) -> int:
        """How many changes can be undone."""
        return len(self._undo)

    def join_changes(self, since: int) -> None:
        """Let what has changed since there were so many changes be undone at once."""
        del self._undo[since + 1 :]
        self._last = ""

    def stash(self) -> None:
        """Put the draft aside, or back when there is nothing else."""
        if self.text:
            self._stash = _Snapshot(self.text, self.cursor)
            self.set("")
        elif self._stash is not None:
            text, cursor = self._stash
            self._stash = None
            self.set(text, cursor=cursor)

    def move(self, to: int) -> None:
        """Put the cursor somewhere; inside a placeholder it goes to its nearer end."""
        to = motions.snap(self.text, to)
        if (around := self.attachments.placeholder_around(self.text, to)) is not None:
            start, end = around
            to = start if to < self.cursor else end
        self.cursor = to
        self._last, self._goal, self._yanked = "", None, None

    def move_rows(self, by: int) -> bool:
        """Move up or down by rows as they are shown; False, and no change, beyond the first and last."""
        layout = self.layout()
        row, column = layout.place(self.cursor)
        goal = column if self._goal is None else self._goal
        if not 0 <= row + by < len(layout.rows):
            return False
        self.move(layout.offset(row + by, goal))
        self._goal = goal
        return True

    def layout(self) -> Layout:
        """The text broken into rows of the width it is shown in."""
        return lay_out(self.text, self.columns)

    def press(self, key: Key) -> bool:
        """Edit as the key asks; False when it means nothing here."""
        if key.text:
            self.insert(key.text)
            return True
        if (edit := _EDITS.get(str(key))) is None:
            return False
        edit(self)
        return True

    def backspace(self) -> None:
        """Remove the character or placeholder before the cursor."""
        span = self.attachments.placeholder_at(self.text, self.cursor, before=True)
        self.delete(span[0] if span else motions.left(self.text, self.cursor), self.cursor)

    def delete_right(self) -> None:
        """Remove the character or placeholder after the cursor."""
        span = self.attachments.placeholder_at(self.text, self.cursor, before=False)
        self.delete(self.cursor, span[1] if span else motions.right(self.text, self.cursor))

    def kill_to(self, motion: Callable[[str, int], int]) -> None:
        """Cut from the cursor to where a motion leads."""
        self.delete(self.cursor, motion(self.text, self.cursor), keep=True)

    def _put_back(self, at: int, text: str) -> None:
        if text:
            self._change("")
            self._replace(at, at, text)
            self._yanked = (at, at + len(text))

    def _replace(self, start: int, end: int, text: str) -> None:
        self.text = self.text[:start] + text + self.text[end:]
        self.cursor = motions.snap(self.text, start + len(text))

    def _change(self, kind: str) -> None:
        """Save an undo step, unless the change continues the one before."""
        if not kind or kind != self._last:
            self._undo = [*self._undo[-_MOST_UNDO:], _Snapshot(self.text, self.cursor)]
        self._redo.clear()
        self._last, self._goal, self._yanked = kind, None, None

    def _restore(self, source: list[_Snapshot], other: list[_Snapshot]) -> bool:
        while source:
            snapshot = source.pop()
            if snapshot.text != self.text:
                other.append(_Snapshot(self.text, self.cursor))
                self.text, self.cursor = snapshot
                self._last, self._goal, self._yanked = "", None, None
                return True
        return False


def _word_back(editor: Editor) -> None:
    if editor.readline_words:
        editor.kill_to(lambda text, at: motions.word_left(text, at, big=True))
    else:
        editor.kill_to(motions.back_word)


def _kill_line(editor: Editor) -> None:
    end = motions.line_end(editor.text, editor.cursor)
    editor.delete(editor.cursor, end if end > editor.cursor else min(end + 1, len(editor.text)), keep=True)


def _kill_back(editor: Editor) -> None:
    start = motions.line_start(editor.text, editor.cursor)
    editor.delete(start if start < editor.cursor else max(start - 1, 0), editor.cursor, keep=True)


def _go(motion: Callable[[str, int], int]) -> Callable[[Editor], None]:
    return lambda editor: editor.move(motion(editor.text, editor.cursor))


def _by_rows(by: int) -> Callable[[Editor], None]:
    def move(editor: Editor) -> None:
        editor.move_rows(by)

    return move


def _start(_text: str, _at: int) -> int:
    return 0


def _end(text: str, _at: int) -> int:
    return len(text)


def _undo(editor: Editor) -> None:
    editor.undo()


def _redo(editor: Editor) -> None:
    editor.redo()


_BY_ACTION: tuple[tuple[str, Callable[[Editor], None]], ...] = (
    ("left ctrl+b", _go(motions.left)),
    ("right ctrl+f", _go(motions.right)),
    ("home ctrl+a", _go(motions.line_start)),
    ("end ctrl+e", _go(motions.line_end)),
    ("ctrl+home alt+<", _go(_start)),
    ("ctrl+end alt+>", _go(_end)),
    ("alt+b alt+left ctrl+left", _go(motions.back_word)),
    ("alt+f alt+right ctrl+right", _go(motions.forward_word)),
    ("alt+{ alt+up ctrl+up", _go(motions.paragraph_up)),
    ("alt+} alt+down ctrl+down", _go(motions.paragraph_down)),
    ("up ctrl+p", _by_rows(-1)),
    ("down ctrl+n", _by_rows(1)),
    ("backspace ctrl+h shift+backspace", Editor.backspace),
    ("delete ctrl+d", Editor.delete_right),
    ("ctrl+w", _word_back),
    ("alt+backspace ctrl+backspace", lambda editor: editor.kill_to(motions.back_word)),
    ("alt+d ctrl+delete alt+delete", lambda editor: editor.kill_to(motions.forward_word)),
    ("ctrl+k", _kill_line),
    ("ctrl+u", _kill_back),
    ("ctrl+y", Editor.yank),
    ("alt+y", Editor.yank_older),
    ("ctrl+_ ctrl+/ ctrl+shift+-", _undo),
    ("alt+_ alt+/ ctrl+shift+z", _redo),
    ("ctrl+j shift+enter alt+enter", Editor.newline),
)
_EDITS = {key: edit for keys, edit in _BY_ACTION for key in keys.split()}


_MOST = 60


class KillRing:
    """Texts that were cut, newest last; cuts in a row become one."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._at = 0

    def add(self, text: str, *, joins: bool = False, before: bool = False) -> None:
        """Keep a text; `joins` adds it to the newest one, at its start if it stood `before` it."""
        if not text:
            return
        if joins and self._texts:
            newest = self._texts.pop()
            text = text + newest if before else newest + text
        self._texts = [*self._texts, text][-_MOST:]
        self._at = len(self._texts) - 1

    def newest(self) -> str:
        """The text that was cut last; empty when there is none."""
        self._at = len(self._texts) - 1
        return self._texts[-1] if self._texts else ""

    def older(self) -> str:
        """The one before the text that was put back last; after the oldest comes the newest."""
        if not self._texts:
            return ""
        self._at = (self._at - 1) % len(self._texts)
        return self._texts[self._at]
