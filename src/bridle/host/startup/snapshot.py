"""Takes a snapshot of what the start-up files define, once for each content of them."""

import asyncio
import hashlib
import os
import os.path
import time
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from bridle.host import process
from bridle.host.files import read_bytes, replace_quickly
from bridle.host.programs import PROGRAMS
from bridle.host.reaper import Reaper
from bridle.host.startup.definitions import Definitions, printing_definitions, read_definitions, script
from bridle.host.startup.files import Shell, bashrc_left_out, fingerprint, own_files, system_files

_BASE = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_LIMIT = 10.0
_MOST_OUTPUT = 8 << 20
_MOST_CACHED = 4 << 20
_FRESH = 24 * 3600.0
_MOST_KEPT = 20
_MOST_TRIED = 50
_MOST_COMPLAINT = 200
_EXPECTED = ("cannot set terminal process group", "no job control in this shell", "can't set tty pgrp")
"""What bash says where there is no terminal."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """What start-up files define."""

    shell: Shell
    taken: float
    aliases: dict[str, str] = {}
    functions: dict[str, str] = {}
    options: tuple[str, ...] = ()
    front: tuple[str, ...] = ()
    """Folders that they put before the usual PATH."""
    back: tuple[str, ...] = ()
    failure: str = ""
    """Why nothing is known."""


class Source(Struct, frozen=True, kw_only=True):
    """Whose start-up files to read, and with which shell."""

    shell: Shell
    program: str
    home: str
    folder: str
    """Where those of zsh are."""
    env: Mapping[str, str]
    """The environment of the user, as it was before any settings."""
    storage: str
    """The private folder of snapshots."""
    outside: tuple[str, ...] = ()
    """Folders that have no say."""
    limit: float = _LIMIT
    """Seconds that the start-up files have."""


async def take(source: Source) -> Snapshot | None:
    """The snapshot for these start-up files, kept or taken now; None where the user has none."""
    files = own_files(source.shell, source.home, source.folder)
    if not files:
        return None
    if (foreign := _foreign(files, source.outside)) is not None:
        return Snapshot(
            shell=source.shell, taken=0.0, failure=f"{foreign} belongs to the folder of this session"
        )
    key = fingerprint(source.program, (*files, *system_files(source.shell)))
    cache = os.path.join(source.storage, f"startup-{source.shell}-{key}.json")
    if (kept := _kept(cache)) is not None:
        return kept
    taken = await _taken(source)
    _keep(cache, taken)
    return taken


def write_script(storage: str, shell: Shell, aliases: dict[str, str], functions: dict[str, str]) -> str:
    """The file that defines these names in a shell, made where it is not there.

    Raises:
        OSError: it cannot be written.
    """
    text = script(aliases, functions, shell).encode()
    path = os.path.join(storage, f"snapshot-{shell}-{hashlib.sha256(text).hexdigest()[:32]}.sh")
    if _private_content(path, len(text)) != text:
        os.makedirs(storage, mode=0o700, exist_ok=True)
        replace_quickly(path, text)
        _thin_out(storage)
    return path


async def _taken(source: Source) -> Snapshot:
    mark = f"bridle-{os.urandom(12).hex()}"
    bashrc = bashrc_left_out(source.home) if source.shell == "bash" else ""
    reaper = Reaper()  # A file that hangs must not outlive this process either.
    try:
        done = await process.run(
            printing_definitions(source.program, source.shell, mark=mark, bashrc=bashrc),
            cwd=source.home,
            env=_environment(source),
            timeout=source.limit,
            limit=_MOST_OUTPUT,
            reaper=reaper,
        )
    except OSError as error:
        return _failed(source, f"{source.program} failed to start: {error.strerror or error}")
    finally:
        await asyncio.to_thread(reaper.close)
    if done.timed_out:
        return _failed(source, f"they took more than {source.limit:g} s")
    if (defined := read_definitions(done.stdout, mark)) is None:
        why = _complaint(done.stderr) or f"the shell ended with exit code {done.code}"
        return _failed(source, f"they did not finish ({why})")
    front, back = _added(defined.path, source.outside)
    return Snapshot(
        shell=source.shell,
        taken=time.time(),
        aliases=defined.aliases,
        functions=await _readable(source, defined),
        options=defined.options,
        front=front,
        back=back,
    )


async def _readable(source: Source, defined: Definitions) -> dict[str, str]:
    """The functions, if the shell can read what it has printed; otherwise those that it can read alone."""
    if not defined.functions or await _reads(source, defined.functions):
        return defined.functions
    some = list(defined.functions.items())[:_MOST_TRIED]
    return {name: text for name, text in some if await _reads(source, {name: text})}


async def _reads(source: Source, functions: dict[str, str]) -> bool:
    """Whether a shell can read the script that defines these functions; nothing of it is run."""
    try:
        path = write_script(source.storage, source.shell, {}, functions)
    except OSError:
        return False
    quiet = ["--norc", "--noprofile", "-O", "extglob"] if source.shell == "bash" else ["-f"]
    try:
        done = await process.run(
            [source.program, *quiet, "-n", path],
            cwd=source.home,
            env=PROGRAMS.plain_environment(source.env),
            timeout=source.limit,
            limit=_MOST_OUTPUT,
        )
    except OSError:
        return False
    finally:
        os.unlink(path)
    return done.code == 0


def _environment(source: Source) -> dict[str, str]:
    """The user's environment without anything that the folder of a session may have put there."""
    env = {
        name: value
        for name, value in PROGRAMS.environment(source.env).items()
        if not any(folder in value for folder in source.outside)
    }
    env |= {"HOME": source.home, "PATH": os.pathsep.join(_BASE), "TERM": "dumb", "CLAUDECODE": "1"}
    env |= {"SHELL": source.program, "PWD": source.home}
    env.pop("OLDPWD", None)
    return env | (
        {"ZDOTDIR": source.folder} if source.shell == "zsh" and source.folder != source.home else {}
    )


