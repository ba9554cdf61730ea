"""A shell command read once: every part, and whether the whole can be judged at all."""

import os.path
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from bridle.permissions.shell.denial import Denial, Line, below, look_through, read_line
from bridle.permissions.shell.early_refusals import is_refused_early
from bridle.permissions.shell.judge import CommandVerdict, judge, weigh
from bridle.permissions.shell.line_context import LineContext
from bridle.permissions.shell.read_only import KNOWN
from bridle.permissions.shell.removals import ProtectedFolders
from bridle.permissions.shell.syntax.command_parser import TOO_MANY
from bridle.permissions.shell.syntax.fallback import flat
from bridle.permissions.shell.syntax.grammar_check import disagreement
from bridle.permissions.shell.syntax.grammar_tree import parse
from bridle.permissions.shell.syntax.lexer import TOO_DEEP, Fault
from bridle.permissions.shell.syntax.nodes import Script
from bridle.permissions.shell.syntax.parser import read_script
from bridle.permissions.shell.syntax.plain_lines import read_plain
from bridle.permissions.shell.syntax.simple_command import LineState, Places, Simple
from bridle.permissions.shell.syntax.unparsed import pieces
from bridle.permissions.shell.syntax.walk import Walk
from bridle.permissions.shell.values.possible_values import PossibleValues
from bridle.permissions.shell.values.taint import tainted
from bridle.permissions.shell.values.variable_values import known_values
from bridle.permissions.word_lists import listed
from bridle.types.services.startup import Startup
from bridle.types.shell import Part, Reading

