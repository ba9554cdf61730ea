"""Work trees: made one at a time, furnished, and removed with work in them only when that is asked for."""

import asyncio
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from bridle.host.git import repository as git
from bridle.host.git.worktree_base import BaseRef, Pull, WorktreeFault, starting_point
from bridle.host.git.worktree_base import run_git as _git
from bridle.host.lock import FileLock, Locked
from bridle.types.text import counted

_LOCK_SECONDS = 60.0
_MOST_SAID = 500
_EXCLUDED = "/.claude/worktrees/"
_INCLUDE = ".worktreeinclude"
_MOST_COPIED = 1_000
_MOST_BYTES = 100 * 1024 * 1024
_MOST_NOTES = 10


class Worktree(Struct, frozen=True, kw_only=True):
    path: str
    branch: str
    base: str
    """The commit at which it began."""
    repository: str


async def create(
    cwd: str,
    name: str,
    env: Mapping[str, str],
    *,
    at: BaseRef | Pull = "head",
    sparse: Sequence[str] = (),
) -> Worktree:
    """A work tree of the repository around `cwd`, on a branch of its own that begins `at` a commit.

    Of the folders only those named in `sparse` are checked out, where any are.

    Raises:
        WorktreeFault: there is no repository, or git refuses.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise WorktreeFault(f"{name!r} is not a valid worktree name: use letters, digits, . _ and -.")
    trees = git.worktrees(cwd)
    root = trees[0] if trees else None
    here = git.find_root(cwd)
    if root is None or here is None:
        raise WorktreeFault("Worktrees need a git repository, and this folder is not in one.")
    path = os.path.join(root, ".claude", "worktrees", name)
    branch = f"worktree-{name}"
    try:
        async with FileLock(_lock_path(root), seconds=_LOCK_SECONDS):
            base = await starting_point(here, env, at)
            _hide(root, _EXCLUDED)
            folders = _folders(sparse)
            lazily = ("--no-checkout",) if folders else ()
            code, said = await _git(here, env, "worktree", "add", *lazily, "-b", branch, path, base)
            if not code and folders:
                code, said = await _check_out(
                    Worktree(path=path, branch=branch, base=base, repository=root), folders, env
                )
    except (Locked, OSError) as error:
        raise WorktreeFault(f"Can't create the worktree: {error}") from error
    if code:
        raise WorktreeFault(f"Can't create the worktree: {said[:_MOST_SAID]}")
    return Worktree(path=path, branch=branch, base=base, repository=root)


def _folders(sparse: Sequence[str]) -> tuple[str, ...]:
    """The folders to check out.

    Raises:
        WorktreeFault: one leads out of the repository.
    """
    folders = tuple(os.path.normpath(each.strip("/")) for each in sparse if each.strip("/"))
    for each in folders:
        if each.split(os.sep)[0] in ("..", ".git") or each.startswith("-"):
            raise WorktreeFault(
                f"worktree.sparsePaths names {each!r}, which is not a folder in the repository."
            )
    return folders


async def _check_out(tree: Worktree, folders: Sequence[str], env: Mapping[str, str]) -> tuple[int, str]:
    """Check out a part; a tree for which that fails is removed again."""
    code, said = await _git(tree.path, env, "sparse-checkout", "set", "--cone", "--", *folders)
    if not code:
        code, said = await _git(tree.path, env, "checkout", "--quiet", tree.branch)
    if code:
        await _git(tree.repository, env, "worktree", "remove", "--force", tree.path)
        await _git(tree.repository, env, "update-ref", "-d", f"refs/heads/{tree.branch}", tree.base)
    return code, said


async def holds_work(tree: Worktree, env: Mapping[str, str]) -> bool:
    """Whether it has changes or commits of its own; what is unknown counts as work."""
    code, head = await _git(tree.path, env, "rev-parse", "HEAD")
    if code or head != tree.base:
        return True
    code, tip = await _git(tree.path, env, "rev-parse", f"refs/heads/{tree.branch}")
    if code or tip != tree.base:
        return True
    code, status = await _git(tree.path, env, "status", "--porcelain", "--untracked-files=all")
    if code or status:
        return True
    code, stash = await _git(tree.path, env, "rev-parse", "--verify", "--quiet", "refs/worktree/stash")
    return bool(not code and stash)


async def remove_unused(tree: Worktree, env: Mapping[str, str]) -> bool:
    """Remove a work tree that holds no work; whether it is gone."""
    try:
        async with FileLock(_lock_path(tree.repository), seconds=_LOCK_SECONDS):
            if await holds_work(tree, env):
                return False
            # Without --force: git looks once more, and what came in between stays.
            code, _ = await _git(tree.repository, env, "worktree", "remove", tree.path)
            if code:
                return False
            # Only if the branch still is where it began.
            await _git(tree.repository, env, "update-ref", "-d", f"refs/heads/{tree.branch}", tree.base)
    except (Locked, OSError):
        return False
    return True


async def discard(tree: Worktree, env: Mapping[str, str]) -> bool:
    """Remove a work tree and its branch with all that they hold; whether the folder is gone."""
    try:
        async with FileLock(_lock_path(tree.repository), seconds=_LOCK_SECONDS):
            code, _ = await _git(tree.repository, env, "worktree", "remove", "--force", tree.path)
            if code:
                return False
            await _git(tree.repository, env, "update-ref", "-d", f"refs/heads/{tree.branch}")
    except (Locked, OSError):
        return False
    return True


async def work_in(tree: Worktree, env: Mapping[str, str]) -> str:
    """What would be lost with it, in words."""
    code, status = await _git(tree.path, env, "status", "--porcelain", "--untracked-files=all")
    changed = None if code else len(status.splitlines())
    code, count = await _git(tree.path, env, "rev-list", "--count", f"{tree.base}..{tree.branch}")
    commits = None if code else int(count)
    if changed is None or commits is None or not (changed or commits):
        return "possible work"
    files = counted(changed, "changed or new file")
    return f"{files} and {counted(commits, 'new commit')}"


async def furnish(tree: Worktree, env: Mapping[str, str], *, links: Sequence[str] = ()) -> tuple[str, ...]:
    """Bring over ignored files that `.worktreeinclude` names, and link folders; what was left out."""
    tried = [(name, await _link(tree, env, name)) for name in links]
    notes = [f"The folder {name} was not linked: {why}." for name, why in tried if why is not None]
    wanted = await _included(tree, env)
    notes += await asyncio.to_thread(_copy, tree, wanted[:_MOST_COPIED])
    if len(wanted) > _MOST_COPIED:
        notes.append(f"{_INCLUDE} names {len(wanted)} files; only {_MOST_COPIED} were copied.")
    return tuple(note[:_MOST_SAID] for note in notes[:_MOST_NOTES])


async def _link(tree: Worktree, env: Mapping[str, str], name: str) -> str | None:
    """Make a folder of the main checkout that git ignores show in the work tree; why not."""
    inner = os.path.normpath(name)
    if os.path.isabs(inner) or inner.split(os.sep)[0] in ("..", ".", ".git") or _is_special(inner):
        return "it must be a folder inside the repository"
    source, target = os.path.join(tree.repository, inner), os.path.join(tree.path, inner)
    if not os.path.isdir(source):
        return "it does not exist"
    # Only then may it be hidden from git, which would count the link as work.
    code, _ = await _git(tree.repository, env, "check-ignore", "--quiet", "--", f"./{inner}/")
    if code:
        return "git does not ignore it"
    if os.path.lexists(target) or not _is_inside(target, tree.path):
        return "the target exists"
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(source, target)
        _hide(tree.repository, f"/{inner}")
    except OSError as error:
        return str(error)
    return None


async def _included(tree: Worktree, env: Mapping[str, str]) -> list[str]:
    """The ignored files of the main checkout that `.worktreeinclude` matches."""
    include = os.path.join(tree.repository, _INCLUDE)
    if not os.path.isfile(include):
        return []
    listed = ("ls-files", "--others", "--ignored", f"--exclude-from={include}", "-z")
    code, said = await _git(tree.repository, env, *listed)
    if code:
        return []
    matched = [name for name in said.split("\0") if name and not name.endswith("/") and not _is_special(name)]
    if not matched:
        return []
    code, said = await _git(
        tree.repository,
        env,
        "check-ignore",
        "-z",
        "--stdin",
        given="\0".join(f"./{name}" for name in matched),
    )
    return [] if code else [name.removeprefix("./") for name in said.split("\0") if name]


def _copy(tree: Worktree, names: Iterable[str]) -> list[str]:
    """Copy files that are not there yet; what was left out, and why."""
    import shutil

    notes: list[str] = []
    room = _MOST_BYTES
    for name in names:
        source, target = os.path.join(tree.repository, name), os.path.join(tree.path, name)
        try:
            facts = os.lstat(source)
            # A link could lead anywhere, in the one tree or in the other.
            if (
                not stat.S_ISREG(facts.st_mode)
                or os.path.lexists(target)
                or not _is_inside(target, tree.path)
            ):
                continue
            if facts.st_size > room:
                notes.append(f"{name} was not copied: it is too large.")
                continue
            room -= facts.st_size
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
        except OSError as error:
            notes.append(f"{name} was not copied: {error}")
    return notes


def _is_inside(path: str, folder: str) -> bool:
    return f"{os.path.realpath(os.path.dirname(path))}/".startswith(f"{os.path.realpath(folder)}/")


def _is_special(name: str) -> bool:
    return f"/{name}/".startswith(_EXCLUDED) or ".git" in name.split("/")


def _hide(root: str, line: str) -> None:
    """Keep a path out of what git sees: with work trees in sight, `git add -A` would take them in."""
    path = os.path.join(root, ".git", "info", "exclude")
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            present = line in file.read().splitlines()
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        present = False
    if not present:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")


def _lock_path(root: str) -> str:
    return os.path.join(root, ".git", "bridle-worktrees.lock")
