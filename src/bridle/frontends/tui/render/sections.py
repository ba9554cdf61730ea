"""Cuts Markdown that is still being written into sections that no later line can change."""

import re
from typing import Literal

from msgspec import Struct

_FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)$")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_ITEM = re.compile(r"( {0,3})([-+*]|\d{1,9}[.)])(?:([ \t]+)(.*))?$")
_QUOTE = re.compile(r" {0,3}>")
_DEEPEST = 100
"""Lists that begin on one line, one within the other; more are not looked into."""

Kind = Literal["text", "item", "code"]


class Section(Struct, frozen=True, kw_only=True):
    """Lines that can be parsed alone."""

    kind: Kind
    lines: tuple[str, ...]
    spaced: bool
    """Whether an empty line stands before it."""
    number: int | None = None
    """Which number an item of an ordered list has."""


class FenceOpened(Struct, frozen=True):
    """A code block begins; its lines follow one by one."""

    language: str
    spaced: bool


class FenceLine(Struct, frozen=True):
    text: str


class FenceClosed(Struct, frozen=True):
    pass


Part = Section | FenceOpened | FenceLine | FenceClosed


class _Fence(Struct, frozen=True):
    mark: str
    indent: int

    def is_closed_by(self, line: str) -> bool:
        text = line.strip(" \t")
        return (
            len(text) >= len(self.mark) and set(text) == {self.mark[0]} and _indent(line) <= self.indent + 3
        )


class Sections:
    """Takes whole lines one at a time, so that how the text arrived makes no difference."""

    def __init__(self) -> None:
        self.open_lines: list[str] = []
        """The lines of the section that may still grow."""
        self.open_number: int | None = None
        self.fence_open = False
        self._kind: Kind = "text"
        self._spaced = False
        """Whether an empty line stands before the open section."""
        self._blank = False
        """Whether the last line was empty."""
        self._fence: _Fence | None = None
        """The code block that is open, at the top or inside an item."""
        self._content = 0
        """How far the lines of an item are indented."""
        self._list: tuple[str, int] | None = None
        """The delimiter of the ordered list that the last section belongs to, and the number it had."""

    @property
    def spaced(self) -> bool:
        return self._spaced

    @property
    def blank(self) -> bool:
        """Whether the last line was empty."""
        return self._blank

    @property
    def kind(self) -> Kind:
        return self._kind

    def take(self, line: str) -> list[Part]:
        """What has become final with this line."""
        if self.fence_open:
            return [self._take_fenced(line)]
        if not line.strip(" \t"):
            return self._take_blank(line)
        parts: list[Part] = []
        if self.open_lines and self._begins_anew(line):
            parts += self.finish()
        if not self.open_lines:
            parts += self._begin(line)
        else:
            self._go_on(line)
        self._blank = False
        return parts

    def finish(self) -> list[Part]:
        """What was open, now that nothing follows."""
        if self.fence_open:
            self.fence_open, self._fence = False, None
            return [FenceClosed()]
        if not self.open_lines:
            return []
        section = Section(
            kind=self._kind, lines=tuple(self.open_lines), spaced=self._spaced, number=self.open_number
        )
        self.open_lines = []
        self._fence = None
        return [section]

    def _take_fenced(self, line: str) -> Part:
        assert self._fence is not None
        if self._fence.is_closed_by(line) and _indent(line) <= 3:
            self.fence_open, self._fence, self._blank = False, None, False
            return FenceClosed()
        lead = len(line) - len(line.lstrip(" "))
        return FenceLine(line[min(lead, self._fence.indent) :])

    def _take_blank(self, line: str) -> list[Part]:
        parts: list[Part] = []
        if self.open_lines:
            if self._kind == "text":
                parts += self.finish()
            else:
                self.open_lines.append(line)
        self._blank = True
        return parts

    def _begins_anew(self, line: str) -> bool:
        match self._kind:
            case "code":
                return _indent(line) < 4
            case "text" if _QUOTE.match(self.open_lines[-1]):
                return _interrupts(line) or bool(_ITEM.match(line) and not _RULE.match(line))
            case "text":
                return _interrupts(line)
            case "item":
                if _indent(line) >= self._content:
                    return False
                if self._fence is not None or self._blank:
                    return True
                return _interrupts(line) or bool(_ITEM.match(line) or _RULE.match(line) or _QUOTE.match(line))

    def _begin(self, line: str) -> list[Part]:
        self._spaced = self._blank
        self.open_number = None
        if fence := _FENCE.match(line):
            self._list = None
            self._fence = _Fence(fence[2], len(fence[1]))
            self.fence_open = True
            return [FenceOpened(_language(fence[3]), self._spaced)]
        self.open_lines = [line]
        if (item := _ITEM.match(line)) and not _RULE.match(line):
            self._begin_item(item)
            return []
        self._list = None
        self._kind = "text"
        if _HEADING.match(line):
            return self.finish()
        if _indent(line) >= 4:
            self._kind = "code"
        return []

    def _begin_item(self, item: re.Match[str]) -> None:
        indent, marker, gap, rest = item[1], item[2], item[3] or "", item[4] or ""
        self._kind = "item"
        width = len(gap.expandtabs(4))
        # An empty or deeply indented beginning does not set the indentation of what follows.
        self._content = len(indent) + len(marker) + (width if 1 <= width <= 4 and rest else 1)
        self._open_inner_fence(rest)
        if not marker[0].isdigit():
            self._list = None
            return
        number = int(marker[:-1])
        if self._list is not None and self._list[0] == marker[-1]:
            number = self._list[1] + 1
        self._list = (marker[-1], number)
        self.open_number = number

    def _go_on(self, line: str) -> None:
        self.open_lines.append(line)
        if self._kind == "item":
            if self._fence is None:
                self._open_inner_fence(line.lstrip(" \t"))
            elif self._fence.is_closed_by(line):
                self._fence = None

    def _open_inner_fence(self, text: str) -> None:
        for _ in range(_DEEPEST):
            if not (item := _ITEM.match(text)) or not item[4]:
                break
            text = item[4]
        if fence := _FENCE.match(text):
            # Inside an item the indentation is counted from the item, which may be nested.
            self._fence = _Fence(fence[2], 100)


def _interrupts(line: str) -> bool:
    """Whether a line ends the paragraph before it and can stand alone."""
    if _FENCE.match(line) or _HEADING.match(line):
        return True
    if (item := _ITEM.match(line)) and item[4] and not _RULE.match(line):
        return item[2] in ("-", "+", "*", "1.", "1)")
    return False


def _indent(line: str) -> int:
    lead = line[: len(line) - len(line.lstrip(" \t"))]
    return len(lead.expandtabs(4))


def _language(info: str) -> str:
    words = info.strip().split()
    return words[0].strip("{}").removeprefix(".") if words else ""
