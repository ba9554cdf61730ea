"""Which shell commands a rule covers, judged by the text alone.

Nothing here understands the shell. So an allow rule covers only a command without any shell syntax, and a
deny or ask rule covers a command if any piece of its text might be the one that the rule names.
"""

import os.path
import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from bridle.types.permission import Effect, Rule

_SYNTAX = re.compile(r"[;|&<>`$(){}\n\r\\]")
_OPERATOR = re.compile(r"[;|&<>`(){}\n\r]|\$\(")
_REDIRECTION = re.compile(r"(?<!\d)\d{0,4}(?:&?>>?\|?|<<?<?-?)&?\s*[^\s;|&()<>`$]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_HARMLESS = re.compile(
    r"""(?:(?:NODE_ENV|CI|LANG|LC_\w+|TZ|NO_COLOR|FORCE_COLOR)=[^\s'"]*
    | timeout\ \d+(?:\.\d+)?[smhd]? | time | nice(?:\ -n\ ?-?\d+)? | nohup | stdbuf(?:\ -[ioe]\S+)+
    | command | builtin | xargs)\ (?!-)""",
    re.VERBOSE,
)
_WRAPPERS = frozenset({
    "builtin", "busybox", "chroot", "command", "doas", "env", "eval", "exec", "flock", "ionice", "nice",
    "noglob", "nohup", "setsid", "stdbuf", "strace", "sudo", "time", "timeout", "unbuffer", "watch", "xargs",
})  # fmt: skip
_WRAPPERS_WITH_OPERAND = frozenset({"chroot", "flock", "timeout"})
_RESERVED = frozenset({"!", "if", "then", "elif", "else", "while", "until", "do", "in", "coproc", "function"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_QUOTING = re.compile(r"""['"\\]""")
_DURATION = re.compile(r"[+-]?\d+(?:\.\d+)?[smhd]?")
_FIND_EXECUTES = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_MOST_BEGINNINGS = 50
_FIND_ACTS = _FIND_EXECUTES | {"-delete", "-fprint", "-fprint0", "-fprintf", "-fls"}


class Command(Struct, frozen=True):
    """A command line taken apart once for all rules."""

    text: str
    plain: tuple[str, ...]
    """Spellings that an allow rule may cover; none when the text has any shell syntax."""
    pieces: tuple[str, ...]
    """Every text that might be a command in it, for deny and ask rules."""


def take_apart(text: str) -> Command:
    """Find what rules may look at in a command line."""
    joined = text.replace("\\\n", "")
    return Command(_one_blank(joined), tuple(_plain(text)), tuple(dict.fromkeys(_pieces(joined))))


def covers(rule: Rule, command: Command) -> bool:
    """Whether a rule with content covers the command."""
    pattern = rule.content or ""
    if rule.effect is Effect.ALLOW:
        return any(
            text_covers(pattern, text) and not _acts_through_find(pattern, text) for text in command.plain
        )
    if _OPERATOR.search(pattern):
        return fnmatchcase(command.text, f"*{_glob(_one_blank(pattern).removesuffix(':*'))}*")
    return any(text_covers(pattern, text) for text in command.pieces)


def text_covers(pattern: str, text: str) -> bool:
    """Match `exact`, `prefix:*`, `prefix *` and `a * b`; `text` has single blanks."""
    wanted = _one_blank(pattern)
    if wanted.endswith((":*", " *")):
        stem = _glob(wanted[:-2])
        return fnmatchcase(text, stem) or fnmatchcase(text, stem + " *")
    return fnmatchcase(text, _glob(wanted))


def _plain(text: str) -> Iterator[str]:
    if _SYNTAX.search(text) or not _balanced(text):
        return
    rest = _one_blank(text)
    yield rest
    while found := _HARMLESS.match(rest):
        rest = rest[found.end() :]
        yield rest


def _pieces(text: str, depth: int = 3) -> Iterator[str]:
    parts = (part for spelling in (text, _REDIRECTION.sub(" ", text)) for part in _OPERATOR.split(spelling))
    for part in dict.fromkeys(parts):
        words, unquoted = part.split(), _unquoted(part)
        yield from _commands_in(words)
        if unquoted != words:
            yield from _commands_in(unquoted)
        inner = _inner_script(unquoted)
        if inner is not None and depth:
            yield from _pieces(inner, depth - 1)


def _commands_in(words: list[str]) -> Iterator[str]:
    places = sorted(_beginnings(words))
    # However many wrappers there are, the first and the innermost command count.
    for place in places[:1] + places[1:][-_MOST_BEGINNINGS:]:
        rest = " ".join(words[place:])
        yield rest
        if "/" in words[place]:
            yield rest.replace(words[place], os.path.basename(words[place]), 1)


def _beginnings(words: list[str]) -> set[int]:
    """The places at which a command may begin: behind assignments, reserved words and wrappers."""
    seen: set[int] = set()
    waiting = [0]
    while waiting:
        place = waiting.pop()
        if place >= len(words) or place in seen:
            continue
        seen.add(place)
        name = os.path.basename(words[place])
        if _ASSIGNMENT.match(words[place]) or name in _RESERVED:
            waiting.append(place + 1)
        elif name in _WRAPPERS:
            waiting.extend(_behind_wrapper(words, place))
        elif name == "find":
            waiting.extend(index + 1 for index, word in enumerate(words) if word in _FIND_EXECUTES)
    return seen


def _behind_wrapper(words: list[str], place: int) -> Iterator[int]:
    operands = 1 if os.path.basename(words[place]) in _WRAPPERS_WITH_OPERAND else 0
    index = place + 1
    while index < len(words):
        word = words[index]
        if word.startswith("-") or _ASSIGNMENT.match(word) or _DURATION.fullmatch(word):
            index += 1
            continue
        yield index
        # The word may be the value of the option before it, and then the command comes after.
        if not words[index - 1].startswith("-"):
            if not operands:
                return
            operands -= 1
        index += 1


def _inner_script(words: list[str]) -> str | None:
    """The script in `sh -c SCRIPT`, behind whatever wraps it."""
    for place in _beginnings(words):
        if os.path.basename(words[place]) not in _SHELLS:
            continue
        for index in range(place + 1, len(words) - 1):
            if re.fullmatch(r"-[a-z]*c[a-z]*", words[index]):
                return " ".join(words[index + 1 :])
    return None


def _acts_through_find(pattern: str, text: str) -> bool:
    """A wildcard that names `find` was meant for searching, not for what it may do to each match."""
    words = _unquoted(text)
    finds = any(os.path.basename(word) == "find" for word in words)
    return "*" in pattern and finds and not _FIND_ACTS.isdisjoint(words)


def _unquoted(part: str) -> list[str]:
    if not _QUOTING.search(part):
        return part.split()
    try:
        return shlex.split(part)
    except ValueError:
        return _QUOTING.sub("", part).split()


def _balanced(text: str) -> bool:
    try:
        shlex.split(text)
    except ValueError:
        return False
    return True


def _glob(pattern: str) -> str:
    """A pattern for `fnmatch` in which only the star is special, unless a backslash stands before it."""
    return re.sub(r"\\\*|[?\[]", lambda found: f"[{found[0][-1]}]", pattern)


def _one_blank(text: str) -> str:
    # Other blanks of Unicode are letters to a shell.
    return re.sub(r"[ \t]+", " ", text).strip(" \t")