def _added(path: str, outside: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The folders that start-up files put before and behind the usual ones."""
    front: list[str] = []
    back: list[str] = []
    usual = False
    for folder in path.split(os.pathsep):
        if folder in _BASE:
            usual = True
        elif os.path.isabs(folder) and "\0" not in folder and not _is_in(os.path.realpath(folder), outside):
            (back if usual else front).append(folder)
    return tuple(dict.fromkeys(front)), tuple(dict.fromkeys(back))


def _failed(source: Source, why: str) -> Snapshot:
    return Snapshot(shell=source.shell, taken=time.time(), failure=why)


def _complaint(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines()]
    complaints = [line for line in lines if line and not any(each in line for each in _EXPECTED)]
    return complaints[-1][:_MOST_COMPLAINT] if complaints else ""


def _foreign(files: Sequence[str], outside: Sequence[str]) -> str | None:
    return next((path for path in files if _is_in(os.path.realpath(path), outside)), None)


def _is_in(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _kept(path: str) -> Snapshot | None:
    """A snapshot of an earlier session, while it is fresh and no one else could have written it."""
    data = _private_content(path, _MOST_CACHED)
    if data is None:
        return None
    try:
        kept = msgspec.json.decode(data, type=Snapshot)
    except msgspec.DecodeError:
        return None
    return kept if 0 <= time.time() - kept.taken < _FRESH else None


def _private_content(path: str, limit: int) -> bytes | None:
    try:
        facts = os.lstat(path)
        if (
            not os.path.isfile(path)
            or os.path.islink(path)
            or facts.st_uid != os.getuid()
            or facts.st_mode & 0o077
        ):
            return None
        return read_bytes(path, limit)
    except OSError:
        return None


def _keep(path: str, taken: Snapshot) -> None:
    """Keep a snapshot for later sessions; without a place for it each takes its own."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        replace_quickly(path, msgspec.json.encode(taken))
    except OSError:
        return
    _thin_out(os.path.dirname(path))


def _thin_out(folder: str) -> None:
    """Remove the oldest files of ours beyond a few; others may keep files there too."""
    kinds = ("startup-", "snapshot-bash-", "snapshot-zsh-")
    try:
        ours = [
            entry for entry in os.scandir(folder) if entry.name.startswith(kinds) and len(entry.name) > 40
        ]
        ours.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime, reverse=True)
        for entry in ours[_MOST_KEPT:]:
            os.unlink(entry.path)
    except OSError:
        return
