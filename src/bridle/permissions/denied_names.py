"""Denied names where nothing is known to run them: the last line behind the rules that deny or ask.

`shell/denial.py` looks for every command that a line may run. What it has no table for may still run a word
that it is given, so a denied name in the words of such a program is asked about:

    deny Bash(curl:*)      odd-runner --with=curl x     asks: nothing is known of odd-runner
                           grep -rn curl src            fine: it only reads
                           git commit -m "use curl"     fine: a message
                           echo curl > x; sh x          asks: it may reach sh
"""

import re
import shlex
from collections.abc import Sequence
from functools import lru_cache

from bridle.permissions import patterns
from bridle.permissions.patterns import FOLDS_CASE
from bridle.permissions.word_lists import listed
from bridle.types.permission import Rule
from bridle.types.shell import Part, Reading

_QUOTES = re.compile(r"""[\\'"]""")
_BREAKS = re.compile(r"\\[nrt]")
_CONTINUED = re.compile(r"\\\n[ \t]*")
_BEFORE = r"(?:(?<![\w.-])|(?<=\s-[A-Za-z]))"
"""What stands before a name: an option of one letter may be joined with it."""
_BEHIND = r"(?:\.exe)?(?![\w/-]|\.\w)"
_KEEPS = re.compile(
    r"(?:[A-Za-z_]\w*\+?=|(?:set|read|printf|getopts|mapfile|readarray|declare|export|local)\s)"
)
"""Beginnings of commands that keep what they are given for later commands."""
_COPIERS = listed("cp ln mv install link rsync")
_PACKAGE = re.compile(r"[@\w./+-]+(?:[=<>~!]=?[\w.*+-]+)?")
_INSTALLS = listed("""
    install add remove uninstall rm i un update upgrade up show info search list ls view outdated why purge
    reinstall depends rdepends policy pin
""")
_SUBCOMMANDS = {
    **dict.fromkeys(
        listed("""
            apt apt-get aptitude brew dnf yum apk zypper snap port pip pip3 pipx npm pnpm yarn bun gem cargo
            conda mamba poetry pdm opam composer
        """),
        _INSTALLS,
    ),
    "git": listed("""
        add am branch checkout cherry-pick commit diff log merge mv notes reset restore revert rm show stash
        status switch tag blame
    """),
    "docker": listed("images inspect logs ps pull rm rmi stop tag"),
    "podman": listed("images inspect logs ps pull rm rmi stop tag"),
    "cargo": _INSTALLS | listed("test build check"),
    "go": listed("get test build vet"),
    "gh": listed("pr issue release search"),
    "glab": listed("mr issue release"),
    "hg": listed("commit add log"),
    "svn": listed("commit add log"),
}
"""Programs of which some subcommands take their operands for names, and run none of them."""
_KEEPERS_OF_TEXT = ("git ", "gh ", "glab ", "hg ", "svn ")
"""Programs whose listed subcommands run nothing of the text that they are given."""
_NAMES_ONLY = listed("pytest jest vitest make gmake mkdir touch brew man whatis apropos pgrep")
"""Programs that take every operand for a name."""
_TEXT_OPTIONS = listed("""
    -m -am -t -b -k --message --title --body --notes --subject --grep --author --comment --description --label
""")
"""Options whose value is text for people, or a pattern."""
_FLAGS = listed("""
    -y -g -D -S -U -E -O -q -v -f -r -s -a -u --yes --global --save-dev --save-exact --dev --upgrade --quiet
    --cask --force --no-cache --user --assume-yes --locked --verbose --stat --oneline --all
""")
"""Options without a value."""


class _Names:
    """The words of a rule, to be found in a text one behind the other."""

    def __init__(self, content: str) -> None:
        stem = patterns.one_blank(content).removesuffix(":*").removesuffix(" *")
        words = [word for word in stem.split(" ") if word.strip("*")]
        flags = re.IGNORECASE if FOLDS_CASE else 0
        self.pieces = tuple(piece.casefold() for word in words for piece in word.split("*")) or ("\0",)
        """What a text holds, in small letters, in which they stand."""
        self._words = [re.compile(_pattern(word), flags) for word in words]

    def stand_in(self, text: str) -> bool:
        """Whether the words stand in a text in their order, whatever is between them."""
        place = 0
        for word in self._words:
            found = word.search(text, place)
            if found is None:
                return False
            place = found.end()
        return bool(self._words)


