"""Hook events for changes around a conversation: files, folders, settings, servers, models."""

import os.path
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import field

from bridle.types.hooks.base import ConfigSource, ElicitationMode, Moment
from bridle.types.hooks.outcome import ElicitationAction


class InstructionsLoaded(Moment, frozen=True, kw_only=True):
    """An instruction file was put before the model."""

    matched_on = "load_reason"
    file_path: str
    memory_type: Literal["User", "Project", "Local", "Managed"]
    load_reason: Literal["session_start", "nested_traversal", "path_glob_match", "include", "compact"]
    globs: Sequence[str] | None = None
    trigger_file_path: str | None = None
    parent_file_path: str | None = None


class ConfigChange(Moment, frozen=True, kw_only=True):
    """Settings have changed on disk; the change may be refused."""

    matched_on = "source"
    source: ConfigSource
    file_path: str | None = None


class CwdChanged(Moment, frozen=True, kw_only=True):
    """The session stands in another folder."""

    old_cwd: str
    new_cwd: str


class DirectoryAdded(Moment, frozen=True, kw_only=True):
    """The session works in one more folder."""

    matched_on = "source"
    directory: str
    source: Literal["slash_command", "register_repo_root"]


class FileChanged(Moment, frozen=True, kw_only=True):
    """A file that hooks watch has changed."""

    matched_on = "file_path"
    file_path: str
    event: Literal["change", "add", "unlink"]

    @property
    def subject(self) -> str:
        return os.path.basename(self.file_path)


class WorktreeCreate(Moment, frozen=True, kw_only=True):
    """A worktree is wanted; the hook makes it and names its path."""

    worktree: str = field(name="name")


class WorktreeRemove(Moment, frozen=True, kw_only=True):
    """A worktree is not needed any more."""

    worktree_path: str


class Elicitation(Moment, frozen=True, kw_only=True):
    """An MCP server asks the user something; a hook may answer."""

    matched_on = "server"
    server: str = field(name="mcp_server_name")
    message: str
    mode: ElicitationMode | None = None
    url: str | None = None
    elicitation_id: str | None = None
    requested_schema: Mapping[str, Any] | None = None


class ElicitationResult(Moment, frozen=True, kw_only=True):
    """The user has answered an MCP server; a hook may change the answer."""

    matched_on = "server"
    server: str = field(name="mcp_server_name")
    action: ElicitationAction
    content: Mapping[str, Any] | None = None
    mode: ElicitationMode | None = None
    elicitation_id: str | None = None


class ModelSwitch(Moment, frozen=True, kw_only=True):
    """What both moments of a change of models tell."""

    matched_on = "to_model"
    from_model: str
    to_model: str
    context_tokens: int
    prompt_cache_warm: bool
    cache_ttl: str | None
    estimated_cache_write_usd: float | None


class PreModelSwitch(ModelSwitch, frozen=True, kw_only=True):
    """Another model is about to take over; that may be refused."""


class PostModelSwitch(ModelSwitch, frozen=True, kw_only=True):
    """Another model has taken over."""
