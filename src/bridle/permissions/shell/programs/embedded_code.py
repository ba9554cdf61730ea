"""Text that a program runs: scripts of shells, programs of interpreters, commands inside other languages."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from shlex import quote

from msgspec import Struct

from bridle.permissions.shell.programs.interpreters import LANGUAGES, Language
from bridle.permissions.shell.programs.makefiles import hides_what_runs, is_computed, recipes
from bridle.permissions.shell.programs.sed_scripts import runs_nothing
from bridle.permissions.shell.syntax.expansions import BEYOND, FULL, HOLE
from bridle.permissions.shell.syntax.simple_command import Redirection
from bridle.permissions.word_lists import listed

_SHELLS = listed("sh bash dash zsh ksh mksh ash fish rbash csh tcsh yash elvish nu oksh posh bash-static")
TEXT_VARIABLES = listed("""
    PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND GIT_SSH GIT_ASKPASS
    SSH_ASKPASS GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND LESSOPEN LESSCLOSE BROWSER PROMPT_COMMAND RSYNC_RSH
    CVS_RSH SVN_SSH SUDO_ASKPASS FCEDIT SYSTEMD_PAGER BAT_PAGER DELTA_PAGER PSQL_PAGER GH_PAGER AWS_PAGER
    GH_EDITOR KUBE_EDITOR SVN_EDITOR HGEDITOR FZF_DEFAULT_COMMAND SHELL CARGO_BUILD_RUSTC_WRAPPER
    RUSTC_WRAPPER RUSTC MAKESHELL npm_config_script_shell NPM_CONFIG_SCRIPT_SHELL PERL5DB BASH_ALIASES
    BASH_CMDS PS0 PS1 PS4
