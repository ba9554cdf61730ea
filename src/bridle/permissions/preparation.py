"""Gathers what bears on a call: follows links, takes commands apart, looks at where the session stands."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from bridle.permissions.files.denied_reads import with_kept_back
from bridle.permissions.files.folder_contents import with_trees
from bridle.permissions.files.git_hidden_files import with_files_kept_back, with_tree_paths
from bridle.permissions.files.globs import with_matches
from bridle.permissions.files.linked_removals import with_critical_removals
from bridle.permissions.files.links import FollowedPaths
from bridle.permissions.files.parent_paths import as_walked
from bridle.permissions.files.paths import is_inside
from bridle.permissions.files.program_copies import with_copied_programs
from bridle.permissions.files.repositories import KnownRepository, with_known_repositories
from bridle.permissions.system_programs import with_system_programs
from bridle.permissions.tool_names import BY_HOST, EDIT, READ, SHELL, WATCHER
from bridle.types.permission import Access, Case, Decision, Effect, Mode, Rule
from bridle.types.shell import Part, Reading

_BOUNDARY = re.compile(r"[;|&<>`(){}\n\r]|\$\(")
_FAULTS = (AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class ReadCommand(Protocol):
    """Takes a shell command apart without doing anything, and never raises."""

    def __call__(self, command: str, *, cwd: str, home: str) -> Reading: ...


def read_command(command: str, *, cwd: str, home: str) -> Reading:
    """The reader with the real grammar, which is imported with the first command."""
    from bridle.permissions.shell import read_command as read

    return read(command, cwd=cwd, home=home)


class CallRequest(Struct, frozen=True, kw_only=True):
    """What a call wants, as its tool tells it."""

    tool: str
    input: Mapping[str, Any]
    subject: str = ""
    read_only: bool = False
    access: Access = Access()
    hook: Decision | None = None


class SessionPosition(Struct, frozen=True, kw_only=True):
    """Where a session stands when a call is made."""

    rules: tuple[Rule, ...] = ()
    mode: Mode = "default"
    cwd: str
    start: str
    """The project's directory."""
    origins: tuple[str, ...] = ()
    """Where the project's directory was before the session moved to a work tree."""
    roots: tuple[str, ...] = ()
    """Working directories as they were named."""
    readable: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    """Files and folders that the model is asked to keep, each where it really is."""
    memory: str | None = None
    """The folder of notes that the model keeps, too; links on the way to it are followed."""
    home: str
    config_home: str
    confines: Callable[[str], bool] = lambda _: False
    """Whether a command would run in the sandbox and may then run unasked."""
    may_leave_sandbox: bool = True
    attended: bool = False
    checkout: str | None = None
    """The main checkout, where it is, while the session must leave it as it is."""
    trusted: bool = True
    """Whether the user trusts the folder; until then its repository is looked at before git runs."""
    env: Mapping[str, str] = {}
    """What commands find in their environment."""
    read_command: ReadCommand = read_command


def prepare(asked: CallRequest, standing: SessionPosition) -> Case:
    """Everything that may be weighed about a call, so that deciding needs no I/O."""
    if asked.tool == WATCHER and isinstance(asked.input.get("command"), str):
        asked, standing = _as_shell(asked, standing)
    followed = FollowedPaths()
    reading = _read(asked.subject, standing, followed) if asked.tool == SHELL else None
    leaves_sandbox = asked.tool == SHELL and asked.input.get("dangerouslyDisableSandbox") is True
    leaves_sandbox = leaves_sandbox and standing.may_leave_sandbox
    roots = followed.spellings((standing.start, *standing.roots))
    own: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    if not _only_reads_in(roots, asked, followed):
        kept = () if standing.memory is None else (followed.place(standing.memory).target,)
        own = (*standing.own, *kept)
        readable = followed.spellings((*standing.readable, *own))
    case = Case(
        tool=asked.tool,
        input=asked.input,
        subject=asked.subject,
        read_only=asked.read_only if reading is None else _only_reads(reading),
        access=asked.access,
        places=followed.places((*_touched(asked, reading), standing.home, standing.config_home)),
        reading=reading,
        rules=standing.rules,
        mode=standing.mode,
        cwd=standing.cwd,
        start=followed.spellings((standing.start, *standing.origins)),
        roots=roots,
        readable=readable,
        own=own,
        home=standing.home,
        config_home=standing.config_home,
        hook=asked.hook,
        confined=asked.tool == SHELL and not leaves_sandbox and standing.confines(asked.subject),
        leaves_sandbox=leaves_sandbox,
        local_host=asked.tool in BY_HOST and _is_local(asked.subject),
        attended=standing.attended,
        checkout=standing.checkout,
    )
    return with_kept_back(with_files_kept_back(case))


