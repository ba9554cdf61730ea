"""Cuts source code into colored pieces, one line after the other."""

import os.path
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol

_LONGEST_LINE = 2_000
"""Longer lines are not highlighted: patterns of lexers can be slow on them."""
_MOST_STEPS = 4 * _LONGEST_LINE
_BLOCK_COMMENTS = (("/*", "*/"), ("<!--", "-->"))
_COLORS = (
    ("Comment.Preproc", "code.decorator"),
    ("Comment", "code.comment"),
    ("Keyword.Type", "code.type"),
    ("Keyword.Constant", "code.constant"),
    ("Keyword", "code.keyword"),
    ("Operator.Word", "code.keyword"),
    ("Operator", "code.operator"),
    ("Punctuation", "code.punctuation"),
    ("Name.Function", "code.function"),
    ("Name.Decorator", "code.decorator"),
    ("Name.Builtin", "code.builtin"),
    ("Name.Class", "code.type"),
    ("Name.Exception", "code.type"),
    ("Name.Namespace", "code.type"),
    ("Name.Attribute", "code.attribute"),
    ("Name.Property", "code.property"),
    ("Name.Tag", "code.tag"),
    ("Name.Constant", "code.constant"),
    ("Name.Variable", "code.variable"),
    ("Literal.String.Escape", "code.escape"),
    ("Literal.String.Regex", "code.regex"),
    ("Literal.String", "code.string"),
    ("Literal.Number", "code.number"),
    ("Literal.Date", "code.number"),
    ("Generic.Deleted", "removed"),
    ("Generic.Inserted", "added"),
    ("Generic.Heading", "heading"),
    ("Generic.Subheading", "heading"),
    ("Generic.Prompt", "muted"),
    ("Generic.Output", "muted"),
)
_ALSO_CALLED = {
    "shell": "bash",
    "zsh": "bash",
    "jsonc": "json",
    "json5": "json",
    "vue": "html",
    "svelte": "html",
    "plaintext": "text",
}


class Lexer(Protocol):
    """The part of a Pygments lexer that is used here."""

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]: ...


Piece = tuple[str | None, str]
"""A color name and the text it covers."""


class LineLexer:
    """Reads code line by line and remembers what is open: what a line is never depends on later ones."""

    def __init__(self, lexer: Lexer | None) -> None:
        self._lexer = lexer
        self._rules: Any = None if lexer is None else _rules(lexer)
        self._comments = () if lexer is None else _comments(type(lexer))
        self._stack = ["root"]
        self._comment_end: str | None = None

    def pieces(self, line: str) -> list[Piece]:
        """The pieces of the next line, which comes without its line feed."""
        if self._lexer is None or len(line) > _LONGEST_LINE:
            return [(None, line)] if line else []
        pieces = self._pieces(line)
        # Colors are worth nothing when a lexer leaves text out.
        return pieces if "".join(text for _, text in pieces) == line else [(None, line)]

    @property
    def knows(self) -> bool:
        """Whether the language is known at all."""
        return self._lexer is not None

    def peek(self, line: str) -> list[Piece]:
        """The pieces of a line that is still being written."""
        stack, end = list(self._stack), self._comment_end
        pieces = self.pieces(line)
        self._stack, self._comment_end = stack, end
        return pieces

    def _pieces(self, line: str) -> list[Piece]:
        if self._comment_end is None:
            return self._code(line)
        comment, found, rest = line.partition(self._comment_end)
        if found:
            self._comment_end = None
        return _merged([("code.comment", comment + found), *(self._code(rest) if found else ())])

    def _code(self, line: str) -> list[Piece]:
        stack = list(self._stack)
        pieces: list[Piece] = []
        for position, kind, text in self._read(line + "\n"):
            color = None if kind is None else _color(kind)
            if (end := self._opened(line, position, color, text)) is not None:
                # What the lexer made of an opening without an end is worth nothing to later lines.
                self._comment_end, self._stack = end, stack
                pieces.append(("code.comment", line[position:]))
                break
            pieces.append((color, text.replace("\n", "")))
        return _merged(pieces)

    def _opened(self, line: str, position: int, color: str | None, text: str) -> str | None:
        """The end of a block comment that begins here and stays open: lexers know them only as a whole."""
        for start, end in self._comments:
            if line.startswith(start, position):
                is_whole = color == "code.comment" and text.rstrip("\n").endswith(end)
                is_text = color in ("code.string", "code.regex", "code.escape")
                return None if is_whole or is_text else end
        return None

    def _read(self, text: str) -> Iterator[tuple[int, Any, str]]:
        assert self._lexer is not None
        if self._rules is None:
            yield from self._lexer.get_tokens_unprocessed(text)
            return
        position = 0
        for _ in range(_MOST_STEPS):
            if position >= len(text):
                return
            match, action, change = _first_match(self._rules[self._stack[-1]], text, position)
            if match is None:
                if text[position] == "\n":
                    self._stack = ["root"]
                yield position, None, text[position]
                position += 1
                continue
            if isinstance(action, tuple):
                yield position, action, match.group()
            elif action is not None:
                yield from action(self._lexer, match)
            position = match.end()
            _change(self._stack, change)


