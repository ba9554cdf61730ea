"""What a simple command comes to: harmless or not, what it reads, writes and must never remove."""

import os.path
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from bridle.permissions.shell.line_context import LineContext
from bridle.permissions.shell.mentioned_paths import mentioned
from bridle.permissions.shell.programs.file_commands import TouchedPaths, touched
from bridle.permissions.shell.programs.options import Verdict
from bridle.permissions.shell.programs.small_languages import FIND_ACTS, TEXT_ONLY
from bridle.permissions.shell.programs.wrappers import OPAQUE, hides_name, unwrapped
from bridle.permissions.shell.programs.writers import written
from bridle.permissions.shell.read_only import judge_command, program
from bridle.permissions.shell.rule_texts import allow_forms
from bridle.permissions.shell.syntax.simple_command import Assignment, Places, Redirection, Simple
from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.shell.values.arithmetic_commands import compares_numbers, counts, may_run
from bridle.permissions.shell.values.directories import destination, resolve
from bridle.permissions.shell.values.taint import is_own
from bridle.permissions.shell.values.variables import is_harmless, is_harmless_as, may_be_set
from bridle.types.shell import Part

_Item = TypeVar("_Item")
FREE_OUTPUT = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_FREE_INPUT = frozenset({"/dev/null", "/dev/stdin"})
_NETWORK = re.compile(r"/+dev/+(?:tcp|udp)/")
_NEVER_HARMLESS_BEHIND = frozenset({"xargs", "nohup", "noglob"})
_MAKERS = frozenset({"mkdir", "touch"})
_FD_ACTS = frozenset({"-x", "-X", "--exec", "--exec-batch"})


class _Paths(Struct):
    """Absolute paths as they come together."""

    reads: list[str]
    writes: list[str]
    globs: list[str]
    redirects: tuple[str, ...] = ()
    mentions: list[str] = []
    lists: list[str] = []
    """Folders of which any file may be read."""
    copies: list[tuple[str, str]] = []
    walks: tuple[str, ...] = ()
    unclear: str | None = None
    redirects_unclear: bool = False


class CommandVerdict(Struct, frozen=True):
    """What was found out about a simple command on the way to its verdict."""

    words: tuple[Word, ...]
    """Those behind its wrappers."""
    wrappers: frozenset[str]
    verdict: Verdict
    paths: _Paths

    @property
    def only_reads(self) -> bool:
        """Whether the command is harmless and writes nothing."""
        verdict, paths = self.verdict, self.paths
        return (
            verdict.harmless
            and not paths.writes
            and paths.unclear is None
            and _unknown_name(self.words) is None
        )


def weigh(simple: Simple, scene: LineContext) -> CommandVerdict:
    """The verdict on a simple command, with the files that its redirections and its operands name."""
    paths = _Paths([], [], [])
    words, wrappers = unwrapped(simple.words)
    if simple.redirections:
        for each in simple.redirections:
            _redirect(each, simple, scene, paths)
        paths.redirects, paths.redirects_unclear = tuple(paths.writes), paths.unclear is not None
        verdict = _documents(simple, scene) or _verdict(simple, words, wrappers, scene)
    else:
        verdict = _verdict(simple, words, wrappers, scene)
    if verdict.harmless and (verdict.here or verdict.reads or verdict.follows):
        verdict = _follow_reads(verdict, simple.places, scene, paths)
    return CommandVerdict(words, wrappers, verdict, paths)


def judge(simple: Simple, scene: LineContext, weighed: CommandVerdict | None = None) -> Part:
    """Judge one simple command; what rules that deny or ask see of it is not looked at here."""
    weighed = weighed or weigh(simple, scene)
    words, wrappers, verdict, paths = weighed.words, weighed.wrappers, weighed.verdict, weighed.paths
    file_command = False
    if words and not verdict.harmless:
        file_command = _file_command(simple, words, wrappers, scene, paths)
        paths.mentions += mentioned(words, simple.places or frozenset({scene.start}))
    return Part(
        text=simple.text,
        allow_forms=allow_forms(simple),
        feeds=simple.feeds or bool(paths.redirects) or paths.redirects_unclear,
        harmless=verdict.harmless,
        file_command=file_command,
        why=verdict.why,
        reads=_unique(paths.reads),
        writes=_unique(paths.writes),
        globs=_unique(paths.globs),
        redirects=_unique(paths.redirects),
        mentions=_unique(paths.mentions),
        unclear=paths.unclear
        or _unknown_name(words)
        or (None if verdict.harmless else may_run(simple, words, scene)),
        redirects_unclear=paths.redirects_unclear,
        programs=_programs(simple, words, wrappers, verdict),
        runs_in=tuple(sorted(simple.places or ())),
        copies=_unique(paths.copies),
        walks=paths.walks,
        tree_paths=verdict.tree_paths,
        shows_tree=verdict.shows_tree,
        shown_paths=_at(verdict.shown_paths, simple.places),
        shown_names=_at(verdict.shown_names, simple.places),
        lists=(
            *(place for root in verdict.lists for place in absolute(root, simple.places) or ("/",)),
            *paths.lists,
        ),
        lists_exactly=verdict.exactly and not paths.lists,
        expands=verdict.expands,
        service=verdict.service,
        blocks_prefix=_blocks_prefix(words),
    )


