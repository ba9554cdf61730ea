"""Commands whose arguments are small languages of their own, such as find, sed, awk, jq and test."""

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import partial
from itertools import pairwise

from bridle.permissions.shell.programs import archives
from bridle.permissions.shell.programs.awk_programs import only_prints as awk_only_prints
from bridle.permissions.shell.programs.jq_filters import only_looks
from bridle.permissions.shell.programs.options import (
    HarmlessUse,
    Refused,
    Verdict,
    look,
    may_begin_with_dash,
    parse,
)
from bridle.permissions.shell.programs.read_commands import PLAIN
from bridle.permissions.shell.programs.sed_scripts import only_prints
from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.shell.values.variables import may_be_set, may_be_shown
from bridle.permissions.word_lists import listed

Words = tuple[Word, ...]

_FIND_TESTS = listed("""
    -name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime -atime
    -ctime -mmin -amin -cmin -newer -anewer -cnewer -perm -user -group -uid -gid -links -inum -samefile
    -maxdepth -mindepth -fstype -regextype -lname -ilname -used -printf
""")
_FIND_WORDS = listed("""
    -print -print0 -prune -empty -daystart -depth -d -mount -xdev -noleaf -ignore_readdir_race
    -executable -readable -writable -nouser -nogroup -true -false -quit -not -a -and -o -or -ls ! ( ) ,
""")
FIND_ACTS = listed("""
    -exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls
""")
_FIND_OTHER = ("-follow", "-files0-from", "-L", "-H", "-D", "-O3")
_NEWER = re.compile(r"-newer[aBcm][aBcmt]")
_COMPARES = re.compile(r"-[ac]?newer|-newer[aBcm][aBcm]|-samefile")
"""Tests that look at a file of their own."""
_SED = HarmlessUse(
    "nErEuze:s",
    "quiet silent regexp-extended expression= unbuffered null-data separate posix sandbox debug version help",
    "pattern",
    patterns="-e --expression --version --help",
    safe=False,
    expands=True,
)
_SED_FLAGS = frozenset({"-n", "-E", "-r", "-s", "-u", "-z", "-nE", "-nr"})
_NEGATIVE = re.compile(r"-\d")
_NEGATIVE_END = re.compile(r"\d+,-\d")
_AWK = HarmlessUse("F:v:", "", "pattern", safe=False, expands=True)
_JQ = HarmlessUse(
    "rcsneSMCajRh",
    "raw-output compact-output slurp null-input exit-status sort-keys monochrome-output"
    " color-output ascii-output"
    " join-output raw-input tab indent= arg= argjson= seq stream help version raw-output0 unbuffered",
    "pattern",
    safe=False,
    expands=True,
)
_DATE = HarmlessUse(
    "uRI::d:r:",
    "utc universal rfc-email rfc-2822 iso-8601? rfc-3339= date= reference= debug version help",
    "text",
    safe=False,
)
_PS_CLUSTER = re.compile(r"-[AaefFlLjHwdTN]+|-[AaefFlLjHwdTN]*o")
_PS_BSD = re.compile(r"[auxwfljvhT]+|[ax]+o")
"""Without a dash, `e` shows the environment of every process."""
_PS_COLUMNS = listed("""
    pid ppid pgid sid tid lwp nlwp thcount uid gid user group euser egroup ruser rgroup uname gname
    args cmd comm command ucmd ucomm fname stat s state tty tt tname time cputime etime etimes bsdtime start
    start_time lstart bsdstart stime pcpu %cpu c cp pmem %mem rss rssize rsz vsz vsize sz size ni nice pri
    priority psr class cls rtprio wchan flags f min_flt maj_flt cgroup
""")
_PS_FLAGS = frozenset(
    {"--no-headers", "--no-heading", "--headers", "--forest", "--version", "ww", "-ww", "f", "-V"}
)
_PS_NUMBERS = re.compile(r"\d+(?:,\d+)*")
_READ = HarmlessUse("rsn:N:d:p:t:u:", "", "text", safe=False)
_TEE = HarmlessUse("aip", "append ignore-interrupts output-error? version help", safe=False)
_STREAMS = frozenset({"/dev/null", "/dev/stderr", "/dev/stdout"})
_XARGS_OPTION = re.compile(r"-(?:[0rtx]+|[nLP]\d+|I(?:\{\}|%|@)|-null|-no-run-if-empty|([nLPI]))")
TEXT_ONLY = frozenset({"echo", "basename", "dirname"})
"""Programs that do nothing but print, whatever words they are given."""
_PRINTF_STORES = re.compile(r"%[-+ #0-9.*'hlLjztq]*n")
_SET = re.compile(r"[-+](?:[euxfvnhC]+|[eux]*o)")
_SET_NAMES = frozenset({"pipefail", "errexit", "nounset", "xtrace", "noglob", "noclobber", "posix"})
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_UNARY = listed("-a -b -c -d -e -f -g -h -k -p -r -s -t -u -w -x -G -L -N -O -S -z -n -o")
_FILE_TESTS = _UNARY - {"-t", "-z", "-n", "-o"}
_COMPARING = frozenset({"-nt", "-ot", "-ef"})
_BINARY = listed("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef")


