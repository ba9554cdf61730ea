"""Where MCP servers are defined, and whether there are any: asked at every start, so kept cheap."""

import os
import os.path
from collections.abc import Iterator, Mapping

from bridle.config.sources import Inputs
from bridle.host import paths
from bridle.host.files import read_bytes
from bridle.host.git.repository import find_root

PROJECT_FILE = ".mcp.json"
MANAGED_FILE = "managed-mcp.json"
LARGEST_STATE = 256 * 1024 * 1024


def is_any_configured(inputs: Inputs, env: Mapping[str, str]) -> bool:
    """Whether some file may configure a server; none is read closely."""
    if os.path.exists(os.path.join(inputs.managed_dir, MANAGED_FILE)):
        return True
    if counts(inputs, "project") and any(map(os.path.exists, project_files(inputs.cwd, env))):
        return True
    if not (counts(inputs, "user") or counts(inputs, "local")):
        return False
    try:
        return b'"mcpServers"' in read_bytes(paths.global_state_file(env), LARGEST_STATE)
    except OSError:
        return False  # There is none, or nothing in it can count.


def project_files(cwd: str, env: Mapping[str, str]) -> Iterator[str]:
    """The files of the project, the nearest first: up to the top of its repository."""
    folder = os.path.realpath(cwd)
    top = find_root(folder) or folder
    home = os.path.realpath(env.get("HOME") or os.path.expanduser("~"))
    yield os.path.join(folder, PROJECT_FILE)
    # A home directory under version control does not make everything in it one project.
    while folder not in (top, home):
        folder = os.path.dirname(folder)
        if folder != home:
            yield os.path.join(folder, PROJECT_FILE)


def counts(inputs: Inputs, source: str) -> bool:
    """Whether settings of this source were asked for."""
    return inputs.setting_sources is None or source in inputs.setting_sources