""")
"""Variables whose value is run as a command line."""
_SCRIPT_VARIABLES = listed("BASH_ENV ENV")
"""Variables that name a script which a shell reads first."""
OPTION_VARIABLES = {
    "MAKEFLAGS": "make", "GNUMAKEFLAGS": "make", "TAR_OPTIONS": "tar", "MANOPT": "man", "ZIPOPT": "zip",
}  # fmt: skip
"""Variables that hold options of a program."""
_OPTION_WORDS = (
    re.compile(r"(?:\\.|[^\s\\])+", re.DOTALL),
    re.compile(r"(?:\\.|[^ \t\\])+", re.DOTALL),
)
"""The two ways to take such a value apart: GNU make does not count the end of a line as a blank."""
_FILLED_IN = re.compile(rf"[$`{HOLE}{FULL}]")
_ESCAPED_LETTER = re.compile(r"\\(.)", re.DOTALL)
_GIT_SETTING = re.compile(r"GIT_CONFIG_VALUE_\d+|GIT_CONFIG_PARAMETERS")
"""Variables that hold settings of git, which may name programs."""
_SETTING_IN_QUOTES = re.compile(r"[^'=]*'?='?([^']*)'")
_GIT_PROGRAMS = re.compile(
    r"core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy|alternaterefscommand)|sequence\.editor"
    r"|diff\.external|interactive\.difffilter|pager\..+"
    r"|.+\.(?:command|cmd|textconv|driver|clean|smudge|process|program|helper|uploadpack|receivepack|tocmd|cccmd)",
    re.IGNORECASE,
)
"""Settings of git that are run as a command line."""
_GIT_KEYS = re.compile(
    r"alias\..+|core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy|alternaterefscommand)"
    r"|sequence\.editor|diff\.external|(?:diff|difftool|mergetool|merge|filter|gpg|credential|pager|browser|man|remote"
    r"|uploadpack|interactive|trailer|guitool|sendemail)\..+",
    re.IGNORECASE,
)
"""Settings of git that may name a program."""
_INFORMS = listed("--version --help -V -h -v --v8-options --rcfile -n --dump-strings")
_SHELL_VALUES = listed("-o -O +o +O --rcfile --init-file --debugger-script")
_CLUSTER = re.compile(r"[-+][A-Za-z]*c[A-Za-z]*")
_ANY_FILE = re.compile(r"[*?\[\x02]")
_FILE_KIND = re.compile(r"\.[a-z]\w*\Z", re.ASCII)
_STREAM = re.compile(r"[<>]\(|/dev/(?:stdin|fd/)|/proc/(?:self|thread-self|\d+)/fd/")
_STRING = re.compile(r"""'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|`((?:\\.|[^`\\])*)`""", re.DOTALL)
_BETWEEN_ARGUMENTS = re.compile(r"\s*,\s*")
_BETWEEN_PIECES = re.compile(r"\s*[+.]?\s*")
_MOST_STRINGS = 40
_ESCAPES = listed("""
    vi vim nvim view ex ed red less more most man psql mysql mariadb sqlite3 gdb lldb ftp sftp lftp
    gnuplot tig mutt bc dc
""")
_ESCAPE = re.compile(
    r"(?:^|[\s:+;|'\"])(?:\\?!|\.(?:sh\w*|sy\w*)\s|she(?:ll?)?\s|system\s|sh\s)(.+)", re.MULTILINE
)
_SSH_COMMAND = re.compile(
    r"(?:proxycommand|localcommand|knownhostscommand|remotecommand)[= ]\s*(.+)", re.IGNORECASE
)
_SED_RUNS = re.compile(r"(?<![A-Za-z\\])(?=e([^\n]*))")
"""Where a script that is not understood may have the command that runs others."""
_SED_FILE = re.compile(r"(?:-[nErsuzi]*f|--f[a-z]*=?)(.*)", re.DOTALL)
_SED_EXPRESSION = re.compile(r"-[A-Za-z]*e|--e[a-z]*")
_SED_RUNS_RESULT = re.compile(r"s([^\w\s\\])(?:\\.|(?!\1).)*\1(?:\\.|(?!\1).)*\1[gpIiMm0-9]*e", re.DOTALL)
_RUN_TEXT = listed("timeit pdb code profile cProfile trace bdb asyncio runpy")
"""Modules of Python that run what they are given, or read."""
_MODULE = re.compile(r"-[A-Za-z]*?m(.*)", re.DOTALL)
_SOCAT_RUNS = re.compile(r"(?:exec|system|shell):([^,]*)", re.IGNORECASE)
_APT_RUNS = re.compile(r"(?:invoke|dpkg|bin|solver|method)[\w:-]*=(.*)", re.IGNORECASE | re.DOTALL)
_TAR_VALUES = "bCfFgHIKLNTVX"
_PROGRAM_FILE = re.compile(r"(?:-f|--fi?l?e?=?)(.*)", re.DOTALL)
_CRON_TIME = re.compile(r"\s*(?:@\w+|(?:\S+\s+){4}\S+)\s+")


class EmbeddedCode(Struct):
    """What a program is given to run."""

    texts: list[str]
    """Command lines."""
    hints: list[str]
    """Text that may be a command line."""
    starts: list[int]
    """Words of its own at which a command begins."""
    unseen: str | None = None
    """Why it is unclear what it runs."""
    scripts: list[int] = []
    """Words of its own that name a script, which may be a program on the path of programs."""


def read_code(name: str, values: Sequence[str], redirections: Sequence[Redirection]) -> EmbeddedCode | None:
    """The text that a program is given to run; None for one that runs none."""
    reader = _READERS.get(name)
    if reader is not None:
        return reader(name, values, redirections)
    language = _language_of(name)
    if language is None:
        return None
    code = _interpreted(language, name, values, redirections)
    if name in _ESCAPES:
        code.texts += _escaped(values, redirections)
    return code


