"""Where the memory of a project is kept, and whether there is to be one."""

import os
from collections.abc import Mapping

from bridle.host.git import worktrees
from bridle.host.paths import project_dir

INDEX = "MEMORY.md"


def memory_folder(cwd: str, env: Mapping[str, str], *, chosen: str | None = None) -> str:
    """Where the memory of a project is; the worktrees of a repository share it."""
    if chosen:
        return os.path.normpath(os.path.expanduser(chosen))
    shared = worktrees(cwd)
    return os.path.join(project_dir(shared[0] if shared else cwd, env), "memory")


def is_enabled(env: Mapping[str, str], setting: bool | None) -> bool:
    """A variable counts more than the setting, in both directions."""
    match env.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "").strip().lower():
        case "":
            return setting is not False
        case "0" | "false":
            return True
        case _:
            return False