def text(words: Words) -> Verdict:
    """A builtin to which every word is text."""
    if not all(word.inert for word in words):
        return Verdict("expanding a variable may set another or run a command")
    return Verdict("it only prints", True, tuple(word for word in words if word.glob is not None))


def find(words: Words, commands: list[Words] | None = None) -> Verdict:
    """`find` with tests and actions that only print.

    The commands of `-exec` are added to `commands`, for others to judge; without that it is refused."""
    roots: list[Word] = []
    looked_at: list[Word] = []
    index = 0
    while index < len(words) and words[index].value == "-P":
        index += 1
    while index < len(words) and not _begins_expression(words[index]):
        if not words[index].dashless or words[index].doubt:
            return Verdict(f"find: {words[index].raw} is ambiguous")
        roots.append(words[index])
        index += 1
    while index < len(words):
        word = words[index]
        index += 1
        if not word.literal and not _inert_pattern(word):
            return Verdict(f"find: {word.raw} may become an action")
        if word.value in _FIND_WORDS:
            continue
        if word.value == "-exec" and word.literal and commands is not None:
            end = _exec_end(words, index)
            if end is None:
                return Verdict("find: it is unclear what -exec runs")
            commands.append(words[index:end])
            index = end + 1
            continue
        if word.value not in _FIND_TESTS and not _NEWER.fullmatch(word.value):
            return Verdict(f"find: {word.value} isn't a known read-only test")
        if index < len(words) and not words[index].literal and not _inert_pattern(words[index]):
            return Verdict(f"find: {words[index].raw} may become an action")
        if _COMPARES.fullmatch(word.value):
            looked_at += words[index : index + 1]
        index += 1
    return Verdict("find only reads", True, (*roots, *looked_at), not roots)


def _exec_end(words: Words, start: int) -> int | None:
    """Where the command of `-exec` ends: at a semicolon, or at the plus sign behind `{}`."""
    for index in range(start, len(words)):
        if not words[index].literal:
            return None
        value = words[index].value
        marks = [word.value for word in words[start:index] if "{}" in word.value]
        if value == ";":
            return index if set(marks) <= {"{}"} else None
        if value == "+" and index > start and words[index - 1].value == "{}":
            return index if marks == ["{}"] else None
    return None


def sed(words: Words) -> Verdict:
    """`sed` with a script that only prints."""
    if _stops_sed(words):
        return Verdict("sed: a negative line number is an error", True)
    try:
        parsed = parse(_SED, words)
    except Refused as reason:
        return Verdict(f"sed: {reason}")
    scripts = [word for option, word in parsed.values if option in ("-e", "--expression")]
    files = parsed.operands
    if not scripts:
        scripts, files = list(files[:1]), files[1:]
    if not scripts or not all(word.literal and only_prints(word.value) for word in scripts):
        return Verdict("sed: the script may do more than print")
    return Verdict("sed only prints", True, files, expands=may_begin_with_dash(files))


