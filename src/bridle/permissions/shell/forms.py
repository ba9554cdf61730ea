"""The texts that rules are held against for one simple command."""

import os.path
import re
from collections.abc import Iterator

from bridle.permissions.shell.simple import Simple
from bridle.permissions.shell.variables import is_harmless_as
from bridle.permissions.shell.words import Word
from bridle.permissions.shell.wrappers import MOST, behind, inner_commands

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^]]*\])?\+?=", re.ASCII)
_BLANKS = re.compile(r"[ \t]+")
_FIRST, _INNERMOST = 6, 20
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})


def allow_forms(simple: Simple) -> tuple[str, ...]:
    """What an allow rule may match: as written, then without harmless assignments and wrappers."""
    words = simple.words
    if not words:
        return (simple.text,)
    whole = [*(each.raw for each in simple.assignments), _text(words)] if _leads(simple) else [_text(words)]
    forms = [simple.text, " ".join(whole)]
    if _name_unknown(words[0]):
        return ()
    if all(_harmless(each.name, each.value) for each in simple.assignments) or not _leads(simple):
        forms.append(_text(words))
        for _ in range(MOST):
            if (inner := behind(words)) is None:
                break
            words = inner
            if _name_unknown(words[0]):
                return ()
            forms.append(_text(words))
    return tuple(dict.fromkeys(forms))


def deny_forms(simple: Simple, every: list[tuple[Word, ...]]) -> tuple[str, ...]:
    """What a deny or ask rule may match: every spelling of every command that it may run."""
    forms = [simple.text]
    for words in every:
        forms += _spellings(words)
    return tuple(dict.fromkeys(_squeezed(form) for form in forms if form))


def every_command(words: tuple[Word, ...]) -> list[tuple[Word, ...]]:
    """The command and all that may stand behind its wrappers, each once."""
    seen: set[int] = set()
    ends: dict[int, int] = {}
    waiting = [0]
    while waiting:
        start = waiting.pop()
        if start >= len(words) or start in seen:
            continue
        seen.add(start)
        if _ASSIGNMENT.match(words[start].raw):
            waiting.append(start + 1)
        found = dict(_found_commands(words, start))
        ends |= found
        waiting += [*inner_commands(words, start), *found]
    starts = sorted(seen)
    # However many wrappers there are, the first and the innermost commands count.
    if len(starts) > _FIRST + _INNERMOST:
        starts = starts[:_FIRST] + starts[-_INNERMOST:]
    return [words[start : _end(start, ends, len(words))] for start in starts]


def _found_commands(words: tuple[Word, ...], start: int) -> Iterator[tuple[int, int]]:
    """Where what `find` runs for each match begins and ends."""
    if os.path.basename(words[start].value) not in ("find", "fd", "fdfind"):
        return
    closing = len(words)
    for index in range(len(words) - 1, start, -1):
        if words[index].value in (";", "+"):
            closing = index
        elif words[index].value in _FIND_RUNS:
            yield index + 1, closing


def _end(start: int, ends: dict[int, int], length: int) -> int:
    return min((end for begin, end in ends.items() if begin <= start < end), default=length)


def _spellings(words: tuple[Word, ...]) -> Iterator[str]:
    values = [word.value for word in words]
    yield _text(words)
    yield " ".join(values)
    name = os.path.basename(values[0])
    if name and name != values[0]:
        yield " ".join([name, *(word.raw for word in words[1:])])
        yield " ".join([name, *values[1:]])


def _leads(simple: Simple) -> bool:
    return simple.kind == "command" and bool(simple.assignments)


def _harmless(name: str, value: Word) -> bool:
    return is_harmless_as(name, value.value) and value.inert


def _name_unknown(word: Word) -> bool:
    return not word.literal


def _text(words: tuple[Word, ...]) -> str:
    return " ".join(word.raw for word in words)


def _squeezed(text: str) -> str:
    return _BLANKS.sub(" ", text).strip(" \t")
