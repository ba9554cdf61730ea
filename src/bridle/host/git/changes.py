"""Which files of a work tree differ from the last commit, and what they held there."""

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from bridle.host.git import repository
from bridle.host.programs import find_program

_MOST_LISTED = 512 * 1024
_MOST_PATHS = 200
_MOST_OTHERS = 64 * 1024 * 1024
_MOST_OBJECTS = 512 * 1024 * 1024
_PLAIN_FILES = ("100644", "100755")
_NO_OBJECT = "0"
_CONVERTING = ("filter", "eol", "working-tree-encoding", "ident")


class Committed(Struct, frozen=True):
    """A file as the last commit has it."""

    object: str
    """Empty when the commit has no such file."""
    mode: int


class WorkTreeState(Struct, frozen=True, kw_only=True):
    """A work tree at one moment."""

    root: str
    head: str
    """The commit that is checked out; empty before the first one."""
    dirty: Mapping[str, Committed]
    """Tracked files that differ from the commit, by absolute path."""
    untracked: frozenset[str]


async def standing(cwd: str, env: Mapping[str, str], *, seconds: float = 1.0) -> WorkTreeState | None:
    """How the work tree around `cwd` stands; None outside one, and when git lists too much or is too slow."""
    if (found := _open(cwd, env, seconds)) is None:
        return None
    if (overrides := await _overrides(found)) is None:
        return None
    printed = await repository._run(
        found, *overrides, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all",
        "--ignore-submodules=all", "--no-renames", most=_MOST_LISTED,
    )  # fmt: skip
    if printed is None or len(printed) > _MOST_LISTED:
        return None
    return _parse(os.fsdecode(printed), found.root)


class TreeFiles(Struct, frozen=True, kw_only=True):
    """What git knows of a work tree without opening a file."""

    root: str
    index: str
    """The file with what it tracks."""
    others: tuple[str, ...]
    """Untracked and ignored files; a name that ends with a slash is a repository of its own."""
    dirty: tuple[str, ...]
    """Tracked files that are not as the index has them."""


async def tree_files(cwd: str, env: Mapping[str, str], *, seconds: float = 20.0) -> TreeFiles | None:
    """Which files of the work tree around `cwd` git could not bring back; None outside one."""
    if (found := _open(cwd, env, seconds)) is None or (overrides := await _overrides(found)) is None:
        return None
    async with asyncio.TaskGroup() as group:
        others = group.create_task(
            repository._run(found, *overrides, "ls-files", "--others", "-z", most=_MOST_OTHERS)
        )
        dirty = group.create_task(
            repository._run(found, *overrides, "diff-files", "--name-only", "-z", most=_MOST_OTHERS)
        )
        index = group.create_task(repository._run(found, "rev-parse", "--git-path", "index"))
    printed = [task.result() for task in (others, dirty, index)]
    if any(each is None or len(each) > _MOST_OTHERS for each in printed):
        return None
    lists = [
        [os.path.join(found.root, name) for name in os.fsdecode(each or b"").split("\0") if name]
        for each in printed[:2]
    ]
    place = os.path.join(found.root, os.fsdecode(printed[2] or b"").strip())
    return TreeFiles(root=found.root, index=place, others=tuple(lists[0]), dirty=tuple(lists[1]))


async def object_contents(
    cwd: str, env: Mapping[str, str], objects: Sequence[str], *, seconds: float = 60.0
) -> dict[str, bytes]:
    """What git keeps under these names; those that are gone are left out."""
    if (found := _open(cwd, env, seconds)) is None:
        return {}
    wanted = "".join(f"{name}\n" for name in dict.fromkeys(objects)).encode()
    printed = await repository._run(found, "cat-file", "--batch", most=_MOST_OBJECTS, given=wanted)
    return {} if printed is None else dict(_objects(printed))


def _objects(printed: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while (end := printed.find(b"\n", at)) >= 0:
        name, _, rest = printed[at:end].decode().partition(" ")
        kind, _, size = rest.partition(" ")
        at = end + 1
        if size.isdecimal():
            if kind == "blob" and at + int(size) <= len(printed):
                yield name, printed[at : at + int(size)]
            at += int(size) + 1


async def committed_contents(
    cwd: str, env: Mapping[str, str], wanted: Mapping[str, Committed], *, most: int, seconds: float = 1.0
) -> dict[str, bytes]:
    """What files held in the commit, at most `most` bytes each.

    Files that git converts on their way into the work tree are left out: the commit holds other bytes.
    """
    found = _open(cwd, env, seconds)
    if found is None or not wanted or len(wanted) > _MOST_PATHS:
        return {}
    converted = await _converted(found, tuple(wanted))
    if converted is None:
        return {}
    contents: dict[str, bytes] = {}
    for path, committed in wanted.items():
        if path in converted:
            continue
        data = await repository._run(found, "cat-file", "blob", committed.object, most=most)
        if data is not None and len(data) <= most:
            contents[path] = data
    return contents


def _open(cwd: str, env: Mapping[str, str], seconds: float) -> repository._Git | None:
    if (root := repository.find_root(cwd)) is None:
        return None
    if (program := find_program("git", env, writable=(root,))) is None:
        return None
    return repository._Git(program, root, repository._environment(root, env), seconds)


async def _overrides(found: repository._Git) -> list[str] | None:
    """Read again each time: a command in between may have named a filter, and that must not run here."""
    settings = await _settings(found)
    return None if settings is None else repository._without_filters(settings)


async def _settings(found: repository._Git) -> dict[str, str] | None:
    listed = await repository._run(found, "config", "--list", "-z")
    if listed is None or len(listed) > repository._OUTPUT_BYTES:
        return None
    return dict(repository._setting(item) for item in repository._text(listed).split("\0") if item)


async def _converted(found: repository._Git, paths: Sequence[str]) -> frozenset[str] | None:
    settings = await _settings(found)
    if settings is None or settings.get("core.autocrlf", "false") not in ("false", "input"):
        return None
    inside = [os.path.relpath(path, found.root) for path in paths]
    printed = await repository._run(found, "check-attr", "-z", *_CONVERTING, "--", *inside)
    if printed is None:
        return None
    words = os.fsdecode(printed).split("\0")
    triples = zip(words[0::3], words[1::3], words[2::3], strict=False)
    return frozenset(
        os.path.join(found.root, path)
        for path, name, value in triples
        if value not in ("unspecified", "unset") and (name, value) != ("eol", "lf")
    )


def _parse(listing: str, root: str) -> WorkTreeState | None:
    head = ""
    dirty: dict[str, Committed] = {}
    untracked: set[str] = set()
    for item in listing.split("\0"):
        kind, _, rest = item.partition(" ")
        match kind:
            case "#" if rest.startswith("branch.oid "):
                head = rest.removeprefix("branch.oid ").removeprefix("(initial)")
            case "?":
                untracked.add(os.path.join(root, rest))
            case "1":
                _, _, mode, _, _, blob, _, path = rest.split(" ", 7)
                if mode in _PLAIN_FILES:
                    dirty[os.path.join(root, path)] = Committed(blob, int(mode[-3:], 8))
                elif set(blob) == {_NO_OBJECT}:
                    dirty[os.path.join(root, path)] = Committed("", 0)
            case _:
                pass  # Conflicts, links and whatever later releases list are left to their owners.
    return WorkTreeState(root=root, head=head, dirty=dirty, untracked=frozenset(untracked))