def _unique(found: Sequence[_Item]) -> tuple[_Item, ...]:
    return tuple(dict.fromkeys(found)) if found else ()


def _programs(
    simple: Simple, words: tuple[Word, ...], wrappers: frozenset[str], verdict: Verdict
) -> tuple[str, ...]:
    if simple.kind != "command" or not words:
        return ()
    return (*sorted(wrappers), words[0].value, *verdict.programs)


def _documents(simple: Simple, scene: LineContext) -> Verdict | None:
    """What is wrong with the here-documents and here-strings of a command."""
    for each in simple.redirections:
        word = each.document if each.document is not None else each.target if each.operator == "<<<" else None
        if word is None:
            continue
        if not word.inert:
            return Verdict(f"expanding {each.raw} may set a variable or run a command")
        if unknown := next((name for name in word.names if not _known(name, simple, scene)), None):
            return Verdict(f"the value of ${unknown} is unknown")
    return None


def _verdict(
    simple: Simple, words: tuple[Word, ...], wrappers: frozenset[str], scene: LineContext
) -> Verdict:
    match simple.kind:
        case "redirection":
            return Verdict("it only opens files", True)
        case "assignment":
            return _assigned(simple, scene)
        case "declaration":
            return _declared(simple)
        case "arithmetic":
            return Verdict("it only does arithmetic", counts(simple, scene))
        case "condition":
            # What is compared as a number is computed, and that may run a command in a subscript.
            computes = compares_numbers(simple, scene)
            return Verdict("it only does arithmetic" if computes else "it only compares", not computes)
        case "command" | "test":
            return _commanded(simple, words, wrappers, scene)


def _commanded(
    simple: Simple, words: tuple[Word, ...], wrappers: frozenset[str], scene: LineContext
) -> Verdict:
    name = words[0].value
    behind = wrappers & _NEVER_HARMLESS_BEHIND
    if wrappers == frozenset({"xargs"}) and simple.fed_by and simple.words[0].value == "xargs":
        words, behind, wrappers = simple.words, frozenset(), frozenset()
        name = "xargs"
    if behind and (wrappers != frozenset({"xargs"}) or name not in TEXT_ONLY):
        return Verdict(f"{min(behind)} expands it in ways that cannot be checked")
    if name in scene.functions or wrappers & scene.functions:
        return Verdict(f"{name} is defined in the command itself")
    if (meant := scene.startup.get(name)) is not None:
        return Verdict(f"{name} comes from your start-up files: {meant}")
    for each in simple.assignments:
        # `IFS= read` is how lines are read whole, and means nothing to anything but read.
        fine = is_harmless_as(each.name, each.value.value, literal=_is_known(each))
        fine = fine or (each.name == "IFS" and name == "read")
        if not fine or not each.value.inert or not each.plain:
            return Verdict(f"setting {each.name} may change what {name} does")
    filled_in = [word for word in words if word.names or word.pieces]
    unknown = next(
        (shown for word in filled_in for shown in word.names if not _known(shown, simple, scene)), None
    )
    if unknown is not None:
        return Verdict(f"the value of ${unknown} is unknown")
    if any(scene.values.scatters(word) for word in filled_in):
        return Verdict("an unquoted variable may expand to file name patterns")
    if name in ("cd", "pushd"):
        target = destination(words, scene.home)
        known = target is not None and (simple.places is not None or target.startswith("/"))
        return Verdict("it changes the directory" if known else "it is unclear where it leads", known)
    start = scene.start
    return _filled_in(simple, words, scene, here=start if simple.places == frozenset({start}) else None)


