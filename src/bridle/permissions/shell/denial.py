"""What rules that deny or ask see of a simple command: all that it may run, in every spelling."""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct, field
from msgspec.structs import replace

from bridle.permissions.patterns import FOLDS_CASE
from bridle.permissions.shell.hidden_commands import (
    Args,
    HiddenCommands,
    look_behind,
    runs_others,
    with_input,
)
from bridle.permissions.shell.programs.embedded_code import OPTION_VARIABLES, assigned_texts, unclear_options
from bridle.permissions.shell.programs.subcommand_names import other_names
from bridle.permissions.shell.programs.subcommands import VALUED, operand_starts
from bridle.permissions.shell.removals import REMOVERS, ProtectedFolders, critical, removed
from bridle.permissions.shell.syntax.expansions import FULL, HOLE, evaluate, evaluate_parts
from bridle.permissions.shell.syntax.simple_command import Loop, Redirection, Simple
from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.shell.values.evaluated_values import as_lines, evaluable, evaluates, is_filled_in
from bridle.permissions.shell.values.possible_values import (
    SETTERS,
    PossibleValues,
    held_values,
    parts_of,
    unwrapped,
)
from bridle.permissions.shell.values.possible_words import Arg, Budget, alternatives

UNKNOWN = "\0"
"""Stands in an open form for unknown words."""
_BLANKS = re.compile(r"\t[ \t]*| [ \t]+")
"""Runs of blanks that are more than a single one."""
_SHELL_SYNTAX = re.compile(r"""[;|&<>()`$\n'"\\{}*?\[~#!=]""")
_LIKE_COMMAND = re.compile(r"[\s@!]*[\w./~$\"'\\{(`\[<>*?|&;:-]")
_NAMES_ONLY = frozenset({"SHELL", "RUSTC", "PS0", "PS1", "PS4", "BASH_ALIASES", "BASH_CMDS", "PERL5DB"})
"""Variables that hold more than a command line, or none: nothing is said of what cannot be read in them."""
_OPEN = re.compile(f"[{HOLE}{FULL}]")
_QUOTING = re.compile(rf"\\*[{HOLE}{FULL}]|\\.|['\"]|[^\\'\"{HOLE}{FULL}]+|.", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^]]*\])?\+?=", re.ASCII)
_TWICE = (">&", "<&")
_FILLED_IN = re.compile(r"[$`]")
_PROMPT = re.compile(r"\$\{(\w+|[@*])(?:\[[^]]*\])?@P\}")
_MOST_TEXTS = 20
_LONGEST_BODY = 4_000
_MOST_FORMS = 400
_MOST_LEVELS = 3
_MOST_BRANCHES = 6
_LEAST_STARTS = 12
_MOST_LETTERS = 100_000
"""What all spellings of one command may come to; of a long one fewer are made."""

ReadText = Callable[[str, Simple, PossibleValues], "Sequence[Denial]"]
"""Reads a command line that is run from another one."""


class Line(Struct, frozen=True):
    """What bears on every command of one command line."""

    held: PossibleValues = PossibleValues()
    aliases: Mapping[str, str] = {}
    functions: Mapping[str, str] = {}
    """What the user's start-up files define, each with its body."""
    depth: int = 0
    budget: Budget = field(default_factory=Budget)
    """What is left for it and all that it runs as text."""
    evaluable: Mapping[str, bool] = {}
    """What its values run where they are evaluated, and whether that is certain."""

    @property
    def holds_nothing(self) -> bool:
        """Whether its variables hold nothing that shows."""
        return not self.held.values and self.held.positional == () and not self.evaluable


