"""Takes over what older releases kept in other places: each thing once, with a backup of what is changed."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridle.config.state import is_trusted
from bridle.host.files import make_folders, read_bytes, write_new
from bridle.host.paths import bridle_dir, config_home, global_state_file, project_slug

_EDITION = 1
"""Raised with every thing that is added here, so that all are looked at once more."""
_LARGEST = 64 * 1024 * 1024
_LISTS = ("enabledMcpjsonServers", "disabledMcpjsonServers")
_OLD_MODELS = {
    **dict.fromkeys(
        (
            "claude-3-opus-20240229", "claude-3-opus-latest", "claude-opus-4-0", "claude-opus-4-20250514",
            "claude-opus-4-1", "claude-opus-4-1-20250805",
        ),
        "opus",
    ),
    **dict.fromkeys(
        (
            "claude-3-5-sonnet-20240620", "claude-3-5-sonnet-20241022", "claude-3-5-sonnet-latest",
            "claude-3-7-sonnet-20250219", "claude-3-7-sonnet-latest", "claude-sonnet-4-0",
            "claude-sonnet-4-20250514",
        ),
        "sonnet",
    ),
    **dict.fromkeys(
        ("claude-3-haiku-20240307", "claude-3-5-haiku-20241022", "claude-3-5-haiku-latest"), "haiku"
    ),
}  # fmt: skip
"""Models that are no longer served, and the alias of what took their place."""


def migrate(env: Mapping[str, str], cwd: str) -> None:
    """Take over what is left of older releases, for the user and for a trusted folder.

    Raises:
        ConfigError: a settings file does not parse.
        OSError: a file cannot be written.
    """
    marks = os.path.join(bridle_dir(env), "migrations")
    names = ("user", project_slug(cwd), f"conversations-{project_slug(cwd)}")
    for_user, for_folder, for_conversations = (os.path.join(marks, f"{name}-{_EDITION}") for name in names)
    if not os.path.exists(for_user):
        _change(os.path.join(config_home(env), "settings.json"), _of_user(_state(env)), env)
        _mark(for_user)
    if not os.path.exists(for_folder) and is_trusted(env, cwd):
        projects = _state(env).get("projects")
        kept = projects.get(cwd) if isinstance(projects, dict) else None
        if isinstance(kept, dict) and kept:
            _change(os.path.join(cwd, ".claude", "settings.local.json"), _of_folder(kept), env)
        _mark(for_folder)
    if not os.path.exists(for_conversations):
        _take_over_conversations(env, cwd)
        _mark(for_conversations)


def _take_over_conversations(env: Mapping[str, str], cwd: str) -> None:
    from bridle.session.old_transcripts import take_over_agents, take_over_prompts

    projects = _state(env).get("projects")
    kept = projects.get(cwd) if isinstance(projects, dict) else None
    take_over_agents(env, cwd)
    take_over_prompts(kept if isinstance(kept, dict) else {}, env, cwd)


def _of_user(state: Mapping[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(values: dict[str, Any]) -> dict[str, Any]:
        changed = dict(values)
        if state.get("bypassPermissionsModeAccepted") is True:
            changed.setdefault("skipDangerousModePermissionPrompt", True)
        variables = changed.get("env", {})
        if state.get("autoUpdates") is False and isinstance(variables, dict):
            changed["env"] = {"DISABLE_AUTOUPDATER": "1", **variables}
        if isinstance(model := changed.get("model"), str) and model in _OLD_MODELS:
            changed["model"] = _OLD_MODELS[model]
        return changed

    return change


def _of_folder(kept: Mapping[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(values: dict[str, Any]) -> dict[str, Any]:
        changed = dict(values)
        permissions = changed.get("permissions", {})
        if (rules := _texts(kept.get("allowedTools"))) and isinstance(permissions, dict):
            known = _texts(permissions.get("allow"))
            changed["permissions"] = {**permissions, "allow": list(dict.fromkeys((*known, *rules)))}
        if kept.get("enableAllProjectMcpServers") is True:
            changed.setdefault("enableAllProjectMcpServers", True)
        for key in _LISTS:
            if names := _texts(kept.get(key)):
                changed.setdefault(key, names)
        return changed

    return change


def _change(path: str, change: Callable[[dict[str, Any]], dict[str, Any]], env: Mapping[str, str]) -> None:
    """Change a settings file where there is something to change, and keep a copy of what it was."""
    try:
        before = read_bytes(path, _LARGEST)
        values = msgspec.json.decode(before, type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        before, values = b"", {}
    if change(values) == values:
        return
    if before:
        folder = os.path.join(config_home(env), "backups")
        make_folders(folder, private=True)
        write_new(os.path.join(folder, f"{os.path.basename(path)}.{time.time_ns()}"), before)
    # Every session looks here at its end, and hardly any changes something.
    from bridle.config.edit import update

    update(path, change, mode=0o600, env=env)


def _state(env: Mapping[str, str]) -> dict[str, Any]:
    try:
        return msgspec.json.decode(read_bytes(global_state_file(env), _LARGEST), type=dict[str, Any])
    except (OSError, msgspec.DecodeError, RecursionError):
        return {}


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _mark(path: str) -> None:
    make_folders(os.path.dirname(path), private=True)
    with open(path, "ab"):
        pass
