"""Commands that run another command: what stands behind them."""

import re

from msgspec import Struct

from bridle.permissions.shell.syntax.words import Word

_DURATION = re.compile(r"\d+(?:\.\d*)?[smhd]?|\.\d+[smhd]?")
MOST = 10
"""How many wrappers are looked through for what may be allowed."""
_NUMBER = re.compile(r"[+-]?\d+")


class Wrapper(Struct, frozen=True):
    """The options of a command that runs another, and how many words it takes for itself."""

    flags: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    operands: int = 0
    operand: re.Pattern[str] | None = None
    assigns: bool = False
    """`NAME=value` may stand before the command."""


def _wrapper(flags: str = "", valued: str = "", operands: int = 0, *, assigns: bool = False) -> Wrapper:
    return Wrapper(frozenset(flags.split()), frozenset(valued.split()), operands, None, assigns)


TRANSPARENT = {
    "timeout": Wrapper(
        frozenset({"--preserve-status", "--foreground", "-v", "--verbose"}),
        frozenset({"-s", "--signal", "-k", "--kill-after"}),
        1,
        _DURATION,
    ),
    "time": _wrapper("-p"),
    "nice": _wrapper("", "-n --adjustment"),
    "nohup": Wrapper(),
    "stdbuf": _wrapper("", "-i -o -e --input --output --error"),
    "command": _wrapper("-p"),
    "builtin": Wrapper(),
    "noglob": Wrapper(),
    "xargs": Wrapper(),
}
"""Looked through for every rule, when their options are these."""

OPAQUE = {
    "env": _wrapper("-i -0 -v --ignore-environment --null --debug", "-u -C --unset --chdir -S", assigns=True),
    "sudo": _wrapper(
        "-A -b -E -e -H -K -k -l -n -P -S -s -i -V -v --non-interactive --stdin",
        "-u -g -C -D -h -p -R -r -t -T -U --user --group",
        assigns=True,
    ),
    "doas": _wrapper("-n -s -L", "-u -C"),
    "setsid": _wrapper("-c -f -w --ctty --fork --wait"),
    "ionice": _wrapper("-t", "-c -n -p -P -u --class --classdata"),
    "watch": _wrapper(
        "-b -c -d -e -g -p -t -x -w --beep --color --differences --exec --errexit --no-title --chgexit",
        "-n --interval -q --equexit",
    ),
    "flock": _wrapper("-s -x -e -u -n -o -F --shared --exclusive --nonblock --nb --close", "-w -E -c", 1),
    "chroot": _wrapper("", "--userspec --groups", 1),
    "unshare": _wrapper("-m -u -i -n -p -U -C -T -f -r --fork --map-root-user --mount --net --pid --user"),
    "nsenter": _wrapper("-m -u -i -n -p -U -a", "-t --target"),
    "script": _wrapper("-a -e -f -q", "-c -E -t"),
    "ssh": _wrapper("-4 -6 -A -a -C -f -N -n -q -T -t -v -X -x", "-i -l -o -p -F -J -L -R -D", 1),
    "strace": _wrapper("-f -c -q -v -x -y -t -T", "-e -o -p -s -u -E"),
    "ltrace": _wrapper("-f -c -S", "-e -o -p -s -u"),
    "taskset": _wrapper("-a -c", "", 1),
    "chrt": _wrapper("-b -f -i -o -r -a", "", 1),
    "numactl": _wrapper("-H -s", "-C -N -m -i"),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "unbuffer": _wrapper("-p"),
    "exec": _wrapper("-c -l", "-a"),
    "coproc": Wrapper(),
    "fakeroot": Wrapper(),
    "faketime": _wrapper("-f -m", "", 1),
    "firejail": Wrapper(),
    "bwrap": Wrapper(),
    "runuser": _wrapper("-l -m -p -f", "-u -g -G -c -s"),
    "su": _wrapper("-l -m -p -f -", "-c -s -g -G", 1),
    "pkexec": _wrapper("", "--user"),
    "parallel": _wrapper("-k -0 -X -m --dry-run --keep-order", "-j -n -N -P --jobs --colsep"),
    "xvfb-run": _wrapper("-a --auto-servernum", "-n -s -e -f"),
    "dbus-run-session": Wrapper(),
    "systemd-run": _wrapper("--user --scope --pty --wait -t -q", "-p --unit -u"),
    "caffeinate": _wrapper("-d -i -m -s -u", "-t -w"),
    "entr": _wrapper("-a -c -d -n -p -r -s -z"),
    "then": Wrapper(), "do": Wrapper(), "else": Wrapper(), "{": Wrapper(), "!": Wrapper(), "if": Wrapper(),
    "while": Wrapper(), "until": Wrapper(), "elif": Wrapper(), "}": Wrapper(), "-": Wrapper(),
}  # fmt: skip
"""Looked through to deny or ask only; xargs with options is one of them too."""


def behind(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The command behind a transparent wrapper whose options are known; None when there is none."""
    wrapper = TRANSPARENT.get(words[0].value) if words and words[0].literal else None
    if wrapper is None:
        return None
    index = 1
    while index < len(words):
        word = words[index]
        if not word.literal:
            return None
        if word.value == "--":
            index += 1
            break
        if not word.value.startswith("-") or word.value == "-":
            break
        step = _option(wrapper, words[0].value, words, index)
        if step == 0:
            return None
        index += step
    for operand in words[index : index + wrapper.operands]:
        if not operand.literal or (wrapper.operand and not wrapper.operand.fullmatch(operand.value)):
            return None
    rest = words[index + wrapper.operands :]
    return rest or None


_NO_WRAPPER = frozenset[str]()


def unwrapped(words: tuple[Word, ...]) -> tuple[tuple[Word, ...], frozenset[str]]:
    """The words of the command behind transparent wrappers, and the names of those wrappers."""
    if not words or words[0].value not in TRANSPARENT:
        return words, _NO_WRAPPER
    names: set[str] = set()
    for _ in range(MOST):
        if (inner := behind(words)) is None:
            break
        names.add(words[0].value)
        words = inner
    return words, frozenset(names)


def hides_name(words: tuple[Word, ...]) -> bool:
    """Whether a transparent wrapper is followed by something that bash fills in where a name could stand."""
    if not words or words[0].value not in TRANSPARENT:
        return False
    if words[0].value == "command" and len(words) > 1 and words[1].raw in ("-v", "-V"):
        return False
    first = next((word for word in words[1:] if not word.literal or not word.value.startswith("-")), None)
    return first is not None and not first.literal


def _option(wrapper: Wrapper, name: str, words: tuple[Word, ...], index: int) -> int:
    """How many words an option takes; none when it is not known."""
    value = words[index].value
    if value in wrapper.flags:
        return 1
    if value in wrapper.valued:
        return 2 if index + 1 < len(words) and words[index + 1].literal else 0
    if value.startswith("--"):
        return 1 if value.partition("=")[0] in wrapper.valued and "=" in value else 0
    if value[:2] in wrapper.valued:
        return 1
    return 1 if name == "nice" and _NUMBER.fullmatch(value) else 0