class Denial(Struct):
    """What rules that deny or ask see of a command."""

    forms: dict[str, None] = field(default_factory=dict)
    open_forms: dict[str, None] = field(default_factory=dict)
    removes: dict[str, None] = field(default_factory=dict)
    unseen: str | None = None
    critical: str | None = None
    runs_text: bool = False

    def note(self, behind: HiddenCommands, ground: ProtectedFolders | None, *, sure: bool = True) -> None:
        """Take up what was found behind a command; no ground means that removals do not count."""
        for args in behind.commands:
            if ground is not None:
                self.critical = self.critical or critical(args, ground)
                self.removes |= dict.fromkeys(removed(args, ground))
            if len(self.forms) < _MOST_FORMS:
                self.forms |= dict.fromkeys(_squeezed(form) for form in _forms(args, self.open_forms) if form)
            elif sure:
                self.hide("it may run too many commands")
        if sure and behind.unseen:
            self.hide(behind.unseen)

    def note_plain(self, text: str, ground: ProtectedFolders, *, sure: bool) -> bool:
        """Take up a command line without anything special in it; whether it was one."""
        if HOLE in text or FULL in text or _SHELL_SYNTAX.search(text):
            return False
        behind = look_behind(tuple(Arg(word, word) for word in text.split()), ())
        if behind.texts or behind.hints:
            return False
        self.note(behind, ground, sure=sure)
        return True

    def add(self, denials: "Sequence[Denial]", *, sure: bool) -> None:
        """Take up what was found in a command line that is run as text."""
        for each in denials:
            self.forms |= each.forms
            self.open_forms |= each.open_forms
            self.removes |= each.removes
            self.critical = self.critical or each.critical
            if sure and each.unseen:
                self.hide(each.unseen)

    def hide(self, reason: str) -> None:
        """Note why not everything can be seen, unless there is a reason already."""
        self.unseen = self.unseen or reason


def read_line(
    simples: Sequence[Simple],
    loops: Sequence[Loop],
    functions: Container[str],
    *,
    home: str,
    here: str,
    around: Line | None,
) -> Line:
    """What the commands of a line may find set; `around` is the line that runs it as text."""
    line = below(around, simples)
    computes = any(map(evaluates, simples))
    values = dict(around.evaluable) if around else {}
    if not computes and not loops and all(map(_sets_nothing, simples)):
        return replace(line, evaluable=values | evaluable(simples, loops, PossibleValues()))
    outer = around.held if around else None
    held = held_values(simples, loops, functions, home=home, here=here, outer=outer)
    return replace(line, held=held, evaluable=values | evaluable(simples, loops, held))


def below(around: Line | None, simples: Sequence[Simple]) -> Line:
    """A line whose variables hold nothing, with the aliases that it defines or finds."""
    aliases = dict(around.aliases) if around else {}
    for simple in simples:
        if simple.words and simple.words[0].value == "alias":
            settings = (word.value.partition("=") for word in simple.words[1:])
            aliases |= {name: body for name, _, body in settings if body}
    depth, budget = (0, Budget()) if around is None else (around.depth + 1, around.budget)
    functions = around.functions if around else {}
    return Line(PossibleValues(), aliases, functions, depth, budget)


def _sets_nothing(simple: Simple) -> bool:
    """Whether a command neither looks at a variable nor sets one."""
    if simple.assignments or any(word.value in SETTERS for word in unwrapped(simple.words)[:1]):
        return False
    return all(word.literal for word in simple.words)


def look_through(simple: Simple, line: Line, ground: ProtectedFolders, read_text: ReadText) -> Denial:
    """Everything that rules that deny or ask may match in a simple command."""
    denial = Denial({_squeezed(simple.text): None})
    settings = list(_held_options(line)) if line.held.values else []
    plain = _is_plain(simple, line) and not settings
    if plain and not simple.redirections and not line.evaluable:
        return _spelled(simple, denial)
    settings += [
        (each.name, each.value.value if each.plain else each.raw.partition("=")[2])
        for each in simple.assignments
    ]
    texts: dict[str, bool] = {}
    for name, value in settings:
        for text in assigned_texts(name, value):
            texts.setdefault(text, name not in _NAMES_ONLY)
        if reason := unclear_options(name, value):
            denial.hide(reason)
    # Bash fills in the word behind `>&` a second time.
    twice = [each.target.value for each in simple.redirections if each.operator in _TWICE and each.target]
    texts |= {line: True for value in twice if is_filled_in(value) for line in as_lines(value)}
    if texts or (line.evaluable and evaluates(simple)):
        texts |= line.evaluable if evaluates(simple) else {}
    elif plain:
        return _spelled(simple, denial)
    redirections = tuple(_fed(simple.redirections, line.held))
    takes_input = any(word.value.endswith(("xargs", "parallel")) for word in simple.words)
    for args, sure in alternatives(simple.words, line.held, line.budget).items() if simple.words else ():
        behind = look_behind(args, redirections)
        denial.note(behind, ground if sure else None)
        if sure and takes_input:
            denial.critical = denial.critical or _given(simple, line, behind, ground)
        texts |= {text: texts.get(text, False) for text in behind.hints} | dict.fromkeys(behind.texts, True)
        for first in _commanding(args) if line.aliases or line.functions else ():
            if (body := line.aliases.get(args[first].value)) is not None:
                texts[" ".join([body, *(arg.raw for arg in args[first + 1 :])])] = True
            if (body := line.functions.get(args[first].value)) is None:
                continue
            if len(body) > _LONGEST_BODY:
                denial.hide(f"{args[first].value} is a long function of the start-up files")
            else:
                texts[body] = True
    for each in simple.evaluates:
        shown = _PROMPT.search(each)
        if shown is not None and any(HOLE in value for value in line.held.of(shown[1])):
            denial.hide(f"it is unclear what expanding {each} runs")
    denial.runs_text = any(
        sure for text, sure in texts.items() if text not in line.evaluable and text != "cat"
    )
    for text, sure in _likely(texts, denial):
        named = bool(line.aliases or line.functions)
        if named or not denial.note_plain(text, ground, sure=sure):
            denial.add(read_text(_with_variables(text), simple, line.held), sure=sure)
    return denial