def awk(words: Words) -> Verdict:
    """`awk` with a program that opens nothing and runs nothing."""
    try:
        parsed = parse(_AWK, words)
    except Refused as reason:
        return Verdict(f"awk: {reason}")
    if not parsed.operands or not parsed.operands[0].literal:
        return Verdict("awk: the program is unknown")
    if not awk_only_prints(parsed.operands[0].value):
        return Verdict("awk: the program may open a file or run a command")
    files = tuple(word for word in parsed.operands[1:] if not re.match(r"[A-Za-z_]\w*=", word.value))
    return Verdict("awk only prints", True, files, expands=may_begin_with_dash(files))


def jq(words: Words) -> Verdict:
    """`jq` with a filter that looks at its input only."""
    flattened: list[Word] = []
    bound: set[str] = set()
    index = 0
    while index < len(words):
        if words[index].value in ("--arg", "--argjson") and words[index].literal:
            # A name and a value follow; the value is data wherever it comes from.
            given = words[index + 1 : index + 3]
            if (
                len(given) < 2
                or not given[0].literal
                or not all(word.inert and not word.splits for word in given)
            ):
                return Verdict("jq: an argument is ambiguous")
            bound.add(given[0].value)
            index += 3
            continue
        flattened.append(words[index])
        index += 1
    verdict = look("jq", _JQ, tuple(flattened))
    if not verdict.harmless:
        return verdict
    operands = parse(_JQ, tuple(flattened)).operands
    known = frozenset(bound) - {"ENV"}
    if operands and (not operands[0].literal or not only_looks(operands[0].value, known)):
        return Verdict("jq: the filter may read more than its input")
    return verdict


def date(words: Words) -> Verdict:
    """`date` that shows and does not set."""
    verdict = look("date", _DATE, words)
    if not verdict.harmless:
        return verdict
    parsed = parse(_DATE, words)
    if not all(word.value.startswith("+") for word in parsed.operands):
        return Verdict("date: an operand without a plus sign sets the clock")
    looked_at = (word for option, word in parsed.values if option in ("-r", "--reference"))
    return Verdict(verdict.why, True, (*verdict.reads, *looked_at))


def ps(words: Words) -> Verdict:
    """`ps` in forms that are the same in both of its dialects, or that neither can misread.

    Where a value is refused, ps reads all of its words again without their dashes, and then `-e` shows the
    environment of processes; so no value is let through that it could refuse."""
    if not all(word.literal for word in words):
        return Verdict("ps: an argument is unknown")
    values = [word.value for word in words]
    index = 0
    while index < len(values):
        value = values[index]
        following = values[index + 1] if index + 1 < len(values) else ""
        name, equals, given = value.partition("=")
        grouped = _PS_CLUSTER.fullmatch(value) or (index == 0 and _PS_BSD.fullmatch(value))
        single = value in _PS_FLAGS or _PS_NUMBERS.fullmatch(value) or (grouped and not value.endswith("o"))
        if single or (value.startswith("--") and equals and _ps_value(name, given)):
            index += 1
        elif (grouped and _ps_value("-o", following)) or (
            value in _PS_VALUED and _ps_value(value, following)
        ):
            index += 2
        else:
            return Verdict(f"ps: {value} isn't a known read-only form")
    return Verdict("ps only reads", True)


_PS_VALUED = listed("-p --pid --ppid -C -o -O --format --sort")


def _ps_value(option: str, value: str) -> bool:
    match option:
        case "-o" | "-O" | "--format":
            columns = [column.partition("=")[0].partition(":")[0] for column in value.split(",")]
            return _PS_COLUMNS.issuperset(columns) and re.fullmatch(r"[\w%,:=]+", value) is not None
        case "--sort":
            return _PS_COLUMNS.issuperset(key.lstrip("+-") for key in value.split(","))
        case "-p" | "--pid" | "--ppid":
            return _PS_NUMBERS.fullmatch(value) is not None
        case "-C":
            return re.fullmatch(r"[\w.+-]*[\w.+]", value) is not None and not value.startswith("-")
        case "--cols" | "--columns" | "--width":
            return re.fullmatch(r"[1-9]\d{0,3}", value) is not None
        case _:
            return False