def assigned_texts(name: str, value: str) -> list[str]:
    """The command lines in the value of a variable that programs take for one."""
    if name in TEXT_VARIABLES:
        return [value.lstrip("|- ")] if value else []
    if name in _SCRIPT_VARIABLES:
        return [f". {value}"] if value else []
    if name in OPTION_VARIABLES:
        return _with_options(OPTION_VARIABLES[name], value)
    if name.startswith("BASH_FUNC_"):
        return [f"f{value}"]
    if not _GIT_SETTING.fullmatch(name):
        return []
    settings = (
        [value]
        if name != "GIT_CONFIG_PARAMETERS"
        else [each[1] for each in _SETTING_IN_QUOTES.finditer(value)]
    )
    return [each.removeprefix("!") for each in settings or [value]]


def unclear_options(name: str, value: str) -> str | None:
    """Why the options in a variable cannot be read: a shell or the program itself fills something in."""
    if name not in OPTION_VARIABLES or not _FILLED_IN.search(value):
        return None
    return f"it is unclear which options {name} contains"


def _with_options(program: str, value: str) -> list[str]:
    """Command lines with the options that a variable holds: a program takes them apart without a shell."""
    texts = [f"{program} {value}"]
    for separated in _OPTION_WORDS:
        words = [_ESCAPED_LETTER.sub(r"\1", word) for word in separated.findall(value.lstrip())]
        if words and program == "make" and not words[0].startswith("-") and "=" not in words[0]:
            words[0] = f"-{words[0]}"
        texts.append(" ".join([program, *map(quote, words)]))
    return list(dict.fromkeys(texts))


def runs_code(name: str) -> bool:
    """Whether a program may be given text to run."""
    return name in _READERS or _language_of(name) is not None


@lru_cache(maxsize=1024)
def _language_of(name: str) -> Language | None:
    return next((each for each in LANGUAGES if each.names.fullmatch(name)), None)


def _shell(name: str, values: Sequence[str], redirections: Sequence[Redirection]) -> EmbeddedCode:
    code = EmbeddedCode([], [], [])
    index = 0
    while index < len(values) and values[index].startswith(("-", "+")) and values[index] not in ("-", "--"):
        if _CLUSTER.fullmatch(values[index]):
            behind = list(values[index + 1 :])
            while behind and behind[0].startswith(("-", "+")):
                behind = behind[2 if behind[0] in _SHELL_VALUES else 1 :]
            code.texts += behind[:1]
            code.hints += behind[1:3]
            return code
        index += 2 if values[index] in _SHELL_VALUES else 1
    given = _given(redirections)
    code.texts += given
    # A script that is read from a file may be a program on the path of programs.
    code.hints += [
        each.target.value for each in redirections if each.operator == "<" and each.target is not None
    ]
    operands = [at for at in range(index, len(values)) if not values[at].startswith(("-", "+"))]
    if operands and "-s" not in values:
        code.scripts.append(operands[0])
        code.unseen = _unseen_file(name, values[operands[0]])
    elif not given and _INFORMS.isdisjoint(values) and not _from_file(redirections):
        code.unseen = f"it is unclear what {name} reads and runs"
    return code


def _source(name: str, values: Sequence[str], redirections: Sequence[Redirection]) -> EmbeddedCode:
    given = _given(redirections)
    scripts = [index for index, value in enumerate(values) if not value.startswith("-")][:1]
    unseen = None if given or not scripts else _unseen_file(name, values[scripts[0]])
    return EmbeddedCode(given, [], [], unseen, scripts)


def _alias(_name: str, values: Sequence[str], _redirections: Sequence[Redirection]) -> EmbeddedCode:
    return EmbeddedCode([value.partition("=")[2] for value in values if "=" in value], [], [])


def _enable(_name: str, values: Sequence[str], _redirections: Sequence[Redirection]) -> EmbeddedCode:
    loads = any(value.startswith("-") and "f" in value for value in values)
    return EmbeddedCode([], [], [], "it is unclear what enable loads" if loads else None)