def _commanding(args: Args) -> Iterator[int]:
    """The words that bash takes for the name of a command: the first, and the one behind `time`."""
    if args:
        yield 0
    if args and args[0].value == "time":
        yield from (index for index in (1, 2, 3) if index < len(args))


def _given(simple: Simple, line: Line, behind: HiddenCommands, ground: ProtectedFolders) -> str | None:
    """Why a removal must not run whose operands come from input that the line shows."""
    removals = [args for args in behind.commands if args and args[0].name in REMOVERS]
    texts = [each.target.value for each in simple.redirections if each.operator == "<<<" and each.target]
    texts += [each.content for each in simple.redirections if each.content]
    if not removals or not (texts or simple.fed_by):
        return None
    for words in (each.words for each in simple.fed_by if each.words):
        for args in alternatives(words, line.held, line.budget):
            if args[0].name in ("echo", "printf"):
                texts += [arg.value for arg in args[1:] if not arg.value.startswith("-")]
            elif args[0].name == "find" and (found := critical((*args, Arg("-delete", "-delete")), ground)):
                return found
    operands = tuple(Arg(word, word) for text in texts for word in re.split(r"[\s'\"]|\\[0n]", text) if word)
    return next((found for args in removals if (found := critical((*args, *operands), ground))), None)


def _held_options(line: Line) -> Iterator[tuple[str, str]]:
    """Variables with options of a program that the line sets, by `read`, `printf -v` or in any other way."""
    for name in OPTION_VARIABLES:
        if name in line.held.values:
            yield from ((name, value) for value in line.held.of(name))


def _with_variables(text: str) -> str:
    """A text with a variable for everything that was filled in before a shell read it, also inside quotes."""
    if _OPEN.search(text) is None:
        return text
    quoted, double = False, False
    written: list[str] = []
    for piece in _QUOTING.findall(text):
        if _OPEN.fullmatch(piece[-1]):
            # What is filled in stands behind a backslash or in quotes that do not hold it.
            written.append("'\"${__}\"'" if quoted else "${__}")
            continue
        if piece == "'" and not double:
            quoted = not quoted
        elif piece == '"' and not quoted:
            double = not double
        written.append(piece)
    return "".join(written)


def _fed(redirections: Sequence[Redirection], held: PossibleValues) -> Iterator[Redirection]:
    """The redirections, and with them what the variables in here-documents and here-strings may come to."""
    for each in redirections:
        yield each
        if each.operator == "<<<" and each.target is not None and not each.target.literal:
            texts = evaluate_parts(parts_of(each.target), held.of)
            yield from (replace(each, target=Word(text, text)) for text in texts)
        elif each.document is not None and _FILLED_IN.search(each.content):
            yield from (replace(each, content=text) for text in evaluate(each.content, held.of))


def _is_plain(simple: Simple, line: Line) -> bool:
    """Whether a command runs nothing else and removes nothing, as most do."""
    if not simple.words or simple.assignments or not _runs_nothing(simple.words[0].value):
        return False
    name = simple.words[0].value
    if name in line.aliases or name in line.functions:
        return False
    return all(word.literal for word in simple.words)


