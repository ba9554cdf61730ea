"""Facts about a shell command from its text alone; when in doubt, none."""

import re
from collections.abc import Iterator

from msgspec import Struct

_WORD = r"""(?:[^\s'"\\`$|&;<>(){}]|\\.|'[^']*'|"(?:[^"\\`$]|\\.|\$(?!\())*"|\$(?!\()\{?\w*\}?)+"""
_TOKEN = re.compile(
    rf"""(?P<blank>[ \t]+|\\\n)
    |(?P<redirection>(?:\d*|&)(?:>>?\|?|<(?!<|\())(?:&(?:\d+|-)|[ \t]*{_WORD}))
    |(?P<separator>&&|\|\||\|&?|;(?!;)|&(?!>)|\n)
    |(?P<word>{_WORD})""",
    re.VERBOSE,
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_COMPOUND = re.compile(
    r"if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|time|coproc|!|\[\[|\]\]"
)
_SILENT = re.compile(
    r"mv|cp|rm|mkdir|rmdir|chmod|chown|chgrp|touch|ln|cd|export|unset|wait|echo|printf|true|false|:"
)
_NEUTRAL = re.compile(r"echo|printf|true|false|:")
_EXIT_ONE = {
    **dict.fromkeys(("grep", "rg", "egrep", "fgrep", "git grep"), "No matches found"),
    **dict.fromkeys(("diff", "git diff"), "The inputs differ"),
    **dict.fromkeys(("test", "["), "The condition is false"),
    "find": "Some paths could not be searched",
}


class Simple(Struct, frozen=True):
    """One simple command: its words as written, assignments and redirections left out."""

    words: tuple[str, ...]

    @property
    def program(self) -> str:
        """The name of what runs, for git with its subcommand."""
        name = unquote(self.words[0]).rpartition("/")[2] if self.words else ""
        return f"git {self.words[1]}" if name == "git" and len(self.words) > 1 else name


def simple_commands(command: str) -> tuple[Simple, ...] | None:
    """The simple commands of a list or pipeline; None for any other shape."""
    commands: list[Simple] = []
    words: list[str] = []
    for token in (*_tokens(command), ("separator", ";")):
        if token is None:
            return None
        kind, text = token
        if kind == "word":
            if words or not _ASSIGNMENT.match(text):
                words.append(text)
        elif kind == "separator" and words:
            if _COMPOUND.fullmatch(words[0]):
                return None
            commands.append(Simple(tuple(words)))
            words = []
    return tuple(commands)


def may_outlive_its_limit(command: str) -> bool:
    """Whether a command that timed out may continue in the background."""
    commands = simple_commands(command)
    if not commands:
        return False
    # A git in the background would keep its locks; a sleep has no result.
    return not any(
        each.program.startswith("sleep") or any(_names_git(word) for word in each.words) for each in commands
    )


def meaning_of_one(command: str) -> str | None:
    """What exit code 1 says when it is an answer and not a failure."""
    commands = simple_commands(command)
    return _EXIT_ONE.get(commands[-1].program) if commands else None


def is_silent(command: str) -> bool:
    """Whether a command that works is expected to print nothing."""
    commands = simple_commands(command)
    programs = [each.program for each in commands or ()]
    return all(map(_SILENT.fullmatch, programs)) and not all(map(_NEUTRAL.fullmatch, programs))


def unquote(word: str) -> str:
    """A word without its quotation marks."""
    return re.sub(r"""'([^']*)'|"([^"]*)\"""", lambda match: match[1] or match[2] or "", word)


def _names_git(word: str) -> bool:
    return re.search(r"(?:^|[/\s\"'])git(?:$|[\s\"'])", word) is not None


def _tokens(command: str) -> Iterator[tuple[str, str] | None]:
    """Tokens with their kind, and a final None where the text stops making sense."""
    position = 0
    while position < len(command):
        match = _TOKEN.match(command, position)
        if match is None or match.lastgroup is None or _starts_comment(command, match):
            yield None
            return
        yield match.lastgroup, match[0]
        position = match.end()


def _starts_comment(command: str, match: re.Match[str]) -> bool:
    return match[0].startswith("#") and match.lastgroup == "word"
