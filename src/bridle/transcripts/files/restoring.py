"""Puts files, links and folders back as they were: first everything is looked at, then everything is done."""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping

from msgspec import Struct

from bridle.host.files import write_checked
from bridle.host.safe_open import Location, PathChanged, folder_of
from bridle.transcripts.files.backups import Backup, BackupFolder, straight
from bridle.types.services.checkpoints import Rewound

_MOST_NAMED = 5
_MOST_DIGESTED = 256 * 1024
_DIGITS = 32
_MOST_COMPARED = 4 * 1024 * 1024


class _Step(Struct, frozen=True, kw_only=True):
    """One path and what is to be there."""

    path: str
    wanted: Backup
    data: bytes | None = None
    is_folder: bool = False
    """A folder is there now, or is to be."""


class Plan(Struct, frozen=True, kw_only=True):
    """What is to be changed."""

    steps: Mapping[str, _Step]
    links: tuple[str, ...] = ()
    unkept: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    insertions: int = 0
    deletions: int = 0

    def outcome(self) -> Rewound:
        files = tuple(path for path, step in self.steps.items() if not step.is_folder)
        return Rewound(
            can_rewind=not self.foreign,
            files_changed=files,
            insertions=self.insertions,
            deletions=self.deletions,
            skipped_links=self.links,
            unkept=self.unkept,
            foreign=self.foreign,
        )

    def apply(self) -> None:
        """Do it: what is to go goes first, the deepest before all others; then folders, files and links.

        Raises:
            OSError: something cannot be changed; what was done until then is done.
        """
        steps = sorted(self.steps.values(), key=lambda step: step.path)
        for step in reversed(steps):
            _make_way(step)
        for step in steps:
            _put(step)
        for step in reversed(steps):
            if step.wanted.is_folder:
                os.chmod(step.path, step.wanted.mode)


def make_plan(
    targets: Mapping[str, Backup],
    folder: BackupFolder,
    objects: Mapping[str, bytes],
    *,
    foreign: frozenset[str] = frozenset(),
    over_links: bool = False,
) -> Plan:
    """What must be changed so that each path is as it was; `objects` are contents that git has kept.

    A link that stands where none was is left alone, unless `over_links`: then it is known who made it.
    """
    steps: dict[str, _Step] = {}
    links: list[str] = []
    unkept: list[str] = []
    others: list[str] = []
    added = removed = 0
    for path, wanted in targets.items():
        try:
            straight(os.path.dirname(path))
            data = _content(wanted, folder, objects)
            if wanted.is_lost:
                raise OSError(0, "not kept", path)
            if _is(path, wanted, data):
                continue
        except PathChanged:
            links.append(path)
            continue
        except OSError:
            unkept.append(path)
            continue
        if not over_links and wanted.link is None and os.path.islink(path):
            links.append(path)
            continue
        if path in foreign:
            others.append(path)
        is_folder = wanted.is_folder or (wanted.name is None and stat.S_ISDIR(os.lstat(path).st_mode))
        steps[path] = _Step(path=path, wanted=wanted, data=data, is_folder=is_folder)
        more, fewer = _line_counts(_read_now(path), data or b"")
        added, removed = added + more, removed + fewer
    return Plan(
        steps=steps, links=tuple(links), unkept=tuple(unkept), foreign=tuple(others),
        insertions=added, deletions=removed,
    )  # fmt: skip


def is_as(path: str, known: Backup) -> bool:
    """Whether a path lies on disk as it was, as far as that shows without reading it."""
    try:
        status = os.lstat(path)
    except OSError:
        return known.name is None
    if known.name is None:
        return False
    mode = stat.S_IMODE(status.st_mode)
    if known.is_folder:
        return stat.S_ISDIR(status.st_mode) and mode == known.mode
    if known.link is not None:
        return stat.S_ISLNK(status.st_mode) and os.readlink(path) == known.link
    stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    return stat.S_ISREG(status.st_mode) and known.stamp == stamp and mode == known.mode


