"""Which files of a work tree differ from the last commit, and what they held there."""

import os.path
from collections.abc import Mapping, Sequence

from msgspec import Struct

from bridle.host.git import repository
from bridle.host.programs import find_program

_MOST_LISTED = 512 * 1024
_MOST_PATHS = 200
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
    """Read anew each time: a command in between may have named a filter, and that must not run here."""
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
