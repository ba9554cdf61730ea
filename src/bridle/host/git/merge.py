"""Merges branches without touching a checkout: what would conflict, what it gives, and moving a branch."""

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct

from bridle.host.git.commands import run_git
from bridle.types.errors import BridleError

_LEFTOVERS = "worktree-"
"""How branches of work trees that bridle makes begin."""


class MergeFault(BridleError):
    """A merge cannot continue; the text says why and what to do."""


class Branch(Struct, frozen=True, kw_only=True):
    name: str
    tip: str
    commits: int
    """How many the target does not have."""


class Merged(Struct, frozen=True, kw_only=True):
    """The outcome of a merge that was only thought through."""

    commit: str | None = None
    """None when there are conflicts."""
    tree: str = ""
    conflicts: tuple[str, ...] = ()
    """The files that both sides changed."""


class Checkout(Struct, frozen=True, kw_only=True):
    """A work tree and what it has checked out."""

    path: str
    branch: str | None


class Repository(Struct, frozen=True, kw_only=True):
    root: str
    env: Mapping[str, str]

    async def resolve(self, name: str) -> str | None:
        """The commit that a name stands for."""
        found = await run_git(self.root, self.env, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return found.output if found.ok else None

    async def git_folder(self) -> str:
        """Git's own folder, which all work trees share.

        Raises:
            MergeFault: git does not say.
        """
        found = await run_git(self.root, self.env, "rev-parse", "--git-common-dir")
        if not found.ok:
            raise MergeFault(f"can't use this repository: {_why(found.complaint)}")
        return os.path.join(self.root, found.output)

    async def contains(self, target: str, commit: str) -> bool:
        """Whether a commit is part of the target already."""
        return (await run_git(self.root, self.env, "merge-base", "--is-ancestor", commit, target)).ok

    async def branch(self, name: str, target: str) -> Branch:
        """A branch that is to be merged.

        Raises:
            MergeFault: there is none.
        """
        name = name.removeprefix("refs/heads/")
        tip = await self.resolve(f"refs/heads/{name}")
        if tip is None:
            raise MergeFault(f"no branch {name!r}; list branches with `git branch`")
        counted = await run_git(self.root, self.env, "rev-list", "--count", f"{target}..{tip}")
        return Branch(name=name, tip=tip, commits=int(counted.output) if counted.ok else 0)

    async def leftovers(self, target: str) -> list[str]:
        """The branches of work trees that hold something the target lacks, the oldest first."""
        words = ("for-each-ref", "--sort=committerdate", f"--no-merged={target}", "--format=%(refname:short)")
        listed = await run_git(self.root, self.env, *words, f"refs/heads/{_LEFTOVERS}*")
        return listed.output.splitlines() if listed.ok else []

    async def checkouts(self) -> list[Checkout]:
        """Every work tree of the repository."""
        listed = await run_git(self.root, self.env, "worktree", "list", "--porcelain", "-z")
        found: list[Checkout] = []
        for record in listed.output.split("\0\0"):
            lines = [line for line in record.split("\0") if line]
            path = next((line[9:] for line in lines if line.startswith("worktree ")), None)
            branch = next((line[18:] for line in lines if line.startswith("branch refs/heads/")), None)
            if path is not None and "bare" not in lines:
                found.append(Checkout(path=path, branch=branch))
        return found

    async def changes(self, path: str) -> list[str]:
        """What a work tree has that no commit holds."""
        status = await run_git(path, self.env, "status", "--porcelain", "--untracked-files=all")
        return status.output.splitlines() if status.ok else ["(its status cannot be read)"]

    async def merge(self, target: str, branch: Branch) -> Merged:
        """What merging a branch into a commit gives; only objects are written, no branch moves.

        Raises:
            MergeFault: git cannot do it.
        """
        words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", target, branch.tip)
        tried = await run_git(self.root, self.env, *words)
        if tried.code not in (0, 1):
            raise MergeFault(
                f"git cannot merge {branch.name}: {_why(tried.complaint)} (2.38 or newer is needed)"
            )
        tree, *names = tried.output.split("\0")
        if tried.code == 1:
            return Merged(conflicts=tuple(dict.fromkeys(name for name in names if name)))
        if await self.contains(branch.tip, target):
            return Merged(commit=branch.tip, tree=tree)
        text = f"Merge branch '{branch.name}'"
        made = await run_git(
            self.root, self.env, "commit-tree", tree, "-p", target, "-p", branch.tip, "-m", text
        )
        if not made.ok:
            raise MergeFault(f"can't write the merge of {branch.name}: {_why(made.complaint)}")
        return Merged(commit=made.output, tree=tree)

    async def advance(self, target: str, before: str, commit: str) -> str | None:
        """Move a branch forward, with the files of the work tree that has it checked out.

        Why that was not possible.
        """
        for checkout in await self.checkouts():
            if checkout.branch == target:
                moved = await run_git(checkout.path, self.env, "merge", "--ff-only", "--quiet", commit)
                return None if moved.ok else _why(moved.complaint)
        moved = await run_git(self.root, self.env, "update-ref", f"refs/heads/{target}", commit, before)
        return None if moved.ok else _why(moved.complaint)

    async def remember(self, name: str, commit: str) -> None:
        """Keep a commit from being forgotten although no branch has it."""
        await run_git(self.root, self.env, "update-ref", f"refs/bridle/{name}", commit)

    async def forget_branch(self, branch: Branch) -> str | None:
        """Remove a branch that is merged, with its work tree if that holds nothing else; why it stays."""
        for checkout in await self.checkouts():
            if checkout.branch != branch.name:
                continue
            if checkout.path == self.root:
                return "it is checked out in the main worktree"
            if changes := await self.changes(checkout.path):
                return f"its worktree has {len(changes)} uncommitted changes"
            removed = await run_git(self.root, self.env, "worktree", "remove", checkout.path)
            if not removed.ok:
                return _why(removed.complaint)
        removed = await run_git(
            self.root, self.env, "update-ref", "-d", f"refs/heads/{branch.name}", branch.tip
        )
        return None if removed.ok else _why(removed.complaint)


async def conflicts_between(
    root: str, env: Mapping[str, str], ours: str, theirs: str
) -> tuple[str, ...] | None:
    """The files that would conflict if one were merged into the other; None when that is unknown."""
    words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)
    tried = await run_git(root, env, *words)
    if tried.code not in (0, 1):
        return None
    return tuple(name for name in tried.output.split("\0")[1:] if name) if tried.code else ()


