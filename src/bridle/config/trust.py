"""Writes down which folders the user trusts."""

import os.path
from collections.abc import Mapping
from typing import Any

from bridle.config.edit import update
from bridle.host import paths
from bridle.host.git import find_root


def trust(env: Mapping[str, str], cwd: str) -> None:
    """Remember that the user trusts the repository around `cwd`, or the folder itself outside one.

    Raises:
        ConfigError: the state file does not parse.
        OSError: the state file cannot be written.
    """
    root = find_root(cwd) or os.path.realpath(cwd)

    def change(values: dict[str, Any]) -> dict[str, Any]:
        projects: dict[str, Any] = values.get("projects") or {}
        project: dict[str, Any] = projects.get(root) or {}
        return {**values, "projects": {**projects, root: {**project, "hasTrustDialogAccepted": True}}}

    update(paths.global_state_file(env), change, mode=0o600)
