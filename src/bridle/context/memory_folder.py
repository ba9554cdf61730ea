"""Where the memory of a project is kept, and whether there is to be one."""

import os
from collections.abc import Mapping

from bridle.host.git.repository import worktrees
from bridle.host.paths import project_dir
from bridle.types.variables import is_off, is_on

INDEX = "MEMORY.md"


def memory_folder(cwd: str, env: Mapping[str, str], *, chosen: str | None = None) -> str:
    """Where the memory of a project is; the worktrees of a repository share it."""
    if chosen:
        return os.path.normpath(os.path.expanduser(chosen))
    shared = worktrees(cwd)
    return os.path.join(project_dir(shared[0] if shared else cwd, env), "memory")


def is_enabled(env: Mapping[str, str], setting: bool | None) -> bool:
    """A variable counts more than the setting, in both directions."""
    if is_on(env, "CLAUDE_CODE_DISABLE_AUTO_MEMORY"):
        return False
    return is_off(env, "CLAUDE_CODE_DISABLE_AUTO_MEMORY") or setting is not False
