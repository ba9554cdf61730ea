"""Reads the command line."""

from collections.abc import Callable, Iterable, Mapping, Sequence

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

    def refuse(name: str) -> UsageError:
        return UsageError(f"unknown option '{name}'{did_you_mean(name, known)}")

    known = {name: flag for flag in FLAGS for name in flag.names}
    values, words, behind = sort_words(argv, known, refuse)
    return Args(values, (*words, *(behind or ())))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The question whether a name like this one was meant."""
    # Only a wrong name needs it.
    from bridle.types.nearest import did_you_mean

    return did_you_mean(word, known)


def sort_words(
    argv: Sequence[str],
    known: Mapping[str, Flag],
    refuse: Callable[[str], UsageError],
    *,
    raw_after: int | None = None,
    strict: bool = False,
) -> tuple[Values, list[str], list[str] | None]:
    """The values of options, the words that belong to none, and the words behind `--`, if it is there.

    From word `raw_after` on everything is a word. `strict` refuses `--switch=value` and takes `-1` as a word.

    Raises:
        UsageError: an option is unknown, lacks its value, or has one that it does not take.
    """
    values: Values = {}
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return values, words, rest
        if raw_after is not None and len(words) >= raw_after:
            return values, [*words, word, *rest], None
        if not word.startswith("-") or word == "-" or (strict and word[1].isdecimal() and word not in known):
            words.append(word)
            continue
        name, equals, given = word.partition("=")
        flag = known.get(name)
        if flag is None:
            raise refuse(name)
        if strict and equals and flag.kind == "switch":
            raise UsageError(f"{name} takes no value: {word}")
        _store(values, flag, name, given if equals else None, rest)
    return values, words, None


def _store(values: Values, flag: Flag, name: str, given: str | None, rest: list[str]) -> None:
    if flag.status == "later":
        raise UsageError(f"option '{name}' is not part of this version of bridle")
    match flag.kind:
        case "switch":
            values[flag.key] = True
        case "value":
            values[flag.key] = _checked(flag, _value(flag, name, given, rest))
        case "each":
            _add(values, flag, [_checked(flag, _value(flag, name, given, rest))])
        case "pairs":
            _add(values, flag, [_value(flag, name, given, rest), *_take_pairs(rest)])
        case "optional":
            # What follows a flag with a fixed choice of values is its value only if it is one of them.
            if given is None and rest and not rest[0].startswith("-") and _may_be(flag, rest[0]):
                given = rest.pop(0)
            values[flag.key] = True if given is None else _checked(flag, given)
        case "many":
            _add(values, flag, [given] if given is not None else _take_words(rest))


def _value(flag: Flag, name: str, given: str | None, rest: list[str]) -> str:
    if given is None and not rest:
        raise UsageError(f"option '{name}' needs a value: {name} <{flag.value or 'value'}>")
    return rest.pop(0) if given is None else given


def _add(values: Values, flag: Flag, taken: list[str]) -> None:
    earlier = values.get(flag.key)
    values[flag.key] = [*(earlier if isinstance(earlier, list) else ()), *taken]


def _take_words(rest: list[str]) -> list[str]:
    taken: list[str] = []
    while rest and (not rest[0].startswith("-") or rest[0] == ""):
        taken.append(rest.pop(0))
    return taken


def _take_pairs(rest: list[str]) -> list[str]:
    """`-e A=1 B=2` is one option with two values."""
    taken: list[str] = []
    while rest and (pair := rest[0].partition("="))[1] and pair[0].isidentifier():
        taken.append(rest.pop(0))
    return taken


def _may_be(flag: Flag, value: str) -> bool:
    return not flag.choices or value in flag.choices


def _checked(flag: Flag, value: str) -> str:
    name = flag.names[-1]
    if flag.choices and value not in flag.choices:
        hint = did_you_mean(value, flag.choices)
        raise UsageError(f"{name} takes one of {', '.join(flag.choices)}, not {value!r}{hint}")
    if flag.number and not _is_number(flag, value):
        raise UsageError(f"{name} takes {_range(flag)}, not {value!r}")
    return value


def _is_number(flag: Flag, text: str) -> bool:
    digits = text.replace(".", "", 1) if flag.number == "decimal" else text
    if not (digits.isascii() and digits.isdecimal()):
        return False
    return 0 < float(text) <= flag.most and (flag.number == "decimal" or float(text) >= flag.least)


def _range(flag: Flag) -> str:
    if flag.number == "decimal":
        return f"a number above 0 and up to {flag.most}"
    return f"a whole number from {flag.least} to {flag.most}"