def printf(words: Words) -> Verdict:
    """`printf` that prints and stores nothing."""
    rest = words[1:] if words and words[0].value == "--" else words
    if not rest or not rest[0].literal or (rest is words and rest[0].value.startswith("-")):
        return Verdict("printf: the format is unknown")
    if _PRINTF_STORES.search(rest[0].value) or not all(word.inert for word in rest):
        return Verdict("printf may set a variable")
    return Verdict("printf only prints", True)


def test(words: Words) -> Verdict:
    """`test` and `[` whose operators stand where they can be seen."""
    rest = list(words)
    while rest and rest[0].literal and rest[0].value == "!":
        rest = rest[1:]
    uncertain = [word for word in rest if not word.literal]
    if any(word.splits or not word.inert or (word.glob and not word.single) for word in uncertain):
        return Verdict("test: an operand may become several")
    values = [word.value for word in rest]
    if any(value in ("-v", "-R") for value in values):
        return Verdict("test: -v may run code in a subscript")
    match [word.literal for word in rest]:
        case [] | [_]:
            return Verdict("test only reads", True)
        case [True, _] if values[0] in _UNARY:
            reads = tuple(rest[1:]) if values[0] in _FILE_TESTS else ()
            return Verdict("test only reads", True, tuple(word for word in reads if word.doubt is None))
        case [_, True, _] if values[1] in _BINARY:
            reads = (rest[0], rest[2]) if values[1] in _COMPARING else ()
            return Verdict("test only reads", True, tuple(word for word in reads if word.doubt is None))
        case _ if uncertain:
            return Verdict("test: the expression is unknown")
        case _:
            reads = tuple(word for before, word in pairwise(rest) if before.value in _FILE_TESTS)
            return Verdict("test only reads", True, reads)


def bracket(words: Words) -> Verdict:
    """`[ … ]` with its closing bracket."""
    if not words or words[-1].value != "]":
        return Verdict("[ is not closed")
    return test(words[:-1])


def read(words: Words) -> Verdict:
    """`read` into variables that have no meaning for other programs."""
    try:
        parsed = parse(_READ, words)
    except Refused as reason:
        return Verdict(f"read: {reason}")
    if not all(
        word.literal and _NAME.fullmatch(word.value) and may_be_set(word.value) for word in parsed.operands
    ):
        return Verdict("read may set a special variable")
    return Verdict("read only reads its input", True)


def set_options(words: Words) -> Verdict:
    """`set` with the options of careful scripts."""
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.literal or not _SET.fullmatch(word.value):
            return Verdict("set may change how this command expands")
        if word.value.endswith("o"):
            if index == len(words) or words[index].value not in _SET_NAMES:
                return Verdict("set may change how this command expands")
            index += 1
    return Verdict("set changes error handling", bool(words))


def command(words: Words) -> Verdict:
    """`command -v`, which says what a name stands for."""
    if len(words) > 1 and words[0].value in ("-v", "-V") and all(word.inert for word in words[1:]):
        return Verdict("command -v only reads", True)
    return Verdict("command runs its arguments")


def binutils(name: str, words: Words) -> Verdict:
    """A program that would take options from a file behind an at sign."""
    if any(word.value.startswith("@") for word in words):
        return Verdict(f"{name}: options may come from a file")
    return look(name, PLAIN[name], words)


def bare_time(words: Words) -> Verdict:
    """`time` before a subshell, whose commands stand for themselves."""
    return Verdict("time only measures", all(word.literal and word.value == "-p" for word in words))


