"""Keeps what was cut, for putting it back."""

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