class TestWorktree:
    """A work tree of the merge queue's own in which the tests of a merge run."""

    def __init__(self, repository: Repository, path: str) -> None:
        self._repository = repository
        self.path = path

    async def check_out(self, commit: str) -> None:
        """Have the files of a commit there, and nothing that an earlier run left.

        Raises:
            MergeFault: that cannot be done.
        """
        root, env = self._repository.root, self._repository.env
        if not os.path.isdir(self.path):
            # What a process that was killed left behind would keep the place.
            await run_git(root, env, "worktree", "prune")
            made = await run_git(root, env, "worktree", "add", "--force", "--detach", self.path, commit)
            if not made.ok:
                raise MergeFault(f"can't prepare a folder for the tests: {_why(made.complaint)}")
            return
        for words in (("checkout", "--quiet", "--force", "--detach", commit), ("clean", "-fdq")):
            done = await run_git(self.path, env, *words)
            if not done.ok:
                raise MergeFault(f"can't use {self.path}: {_why(done.complaint)}. Remove it and try again")

    async def close(self) -> None:
        """Remove it; there never is work in it."""
        if os.path.isdir(self.path):
            await run_git(
                self._repository.root, self._repository.env, "worktree", "remove", "--force", self.path
            )


def names_of(files: Sequence[str], most: int = 8) -> str:
    """Some files in one line."""
    rest = f" and {len(files) - most} more" if len(files) > most else ""
    return f"{', '.join(files[:most])}{rest}"


def _why(complaint: str) -> str:
    lines = [line.removeprefix("fatal: ").removeprefix("error: ") for line in complaint.splitlines() if line]
    return " ".join(lines)[:500] or "git gave no reason"