def line_lexer(language: str = "", path: str = "") -> LineLexer:
    """Reads the language of that name, or the one that a file's name tells; never guesses from the code."""
    place = _language_place(language.lower()) if language else _file_place(os.path.basename(path))
    return LineLexer(_lexer(*place) if place else None)


def _first_match(rules: Sequence[Any], text: str, position: int) -> tuple[Any, Any, Any]:
    for match_at, action, change in rules:
        if (match := match_at(text, position)) is not None:
            return match, action, change
    return None, None, None


def _change(stack: list[str], change: Any) -> None:
    match change:
        case None:
            pass
        case int():
            del stack[max(1, len(stack) + change if change < 0 else 1) :]
        case "#push":
            stack.append(stack[-1])
        case _:
            for state in change:
                if state == "#push":
                    stack.append(stack[-1])
                elif state != "#pop":
                    stack.append(state)
                elif len(stack) > 1:
                    stack.pop()


@lru_cache(maxsize=512)
def _color(kind: Any) -> str | None:
    name = ".".join(kind)
    return next((color for prefix, color in _COLORS if name == prefix or name.startswith(prefix + ".")), None)


def _merged(pieces: list[Piece]) -> list[Piece]:
    merged: list[Piece] = []
    for color, text in pieces:
        if not text:
            continue
        if merged and merged[-1][0] == color:
            merged[-1] = (color, merged[-1][1] + text)
        else:
            merged.append((color, text))
    return merged


@lru_cache(maxsize=1)
def _languages() -> dict[str, tuple[str, str]]:
    from pygments.lexers._mapping import LEXERS

    found: dict[str, tuple[str, str]] = {}
    for name, (module, title, aliases, _, _) in LEXERS.items():
        for alias in (title.lower(), *aliases):
            found.setdefault(alias, (module, name))
    return found


@lru_cache(maxsize=1)
def _file_names() -> dict[str, tuple[str, str]]:
    """Lexers by the end of a file's name, or by the whole name."""
    from pygments.lexers._mapping import LEXERS

    found: dict[str, tuple[str, str]] = {}
    for name, (module, _, _, patterns, _) in LEXERS.items():
        for pattern in patterns:
            end = pattern.removeprefix("*")
            if not set("*?[") & set(end):
                found.setdefault(end.lower(), (module, name))
    # Several languages claim these.
    usual = {
        ".h": "c", ".md": "markdown", ".sql": "sql", ".ts": "typescript", ".tsx": "tsx", ".jsx": "jsx",
        ".m": "objective-c", ".pl": "perl", ".html": "html", ".xml": "xml", ".json": "json",
        ".py": "python", ".sh": "bash", ".php": "php", ".v": "verilog", ".txt": "text",
    }  # fmt: skip
    return found | {
        end: _languages()[language] for end, language in usual.items() if language in _languages()
    }


@lru_cache(maxsize=256)
def _language_place(language: str) -> tuple[str, str] | None:
    return _languages().get(_ALSO_CALLED.get(language, language)) or _file_names().get(f".{language}")


@lru_cache(maxsize=256)
def _file_place(name: str) -> tuple[str, str] | None:
    lowered = name.lower()
    ends = (lowered[at:] for at in range(len(lowered)) if at == 0 or lowered[at] == ".")
    return next((_file_names()[end] for end in ends if end in _file_names()), None)


@lru_cache(maxsize=64)
def _lexer(module: str, name: str) -> Lexer:
    from importlib import import_module

    return getattr(import_module(module), name)()


def _rules(lexer: Lexer) -> Any:
    """The table of a lexer that is nothing but a table; others read each line for itself."""
    from pygments.lexer import ExtendedRegexLexer, RegexLexer

    if not isinstance(lexer, RegexLexer) or isinstance(lexer, ExtendedRegexLexer):
        return None
    return getattr(lexer, "_tokens", None)


@lru_cache(maxsize=64)
def _comments(kind: type[Lexer]) -> tuple[tuple[str, str], ...]:
    """The block comments that a language has."""
    lexer = kind()
    return tuple(
        (start, end)
        for start, end in _BLOCK_COMMENTS
        if any(
            text.startswith(start) and _color(token) == "code.comment"
            for _, token, text in lexer.get_tokens_unprocessed(f"{start} x {end}\n")
        )
    )