def _git(_name: str, values: Sequence[str], _redirections: Sequence[Redirection]) -> EmbeddedCode:
    code = EmbeddedCode([], [], [])
    for index, value in enumerate(values):
        if "ext::" in value:
            code.texts.append(value.partition("ext::")[2].replace("% ", "\\ "))
        key, equals, setting = value.partition("=")
        if key.startswith("--config-e"):
            # The value comes from a variable.
            named = setting if equals else next(iter(values[index + 1 : index + 2]), "")
            if _GIT_KEYS.fullmatch(named.partition("=")[0]) or HOLE in named:
                code.unseen = "it is unclear what the git settings run"
        if not _GIT_KEYS.fullmatch(key):
            continue
        if not equals:
            setting = next((each for each in values[index + 1 :] if not each.startswith("-")), "")
        named = key.lower().startswith("alias.") and not setting.startswith("!")
        code.hints.append(f"git {setting}" if named else setting.removeprefix("!"))
        if named:
            code.hints.append(" ".join(["git", setting, *values[index + 2 :]]))
        elif setting.startswith("!") or _GIT_PROGRAMS.fullmatch(key):
            # Git puts the words that it hands over behind it.
            code.texts.append(f'{setting.removeprefix("!")} "$@"')
    return code


def _make(name: str, values: Sequence[str], redirections: Sequence[Redirection]) -> EmbeddedCode:
    given = _given(redirections)
    code = EmbeddedCode([recipe for text in given for recipe in recipes(text)], given, [])
    if hides_what_runs(values, given):
        code.unseen = f"it is unclear what {name} reads and runs"
    for index, value in enumerate(values):
        variable, equals, text = value.partition("=")
        evaluates = value.startswith(("--ev", "-E"))
        if equals and variable.strip(":") in ("SHELL", "MAKESHELL"):
            code.texts.append(text)
        elif evaluates:
            following = values[index + 1] if index + 1 < len(values) else ""
            attached = text if value.startswith("--") else value[2:]
            code.texts += recipes(attached or following)
            given.append(attached or following)
        if equals or evaluates:
            code.hints += re.split(r"[:;\t\n=]", value)
    if any(map(is_computed, given)):
        code.unseen = code.unseen or f"it is unclear what the rules of {name} run"
    return code


def _ssh(_name: str, values: Sequence[str], _redirections: Sequence[Redirection]) -> EmbeddedCode:
    return EmbeddedCode([found[1] for value in values if (found := _SSH_COMMAND.search(value))], [], [])


def _sed(name: str, values: Sequence[str], redirections: Sequence[Redirection]) -> EmbeddedCode:
    code = EmbeddedCode([], [], [])
    for index, value in enumerate(values):
        if found := _SED_FILE.fullmatch(value):
            file = found[1] or next(iter(values[index + 1 : index + 2]), "")
            stream = file == "-" or _unseen_file(name, file) is not None
            code.unseen = f"it is unclear what {name} reads and runs" if stream else code.unseen
    if _given(redirections):
        code.unseen = None
    for script in _sed_scripts(values, redirections):
        if BEYOND in script:
            code.unseen = f"it is unclear what the script of {name} runs"
        if runs_nothing(script):
            continue
        lines = [found[1].strip() for found in _SED_RUNS.finditer(script)]
        code.texts += filter(None, lines)
        # sed replaces escapes such as \x65 and \c before a shell sees them.
        if not all(lines) or any("\\" in line for line in lines) or _SED_RUNS_RESULT.search(script):
            code.unseen = "it is unclear what the e of sed runs"
    return code


def _sed_scripts(values: Sequence[str], redirections: Sequence[Redirection]) -> Iterator[str]:
    """What may be a script: behind each option for one, or the first word that is no option."""
    yield from _given(redirections)
    operands = 0
    for index, value in enumerate(values):
        before = values[index - 1] if index else ""
        if value.startswith("-") and len(value) > 1:
            head, equals, tail = value.partition("=")
            attached = _SED_EXPRESSION.match(value)
            if equals and value.startswith("--") and _SED_EXPRESSION.fullmatch(head):
                yield tail
            elif attached and not value.startswith("--") and attached.end() < len(value):
                yield value[attached.end() :]
        elif _SED_EXPRESSION.fullmatch(before) or operands == 0:
            yield value
            operands += not value.isdigit()


