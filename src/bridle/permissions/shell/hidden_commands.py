"""Every command that a command may run: behind wrappers, in options, after subcommands, in text."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from bridle.permissions.shell.programs.embedded_code import (
    EmbeddedCode,
    assigned_texts,
    read_code,
    runs_code,
    unclear_options,
)
from bridle.permissions.shell.programs.runners import FAMILIES, NEVER, RUNNERS, Runner
from bridle.permissions.shell.programs.subcommands import SUBCOMMANDS, VALUED, operand_starts
from bridle.permissions.shell.syntax.env_strings import as_shell_line
from bridle.permissions.shell.syntax.expansions import HOLE
from bridle.permissions.shell.syntax.simple_command import Redirection
from bridle.permissions.shell.values.possible_words import Arg

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^]]*\])?\+?=", re.ASCII)
_FILLS_LISTS = frozenset({"compgen", "complete"})
_FILLED_IN = re.compile(r"[$`]|[<>]\(")
_FINDERS = frozenset({"find", "gfind", "fd", "fdfind", "bfs"})
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})
_SYNTAX = re.compile(r"""[;|&<>()`$\s'"\\{}*?\[~#!=\x01\x02]""")
_MARKS = re.compile(r"\{[^{}\s]{0,4}\}")
_READ_ALWAYS = frozenset({"parallel", "at", "batch"})
_INFORMS = frozenset({"-l", "-d", "-r", "-c", "-f", "--version", "--help", "-V"})
_MOST_STARTS = 1_500
_MANNER = re.compile(r"^\s*(?:exec=|!|she(?:ll?)?\b|pipe\b[^|]*\||\|[^|]*\|)\s*")
_ONLY_OPTIONS = re.compile(r"(?:(?:^| )(?:-[0rtx]+|-[nLP] ?\d+|--null|--no-run-if-empty))*")
_UNCLEAR = "it is unclear which program it runs"
_MOST_JOINED = 20
_FIRST, _INNERMOST = 6, 20

Args = tuple[Arg, ...]


class HiddenCommands(Struct):
    """What was found, in the order of the words."""

    commands: list[Args]
    """The command itself and all that may stand behind it."""
    texts: list[str]
    """Command lines that it is given as text."""
    hints: list[str]
    """Text that may be a command line; nothing is said of what cannot be read in it."""
    unseen: str | None = None
    """Why it is unclear what it runs."""


def look_behind(args: Args, redirections: Sequence[Redirection]) -> HiddenCommands:
    """Look through a command for every other that it may run."""
    return _Search(with_input(args), redirections).run()


def runs_others(name: str) -> bool:
    """Whether a program may run another, or text, for one of its words."""
    if name in RUNNERS or name in SUBCOMMANDS or name in _FINDERS or name == "run-parts":
        return True
    return runs_code(name) or _relative(name) is not None


class _Search:
    """One pass over the words of one command."""

    def __init__(self, args: Args, redirections: Sequence[Redirection]) -> None:
        self.args = args
        self.redirections = redirections
        self.found = HiddenCommands([], [], [])
        self.seen: dict[int, bool] = {}
        """Where a command may begin, and whether that is certain."""
        self.finder = len(args)
        """The first program that runs commands for what it finds."""
        self.runs: list[int] = []
        """Where those begin; the list beside it says where each ends."""
        self.ends: list[int] = []
        self.waiting: list[tuple[int, bool]] = [(0, True)]

    @cached_property
    def dashes(self) -> list[int]:
        return [index for index, arg in enumerate(self.args) if arg.value == "--"]

    @cached_property
    def special(self) -> list[int]:
        """Where words stand that a shell would not take as they are."""
        return [
            index for index, arg in enumerate(self.args) if _SYNTAX.search(arg.value) or arg.value == ":::"
        ]

    def run(self) -> HiddenCommands:
        while self.waiting and len(self.seen) < _MOST_STARTS:
            start, certain = self.waiting.pop()
            if start >= len(self.args) or (
                self.seen.get(start, not certain) >= certain and start in self.seen
            ):
                continue
            self.seen[start] = certain
            self._at(start, certain=certain)
        if self.waiting and len(self.seen) >= _MOST_STARTS:
            self._unseen("it nests too many commands")
        starts = sorted(self.seen)
        # However many wrappers there are, the first and the innermost commands count.
        if len(starts) > _FIRST + _INNERMOST:
            starts = starts[:_FIRST] + starts[-_INNERMOST:]
        self.found.commands = [self.args[start : self._end(start)] for start in starts]
        return self.found

    def _at(self, start: int, *, certain: bool) -> None:
        arg = self.args[start]
        if _ASSIGNMENT.match(arg.raw):
            self._assigned(arg.value)
            self._begin(start + 1, certain=certain)
            return
        name = arg.name
        if name is None:
            if certain:
                which = "" if "__" in arg.raw else f" {arg.raw}".rstrip()
                self._unseen(f"it is unclear which program{which} runs" if which else _UNCLEAR)
            self.waiting.append((start + 1, False))
            return
        if name in _FILLS_LISTS and any(
            "#" in arg.value and _FILLED_IN.search(arg.value) for arg in self.args
        ):
            # Bash fills in a list of words, where this begins no comment as it does in a command line.
            self._unseen("it is unclear what expanding its word list runs")
        if name == "run-parts":
            self._unseen("it runs every program of a folder")
        runner = RUNNERS.get(name) or _relative(name)
        if runner is not None and not self._only_looks(name, start):
            self._run(runner, start, start + 1, certain=certain)
        for each, index in self._subcommands(name, start) if name in SUBCOMMANDS else ():
            self._run(each, start, index, certain=certain)
        if name in _FINDERS:
            self._found(start)
        if runs_code(name):
            values = [each.value for each in self.args[start + 1 : self._end(start)]]
            code = read_code(name, values, self.redirections)
            if code is not None:
                self._code(code, start, certain=certain)

    def _subcommands(self, name: str, start: int) -> Iterator[tuple[Runner, int]]:
        """The subcommands that run something, each with where the words behind it begin."""
        args, valued = self.args, VALUED.get(name, frozenset())
        first = operand_starts(args, (start + 1,), valued)
        any_word = any(args[index].open for index in first)
        words = {args[index].value for index in first}
        for path, each in SUBCOMMANDS[name].items():
            head, _, further = path.partition(" ")
            if head and head not in words and not any_word:
                continue
            reached = {i + 1 for i in first if args[i].value == head or args[i].open} if head else {start + 1}
            for word in further.split():
                reached = {
                    index + 1
                    for index in operand_starts(args, reached, valued)
                    if args[index].value == word or args[index].open
                }
            yield from ((each, index) for index in reached)

    def _run(self, runner: Runner, start: int, first: int, *, certain: bool) -> None:
        """Follow the options of a program that runs another command."""
        args, end = self.args, self._end(start)
        states = [(first, runner.operands, certain, False)]
        seen: set[tuple[int, int, bool, bool]] = set()
        commands = 0
        if runner.operands < NEVER and (index := self._dashes(first)) < end:
            self._begin(index + 1, certain=False)
        while states:
            state = states.pop()
            index, operands, sure, closed = state
            if index >= end or state in seen or len(seen) > _MOST_STARTS:
                continue
            seen.add(state)
            value = args[index].value
            if _is_option(value, runner, closed=closed):
                states += self._option(runner, index, operands, sure=sure)
            elif runner.assigns and "=" in value:
                self._assigned(value)
                if not _ASSIGNMENT.match(value):
                    self._begin(index, certain=False)
                states.append((index + 1, operands, sure, closed))
            elif operands:
                if runner.optional:
                    self._begin(index, certain=sure and (index + 1 >= end or HOLE in value))
                states.append((index + 1, operands - 1, sure, closed))
            else:
                commands += 1
                self._command(runner, index, end, sure=sure)
        if not commands and runner.stdin:
            self._from_input(start)

    def _command(self, runner: Runner, index: int, end: int, *, sure: bool) -> None:
        self._begin(index, certain=sure)
        if runner.joins:
            self._joined(index, end)

    def _joined(self, index: int, end: int) -> None:
        """Read the words as one text; where nothing special stands in them, there is no need to."""
        place = bisect_left(self.special, index)
        if place == len(self.special) or self.special[place] >= end:
            return
        if len(self.found.texts) > _MOST_JOINED:
            self._unseen("it nests too many commands")
            return
        rest = [each.value for each in self.args[index:end]]
        self.found.texts.append(" ".join(rest))
        self.found.hints += [text for text in rest if _SYNTAX.search(text)]
        if ":::" in rest:
            self.found.hints += rest[rest.index(":::") + 1 :]

    def _option(
        self, runner: Runner, index: int, operands: int, *, sure: bool
    ) -> Iterator[tuple[int, int, bool, bool]]:
        """Where parsing continues behind an option."""
        value = self.args[index].value
        following = self.args[index + 1].value if index + 1 < len(self.args) else None
        head, equals, tail = value.partition("=")
        if value == "--":
            yield index + 1, operands, sure, True
        elif head in runner.text or _shortens(head, runner.text, runner):
            given = tail if equals else following
            self._given(runner, given, index + (1 if equals else 2))
            yield index + (1 if equals else 2), operands, sure, False
        elif head in runner.begins or _shortens(head, runner.begins, runner):
            if equals:
                self.found.texts.append(tail)
            self._begin(index + 1, certain=sure and not equals)
            yield index + (1 if equals else 2), operands, sure, False
        elif head in runner.valued:
            yield index + (1 if equals else 2), operands, sure, False
        elif value in runner.flags:
            yield index + 1, operands, sure, False
        elif (texts := _attached(runner, value, following)) is not None:
            for place, text in enumerate(texts, 1):
                self._given(runner, text, index + place)
            yield index + 1, operands, sure, False
            yield index + 2, operands, False, False
        elif equals:
            self._begin(index, certain=False)
            yield index + 1, operands, sure, False
        elif value[:2] in runner.valued and not value.startswith("--"):
            yield index + 1, operands, sure, False
        else:
            # What is in no list may take a value or not, or be the command.
            self._begin(index, certain=False)
            yield index + 1, operands, sure, False
            yield index + 2, operands, False, False

    def _given(self, runner: Runner, text: str | None, behind: int) -> None:
        """Take up the text of an option; the words from `behind` on stand behind it."""
        if text is None:
            return
        self.found.texts.append(_bare(text))
        if runner.splits:
            self.found.texts.append(as_shell_line(text, [arg.value for arg in self.args[behind:]]))

    def _dashes(self, first: int) -> int:
        """Where the next `--` stands."""
        place = bisect_left(self.dashes, first)
        return self.dashes[place] if place < len(self.dashes) else len(self.args)

    def _only_looks(self, name: str, start: int) -> bool:
        """`command -v` says where a program is."""
        following = self.args[start + 1].value if start + 1 < len(self.args) else ""
        return name == "command" and following in ("-v", "-V", "-pv", "-pV")

    def _assigned(self, value: str) -> None:
        name, _, text = value.partition("=")
        self.found.hints += assigned_texts(name, text)
        if reason := unclear_options(name, text):
            self._unseen(reason)

    def _found(self, start: int) -> None:
        """What `find` runs for each match; one behind another brings nothing new."""
        if start >= self.finder:
            return
        if not self.runs:
            self._find_runs()
        first, last = bisect_right(self.runs, start + 1), bisect_right(self.runs, self.finder + 1)
        self.finder = start
        for begin in reversed(self.runs[first:last]):
            self._begin(begin, certain=True)

    def _find_runs(self) -> None:
        """Note where commands behind `-exec` and the like begin and end."""
        closing = len(self.args)
        for index in range(len(self.args) - 1, 0, -1):
            value = self.args[index].value
            if value in (";", "+"):
                closing = index
            elif value in _FIND_RUNS:
                self.runs.append(index + 1)
                self.ends.append(closing)
        self.runs.reverse()
        self.ends.reverse()

    def _code(self, code: EmbeddedCode, start: int, *, certain: bool) -> None:
        self.found.texts += code.texts
        self.found.hints += code.hints
        if code.unseen and certain:
            self._unseen(code.unseen)
        for offset in code.starts:
            self._begin(start + 1 + offset, certain=certain)
        for offset in code.scripts:
            self._begin(start + 1 + offset, certain=False)

    def _from_input(self, start: int) -> None:
        """A program that reads what to run."""
        given = [each.content for each in self.redirections if each.content]
        given += [each.target.value for each in self.redirections if each.operator == "<<<" and each.target]
        self.found.texts += given
        name = self.args[start].name
        if not given and name in _READ_ALWAYS and _INFORMS.isdisjoint(arg.value for arg in self.args):
            self._unseen(f"it is unclear what {name} reads and runs")

    def _begin(self, start: int, *, certain: bool) -> None:
        self.waiting.append((start, certain))

    def _end(self, start: int) -> int:
        place = bisect_right(self.runs, start) - 1
        if place < 0 or self.runs[place] <= self.finder + 1 or self.ends[place] <= start:
            return len(self.args)
        return self.ends[place]

    def _unseen(self, reason: str) -> None:
        self.found.unseen = self.found.unseen or reason


def _is_option(value: str, runner: Runner, *, closed: bool) -> bool:
    if value == "-" or closed:
        # What `su` is given behind `--` goes to a shell, which has the same option for text.
        return value in (runner.flags if value == "-" else runner.text)
    return value.startswith(("-", "+")) and len(value) > 1


def _shortens(head: str, options: frozenset[str], runner: Runner) -> bool:
    """Whether a long option is the beginning of one of these, as most programs take it."""
    if not head.startswith("--") or len(head) < 4 or head in runner.valued or head in runner.flags:
        return False
    return any(each.startswith(head) for each in options)


def _relative(name: str) -> Runner | None:
    """The row of a program that has it under another name, such as `gtimeout` and `qemu-arm`."""
    if name.startswith("g") and name[1:] in RUNNERS:
        return RUNNERS[name[1:]]
    if "-" not in name and "." not in name:
        return None
    return next((each for names, each in FAMILIES if names.fullmatch(name)), None)


def with_input(args: Args) -> Args:
    """The words with what `xargs` and the like put into them, which is unknown; often there is none."""
    for index, arg in enumerate(args):
        name = arg.value.rpartition("/")[2]
        if name in ("xargs", "gxargs"):
            return (*args[: index + 1], *_fed(args[index + 1 :]))
        if name == "parallel" or name in _FINDERS:
            return (*args[: index + 1], *(_opened(each, _MARKS) for each in args[index + 1 :]))
    return args


def _fed(args: Args) -> Args:
    """The words behind `xargs`: its mark stands for the input, which comes last where there is none."""
    mark = ""
    for index, arg in enumerate(args):
        value = arg.value
        if not value.startswith("-"):
            break
        if value in ("-I", "-J") and index + 1 < len(args):
            mark = args[index + 1].value
        elif value.startswith(("-I", "--replace=", "-J")):
            mark = value.removeprefix("--replace=").removeprefix("-I").removeprefix("-J")
        elif value.startswith(("-i", "--replace")):
            mark = value.removeprefix("--replace").removeprefix("-i") or "{}"
    if _ONLY_OPTIONS.fullmatch(" ".join(arg.value for arg in args)):
        return (*args, Arg("echo", "echo"))  # What it runs when no command is named.
    if not mark:
        return (*args, Arg("", HOLE, open=True))
    pattern = re.compile(re.escape(mark))
    return tuple(arg if arg.value.startswith("-") else _opened(arg, pattern) for arg in args)


def _opened(arg: Arg, mark: re.Pattern[str]) -> Arg:
    value = mark.sub(HOLE, arg.value)
    return arg if value == arg.value else Arg(arg.raw, value, open=True)


def _attached(runner: Runner, value: str, following: str | None) -> list[str] | None:
    """The text behind a letter in a cluster such as `-lc`, or behind a name of several letters (`-TTcmd`)."""
    if value.startswith("--"):
        return None
    for index, letter in enumerate(value[1:], 1):
        if f"-{letter}" in runner.text:
            rest = value[index + 1 :]
            return [text for text in (rest, following) if text]
    names = [option[1:] for option in runner.text if option[1] != "-" and len(option) > 2]
    rests = [
        value[at + len(name) :] for name in names for at in range(1, len(value)) if value.startswith(name, at)
    ]
    return (
        [text for text in (*(rest.removeprefix("=") for rest in rests), following) if text] if rests else None
    )


def _bare(text: str) -> str:
    """A command line without what tells a program how to take it: `exec=` and `!`."""
    return _MANNER.sub("", text, count=1)