def full_stamp(path: str) -> tuple[int, ...] | None:
    """How a path lies on disk, its mode and kind included."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return (status.st_mode,)  # A folder gets another time with each file in it.
    return status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns


def small_digest(path: str) -> str | None:
    """The digest of a plain file that is small; None of anything else."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(file, "rb") as opened:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_DIGESTED:
                return None
            return hashlib.sha256(opened.read(_MOST_DIGESTED + 1)).hexdigest()[:_DIGITS]
    except OSError:
        return None


def named(paths: Iterable[str]) -> str:
    """Some paths for a sentence."""
    every = list(paths)
    more = f" and {len(every) - _MOST_NAMED} more" if len(every) > _MOST_NAMED else ""
    return ", ".join(every[:_MOST_NAMED]) + more


def _content(wanted: Backup, folder: BackupFolder, objects: Mapping[str, bytes]) -> bytes | None:
    if wanted.name is None or wanted.is_folder or wanted.link is not None or wanted.is_lost:
        return None
    if (object := wanted.object) is None:
        return folder.read(wanted.name)
    data = objects.get(object)
    # Where git converts files on their way into the work tree, the object is not what the file was.
    if data is None or (wanted.size is not None and len(data) != wanted.size):
        raise OSError(0, "git does not have it any more")
    return data


def _is(path: str, wanted: Backup, data: bytes | None) -> bool:
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return wanted.name is None
    if wanted.name is None:
        return False
    mode = stat.S_IMODE(status.st_mode)
    if wanted.is_folder:
        return stat.S_ISDIR(status.st_mode) and mode == wanted.mode
    if wanted.link is not None:
        return stat.S_ISLNK(status.st_mode) and os.readlink(path) == wanted.link
    if not stat.S_ISREG(status.st_mode) or data is None or status.st_size != len(data):
        return False
    return mode == wanted.mode and _read_now(path, most=len(data)) == data


def _read_now(path: str, most: int = _MOST_COMPARED) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(file, "rb") as opened:
            return opened.read(most + 1) if stat.S_ISREG(os.fstat(file).st_mode) else b""
    except OSError:
        return b""


def _make_way(step: _Step) -> None:
    """Remove what stands where something else is to be, or nothing."""
    try:
        status = os.lstat(step.path)
    except (FileNotFoundError, NotADirectoryError):
        return
    wanted, is_folder = step.wanted, stat.S_ISDIR(status.st_mode)
    if wanted.is_folder and is_folder:
        return
    keeps_file = wanted.name is not None and not wanted.is_folder and wanted.link is None
    if keeps_file and stat.S_ISREG(status.st_mode):
        return  # It is replaced in one step.
    with folder_of(straight_parent(step.path)) as (folder, name):
        if is_folder:
            try:
                os.rmdir(name, dir_fd=folder)
            except OSError:
                if wanted.name is not None:
                    raise  # Something that is not ours stands in the way.
        else:
            os.unlink(name, dir_fd=folder)


def _put(step: _Step) -> None:
    wanted, path = step.wanted, step.path
    if wanted.name is None:
        return
    if wanted.is_folder:
        os.makedirs(path, mode=0o700, exist_ok=True)
        os.chmod(path, wanted.mode | 0o700)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if wanted.link is not None:
        with folder_of(straight_parent(path)) as (folder, name):
            os.symlink(wanted.link, name, dir_fd=folder)
        return
    write_checked(straight(path), step.data or b"", mode=wanted.mode)
    if stat.S_IMODE(os.lstat(path).st_mode) != wanted.mode:
        os.chmod(path, wanted.mode)


def straight_parent(path: str) -> Location:
    """The place of a path that may itself be a link, while none is on the way to it.

    Raises:
        PathChanged: there is one.
    """
    parent = straight(os.path.dirname(path))
    return Location(path, os.path.join(parent.target, os.path.basename(path)))


def _line_counts(now: bytes, wanted: bytes) -> tuple[int, int]:
    """How many lines are put in and taken out; large files are compared as a whole."""
    old, new = now.splitlines(), wanted.splitlines()
    if len(old) + len(new) > 20_000:
        return len(new), len(old)
    from difflib import SequenceMatcher

    added = removed = 0
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=True).get_opcodes():
        if tag != "equal":
            added, removed = added + d - c, removed + b - a
    return added, removed
