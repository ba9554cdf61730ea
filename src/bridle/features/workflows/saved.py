"""Keeps the script of a run as a workflow that can be called by its name."""

import os
import re
from typing import Literal

from bridle.engine.runtime import Runtime
from bridle.extensions.workflows import read_meta
from bridle.features.workflows.journal import RunFolder
from bridle.host.files import write_atomic
from bridle.host.paths import config_home
from bridle.types.errors import ConfigError, ToolError

Scope = Literal["project", "user"]

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")


def save(folder: RunFolder, runtime: Runtime, *, name: str | None, scope: Scope, replace: bool) -> str:
    """Write the script of a run to the workflows of the project or the user; the path of the file.

    Raises:
        ToolError: the name cannot be used, or a file is there that is not to be replaced.
        OSError: it cannot be written.
    """
    source = folder.read_script()
    try:
        own = read_meta(source).name
    except ConfigError as error:
        raise ToolError(f"{folder.script}: {error}") from error
    chosen = name or own
    if _NAME.fullmatch(chosen) is None:
        raise ToolError(f"Invalid workflow name {chosen!r}: use letters, digits, . _ and -.")
    base = config_home(runtime.env)
    if scope == "project":
        base = os.path.join(runtime.workspace.start, ".claude")
    path = os.path.join(base, "workflows", f"{chosen}.js")
    if os.path.lexists(path) and not replace:
        raise ToolError(f"{path} already exists. Choose another name, or replace it with --force.")
    write_atomic(path, _renamed(source, own, chosen).encode())
    return path


def _renamed(source: str, old: str, new: str) -> str:
    """The script with another name in its metadata, which must be that of its file."""
    if old == new:
        return source
    pattern = re.compile(r"(\bname['\"]?\s*:\s*)(['\"`])" + re.escape(old) + r"\2")
    changed = pattern.sub(lambda found: f"{found[1]}{found[2]}{new}{found[2]}", source, count=1)
    try:
        if read_meta(changed).name == new:
            return changed
    except ConfigError:
        pass  # Said below: the change did not come out as meant.
    raise ToolError(f"Could not change the name {old} in the metadata. Save it under that name.")
