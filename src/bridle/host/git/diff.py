"""What has changed in a work tree, as a patch; nothing that the repository configures is run."""

from collections.abc import Mapping

from msgspec import Struct

from bridle.host.git import repository
from bridle.host.git.changes import _open, _overrides

_MOST_BYTES = 2_000_000
_SECONDS = 10.0
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")


class TreeDiff(Struct, frozen=True, kw_only=True):
    """The difference between the last commit and the work tree."""

    root: str
    patch: str
    untracked: tuple[str, ...]
    """Files that git does not know, relative to the root."""
    cut: bool = False
    """There is more than is shown here."""


async def tree_diff(cwd: str, env: Mapping[str, str], *, seconds: float = _SECONDS) -> TreeDiff | None:
    """The changes around `cwd`; None outside a repository, and where git is too slow."""
    found = _open(cwd, env, seconds)
    if found is None or (overrides := await _overrides(found)) is None:
        return None
    base = "HEAD" if await repository._run(found, "rev-parse", "--verify", "-q", "HEAD") else "--cached"
    printed = await repository._run(found, *overrides, "diff", *_PLAIN, base, "--", most=_MOST_BYTES)
    listed = await repository._run(
        found, *overrides, "ls-files", "--others", "--exclude-standard", "-z", most=_MOST_BYTES
    )
    if printed is None or listed is None:
        return None
    return TreeDiff(
        root=found.root,
        patch=printed[:_MOST_BYTES].decode(errors="replace"),
        untracked=tuple(name for name in listed[:_MOST_BYTES].decode(errors="replace").split("\0") if name),
        cut=len(printed) > _MOST_BYTES or len(listed) > _MOST_BYTES,
    )