def _filled_in(simple: Simple, words: tuple[Word, ...], scene: LineContext, *, here: str | None) -> Verdict:
    """The verdict on a command for every value of its variables, each as if it had been written there."""
    if not any(word.pieces for word in words):
        verdict = judge_command(words, here=here, places=simple.places, fed=simple.fed_by)
        if not verdict.harmless or (len(verdict.reads) < 2 and len(verdict.tree_paths) < 2):
            return verdict
    reads: dict[Word, None] = {}
    verdict = Verdict("its words may expand to nothing")
    reads_here = follows = shows = expands = False
    named: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    limits: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    for filled in scene.values.fillings(words[1:], simple):
        verdict = judge_command((words[0], *filled), here=here, places=simple.places, fed=simple.fed_by)
        if not verdict.harmless:
            return verdict
        reads |= dict.fromkeys(verdict.reads)
        reads_here, follows = reads_here or verdict.here, follows or verdict.follows
        shows, named = shows or verdict.shows_tree, (*named, *verdict.tree_paths)
        expands, lists = expands or verdict.expands, (*lists, *verdict.lists)
        limits.append((verdict.shown_paths, verdict.shown_names))
    return replace(
        verdict,
        reads=tuple(reads),
        here=reads_here,
        follows=follows,
        tree_paths=tuple(dict.fromkeys(named)),
        shows_tree=shows,
        shown_paths=limits[0][0] if len(set(limits)) == 1 else (),
        shown_names=limits[0][1] if len(set(limits)) == 1 else (),
        expands=expands,
        lists=tuple(dict.fromkeys(lists)),
    )


def _at(texts: tuple[str, ...], places: Places) -> tuple[str, ...]:
    return tuple(os.path.join(place, text) for text in texts for place in sorted(places or ()))


def _known(name: str, simple: Simple, scene: LineContext) -> bool:
    """Whether a variable holds nothing from outside that should not be shown."""
    return name not in scene.tainted and is_own(name, simple.certain, scene.variables)


def _assigned(simple: Simple, scene: LineContext) -> Verdict:
    for each in simple.assignments:
        if not each.plain or not may_be_set(each.name):
            return Verdict(f"setting {each.name} may change what follows")
        value = each.value
        if is_harmless(each.name) and not (
            value.literal and is_harmless_as(each.name, value.value, literal=_is_known(each))
        ):
            return Verdict(f"other programs may use {each.name}, and its value is unknown")
        if not scene.values.is_inert(each.value, simple):
            return Verdict(f"setting {each.name} may set another variable or run a command")
    return Verdict("it sets a variable that no program uses", True)


def _is_known(assignment: Assignment) -> bool:
    """Whether the value is certain, and all that the variable will hold."""
    return assignment.value.literal and not assignment.raw.startswith(f"{assignment.name}+")


def _declared(simple: Simple) -> Verdict:
    words = simple.words[1:]
    plain = [
        each
        for each in simple.assignments
        if each.plain
        and each.value.inert
        and is_harmless_as(each.name, each.value.value, literal=_is_known(each))
    ]
    if simple.words and simple.words[0].value == "export" and len(plain) == len(words) and words:
        return Verdict("it sets harmless variables", True)
    return Verdict(f"{simple.words[0].value if simple.words else 'it'} may change what follows")


def _follow_reads(verdict: Verdict, places: Places, scene: LineContext, paths: _Paths) -> Verdict:
    """Note what is read, or take the verdict back when that is unclear."""
    if verdict.here:
        if places is None:
            return Verdict("it is unclear which directory it reads")
        paths.reads += sorted(places)
    for word in verdict.reads:
        if word.stream or (word.literal and (word.value == "-" or word.value in _FREE_INPUT)):
            continue
        found = _read(word, places, scene)
        if found is None:
            return Verdict(f"it is unclear where {word.raw} leads")
        paths.reads += found
        paths.globs += _patterns(word, places)
    paths.walks = tuple(paths.reads) if verdict.follows else ()
    return verdict


def _patterns(word: Word, places: Places) -> list[str]:
    pattern = word.pattern or (word.value if word.glob is not None else None)
    return (absolute(pattern, places) or []) if pattern else []


def _read(word: Word, places: Places, scene: LineContext) -> list[str] | None:
    if word.doubt is not None:
        return None
    known = word.glob if word.pattern is None else word.pattern.partition("*")[0]
    if known is None:
        return _certain(word.value, places, scene)
    if any(
        step.startswith(".") and fnmatchcase("..", step)
        for step in (word.pattern or word.value)[known.rfind("/") + 1 :].split("/")
    ):
        return None
    return _certain(os.path.dirname(known) or ("/" if known.startswith("/") else "."), places, scene)


def _certain(path: str, places: Places, scene: LineContext) -> list[str] | None:
    """A path made absolute, unless a `..` in it may step back over a link."""
    if ".." not in path:
        return absolute(path, places)
    steps = [step for step in path.split("/") if step not in ("", ".")]
    leading = 0
    while leading < len(steps) and steps[leading] == "..":
        leading += 1
    if ".." in steps[leading:]:
        return None
    if leading and (path.startswith("/") or places != frozenset({scene.start})):
        return None
    return absolute(path, places)