def _only_reads_in(roots: tuple[str, ...], asked: CallRequest, followed: FollowedPaths) -> bool:
    """Whether a call reads files in these folders and does nothing else: no other folder matters to it."""
    files = asked.access.reads
    if asked.tool == SHELL or not asked.read_only or not files or asked.access.writes:
        return False
    return all(is_inside(followed.place(path).target, roots) for path in files)


def _as_shell(asked: CallRequest, standing: SessionPosition) -> tuple[CallRequest, SessionPosition]:
    rules = tuple(replace(rule, tool=SHELL) if rule.tool == WATCHER else rule for rule in standing.rules)
    return replace(asked, tool=SHELL), replace(standing, rules=rules)


def approvals(case: Case) -> dict[str, str]:
    """Where each file of the call led at the decision, to be compared when it is opened."""
    return {path: case.place(path).target for path in (*case.access.reads, *case.access.writes)}


def only_reads(command: str) -> bool:
    """Whether a command does nothing but read, wherever it runs."""
    return _only_reads(read_command(command, cwd="/", home="/"))


def _read(command: str, standing: SessionPosition, followed: FollowedPaths) -> Reading:
    try:
        reading = standing.read_command(command, cwd=standing.cwd, home=standing.home)
        walked = with_matches(as_walked(reading, standing.cwd))
        walked = with_critical_removals(walked, start=standing.cwd, home=standing.home)
        return _looked_at(walked, standing, followed)
    except _FAULTS as error:
        # A defect of the reader must not open the gate, nor keep rules that deny from what can be recognized.
        return _unread(command, f"the command could not be read: {error}")


def _looked_at(reading: Reading, standing: SessionPosition, followed: FollowedPaths) -> Reading:
    """The reading with what its text promises withdrawn where the files of this machine say otherwise."""
    reading = with_tree_paths(with_trees(_with_mentions(reading, standing), standing.rules))
    reading = with_copied_programs(reading, standing.rules, followed)
    known = KnownRepository(standing.start, standing.origins, standing.trusted)
    return with_system_programs(
        with_known_repositories(reading, known),
        standing.env,
        cwd=standing.cwd,
        home=standing.home,
        writable=followed.spellings((standing.start, *standing.origins, *standing.roots)),
    )


def _with_mentions(reading: Reading, standing: SessionPosition) -> Reading:
    """The reading with the files that words name once they are filled in, where a rule may refuse one."""
    if not any(
        rule.effect is not Effect.ALLOW and rule.content is not None and rule.tool in (READ, EDIT)
        for rule in standing.rules
    ):
        return reading
    return replace(reading, parts=tuple(_filled_in(part, standing.cwd) for part in reading.parts))


def _filled_in(part: Part, cwd: str) -> Part:
    from bridle.permissions.shell.mentioned_paths import mentioned_in_forms, own_paths

    places = part.runs_in or (cwd,)
    found = own_paths(part.reads, places)
    if not part.harmless:
        found += mentioned_in_forms(part.deny_forms, places)
    return replace(part, mentions=tuple(dict.fromkeys((*part.mentions, *found)))) if found else part


def _unread(command: str, fault: str) -> Reading:
    """A command that no reader has seen, for rules that deny or ask."""
    pieces = (piece.strip() for piece in _BOUNDARY.split(command))
    parts = tuple(Part(text=piece, deny_forms=(piece,)) for piece in dict.fromkeys(pieces) if piece)
    return Reading(parts=parts, fault=fault, shape="compound")


def _touched(asked: CallRequest, reading: Reading | None) -> Iterable[str]:
    yield from asked.access.reads
    yield from asked.access.writes
    if reading is not None:
        yield from reading.leaves
        for part in reading.parts:
            yield from part.reads
            yield from part.writes
            yield from part.mentions


def _only_reads(reading: Reading) -> bool:
    return reading.fault is None and all(part.harmless and not part.writes for part in reading.parts)


def _is_local(subject: str) -> bool:
    from bridle.permissions.hosts import is_local

    return is_local(subject)