def naming_rule(rules: Sequence[Rule], subject: str, reading: Reading) -> Rule | None:
    """The first of some rules, none of which covers the command, whose name stands where it may be run."""
    forms = (form for part in reading.parts for form in part.deny_forms[1:])
    glance = " ".join([subject, *forms])
    if _QUOTES.search(glance):
        glance = _QUOTES.sub("", _CONTINUED.sub("", glance))
    glance = glance.casefold()
    for rule in rules:
        names = _names(rule.content or "")
        first, *further = names.pieces
        if first in glance and all(piece in glance for piece in further) and _stand(names, subject, reading):
            return rule
    return None


def _stand(names: _Names, subject: str, reading: Reading) -> bool:
    """Whether the names stand where they may be run."""
    naming = [part for part in reading.parts if any(map(names.stand_in, _behind_program(part)))]
    if not naming and not any(map(names.stand_in, _plain(_around(subject, reading.parts)))):
        return False
    if not all(_is_quiet(part, names) for part in naming):
        return True
    # It is in a document or a list of words, or it is kept or passed on: fine where nothing can run it.
    reaches_others = not naming or any(map(_passes_on, naming))
    return reaches_others and not all(map(_runs_no_words, reading.parts))


def _around(subject: str, parts: Sequence[Part]) -> str:
    """What stands in a command line besides its parts: documents, lists of words, names of functions."""
    for part in parts:
        subject = subject.replace(part.text, " ")
    return subject


def _behind_program(part: Part) -> tuple[str, ...]:
    """The words of a part behind its program, in every spelling that is known."""
    spelled = dict.fromkeys((part.text, *part.deny_forms))
    behind = [text if _KEEPS.match(text) else text.partition(" ")[2] for text in spelled]
    return tuple(plain for text in behind if text for plain in _plain(f" {text}"))


def _plain(text: str) -> tuple[str, ...]:
    """A text without quotes and escapes; a backslash may hide a break, or make a broken line whole."""
    if _QUOTES.search(text) is None:
        return (text,)
    read = (text, _BREAKS.sub(" ", text), _CONTINUED.sub("", text))
    return tuple(dict.fromkeys(_QUOTES.sub("", each) for each in read))


def _passes_on(part: Part) -> bool:
    """Whether a name may reach later commands: in what is printed or kept, or as a copy of what has it."""
    return part.feeds or _KEEPS.match(part.text) is not None or not _COPIERS.isdisjoint(part.programs)


def _runs_no_words(part: Part) -> bool:
    """Whether the part runs nothing that reaches it, in words, on standard input or in files."""
    if part.harmless or part.file_command:
        return True
    return part.text.startswith(_KEEPERS_OF_TEXT) and _operands(part) is not None


def _is_quiet(part: Part, names: _Names) -> bool:
    """Whether the part takes a name in its words for a name, a text or a file."""
    if part.harmless or part.file_command:
        return True
    operands = _operands(part)
    return operands is not None and _are_names(operands, names)


def _operands(part: Part) -> list[str] | None:
    """The words of a program that takes them for names; None for any other."""
    try:
        program, *words = shlex.split(part.text) or [""]
    except ValueError:
        return None
    if program in _NAMES_ONLY:
        return words
    return words[1:] if words and words[0] in _SUBCOMMANDS.get(program, ()) else None


def _are_names(words: Sequence[str], names: _Names) -> bool:
    """Whether each word that holds the name is text for people, or a plain operand."""
    before = ""
    for word in words:
        if any(map(names.stand_in, _plain(f" {word}"))):
            option, equals, _ = word.partition("=")
            text = before in _TEXT_OPTIONS or (equals and option in _TEXT_OPTIONS)
            operand = _PACKAGE.fullmatch(word) and (not before.startswith("-") or before in _FLAGS)
            if not text and not (operand and not word.startswith("-")):
                return False
        before = word
    return True


@lru_cache(maxsize=256)
def _names(content: str) -> _Names:
    return _Names(content)


def _pattern(word: str) -> str:
    inner = r"[\w.-]*".join(map(re.escape, word.split("*")))
    if word.startswith("-"):
        return rf"(?<!\S){inner}"
    return _BEFORE + inner + _BEHIND