def _spelled(simple: Simple, denial: Denial) -> Denial:
    """The denial with every spelling of a plain command; most have only their text."""
    values = [word.value for word in simple.words]
    if simple.text != " ".join(values) or any(_names(values[0])) or values != [e.raw for e in simple.words]:
        args = tuple(Arg(word.raw, word.value) for word in simple.words)
        denial.forms |= dict.fromkeys(map(_squeezed, _forms(args, denial.open_forms)))
    return denial


@lru_cache(maxsize=4096)
def _runs_nothing(program: str) -> bool:
    name = program.rpartition("/")[2]
    if not name or "=" in program or name.startswith("git-"):
        return False
    return name not in VALUED and name not in REMOVERS and not runs_others(name)


def salvaged(words: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The forms of a command of which no more is known than its words, as written and without quotes."""
    denial = Denial()
    args = tuple(Arg(raw, value) for raw, value in words)
    runs = not _runs_nothing(args[0].value) or _ASSIGNMENT.match(args[0].raw)
    if not runs and with_input(args) is args:
        return tuple(dict.fromkeys(_squeezed(form) for form in _forms(args, denial.open_forms) if form))
    denial.note(look_behind(args, ()), None)
    return tuple(denial.forms)


def _likely(texts: Mapping[str, bool], denial: Denial) -> list[tuple[str, bool]]:
    """What is worth reading as a command line, what is certain to be one first."""
    wanted = [
        (text, sure)
        for text, sure in texts.items()
        if (sure and text.strip()) or _LIKE_COMMAND.match(text) or HOLE in text
    ]
    if len(wanted) > _MOST_TEXTS:
        denial.hide("it has too many commands in its arguments")
    return sorted(wanted, key=lambda each: not each[1])[:_MOST_TEXTS]


def _forms(args: Args, open_forms: dict[str, None]) -> Iterator[str]:
    """The spellings of one command that a rule may name."""
    raws = [arg.raw for arg in args]
    values = [arg.value for arg in args]
    if _OPEN.search(" ".join(values)):
        values = [arg.raw if _OPEN.search(arg.value) else arg.value for arg in args]
    spellings = (raws,) if raws == values else (raws, values)
    yield from map(" ".join, spellings)
    for name in _names(values[0]):
        yield from (" ".join([name, *words[1:]]) for words in spellings)
    name = args[0].name
    if name and name.startswith("git-"):
        yield " ".join(["git", name[4:], *values[1:]])
    if name in VALUED and len(args) > 1:
        plain = tuple(_without_options(name, args, open_forms))
        yield from plain
        for form in (" ".join([name, *values[1:]]), *plain):
            yield from other_names(name, form)


def _names(value: str) -> Iterator[str]:
    """Other names of the program that a word names."""
    name = value.rpartition("/")[2]
    if name and name != value:
        yield name
    if name.endswith(".exe"):
        yield name[:-4]
    if FOLDS_CASE and name != name.lower():
        yield name.lower()


def _without_options(name: str, args: Args, open_forms: dict[str, None]) -> Iterator[str]:
    """The command without the options before its subcommand and between the words of that."""
    valued = VALUED[name]
    shown = [arg.raw if HOLE in arg.value else arg.value for arg in args]
    branches: list[tuple[tuple[str, ...], int]] = [((name,), 1)]
    most = max(_LEAST_STARTS, _MOST_LETTERS // sum(map(len, shown)))
    levels = _MOST_LEVELS
    while levels > 0 and branches:
        levels -= 1
        following: list[tuple[tuple[str, ...], int]] = []
        for words, begin in branches[:_MOST_BRANCHES]:
            starts = operand_starts(args, (begin,), valued)
            if len(starts) > most:
                # It may be any subcommand; the first and the last places are looked at all the same.
                open_forms[" ".join([*words, UNKNOWN])] = None
                starts = sorted(starts)
                starts = starts[: most // 2] + starts[-most // 2 :]
                levels = 0
            for index in starts:
                if name in ("make", "gmake") and "=" in args[index].value:
                    following.append((words, index + 1))
                    continue
                behind = shown[index:]
                if index > begin or words[-1] != args[begin - 1].value:
                    yield " ".join([*words, *behind])
                word = UNKNOWN if args[index].open else args[index].value
                if word == UNKNOWN:
                    open_forms[" ".join([*words, word, *behind[1:]])] = None
                following.append(((*words, word), index + 1))
        branches = following


def _squeezed(text: str) -> str:
    if "  " in text or "\t" in text:
        text = _BLANKS.sub(" ", text)
    return text.strip(" \t")
