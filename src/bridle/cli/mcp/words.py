"""Reads the words behind `bridle mcp <command>`."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from bridle.types.errors import UsageError

Kind = Literal["switch", "value", "many"]


class Words(Struct, frozen=True):
    """Options by name, and the words that belong to none."""

    options: Mapping[str, list[str]]
    words: tuple[str, ...]

    def text(self, name: str) -> str | None:
        given = self.options.get(name)
        return given[-1] if given else None

    def many(self, name: str) -> list[str]:
        return self.options.get(name, [])

    def on(self, name: str) -> bool:
        return name in self.options


def read_words(
    argv: Sequence[str],
    known: Mapping[str, tuple[str, Kind]],
    *,
    most: int | None = None,
    rest_after: int | None = None,
) -> Words:
    """Options and words; from word `rest_after` on everything is a word.

    Raises:
        UsageError: an option is unknown or lacks its value, or there are too many words.
    """
    options: dict[str, list[str]] = {}
    words: list[str] = []
    left = list(argv)
    while left:
        word = left.pop(0)
        if word == "--" or (rest_after is not None and len(words) >= rest_after):
            words += left if word == "--" else [word, *left]
            break
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        flag, equals, given = word.partition("=")
        if flag not in known:
            raise UsageError(f"unknown option '{flag}'; see bridle mcp --help")
        name, kind = known[flag]
        values = options.setdefault(name, [])
        if kind == "switch":
            continue
        if not equals:
            if not left:
                raise UsageError(f"option '{flag}' needs a value")
            given = left.pop(0)
        values.append(given)
        # `-e A=1 B=2` is one option with two values.
        while kind == "many" and name == "env" and left and _is_pair(left[0]):
            values.append(left.pop(0))
    if most is not None and len(words) > most:
        raise UsageError(f"too many words: {words[most]!r}; see bridle mcp --help")
    return Words(options, tuple(words))


def _is_pair(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()
