"""Whether a command only reads."""

import os.path

from msgspec.structs import replace

from bridle.permissions.shell.programs.git_commands import git
from bridle.permissions.shell.programs.options import HarmlessUse, Verdict, look
from bridle.permissions.shell.programs.read_commands import PLAIN, VERSIONS
from bridle.permissions.shell.programs.service_commands import service_use
from bridle.permissions.shell.programs.small_languages import PROGRAMS, find, xargs_command
from bridle.permissions.shell.programs.wrappers import TRANSPARENT
from bridle.permissions.shell.syntax.simple_command import Places, Simple
from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.shell.values.directories import resolve
from bridle.permissions.shell.values.xargs_input import fed_by, find_roots
from bridle.permissions.word_lists import listed

TRUSTED = frozenset({"/bin", "/usr/bin"})
# Commands that talk to a daemon or the network (docker, kubectl, gh; npm and `pip list` look for updates) and
# build tools that may run what the project brings along (cargo, go) are read-only by a rule alone.
_READERS = listed("""
    cat head tail wc grep egrep fgrep rg ls stat file du md5sum sha1sum sha256sum cksum nl od strings jq sed
    tac cut hexdump basename dirname realpath readlink echo
""")
"""Programs that take what they are given for files and only look at them."""
# A name that no language of a program takes for anything but a file.
STAND_IN = Word("@", "@", dashless=True)
_LISTERS = {
    ("pip", "show"): HarmlessUse("fv", "files verbose disable-pip-version-check", "text", safe=False),
    ("pip", "freeze"): HarmlessUse(
        "l", "local user all exclude-editable exclude= disable-pip-version-check", "none", safe=False
    ),
    ("pip", "check"): HarmlessUse("", "disable-pip-version-check", "none", safe=False),
}

KNOWN = frozenset((*PLAIN, *PROGRAMS, *VERSIONS, *TRANSPARENT, "git", "pip", "pip3", "cd", "pushd", "export"))
"""Every first word of a command that may turn out to read only."""


def judge_command(
    words: tuple[Word, ...], *, here: str | None, places: Places, fed: tuple[Simple, ...] = ()
) -> Verdict:
    """Judge a command behind its wrappers; `here` is where it runs, if that is where everything started.

    `places` is where it may run, and `fed` are the commands whose output it reads."""
    if words[0].value in _READERS and any(word.listing for word in words):
        return _listed(words, here=here, places=places)
    name = program(words[0])
    if name is None:
        return Verdict(f"{words[0].raw} is not a known program")
    rest = words[1:]
    if len(rest) == 1 and rest[0].literal and rest[0].value in VERSIONS.get(name, ()):
        return Verdict(f"{name} prints its version", True)
    if name == "git":
        if here is None:
            return Verdict("git uses another configuration after a change of directory")
        return git(rest, here=here)
    if name == "find":
        return _find(rest, here, places)
    if name == "xargs" and fed:
        return _fed(rest, fed, here, places)
    if check := PROGRAMS.get(name):
        return check(rest)
    if use := PLAIN.get(name):
        return look(name, use, rest)
    if rest and (lister := _LISTERS.get((name.replace("pip3", "pip"), rest[0].value))):
        return look(f"{name} {rest[0].value}", lister, rest[1:])
    return service_use(name, rest) or Verdict(f"{name} isn't known to be read-only")


def _listed(words: tuple[Word, ...], *, here: str | None, places: Places) -> Verdict:
    """The verdict on a command that is given names of files which a substitution lists."""
    listings = [word.listing for word in words if word.listing is not None]
    if any(places != frozenset({each.place}) for each in listings):
        return Verdict("it is unclear which files it is given")
    verdict = _given_names(tuple(STAND_IN if word.listing else word for word in words), "", here, places)
    roots = dict.fromkeys(resolve(each.place, root) for each in listings for root in each.roots)
    return replace(verdict, lists=tuple(roots), exactly=False) if verdict.harmless else verdict


def _fed(words: tuple[Word, ...], fed: tuple[Simple, ...], here: str | None, places: Places) -> Verdict:
    """`xargs` behind commands that list files, before one that only reads whatever files it is given."""
    alone = PROGRAMS["xargs"](words)
    start = xargs_command(words)
    if alone.harmless or isinstance(start, Verdict):
        return alone
    names, (index, mark, nulls) = fed_by(fed), start
    rest = words[index:]
    if names is None or not rest or rest[0].value not in _READERS:
        return alone
    if mark and any(mark in word.value and word.value != mark for word in rest[1:]):
        return Verdict("xargs: it is unclear how it uses the names")
    verdict = _given_names(rest if mark else (*rest, STAND_IN), mark, here, places)
    return replace(verdict, lists=names.roots, exactly=names.nulls and nulls) if verdict.harmless else verdict


def _given_names(words: tuple[Word, ...], mark: str, here: str | None, places: Places) -> Verdict:
    """The verdict on a command that is given names of files, where it has the mark."""
    given = tuple(STAND_IN if mark and word.value == mark else word for word in words[1:])
    verdict = judge_command((words[0], *given), here=here, places=places)
    if not verdict.harmless:
        return verdict
    reads = tuple(word for word in verdict.reads if word is not STAND_IN)
    return Verdict(verdict.why, True, reads, programs=(words[0].value, *verdict.programs))


def _find(words: tuple[Word, ...], here: str | None, places: Places) -> Verdict:
    """`find`, also with `-exec` before commands that only read whatever files they are given."""
    commands: list[tuple[Word, ...]] = []
    verdict = find(words, commands)
    if not verdict.harmless or not commands:
        return verdict
    roots = find_roots(words)
    if roots is None:
        return Verdict("find: it is unclear which files -exec gets")
    reads, programs = verdict.reads, verdict.programs
    for command in commands:
        if not command or command[0].value not in _READERS:
            return Verdict(f"find -exec: {command[0].raw if command else 'it'} may do more than read")
        judged = _given_names(command, "{}", here, places)
        if not judged.harmless:
            return Verdict(f"find -exec: {judged.why}")
        reads, programs = (*reads, *judged.reads), (*programs, *judged.programs)
    return Verdict("find only reads", True, reads, verdict.here, programs, lists=roots, exactly=True)


def program(word: Word) -> str | None:
    """The name of a program that is found on the system's path; None for any other."""
    if not word.literal or not word.value:
        return None
    if "/" not in word.value:
        return word.value
    folder, name = os.path.split(word.value)
    return name if not folder or folder in TRUSTED else None