def _socat(_name: str, values: Sequence[str], _redirections: Sequence[Redirection]) -> EmbeddedCode:
    return EmbeddedCode([found[1] for value in values if (found := _SOCAT_RUNS.match(value))], [], [])


def _apt(_name: str, values: Sequence[str], _redirections: Sequence[Redirection]) -> EmbeddedCode:
    return EmbeddedCode([found[1] for value in values if (found := _APT_RUNS.search(value))], [], [])


def _m4(name: str, values: Sequence[str], redirections: Sequence[Redirection]) -> EmbeddedCode:
    runs = any("syscmd" in text for text in (*values, *_given(redirections)))
    return EmbeddedCode([], [], [], f"it is unclear what {name} runs" if runs else None)


def _tar(_name: str, values: Sequence[str], _redirections: Sequence[Redirection]) -> EmbeddedCode:
    """Letters without a dash before them, each of which takes the next word if it takes any."""
    letters = values[0] if values and not values[0].startswith("-") else ""
    taking = [letter for letter in letters if letter in _TAR_VALUES]
    return EmbeddedCode(
        [text for letter, text in zip(taking, values[1:], strict=False) if letter in "FI"], [], []
    )


def _capsh(_name: str, values: Sequence[str], redirections: Sequence[Redirection]) -> EmbeddedCode:
    """What stands behind `--` or `==` is handed to a shell."""
    code = EmbeddedCode([], [], [])
    for index, value in enumerate(values):
        if value in ("--", "=="):
            return _shell("bash", values[index + 1 :], redirections)
        if value.startswith("--shell="):
            code.texts.append(value.partition("=")[2])
    return code


def _crontab(name: str, values: Sequence[str], redirections: Sequence[Redirection]) -> EmbeddedCode:
    given = [_CRON_TIME.sub("", line) for text in _given(redirections) for line in text.splitlines()]
    reads = "-" in values or (not values and not _from_file(redirections))
    unseen = f"it is unclear what {name} reads and runs" if reads and not given else None
    return EmbeddedCode(given, [], [], unseen)


def _escapes(_name: str, values: Sequence[str], redirections: Sequence[Redirection]) -> EmbeddedCode:
    return EmbeddedCode(_escaped(values, redirections), [], [])


_READERS: dict[str, Callable[[str, Sequence[str], Sequence[Redirection]], EmbeddedCode]] = {
    **dict.fromkeys(_SHELLS, _shell),
    **dict.fromkeys(_ESCAPES - listed("vi vim nvim view ex gnuplot"), _escapes),
    "source": _source, ".": _source, "alias": _alias, "enable": _enable, "git": _git, "make": _make,
    "gmake": _make, "ssh": _ssh, "scp": _ssh, "sed": _sed, "gsed": _sed, "crontab": _crontab, "capsh": _capsh,
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _tar), "socat": _socat, "m4": _m4,
    **dict.fromkeys(("apt", "apt-get", "aptitude", "apt-cache"), _apt),
}  # fmt: skip


def _interpreted(
    language: Language, name: str, values: Sequence[str], redirections: Sequence[Redirection]
) -> EmbeddedCode:
    programs, first, module = _programs(language, values)
    code = EmbeddedCode([], [], [] if module is None else [module])
    if module is not None and values[module : module + 1] and _module_name(values[module]) in _RUN_TEXT:
        programs = [*programs, *values[module + 1 :], *_given(redirections)]
        if not programs:
            code.unseen = f"it is unclear what {name} reads and runs"
    if first is not None and not language.operand:
        code.scripts.append(list(values).index(first))
    if not programs and first is None and module is None and language.stdin:
        programs = _given(redirections)
        if not programs and _INFORMS.isdisjoint(values) and not _from_file(redirections):
            code.unseen = f"it is unclear what {name} reads and runs"
    elif not programs and first is not None and (first == "-" or _unseen_file(name, first)):
        programs = _given(redirections)
        if not programs:
            code.unseen = f"it is unclear what {name} reads and runs"
    for program in programs:
        code.hints += list(_strings(program))
        shown = _without_text(program) if language.operand else program
        if HOLE in program or FULL in program or language.acts.search(shown):
            code.unseen = f"it is unclear what the program for {name} runs"
    return code


