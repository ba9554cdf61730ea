"""What bridle remembers about this machine and its folders, outside the settings."""

import os
import os.path
from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct

from bridle.config.schema import GlobalConfig
from bridle.host import paths
from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.host.git.repository import find_root
from bridle.host.lock import FileLock, Locked

State = TypeVar("State", bound=Struct)

_LARGEST = 256 * 1024 * 1024
_ID_LENGTH = 32
_HEX = frozenset("0123456789abcdef")


class _Project(Struct, rename="camel"):
    has_trust_dialog_accepted: bool = False


class _State(Struct):
    projects: dict[str, _Project] = {}


def is_trusted(env: Mapping[str, str], cwd: str) -> bool:
    """Whether the user has said that what the folder brings along may run.

    Trust belongs to exactly one place, see `trust_root`. For one process, BRIDLE_TRUST_FOLDER with the
    folder's absolute path says the same; it is the only way for what is never remembered.
    """
    root = trust_root(env, cwd)
    named = env.get("BRIDLE_TRUST_FOLDER", "")
    # A relative path would mean another folder wherever the variable is inherited.
    if os.path.isabs(named) and trust_root(env, named) == root:
        return True
    if is_too_wide(env, root):
        return False
    state = _read_state(env, _State)
    project = state.projects.get(root) if state is not None else None
    return project is not None and project.has_trust_dialog_accepted


def trust_root(env: Mapping[str, str], cwd: str) -> str:
    """The place whose trust counts for a folder, links followed: the nearest repository, else itself.

    A home directory under version control does not make everything in it one repository.
    """
    root = find_root(cwd)
    return os.path.realpath(cwd) if root is None or is_too_wide(env, root) else root


def is_too_wide(env: Mapping[str, str], root: str) -> bool:
    """Whether trust in a resolved folder would cover so much that it is never remembered."""
    home = os.path.realpath(os.path.dirname(paths.global_state_file({**env, "CLAUDE_CONFIG_DIR": ""})))
    return f"{home}/".startswith(root.rstrip("/") + "/")


def global_config(env: Mapping[str, str]) -> GlobalConfig:
    """The preferences in the state file; a file that cannot be used counts as empty."""
    return _read_state(env, GlobalConfig) or GlobalConfig()


def installation_id(env: Mapping[str, str]) -> str:
    """A random name for this installation, kept from first use on wherever the home can be written."""
    path = os.path.join(paths.bridle_dir(env), "installation-id")
    if known := _known_id(path):
        return known
    fresh = os.urandom(16).hex()
    try:
        make_folders(os.path.dirname(path), private=True)
        with FileLock(f"{path}.lock"):
            if known := _known_id(path):
                return known
            write_atomic(path, f"{fresh}\n".encode(), mode=0o600)
    except (OSError, Locked):
        pass  # A read-only home is no reason to fail: the id only tells installations apart.
    return fresh


def _read_state(env: Mapping[str, str], kind: type[State]) -> State | None:
    try:
        data = read_bytes(paths.global_state_file(env), _LARGEST)
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=kind)
    except (OSError, msgspec.DecodeError, RecursionError):
        # Whatever cannot be read grants nothing.
        return None


def _known_id(path: str) -> str | None:
    try:
        text = read_bytes(path, 1024).decode("ascii", "replace").strip()
    except OSError:
        return None
    return text if len(text) == _ID_LENGTH and _HEX.issuperset(text) else None
