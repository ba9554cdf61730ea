"""Where files live: the user's folder, each project's folder inside it, the administrator's folder."""

import os
import os.path
import re
from collections.abc import Mapping
from string import ascii_letters, digits

_LONGEST_SLUG = 200
_NAME = r"(?a:[\w-][\w.-]*)"
_KEPT = frozenset(ascii_letters + digits)
"""The characters that the name of a project's folder takes from its path."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": "C:\\Program Files\\ClaudeCode",
}


def config_home(env: Mapping[str, str]) -> str:
    """The folder with settings, transcripts and extensions: `CLAUDE_CONFIG_DIR` or `~/.claude`."""
    return env.get("CLAUDE_CONFIG_DIR") or os.path.join(_user_home(env), ".claude")


def global_state_file(env: Mapping[str, str]) -> str:
    """The file with logins and the state of every project; it moves along with `CLAUDE_CONFIG_DIR`."""
    return os.path.join(env.get("CLAUDE_CONFIG_DIR") or _user_home(env), ".claude.json")


def bridle_dir(env: Mapping[str, str]) -> str:
    """The folder for what only bridle reads."""
    return os.path.join(config_home(env), "bridle")


def credentials_file(env: Mapping[str, str]) -> str:
    """The file that says which vendors have a saved key, and has the keys unless a keyring does."""
    return os.path.join(bridle_dir(env), "credentials.json")


def projects_dir(env: Mapping[str, str]) -> str:
    """The folder that holds one folder of transcripts per project."""
    return os.path.join(config_home(env), "projects")


def project_dir(cwd: str, env: Mapping[str, str]) -> str:
    """The folder with the transcripts of the project at `cwd`, links followed.

    `CLAUDE_CODE_PROJECT_DIR_NAME` names it instead where `CLAUDE_CONFIG_DIR` is set.
    """
    name = _chosen_name(env) or project_slug(_composed(os.path.realpath(cwd)))
    return os.path.join(projects_dir(env), name)


def project_slug(cwd: str) -> str:
    """The name of a project's folder: `cwd` with everything but ASCII letters and digits made a dash."""
    # The convention counts in UTF-16 units, so that a character beyond the first plane makes two dashes.
    units = memoryview(cwd.encode("utf-16-le", "surrogatepass")).cast("H")
    slug = "".join(chr(unit) if chr(unit) in _KEPT else "-" for unit in units)
    if len(slug) <= _LONGEST_SLUG:
        return slug
    return f"{slug[:_LONGEST_SLUG]}-{_base36(_hash32(units))}"


def display_path(path: str, env: Mapping[str, str]) -> str:
    """A path as messages name it: with `~` for the user's home."""
    home = _user_home(env).rstrip("/")
    return f"~{path[len(home) :]}" if home and f"{path}/".startswith(f"{home}/") else path


def managed_dir(platform: str) -> str:
    """The administrator's folder on a `sys.platform`."""
    return _MANAGED.get(platform, "/etc/claude-code")


def device_policies(platform: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Where device management keeps its settings on a `sys.platform`, the most special last."""
    if platform == "win32":
        return tuple(f"{hive}\\SOFTWARE\\Policies\\ClaudeCode" for hive in ("HKLM", "HKCU"))
    if platform != "darwin":
        return ()
    folder, name = "/Library/Managed Preferences", "com.anthropic.claudecode.plist"
    user = os.path.basename(_user_home(env).rstrip("/"))
    return f"{folder}/{name}", f"{folder}/{user}/{name}"


def _chosen_name(env: Mapping[str, str]) -> str | None:
    name = env.get("CLAUDE_CODE_PROJECT_DIR_NAME", "")
    # A name that leads elsewhere, or is too long for a folder, is as if it were not there.
    if not name or not env.get("CLAUDE_CONFIG_DIR") or len(name) > _LONGEST_SLUG:
        return None
    return name if re.fullmatch(_NAME, name) else None


def _user_home(env: Mapping[str, str]) -> str:
    return env.get("HOME") or os.path.expanduser("~")


def _composed(path: str) -> str:
    if path.isascii():
        return path
    import unicodedata

    return unicodedata.normalize("NFC", path)


def _hash32(units: memoryview) -> int:
    value = 0
    for unit in units:
        value = (value * 31 + unit) & 0xFFFFFFFF
    return 0x100000000 - value if value >= 0x80000000 else value


def _base36(number: int) -> str:
    digits = ""
    while True:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
        if not number:
            return digits