_LONGEST = 10_000
_MOST_PARTS = 50
_MOST_OPENINGS = 200
_MOST_OPERATORS = 1_000
_MOST_REDIRECTIONS = 1_000
_DEEPEST_SCRIPT = 3
_SHOWN = 200
_FILLS_IN = re.compile(r"[$`(\\]")
"""What may begin an expansion, also where it is written with codes of characters."""
_FIRST_NAME = re.compile(r"[ \t]*([A-Za-z_]\w*)(?:\Z|[;|&<>\n]|[ \t]+(?![ \t(\\]))", re.ASCII)
"""The name that a line begins with, where it is certain to be a whole word and no function's."""
_OPENS = listed("if while until for select case function")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HIDDEN = re.compile(
    "[\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)


class _Found(Struct, frozen=True):
    """What a walk over one command line brought."""

    simples: list[Simple]
    fault: str | None
    scene: LineContext
    line: Line
    visited: frozenset[str] = frozenset()
    passed: Sequence[CommandVerdict] = ()
    """What a quick look has weighed, from the first command on."""


def read_command(command: str, *, cwd: str, home: str, startup: Startup | None = None) -> Reading:
    """Take a shell command apart; never raises, and says in `fault` why it cannot be judged.

    `startup` are names that the shell knows besides its own: none of them is judged by reputation."""
    fault = _unreadable(command)
    swarm = _swarm(command)
    if len(command) > _LONGEST or swarm is not None:
        fault = fault or swarm
        return Reading(parts=tuple(pieces(command)), fault=fault, shape="compound")
    start = _start(cwd)
    found = _walk(command, frozenset({start}), start, home)
    if startup is not None and startup.is_used_by(command):
        found = _with_startup(found, startup)
    fault = fault or found.fault
    simples, doubtful = found.simples, fault is not None
    if len(simples) > _MOST_PARTS:
        fault = fault or TOO_MANY
        # Nothing is allowed any more; what is left to do is to look for what is denied.
        simples = list({each.text: each for each in simples}.values())
    parts = _judged(simples, found)
    if fault:
        parts = [replace(part, harmless=False, file_command=False) for part in parts]
        # What is only too much has been read to its end; in all else something may have been overlooked.
        parts += pieces(command) if doubtful else ()
    return Reading(
        parts=tuple(parts),
        fault=fault,
        leaves=_outside(found, start),
        shape="simple" if len(parts) <= 1 else "compound",
    )


def _with_startup(found: _Found, startup: Startup) -> _Found:
    """What was found, where the user's start-up files give some of the names a meaning."""
    meant = {name: f"alias of {_shortened(body)}" for name, body in startup.aliases.items()}
    meant |= dict.fromkeys(startup.functions, "a function")
    line = replace(found.line, aliases={**startup.aliases, **found.line.aliases}, functions=startup.functions)
    # What was weighed without these names is weighed again.
    return replace(found, scene=replace(found.scene, startup=meant), line=line, passed=())


def _shortened(body: str) -> str:
    return body if len(body) <= _SHOWN else f"{body[:_SHOWN]}…"


def _swarm(command: str) -> str | None:
    """Why a command has far too many of something to be worth parsing, which would take long."""
    if len(command) <= _MOST_OPENINGS:
        return None
    if sum(map(command.count, ("$(", "<(", ">(", "`", "eval"))) > _MOST_OPENINGS:
        return TOO_DEEP
    if sum(map(command.count, ("|", ";", "&", "\n", "! "))) > _MOST_OPERATORS:
        return TOO_MANY
    if sum(map(command.count, "<>")) > _MOST_REDIRECTIONS:
        return TOO_MANY
    return None


def _unreadable(command: str) -> str | None:
    if len(command) > _LONGEST:
        return f"the command is longer than {_LONGEST:,} characters"
    if "\r" in command:
        return "the command contains a carriage return"
    if _CONTROL.search(command):
        return "the command contains a control character"
    if _HIDDEN.search(command):
        return "the command contains an invisible character"
    return None


def only_reads(command: str, *, cwd: str, home: str) -> bool:
    """Whether every part of a command is harmless; the same reading as a whole one, up to the first doubt."""
    if (first := _FIRST_NAME.match(command)) and first[1] not in KNOWN and first[1] not in _OPENS:
        return False  # Whatever follows, the first command is one that is not known.
    script = _readable_script(command)
    if script is None or is_refused_early(script):
        return False
    start = _start(cwd)
    walk, passed = _walked(script.text, frozenset({start}), home)
    if walk.fault is not None or len(walk.simples) > _MOST_PARTS:
        return False
    if walk.backquoted:
        if not _may_be_backquoted(walk):
            return False
        walk, passed = Walk(script, home), []
        walk.run(LineState(frozenset({start})))
        if _backquoted(walk) is not None:
            return False
    scene = _scene(walk, start, home)
    for each in walk.simples[len(passed) :]:
        weighed = weigh(each, scene)
        if not weighed.only_reads:
            return False
        passed.append(weighed)
    return _disagreement(script.text) is None


def _may_be_backquoted(walk: Walk) -> bool:
    """Whether what stands between backquotes can be read and shows no doubt at first sight."""
    try:
        return not any(is_refused_early(_script(text)) for text, _ in walk.backquoted)
    except Fault:
        return False


def only_edits(command: str, *, cwd: str, home: str) -> bool:
    """Whether every part of a command is harmless or changes files as accept-edits mode lets it."""
    script = _readable_script(command)
    if script is None:
        return False
    start = _start(cwd)
    walk, _ = _walked(script.text, frozenset({start}), home)
    if walk.fault is not None:
        return False
    scene = _scene(walk, start, home)
    if any(not (part := judge(each, scene)).harmless and not part.file_command for each in walk.simples):
        return False
    return _disagreement(script.text) is None


def denial_forms(command: str, *, cwd: str, home: str) -> Iterator[Part]:
    """What rules that deny or ask see of each part of a command, one by one; Fault if it cannot be read."""
    script = _readable_script(command)
    if script is None:
        raise Fault("the command cannot be parsed")
    start = _start(cwd)
    walk, _ = _walked(script.text, frozenset({start}), home)
    if walk.fault is not None:
        raise Fault(walk.fault)
    line = read_line(walk.simples, walk.loops, walk.functions, home=home, here=start, around=None)
    scene = LineContext(start, home)
    for simple in walk.simples:
        yield _seen(simple, Part(text=simple.text), scene, line)


def _readable_script(command: str) -> Script | None:
    if _unreadable(command) or _swarm(command):
        return None
    try:
        return _script(_as_bytes(command))
    except Fault:
        return None


@lru_cache(maxsize=16)
def _script(text: str) -> Script:
    """A parsed text, cached: one is read again after a quick look, and in every filling of a command."""
    return read_plain(text) or read_script(text)


@lru_cache(maxsize=4)
def _walked(text: str, at: Places, home: str) -> tuple[Walk, list[CommandVerdict]]:
    """A pass over a text, which must not be changed, and those of its commands that are known to only read.

    A quick look adds to the second, from the first command on, so that the full one need not weigh again."""
    walk = Walk(_script(text), home)
    walk.run(LineState(at))
    return walk, []


@lru_cache(maxsize=16)
def _disagreement(text: str) -> str | None:
    """What the grammar takes otherwise in a text that was read."""
    script = _script(text)
    return None if script.certain else disagreement(parse(text), script)


def _walk(command: str, at: Places, start: str, home: str, *, around: Line | None = None) -> _Found:
    text = _as_bytes(command)
    try:
        script = _script(text)
    except Fault as problem:
        simples = _searched(text, home, at)
        return _Found(simples, str(problem), LineContext(start, home), below(around, simples))
    walk, passed = _walked(script.text, at, home)
    if walk.backquoted:
        # What stands between backquotes is added to it below.
        walk = Walk(script, home)
        walk.run(LineState(at))
    fault = walk.fault or _disagreement(script.text) or _backquoted(walk)
    simples = [*walk.simples, *_searched(script.text, home, at)] if fault else walk.simples
    visited = frozenset(walk.visited)
    known = () if fault or around else passed
    if fault is None and (around is None or around.holds_nothing) and _holds_nothing(walk):
        return _Found(simples, fault, LineContext(start, home), below(around, simples), visited, known)
    line = read_line(simples, walk.loops, walk.functions, home=home, here=start, around=around)
    # Of text that another command runs only what may be denied in it counts, whatever its variables hold.
    scene = _scene(walk, start, home) if around is None else LineContext(start, home)
    return _Found(simples, fault, scene, line, visited, known)


def _holds_nothing(walk: Walk) -> bool:
    """Whether a command line sets no variable, fills nothing in and defines nothing, as most do."""
    if walk.variables or walk.loops or walk.functions or _FILLS_IN.search(walk.text):
        return False
    return all(each.kind == "command" for each in walk.simples)


@lru_cache(maxsize=16)
def _start(cwd: str) -> str:
    return os.path.normpath(cwd)


def _scene(walk: Walk, start: str, home: str) -> LineContext:
    if not (walk.variables or walk.loops or walk.functions or walk.gathering.fills_in):
        return LineContext(start, home)
    values = known_values(walk.simples, walk.loops, walk.functions)
    foreign = tainted(walk.simples, walk.loops, walk.variables)
    return LineContext(start, home, frozenset(walk.functions), frozenset(walk.variables), foreign, values)


def _as_bytes(command: str) -> str:
    """A text with one character for each byte that bash gets."""
    return command if command.isascii() else command.encode("utf-8", "replace").decode("latin-1")


def _backquoted(walk: Walk) -> str | None:
    """Read what stands between backquotes, each like a command line of its own."""
    fault: str | None = None
    for text, at in walk.backquoted:
        try:
            script = read_script(text)
        except Fault as problem:
            fault = fault or str(problem)
            continue
        inner = walk.inside(script, at)
        fault = fault or disagreement(parse(script.text), script) or _backquoted(inner) or walk.fault
    return fault


def _searched(text: str, home: str, places: Places) -> list[Simple]:
    """What the grammar finds where nothing is certain."""
    return flat(parse(text), text, home=home, places=places)


def _judged(simples: list[Simple], found: _Found) -> list[Part]:
    """The parts of a line, judged and looked through; one that stands there twice comes to the same."""
    judged: dict[str, tuple[Simple, Part]] = {}
    parts: list[Part] = []
    for index, simple in enumerate(simples):
        same, part = judged.get(simple.text, (None, None))
        if part is None or same != simple:
            passed = found.passed[index] if index < len(found.passed) else None
            part = _seen(simple, judge(simple, found.scene, passed), found.scene, found.line)
            judged[simple.text] = simple, part
        parts.append(part)
    return parts


def _seen(simple: Simple, part: Part, scene: LineContext, line: Line) -> Part:
    """The part with all that its command would run, for rules that deny or ask."""
    found = _looked_through(simple, scene, line)
    if line.budget.is_spent:
        found.hide("it may expand to too many commands")
    return replace(
        part,
        deny_forms=tuple(found.forms),
        open_forms=tuple(found.open_forms),
        unseen=found.unseen,
        critical=found.critical,
        removes=tuple(found.removes),
        harmless=part.harmless and not found.runs_text,
    )


def _looked_through(simple: Simple, scene: LineContext, line: Line) -> Denial:
    def read_text(text: str, simple: Simple, held: PossibleValues) -> list[Denial]:
        return _inner(text, simple, scene, replace(line, held=held))

    return look_through(simple, line, ProtectedFolders(scene.start, scene.home, simple.places), read_text)


def _inner(text: str, simple: Simple, scene: LineContext, line: Line) -> list[Denial]:
    """What may be denied in a command line that another command runs."""
    if line.depth >= _DEEPEST_SCRIPT or not line.budget.take_text():
        return [Denial(unseen="it nests commands in strings too deeply"), *_salvaged(text)]
    found = _walk(text, simple.places, scene.start, scene.home, around=line)
    denials = [_looked_through(each, found.scene, found.line) for each in _distinct(found.simples)]
    if not found.fault:
        return denials
    return [*denials, *_salvaged(text), Denial(unseen="it runs a string that cannot be parsed")]


def _distinct(simples: list[Simple]) -> Iterator[Simple]:
    """The commands of a line, each once that stands there several times; what feeds them does not matter."""
    seen: dict[str, tuple[object, ...]] = {}
    for each in simples:
        means = (each.words, each.assignments, each.redirections, each.evaluates, each.places, each.kind)
        if seen.get(each.text) != means:
            seen[each.text] = means
            yield each


def _salvaged(text: str) -> Iterator[Denial]:
    return (Denial(dict.fromkeys(part.deny_forms)) for part in pieces(text))


def _outside(found: _Found, start: str) -> tuple[str, ...]:
    inside = start.rstrip("/") + "/"
    places = {place for each in found.simples for place in each.places or ()} | found.visited
    return tuple(sorted(place for place in places if not f"{place}/".startswith(inside)))
