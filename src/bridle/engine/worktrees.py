"""A work tree for one agent, made by git or a hook."""

import os

from msgspec import Struct

from bridle.engine.runtime import Runtime
from bridle.host.git import worktrees
from bridle.host.git.merge import conflicts_between, names_of
from bridle.host.git.worktree_base import Pull, WorktreeFault
from bridle.host.git.worktrees import Worktree
from bridle.types.errors import ToolError
from bridle.types.hooks.environment import WorktreeCreate, WorktreeRemove
from bridle.types.services.session import WORKTREE_OPTIONS, WorktreeOptions

_WITHOUT = " Start the agent without isolation, or fix that first."


class AgentWorktree(Struct, frozen=True, kw_only=True):
    """Where an isolated agent works."""

    path: str
    tree: Worktree | None = None
    """None when a hook made it, which is also who removes it."""
    notes: tuple[str, ...] = ()
    """What could not be brought over."""


async def open_agent_worktree(
    runtime: Runtime, name: str, *, pull: Pull | None = None, advice: str = _WITHOUT
) -> AgentWorktree:
    """Make a work tree for an agent, or for a session; of a pull request where one is given.

    Raises:
        ToolError: it cannot be made.
    """
    if not runtime.gate.trusted:
        raise ToolError("Worktrees need a trusted folder: start the agent without isolation.")
    if runtime.hooks.listens_to("WorktreeCreate"):
        said = await runtime.hooks.fire(WorktreeCreate(worktree=name))
        if said.block is not None or said.worktree_path is None:
            raise ToolError(
                f"The WorktreeCreate hook created no worktree: {said.block or 'it returned no path'}."
            )
        if not os.path.isdir(said.worktree_path):
            raise ToolError(
                f"The WorktreeCreate hook returned a path that does not exist: {said.worktree_path}."
            )
        return AgentWorktree(path=said.worktree_path)
    try:
        trees = runtime.features.find(WORKTREE_OPTIONS) or WorktreeOptions()
        tree = await worktrees.create(
            runtime.workspace.cwd, name, runtime.env, at=pull or trees.base, sparse=trees.sparse
        )
    except WorktreeFault as fault:
        raise ToolError(f"{fault}{advice}") from fault
    notes = await worktrees.furnish(tree, runtime.env, links=trees.links)
    return AgentWorktree(path=tree.path, tree=tree, notes=notes)


async def close_agent_worktree(runtime: Runtime, place: AgentWorktree) -> bool:
    """Give a work tree up if it holds no work; whether it is gone."""
    if place.tree is not None:
        return await worktrees.remove_unused(place.tree, runtime.env)
    if runtime.hooks.listens_to("WorktreeRemove"):
        await runtime.hooks.fire(WorktreeRemove(worktree_path=place.path))
    return not os.path.isdir(place.path)


async def conflict_note(runtime: Runtime, place: AgentWorktree) -> str | None:
    """A sentence about files that could not be merged as they are; None when all could or it is unknown."""
    if place.tree is None:
        return None
    found = await conflicts_between(place.tree.repository, runtime.env, "HEAD", place.tree.branch)
    if not found:
        return None
    return f"Merging its branch would conflict in {names_of(found)}."