def absolute(path: str, places: Places) -> list[str] | None:
    """A path as seen from each directory the command may run in; None when those are not known."""
    if path.startswith("/"):
        return [resolve("/", path)]
    return None if places is None else [resolve(place, path) for place in sorted(places)]


def _redirect(each: Redirection, simple: Simple, scene: LineContext, paths: _Paths) -> None:
    target, places = each.target, simple.places
    if target is None or each.operator == "<<<":
        return
    if target.literal:
        output = ">" in each.operator
        if each.operator in (">&", "<&") and re.fullmatch(r"\d+-?|-", target.value):
            return
        if (
            target.value in (FREE_OUTPUT if output else _FREE_INPUT)
            or target.value in FREE_OUTPUT & _FREE_INPUT
        ):
            return
    if each.operator == "<" and target.pieces:
        _input(each, target, simple, scene, paths)
        return
    if not target.literal or _NETWORK.match(target.value):
        paths.unclear = paths.unclear or f"it is unclear where {each.raw} leads"
        return
    found = _certain(target.value, places, scene)
    if found is None:
        paths.unclear = paths.unclear or f"it is unclear where {each.raw} leads"
        return
    if "<" in each.operator:
        paths.reads += found
    if ">" in each.operator:
        paths.writes += found


def _input(each: Redirection, target: Word, simple: Simple, scene: LineContext, paths: _Paths) -> None:
    """Note what an input from a file that variables name may read."""
    for filled in scene.values.fillings((target,), simple):
        word = filled[0] if filled else target
        if word.listing is not None and simple.places == frozenset({word.listing.place}):
            paths.lists += (resolve(word.listing.place, root) for root in word.listing.roots)
            continue
        found = None if _NETWORK.match(word.value) else _read(word, simple.places, scene)
        if found is None:
            paths.unclear = paths.unclear or f"it is unclear where {each.raw} leads"
            return
        paths.reads += found
        paths.globs += _patterns(word, simple.places)


def _file_command(
    simple: Simple, words: tuple[Word, ...], wrappers: frozenset[str], scene: LineContext, paths: _Paths
) -> bool:
    """Note what a command writes; whether it is one of the simple ones, used in a known way."""
    name = program(words[0])
    if not name or name in scene.functions or name in scene.startup:
        return False
    plain = all(
        is_harmless_as(each.name, each.value.value, literal=_is_known(each)) and each.value.inert
        for each in simple.assignments
    )
    is_simple = plain and not wrappers & _NEVER_HARMLESS_BEHIND
    for filled in _made(name, words[1:], simple, scene):
        effects = touched(name, filled) or written(name, filled)
        if effects is None:
            return False
        found = None if effects.unclear or "xargs" in wrappers else _resolved(effects, simple.places, scene)
        if found is None:
            paths.unclear = paths.unclear or effects.unclear or "it is unclear which files it touches"
            return False
        paths.reads += found[0]
        paths.writes += found[1]
        paths.copies += _copied(effects, simple.places)
        is_simple = is_simple and effects.simple
    return is_simple


def _made(name: str, words: tuple[Word, ...], simple: Simple, scene: LineContext) -> list[tuple[Word, ...]]:
    """The words of a command that makes files and nothing else, for every value of their variables."""
    if name not in _MAKERS:
        return [words]
    fillings = list(scene.values.fillings(words, simple))
    known = all(word.literal and word.pattern is None for filled in fillings for word in filled)
    return fillings if known else [words]


def _resolved(
    effects: TouchedPaths, places: Places, scene: LineContext
) -> tuple[list[str], list[str]] | None:
    both: list[list[str]] = []
    for group in (effects.reads, effects.writes):
        found: list[str] = []
        for path in group:
            certain = _certain(path, places, scene)
            if certain is None:
                return None
            found += certain
        both.append(found)
    return both[0], both[1]


def _copied(effects: TouchedPaths, places: Places) -> list[tuple[str, str]]:
    return [
        (source, target)
        for named, aim in effects.copies
        for source in absolute(named, places) or ()
        for target in absolute(aim, places) or ()
    ]


def _unknown_name(words: tuple[Word, ...]) -> str | None:
    if not words or (words[0].literal and not hides_name(words)):
        return None
    return f"it is unclear which program {words[0].raw} runs"


def _blocks_prefix(words: tuple[Word, ...]) -> bool:
    if not words:
        return False
    name = words[0].value.rpartition("/")[2]
    acts = FIND_ACTS if name == "find" else _FD_ACTS if name in ("fd", "fdfind") else None
    if acts is None:
        return name in OPAQUE
    return not acts.isdisjoint(word.value for word in words[1:])
