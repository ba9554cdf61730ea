"""Writes styled text with as few escape sequences as possible."""

from bridle.frontends.tui.style.cells import isolate
from bridle.frontends.tui.style.text import PLAIN, Line, Style
from bridle.frontends.tui.style.theme import Theme

_ON = (("bold", "1"), ("dim", "2"), ("italic", "3"), ("underline", "4"), ("inverse", "7"), ("strike", "9"))
_OFF = {"bold": "22", "dim": "22", "italic": "23", "underline": "24", "inverse": "27", "strike": "29"}
_MOST_REMEMBERED = 4096


class Painter:
    """Knows which style the terminal is in, and writes only what has to change."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self._style = PLAIN
        self._known: dict[tuple[Style, Style], str] = {}

    def paint(self, line: Line) -> str:
        """The line as bytes for the terminal; the last style stays on."""
        parts: list[str] = []
        # Terminals that reorder right-to-left text would move what stands beside it, such as a prompt.
        is_alone = len(line) < 2
        for span in line:
            if span.style != self._style:
                parts.append(self.switch(span.style))
            parts.append(span.text if is_alone else isolate(span.text))
        return "".join(parts)

    def switch(self, style: Style) -> str:
        """Change to another style."""
        before, self._style = self._style, style
        if before == style:
            return ""
        key = (before, style)
        if (found := self._known.get(key)) is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            found = self._known[key] = self._transition(before, style)
        return found

    def plain(self) -> str:
        """Change to the terminal's own style: needed before erasing, which paints the current background."""
        return self.switch(PLAIN)

    def _transition(self, before: Style, after: Style) -> str:
        link = ""
        if before.link != after.link and self.theme.links:
            link = f"\x1b]8;;{_address(after.link)}\x1b\\"
        fresh = self._all(after)
        if not fresh:
            codes = "" if not self._all(before) else "\x1b[m"
            return link + codes
        changed = self._changes(before, after)
        restarted = f"0;{fresh}"
        best = min(changed, restarted, key=len)
        return link + (f"\x1b[{best}m" if best else "")

    def _all(self, style: Style) -> str:
        """Every parameter that a style needs, from nothing."""
        codes = [value for name, value in _ON if getattr(style, name)]
        codes += filter(None, (self._color(style.color), self._background(style.background)))
        return ";".join(codes)

    def _changes(self, before: Style, after: Style) -> str:
        ended = {_OFF[name] for name, _ in _ON if getattr(before, name) and not getattr(after, name)}
        codes = sorted(ended)
        for name, value in _ON:
            # Bold and dim end together.
            lost = value in "12" and "22" in ended
            if getattr(after, name) and (lost or not getattr(before, name)):
                codes.append(value)
        if (color := self._color(after.color)) != self._color(before.color):
            codes.append(color or "39")
        if (background := self._background(after.background)) != self._background(before.background):
            codes.append(background or "49")
        return ";".join(codes)

    def _color(self, name: str | None) -> str:
        return "" if name is None else self.theme.color_code(name)

    def _background(self, name: str | None) -> str:
        return "" if name is None else self.theme.background_code(name)


def _address(link: str | None) -> str:
    """A link as it may stand in a sequence: nothing in it can end the sequence early."""
    return "" if link is None else "".join(c if " " < c < "\x7f" else _escaped(c) for c in link[:2048])


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "replace"))
