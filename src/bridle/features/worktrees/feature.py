"""Work trees as a feature; what makes and leaves them is imported with the first."""

import os.path
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.config.schema import Worktree
from bridle.engine.feature import Feature
from bridle.features.context import FeatureContext
from bridle.types.services.service import Service
from bridle.types.services.session import WORKTREE_OPTIONS, WORKTREES, WorktreeOptions

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.calls.call import Call
    from bridle.engine.runtime import Runtime
    from bridle.engine.turn import Turn
    from bridle.permissions.preparation import SessionPosition


class WorktreesFeature(Feature):
    name = "worktrees"

    def __init__(self, options: WorktreeOptions | None = None, *, of_agent: bool = False) -> None:
        self._options = options or WorktreeOptions()
        self._of_agent = of_agent
        self._worked_in: Runtime | None = None
        """With what an agent may have entered a tree."""

    def part(self, key: Service[Any]) -> Any:
        return self._options if key is WORKTREE_OPTIONS else None

    def offer(self, key: Service[Any], call: "Call", turn: "Turn") -> Any:
        if key is not WORKTREES:
            return self.part(key)
        from bridle.features.worktrees.session import SessionWorktree

        self._worked_in = turn.runtime
        return SessionWorktree(turn.runtime, turn.session)

    def standing(self, turn: "Turn", standing: "SessionPosition") -> "SessionPosition":
        """A session in the background leaves the main checkout as it is until it is in a work tree."""
        protected = self._options.protected
        # Agents may work in trees of their own while the session has entered none.
        if protected is None or turn.runtime.workspace.worktree is not None:
            return standing
        return msgspec.structs.replace(standing, checkout=protected)

    def for_agent(self, work: "Assignment") -> Feature:
        return WorktreesFeature(self._options, of_agent=True)

    async def close(self) -> None:
        """An agent gives up the tree that it entered where nothing in it would be lost."""
        if self._of_agent and self._worked_in is not None:
            from bridle.features.worktrees.session import SessionWorktree

            await SessionWorktree(self._worked_in).close()


def open_worktrees(context: FeatureContext) -> WorktreesFeature:
    wanted = context.config.settings.worktree or Worktree()
    return WorktreesFeature(
        WorktreeOptions(
            base=wanted.base_ref or "fresh",
            sparse=wanted.sparse_paths or (),
            links=wanted.symlink_directories or (),
            protected=_protected(context) if wanted.bg_isolation != "none" else None,
        )
    )


def _protected(context: FeatureContext) -> str | None:
    """The main checkout around a session in the background; None in a work tree and outside a repository."""
    if context.options.job is None:
        return None
    from bridle.host.git.repository import find_root

    root = find_root(context.project)
    is_main = root is not None and os.path.isdir(os.path.join(root, ".git"))
    return root if is_main else None