def _programs(language: Language, values: Sequence[str]) -> tuple[list[str], str | None, int | None]:
    """The programs among the words, the first operand, and where a module to run is named."""
    programs: list[str] = []
    index = 0
    while index < len(values):
        value, following = values[index], values[index + 1] if index + 1 < len(values) else ""
        head, equals, tail = value.partition("=")
        if head in language.options:
            programs.append(tail if equals else following)
            index += 1 if equals else 2
        elif (attached := _attached(language, value)) is not None:
            programs.append(attached or following)
            index += 1 if attached else 2
        elif "-m" in language.skips and (found := _MODULE.fullmatch(value)):
            return programs, None, index + (0 if found[1] else 1)
        elif language.operand and (found := _PROGRAM_FILE.fullmatch(value)):
            return programs, found[1] or following, None
        elif value in language.skips:
            index += 2
        elif value.startswith("-") and value != "-":
            index += 1
        elif value == "-":
            return programs, None, None
        elif language.operand and not programs:
            return [value], None, None
        else:
            return programs, value, None
    return programs, None, None


def _module_name(value: str) -> str:
    """The module that a word names, also where it is joined with its option."""
    found = _MODULE.fullmatch(value)
    return (found[1] if found else value).partition(".")[0]


def _attached(language: Language, value: str) -> str | None:
    """What stands right behind the letter for a program in a word of options; None if it is not there."""
    if not language.letters or value.startswith(("--", *language.skips)):
        return None
    found = re.match(rf"-[A-Za-z0-9]*?[{language.letters}](.*)", value, re.DOTALL)
    return found[1] if found else None


def _strings(program: str) -> Iterator[str]:
    """The texts in quotes, each alone, and those side by side joined."""
    found = list(_STRING.finditer(program))[:_MOST_STRINGS]
    texts = [next(group for group in each.groups() if group is not None) for each in found]
    yield from texts
    for start in range(len(found)):
        arguments = pieces = texts[start]
        for index in range(start + 1, min(start + 8, len(found))):
            gap = program[found[index - 1].end() : found[index].start()]
            if _BETWEEN_ARGUMENTS.fullmatch(gap):
                arguments += f" {texts[index]}"
            elif _BETWEEN_PIECES.fullmatch(gap):
                pieces += texts[index]
            else:
                break
        yield from (each for each in (arguments, pieces) if each != texts[start])


def _without_text(program: str) -> str:
    """A program of awk without its strings and patterns."""
    return re.sub(r"/(?:\\.|[^/\\\n])*/", "0", re.sub(r'"(?:\\.|[^"\\])*"', "0", program))


def _escaped(values: Sequence[str], redirections: Sequence[Redirection]) -> list[str]:
    return [found[1] for text in (*values, *_given(redirections)) for found in _ESCAPE.finditer(text)]


def _given(redirections: Sequence[Redirection]) -> list[str]:
    """What stands in the here-documents and here-strings of a command."""
    given = [each.content for each in redirections if each.content]
    return given + [each.target.value for each in redirections if each.operator == "<<<" and each.target]


def _from_file(redirections: Sequence[Redirection]) -> bool:
    return any(
        each.operator == "<"
        and each.target is not None
        and each.target.literal
        and not _STREAM.match(each.target.value)
        for each in redirections
    )


def _unseen_file(name: str, value: str) -> str | None:
    """Why it is unclear which file is run: it may be any program, unless a pattern shows its ending."""
    last = value.rpartition("/")[2]
    matched = _ANY_FILE.search(last) is not None and _FILE_KIND.search(last) is None
    hidden = HOLE in last or matched or _STREAM.match(value) is not None
    return f"it is unclear what {name} reads and runs" if hidden else None
