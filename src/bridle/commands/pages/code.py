"""Source code with colors, as HTML."""

from functools import lru_cache
from typing import Any

from bridle.commands.pages.html import Html, el, join, shown, text

_MOST_CHARACTERS = 60_000
"""Longer code is shown without colors: lexers are slow on it."""
_LONGEST_LINE = 2_000
_LONG = 30
"""Blocks with more lines than this scroll in themselves."""
_CLASSES = (
    ("Token.Comment", "hl-c"),
    ("Token.Keyword", "hl-k"),
    ("Token.Operator.Word", "hl-k"),
    ("Token.Literal.Number", "hl-m"),
    ("Token.Literal.String", "hl-s"),
    ("Token.Generic.Inserted", "hl-add"),
    ("Token.Generic.Deleted", "hl-del"),
    ("Token.Name.Function", "hl-n"),
    ("Token.Name.Class", "hl-n"),
    ("Token.Name.Decorator", "hl-n"),
    ("Token.Name.Builtin", "hl-n"),
    ("Token.Name.Tag", "hl-k"),
    ("Token.Name.Attribute", "hl-n"),
)


def code_block(code: str, language: str = "") -> Html:
    """A block of code; the language is a name such as `python`, or a file name."""
    code = code.strip("\n")
    is_long = code.count("\n") >= _LONG
    return el("pre", el("code", highlighted(code, language)), class_="long" if is_long else None)


def highlighted(code: str, language: str) -> Html:
    """The code with its pieces marked, where the language is known and the code is not too long for it."""
    longest = max(map(len, code.split("\n")), default=0)
    lexer = _lexer(language) if len(code) <= _MOST_CHARACTERS and longest <= _LONGEST_LINE else None
    if lexer is None:
        return text(code)
    pieces: list[Html] = []
    for kind, piece in lexer.get_tokens(shown(code)):
        name = _class_of(str(kind))
        pieces.append(el("span", piece, class_=name) if name else text(piece))
    return Html(join(pieces).rstrip("\n"))


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    if not (name := language.strip().lower()):
        return None
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        if "." in name:
            return get_lexer_for_filename(name, stripnl=False)
        return get_lexer_by_name(name, stripnl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _class_of(kind: str) -> str:
    return next((name for start, name in _CLASSES if kind.startswith(start)), "")