def tee(words: Words) -> Verdict:
    """`tee` that passes its input on and keeps it nowhere."""
    try:
        parsed = parse(_TEE, words)
    except Refused as reason:
        return Verdict(f"tee: {reason}")
    if not all(word.literal and word.value in _STREAMS for word in parsed.operands):
        return Verdict("tee writes files")
    return Verdict("tee only copies its input", True)


def xargs(words: Words) -> Verdict:
    """`xargs` before a command to which whatever it is given is only text."""
    start = xargs_command(words)
    if isinstance(start, Verdict):
        return start
    rest = words[start[0] :]
    if not rest:
        return Verdict("xargs only prints its input", True, programs=("echo",))
    if rest[0].value not in TEXT_ONLY:
        return Verdict("xargs adds arguments that cannot be checked")
    return look("xargs", PLAIN.get(rest[0].value, HarmlessUse("neE", "", "text")), rest[1:])


def xargs_command(words: Words) -> Verdict | tuple[int, str, bool]:
    """Where the command of `xargs` begins, what in it stands for the input, and whether NULs end that."""
    if not all(word.literal for word in words):
        return Verdict("xargs: an argument is unknown")
    index, mark, nulls = 0, "", False
    while index < len(words) and words[index].value.startswith("-"):
        value = words[index].value
        found = _XARGS_OPTION.fullmatch(value)
        if found is None:
            return Verdict(f"xargs: {value} isn't a known harmless option")
        nulls = nulls or value == "--null" or (value[1:2] in "0rtx" and "0" in value)
        if value[1] == "I":
            mark = value[2:] or (words[index + 1].value if index + 1 < len(words) else "")
            if mark not in ("{}", "%", "@", "FILE"):
                return Verdict("xargs may use its input as the command name")
        index += 2 if found[1] else 1
    return index, mark, nulls


def printenv(words: Words) -> Verdict:
    """Harmless for variables that hold no secret."""
    if words and all(word.literal and may_be_shown(word.value) for word in words):
        return Verdict("printenv only reads", True)
    return Verdict("printenv may show a secret")


PROGRAMS: dict[str, Callable[[Words], Verdict]] = {
    "find": find,
    "sed": sed,
    "awk": awk,
    "gawk": awk,
    "mawk": awk,
    "jq": jq,
    "date": date,
    "ps": ps,
    "printf": printf,
    "printenv": printenv,
    "test": test,
    "[": bracket,
    "read": read,
    "set": set_options,
    "command": command,
    **{name: partial(binutils, name) for name in ("nm", "readelf", "size", "strings")},
    "tee": tee,
    "tar": archives.tar,
    **{name: partial(archives.compressor, name) for name in archives.USES if name != "tar"},
    "zgrep": archives.zgrep,
    "unzip": archives.unzip,
    "zipinfo": archives.zipinfo,
    "xargs": xargs,
    "time": bare_time,
    **dict.fromkeys(("echo", ":", "true", "false", "exit", "return", "break", "continue"), text),
}


USES = {"sed": _SED, "awk": _AWK, "jq": _JQ, "date": _DATE, "tee": _TEE, **archives.USES}
"""Those of them whose options are listed."""


def _stops_sed(words: Words) -> bool:
    """Whether a script begins with a number below zero, which is neither an option nor an address."""
    rest = [word for word in words if word.value not in _SED_FLAGS]
    if not rest or not rest[0].tame:
        return False
    if _NEGATIVE.match(rest[0].value):
        return True
    files = all(word.literal and not word.value.startswith("-") for word in rest[1:])
    return files and _NEGATIVE_END.match(rest[0].value) is not None


def _begins_expression(word: Word) -> bool:
    return word.value.startswith("-") or word.value in ("(", "!", ",", ")")


def _inert_pattern(word: Word) -> bool:
    """A pattern of file names without quotes that cannot become one of find's dangerous words."""
    if word.doubt is not None or word.glob is None:
        return False
    return not any(fnmatchcase(act, word.value) for act in (*FIND_ACTS, *_FIND_OTHER))
