"""Elements of a page: what is not marked as HTML is text, and text is always escaped."""

from collections.abc import Iterable
from html import escape

from bridle.host.plain_text import plain
from bridle.types.visible import visible

_EMPTY = frozenset({"br", "hr", "img"})
LONGEST_TEXT = 200_000
"""Characters of one text; what is longer is cut, with a note of how much is missing."""


class Html(str):
    """Markup that was made here."""

    __slots__ = ()


Child = str | Html | None


def el(name: str, *children: Child, **attributes: str | float | bool | None) -> Html:
    """An element; `class_` is its class, an underscore in a name a hyphen."""
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _EMPTY:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{join(children)}</{name}>")


def join(children: Iterable[Child]) -> Html:
    """Children one after the other, texts escaped."""
    return Html("".join(child if isinstance(child, Html) else text(child or "") for child in children))


def text(words: str) -> Html:
    """A text that no browser takes for markup and in which nothing stays unseen."""
    return Html(escape(shown(words)))


def shown(words: str) -> str:
    """A text without the colors of a terminal, with other control characters by name, and not too long."""
    kept = words[:LONGEST_TEXT]
    clean = visible(plain(kept.encode(errors="replace")))
    missing = len(words) - len(kept)
    return f"{clean}\n… {missing:,} more characters" if missing else clean


def _attribute(key: str, value: str | float | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    match value:
        case None | False:
            return ""
        case True:
            return f" {name}"
        case str():
            return f' {name}="{escape(shown(value))}"'
        case _:
            return f' {name}="{value:g}"'
