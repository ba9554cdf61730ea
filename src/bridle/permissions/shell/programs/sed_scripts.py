"""Scripts of sed: those that only print, and those that run no command."""

import re

_BLANK = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"[\s;]*")
_COUNT = re.compile(r"\d+")
_LABEL = re.compile(r"[ \t]*[\w.-]*", re.ASCII)
_FLAGS = re.compile(r"[gpIi0-9]*")
_END = re.compile(r"[ \t]*(?=[;}\n#]|$)")
_ALONE = frozenset("pPdDnNhHgGxz=")
_TEXT = re.compile(r"(?:[^\\\n]|\\(?:.|\n|$))*", re.DOTALL)
"""What is added or put in: a line, and those behind it that a backslash joins."""
_LINE = re.compile(r"[^\n]*")
_WRITTEN = re.compile(r"[gpIiMm0-9]*w[^\n]*")


def only_prints(script: str) -> bool:
    """Whether a script can do no more than print and stop: no file, no command, nothing unknown."""
    return _is_known(script, files=False)


def runs_nothing(script: str) -> bool:
    """Whether a script starts no program, although it may read and write files."""
    return _is_known(script, files=True)


def _is_known(script: str, *, files: bool) -> bool:
    position, depth = 0, 0
    while True:
        position = _after(_BETWEEN, script, position)
        if position == len(script):
            return depth == 0
        letter = script[position]
        if letter == "}" and depth:
            depth, position = depth - 1, position + 1
            continue
        if letter == "#":
            position = (script.find("\n", position) + 1) or len(script)
            continue
        after = _addresses(script, position)
        if after is None or after == len(script):
            return False
        if script[after] == "{":
            depth, position = depth + 1, after + 1
            continue
        end = _command(script, after, files=files)
        if end is None:
            return False
        position = end


def _command(script: str, position: int, *, files: bool) -> int | None:
    """The end of one command that does no harm; with `files`, of one that uses files, too."""
    letter, after = script[position], position + 1
    if files and letter in "aicrRwWF":
        return _after(_TEXT if letter in "aic" else _LINE, script, after)
    if letter in _ALONE:
        return _closed(script, after)
    if letter in "qQlL":
        after = _after(_BLANK, script, after)
        found = _COUNT.match(script, after)
        return _closed(script, found.end() if found else after)
    if letter in "btT:":
        return _closed(script, _after(_LABEL, script, after))
    if letter in "sy":
        return _substitution(script, after, flags=letter == "s", files=files)
    return None


def _substitution(script: str, position: int, *, flags: bool, files: bool) -> int | None:
    delimiter = script[position : position + 1]
    if not delimiter or delimiter in "\\\n" or delimiter.isalnum() or delimiter.isspace():
        return None
    first = _delimited(script, position + 1, delimiter)
    second = None if first is None else _delimited(script, first, delimiter, brackets=False)
    if second is None:
        return None
    if flags and files and (found := _WRITTEN.match(script, second)):
        return found.end()
    return _closed(script, _after(_FLAGS, script, second) if flags else second)


def _delimited(script: str, position: int, delimiter: str, *, brackets: bool = True) -> int | None:
    """Behind the next delimiter; None where one sed and another would disagree on which that is."""
    bracket = False
    while position < len(script):
        letter = script[position]
        if letter == delimiter:
            return None if bracket else position + 1
        if letter == "\n":
            return None
        if letter == "\\":
            position += 1
            if script[position : position + 1] in ("", "\n"):
                return None
        elif letter == "[":
            bracket = brackets
        elif letter == "]":
            bracket = False
        position += 1
    return None


def _addresses(script: str, position: int) -> int | None:
    first = _address(script, position)
    if first is None:
        return None
    position = _after(_BLANK, script, first)
    if script[position : position + 1] == ",":
        position = _after(_BLANK, script, position + 1)
        if script[position : position + 1] in ("+", "~"):
            found = _COUNT.match(script, position + 1)
            second = found.end() if found else None
        else:
            second = _address(script, position)
            second = None if second == position else second
        if second is None:
            return None
        position = _after(_BLANK, script, second)
    while script[position : position + 1] == "!":
        position = _after(_BLANK, script, position + 1)
    return position


def _address(script: str, position: int) -> int | None:
    """Behind an address, or the same place when there is none; None for one that is not understood."""
    letter = script[position : position + 1]
    if letter == "$":
        return position + 1
    if found := _COUNT.match(script, position):
        step = script[found.end() : found.end() + 1]
        if step == "~":
            after = _COUNT.match(script, found.end() + 1)
            return after.end() if after else None
        return found.end()
    if letter not in ("/", "\\"):
        return position
    delimiter = letter
    if letter == "\\":
        delimiter, position = script[position + 1 : position + 2], position + 1
        if not delimiter or delimiter in "\\\n":
            return None
    end = _delimited(script, position + 1, delimiter)
    while end is not None and script[end : end + 1] in ("I", "M"):
        end += 1
    return end


def _closed(script: str, position: int) -> int | None:
    found = _END.match(script, position)
    return found.end() if found else None


def _after(pattern: re.Pattern[str], script: str, position: int) -> int:
    found = pattern.match(script, position)
    return found.end() if found else position
