"""Reads the command line."""

from collections.abc import Mapping, Sequence

from bridle.cli.flags import FLAGS, Flag
from bridle.types.errors import UsageError

Values = dict[str, str | bool | list[str]]


class Args:
    """Flags by name, and the words that belong to none."""

    __slots__ = ("values", "words")

    def __init__(self, values: Mapping[str, str | bool | list[str]], words: tuple[str, ...]) -> None:
        self.values = values
        self.words = words

    def on(self, key: str) -> bool:
        return self.values.get(key) is True

    def has(self, key: str) -> bool:
        return key in self.values

    def text(self, key: str) -> str | None:
        return value if isinstance(value := self.values.get(key), str) else None

    def many(self, key: str) -> list[str] | None:
        return value if isinstance(value := self.values.get(key), list) else None

    def whole(self, key: str, *, least: int = 1) -> int | None:
        """A whole number.

        Raises:
            UsageError: it is not one, or too small.
        """
        if (text := self.text(key)) is None:
            return None
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise UsageError(f"--{key} takes a whole number from {least} up, not {text!r}")
        return number

    def amount(self, key: str) -> float | None:
        """A positive sum of money.

        Raises:
            UsageError: it is not a positive number.
        """
        if (text := self.text(key)) is None:
            return None
        try:
            number = float(text)
        except ValueError:
            number = 0.0
        if not 0 < number < float("inf"):
            raise UsageError(f"--{key} takes a positive number, not {text!r}")
        return number


def parse(argv: Sequence[str]) -> Args:
    """Flags may be written `--flag value` or `--flag=value`; everything after `--` is a word.

    Raises:
        UsageError: a flag is unknown, lacks its value, or has one that it does not take.
    """
    known = {name: flag for flag in FLAGS for name in flag.names}
    values: Values = {}
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        name, equals, given = word.partition("=")
        flag = known.get(name)
        if flag is None:
            raise UsageError(f"unknown option '{name}'{_nearest(name, known)}")
        _store(values, flag, name, given if equals else None, rest)
    return Args(values, tuple(words))


def _store(values: Values, flag: Flag, name: str, given: str | None, rest: list[str]) -> None:
    if flag.status == "later":
        raise UsageError(f"option '{name}' is not part of this version of bridle")
    match flag.kind:
        case "switch":
            values[flag.key] = True
        case "value":
            if given is None and not rest:
                raise UsageError(f"option '{name}' needs a value: {name} <{flag.value or 'value'}>")
            values[flag.key] = _checked(flag, name, rest.pop(0) if given is None else given)
        case "each":
            if given is None and not rest:
                raise UsageError(f"option '{name}' needs a value: {name} <{flag.value or 'value'}>")
            earlier = values.get(flag.key)
            taken = rest.pop(0) if given is None else given
            values[flag.key] = [*(earlier if isinstance(earlier, list) else ()), taken]
        case "optional":
            # What follows a flag with a fixed choice of values is its value only if it is one of them.
            if given is None and rest and not rest[0].startswith("-") and _may_be(flag, rest[0]):
                given = rest.pop(0)
            values[flag.key] = True if given is None else _checked(flag, name, given)
        case "many":
            taken = [given] if given is not None else _take_words(rest)
            earlier = values.get(flag.key)
            values[flag.key] = [*(earlier if isinstance(earlier, list) else ()), *taken]


def _take_words(rest: list[str]) -> list[str]:
    taken: list[str] = []
    while rest and (not rest[0].startswith("-") or rest[0] == ""):
        taken.append(rest.pop(0))
    return taken


def _may_be(flag: Flag, value: str) -> bool:
    return not flag.choices or value in flag.choices


def _checked(flag: Flag, name: str, value: str) -> str:
    if flag.choices and value not in flag.choices:
        raise UsageError(f"option '{name}' takes one of {', '.join(flag.choices)}, not {value!r}")
    return value


def _nearest(name: str, known: Mapping[str, Flag]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1, cutoff=0.75)
    return f": did you mean '{close[0]}'?" if close else ""
