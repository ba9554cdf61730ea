"""The work tree that a session moves to and comes back from."""

import os

from bridle.engine.runtime import Runtime
from bridle.engine.worktrees import open_agent_worktree
from bridle.host.git import repository as git
from bridle.host.git import worktrees
from bridle.host.git.worktree_base import Pull, read_pull
from bridle.host.git.worktrees import Worktree
from bridle.transcripts.session import Session
from bridle.types.errors import ToolError
from bridle.types.hooks.environment import WorktreeRemove
from bridle.types.ids import new_uuid
from bridle.types.workspace import IN_WORKTREE, EnteredWorktree, Workspace


class SessionWorktree:
    """Moves the workspace of one conversation; a session that is given keeps where it is."""

    def __init__(self, runtime: Runtime, session: Session | None = None) -> None:
        self._runtime = runtime
        self._session = session

    async def enter(
        self, *, name: str | None, path: str | None, pull: Pull | None = None
    ) -> tuple[EnteredWorktree, tuple[str, ...]]:
        """Go to a new work tree, or to one of the repository that is there.

        Raises:
            ToolError: there is none to go to.
        """
        workspace = self._runtime.workspace
        if workspace.worktree is not None:
            raise ToolError(
                f"The session is already in the worktree {workspace.worktree.path}: leave it first."
            )
        if path is not None:
            tree = Worktree(path=self._known(path), branch="", base="", repository="")
            return self._arrive(_move(workspace, tree)), ()
        place = await open_agent_worktree(
            self._runtime, name or f"session-{new_uuid()[:8]}", pull=pull, advice=""
        )
        tree = place.tree or Worktree(path=place.path, branch="", base="", repository="")
        return self._arrive(_move(workspace, tree, made=True)), place.notes

    async def leave(self, *, remove: bool, discard: bool) -> tuple[EnteredWorktree, bool]:
        """Go back, and remove the work tree where that is wanted and loses nothing.

        Raises:
            ToolError: the session is in none, or it holds work that would be lost.
        """
        workspace = self._runtime.workspace
        visit = workspace.worktree
        if visit is None:
            raise ToolError("The session is not in a worktree.")
        gone = await self._remove(visit, discard=discard) if remove else False
        _move_back(workspace, visit)
        self._note(None)
        return visit, gone

    def resume_in(self, path: str) -> EnteredWorktree | None:
        """Go to the work tree of a conversation that the session resumes.

        The work tree of the previous conversation stays as it is: that one may be resumed too. None when this
        is the current folder already.

        Raises:
            ToolError: it is there no more.
        """
        workspace = self._runtime.workspace
        before = workspace.worktree
        if os.path.realpath(path) == git.find_root(workspace.cwd):
            return None
        tree = Worktree(path=self._known(path), branch="", base="", repository="")
        if before is not None:
            _move_back(workspace, before)
        return self._arrive(_move(workspace, tree))

    async def close(self) -> None:
        """Give up, at the end of the session, a work tree that it made and that holds no work."""
        visit = self._runtime.workspace.worktree
        tree = _tree(visit) if visit is not None and visit.made else None
        if tree is not None and await worktrees.remove_unused(tree, self._runtime.env):
            self._note(None)

    def _arrive(self, visit: EnteredWorktree) -> EnteredWorktree:
        self._note(
            {
                "originalCwd": visit.cwd,
                "worktreePath": visit.path,
                "worktreeName": os.path.basename(visit.path),
                "worktreeBranch": visit.branch,
                "originalHeadCommit": visit.base,
            }
        )
        return visit

    def _note(self, state: dict[str, str | None] | None) -> None:
        if (session := self._session) is not None:
            about = None if state is None else {**state, "sessionId": session.id}
            session.note({"type": IN_WORKTREE, "worktreeSession": about, "sessionId": session.id})

    def _known(self, path: str) -> str:
        workspace = self._runtime.workspace
        if not self._runtime.gate.trusted:
            raise ToolError("Worktrees need a trusted folder.")
        wanted, here = os.path.realpath(workspace.resolve(path)), git.find_root(workspace.cwd)
        if wanted == here:
            raise ToolError(f"The session is already in {path}.")
        known = [os.path.realpath(each) for each in git.worktrees(workspace.cwd)]
        # A leftover entry can name a folder that is gone, or that belongs to another repository now.
        if wanted not in known or git.find_root(wanted) != wanted or _main(wanted) != known[0]:
            raise ToolError(f"{path} is not a worktree of this repository. `git worktree list` lists them.")
        return wanted

    async def _remove(self, visit: EnteredWorktree, *, discard: bool) -> bool:
        env, hooks = self._runtime.env, self._runtime.hooks
        if not visit.made:
            raise ToolError("This session did not create the worktree: leave it with the action keep.")
        if (tree := _tree(visit)) is not None:
            if discard:
                gone = await worktrees.discard(tree, env)
            elif not (gone := await worktrees.remove_unused(tree, env)):
                raise ToolError(
                    f"{visit.path} contains {await worktrees.work_in(tree, env)}. Leave it with the "
                    "action keep, or ask the user whether to discard that and then set discard_changes."
                )
            return gone
        if not discard:
            raise ToolError(
                "A hook created this worktree, so its changes are unknown. Leave it with the action "
                "keep, or ask the user and then set discard_changes."
            )
        if hooks.listens_to("WorktreeRemove"):
            await hooks.fire(WorktreeRemove(worktree_path=visit.path))
        return not os.path.isdir(visit.path)


def _main(folder: str) -> str | None:
    found = git.worktrees(folder)
    return os.path.realpath(found[0]) if found else None


def _tree(visit: EnteredWorktree) -> Worktree | None:
    if visit.branch is None or visit.base is None or visit.repository is None:
        return None
    return Worktree(path=visit.path, branch=visit.branch, base=visit.base, repository=visit.repository)


def _move(workspace: Workspace, tree: Worktree, *, made: bool = False) -> EnteredWorktree:
    visit = EnteredWorktree(
        path=tree.path,
        start=workspace.start,
        cwd=workspace.cwd,
        branch=tree.branch or None,
        base=tree.base or None,
        repository=tree.repository or None,
        made=made,
    )
    workspace.worktree = visit
    workspace.origins = (*workspace.origins, workspace.start)
    workspace.start = workspace.cwd = tree.path
    workspace.roots = (tree.path, *workspace.roots[1:])
    return visit


def _move_back(workspace: Workspace, visit: EnteredWorktree) -> None:
    workspace.start, workspace.cwd, workspace.worktree = visit.start, visit.cwd, None
    workspace.origins = workspace.origins[:-1]
    # What was added meanwhile stays.
    workspace.roots = (visit.start, *workspace.roots[1:])


async def begin_in_worktree(runtime: Runtime, session: Session, name: str | None) -> tuple[str, ...]:
    """Move a session that begins to a work tree of its own, or to the one of that name; what to say about it.

    A name may also be a pull request: `#12`, or its address.

    Raises:
        ToolError: there can be none.
    """
    moves = SessionWorktree(runtime, session)
    trees = git.worktrees(runtime.workspace.cwd)
    pull = None if name is None else read_pull(name)
    if pull is not None:
        name = pull.name
    if name is not None and trees:
        path = os.path.join(trees[0], ".claude", "worktrees", name)
        if os.path.isdir(path) and os.path.realpath(path) in map(os.path.realpath, trees):
            _, notes = await moves.enter(name=None, path=path)
            return notes
    _, notes = await moves.enter(name=name, path=None, pull=pull)
    return notes
