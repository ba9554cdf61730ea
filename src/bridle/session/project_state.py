"""What `~/.claude.json` says of the last session in a folder, for the programs that show its cost."""

from collections.abc import Mapping
from typing import Any

from bridle.config.edit import update
from bridle.config.state import trust_root
from bridle.host import paths
from bridle.types.errors import ConfigError


def note_last_session(env: Mapping[str, str], cwd: str, facts: Mapping[str, Any]) -> None:
    """Keep the facts of a session that ends; a state file that cannot be written keeps what it has."""
    root = trust_root(env, cwd)

    def change(values: dict[str, Any]) -> dict[str, Any]:
        projects = values.get("projects")
        known: dict[str, Any] = projects if isinstance(projects, dict) else {}
        project = known.get(root)
        kept: dict[str, Any] = project if isinstance(project, dict) else {}
        return {**values, "projects": {**known, root: {**kept, **facts}}}

    try:
        update(paths.global_state_file(env), change, mode=0o600)
    except (ConfigError, OSError):
        pass  # The session has ended well all the same.
