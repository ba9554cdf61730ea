"""The work tree that a session moves to and comes back from."""

import os

from bridle.engine.agents_worktree import open_place
from bridle.engine.runtime import Runtime
from bridle.host import git, worktrees
from bridle.host.worktrees import Worktree
from bridle.types.errors import ToolError
from bridle.types.hook import WorktreeRemove
from bridle.types.ids import new_uuid
from bridle.types.workspace import Visit, Workspace


class SessionWorktree:
    """Moves the workspace of one conversation."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def enter(self, *, name: str | None, path: str | None) -> tuple[Visit, tuple[str, ...]]:
        """Go to a new work tree, or to one of the repository that is there.

        Raises:
            ToolError: there is none to go to.
        """
        workspace = self._runtime.workspace
        if workspace.visit is not None:
            raise ToolError(
                f"The session is in the work tree {workspace.visit.path} already: leave it first."
            )
        if path is not None:
            return _move(workspace, Worktree(path=self._known(path), branch="", base="", repository="")), ()
        place = await open_place(self._runtime, name or f"session-{new_uuid()[:8]}")
        tree = place.tree or Worktree(path=place.path, branch="", base="", repository="")
        return _move(workspace, tree, made=True), place.notes

    async def leave(self, *, remove: bool, discard: bool) -> tuple[Visit, bool]:
        """Go back, and remove the work tree where that is wanted and loses nothing.

        Raises:
            ToolError: the session is in none, or it holds work that would be lost.
        """
        workspace = self._runtime.workspace
        visit = workspace.visit
        if visit is None:
            raise ToolError("The session is in no work tree that it entered, so there is none to leave.")
        gone = await self._remove(visit, discard=discard) if remove else False
        workspace.start, workspace.cwd, workspace.visit = visit.start, visit.cwd, None
        workspace.origins = workspace.origins[:-1]
        # What was added meanwhile stays.
        workspace.roots = (visit.start, *workspace.roots[1:])
        return visit, gone

    async def close(self) -> None:
        """Give up, at the end of the session, a work tree that it made and that holds no work."""
        visit = self._runtime.workspace.visit
        if visit is not None and visit.made and (tree := _tree(visit)) is not None:
            await worktrees.remove_unused(tree, self._runtime.env)

    def _known(self, path: str) -> str:
        workspace = self._runtime.workspace
        if not self._runtime.trusted:
            raise ToolError("A work tree needs a folder that the user trusts.")
        wanted, here = os.path.realpath(workspace.resolve(path)), git.find_root(workspace.cwd)
        if wanted == here:
            raise ToolError(f"The session is in {path} already.")
        known = [os.path.realpath(each) for each in git.worktrees(workspace.cwd)]
        # A leftover entry can name a folder that is gone, or that belongs to another repository now.
        if wanted not in known or git.find_root(wanted) != wanted or _main(wanted) != known[0]:
            raise ToolError(f"{path} is no work tree of this repository: `git worktree list` names them.")
        return wanted

    async def _remove(self, visit: Visit, *, discard: bool) -> bool:
        env, hooks = self._runtime.env, self._runtime.hooks
        if not visit.made:
            raise ToolError(
                "This session did not make the work tree: it can be left with the action keep only."
            )
        if (tree := _tree(visit)) is not None:
            if discard:
                gone = await worktrees.discard(tree, env)
            elif not (gone := await worktrees.remove_unused(tree, env)):
                raise ToolError(
                    f"{visit.path} holds {await worktrees.work_in(tree, env)}. Leave it with the action "
                    "keep, or ask the user whether that may be lost and then give discard_changes."
                )
            return gone
        if not discard:
            raise ToolError(
                "A hook made this work tree, so it cannot be told what would be lost. Leave it with the "
                "action keep, or ask the user and then give discard_changes."
            )
        if hooks.hears("WorktreeRemove"):
            await hooks.fire(WorktreeRemove(worktree_path=visit.path))
        return not os.path.isdir(visit.path)


def _main(folder: str) -> str | None:
    found = git.worktrees(folder)
    return os.path.realpath(found[0]) if found else None


def _tree(visit: Visit) -> Worktree | None:
    if visit.branch is None or visit.base is None or visit.repository is None:
        return None
    return Worktree(path=visit.path, branch=visit.branch, base=visit.base, repository=visit.repository)


def _move(workspace: Workspace, tree: Worktree, *, made: bool = False) -> Visit:
    visit = Visit(
        path=tree.path,
        start=workspace.start,
        cwd=workspace.cwd,
        branch=tree.branch or None,
        base=tree.base or None,
        repository=tree.repository or None,
        made=made,
    )
    workspace.visit = visit
    workspace.origins = (*workspace.origins, workspace.start)
    workspace.start = workspace.cwd = tree.path
    workspace.roots = (tree.path, *workspace.roots[1:])
    return visit


async def begin_in_worktree(runtime: Runtime, name: str | None) -> tuple[str, ...]:
    """Move a session that begins to a work tree of its own, or to the one of that name; what to say about it.

    Raises:
        ToolError: there can be none.
    """
    session = SessionWorktree(runtime)
    trees = git.worktrees(runtime.workspace.cwd)
    if name is not None and trees:
        path = os.path.join(trees[0], ".claude", "worktrees", name)
        if os.path.isdir(path) and os.path.realpath(path) in map(os.path.realpath, trees):
            _, notes = await session.enter(name=None, path=path)
            return notes
    _, notes = await session.enter(name=name, path=None)
    return notes
