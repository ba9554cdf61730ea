"""Agents as `--agents` and host programs write them: one JSON object, names as keys."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.types.agent import AgentDefinition, AgentSource, MemoryScope
from bridle.types.permission import MODES, Mode

_COLORS = ("red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan")


def read_agents(
    values: Mapping[str, Any], source: AgentSource
) -> tuple[tuple[AgentDefinition, ...], tuple[str, ...]]:
    """The agents that can be used, and a sentence about each that cannot."""
    agents: list[AgentDefinition] = []
    problems: list[str] = []
    for name, value in values.items():
        try:
            agents.append(_read(name, value, source))
        except ValueError as error:
            problems.append(f"The agent {name!r} is ignored: {error}.")
    return tuple(agents), tuple(problems)


class _Written(Struct, frozen=True, kw_only=True, rename="camel"):
    description: str
    prompt: str
    tools: str | list[str] | None = None
    disallowed_tools: str | list[str] | None = None
    model: str | None = None
    effort: str | int | None = None
    permission_mode: str | None = None
    max_turns: int | None = None
    skills: str | list[str] | None = None
    mcp_servers: list[str | dict[str, Any]] | None = None
    hooks: dict[str, Any] | None = None
    memory: str | None = None
    background: bool | None = None
    isolation: str | None = None
    color: str | None = None
    initial_prompt: str | None = None
    omit_claude_md: bool | None = None
    reminder: str | None = msgspec.field(default=None, name="criticalSystemReminder_EXPERIMENTAL")
    auto_compact_window: int | None = None


_OPTIONAL = tuple(
    field for field in msgspec.structs.fields(_Written) if field.name not in ("description", "prompt")
)


def _read(name: str, value: Any, source: AgentSource) -> AgentDefinition:
    if not name.strip() or ":" in name or name.startswith("-"):
        raise ValueError("its name is empty, has a colon or begins with a dash")
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    written = _convert(value)
    if not written.description.strip():
        raise ValueError("Description cannot be empty")
    if not written.prompt.strip():
        raise ValueError("Prompt cannot be empty")
    if written.max_turns is not None and written.max_turns < 1:
        raise ValueError("maxTurns must be at least 1")
    return AgentDefinition(
        name=name,
        description=written.description,
        text=written.prompt,
        source=source,
        tools=None if written.tools is None else _words(written.tools),
        disallowed_tools=_words(written.disallowed_tools),
        model=_model(written.model),
        effort=written.effort,
        permission_mode=_mode(written.permission_mode),
        max_turns=written.max_turns,
        skills=_words(written.skills),
        mcp_servers=tuple(written.mcp_servers or ()),
        hooks=written.hooks or {},
        memory=_scope(written.memory),
        background=written.background is True,
        isolation="worktree" if written.isolation == "worktree" else None,
        color=written.color if written.color in _COLORS else None,
        initial_prompt=written.initial_prompt,
        omit_instructions=written.omit_claude_md is True,
        reminder=written.reminder,
        auto_compact_window=written.auto_compact_window,
    )


def _convert(value: Mapping[str, Any]) -> _Written:
    """The fields by their types; optional ones of the wrong kind are as if they were not there."""
    kept = {key: each for key, each in value.items() if each is not None}
    for field in _OPTIONAL:
        if field.encode_name in kept:
            try:
                msgspec.convert(kept[field.encode_name], field.type)
            except msgspec.ValidationError:
                del kept[field.encode_name]
    try:
        return msgspec.convert(kept, _Written)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error


def _words(value: str | list[str] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    listed = value.split(",") if isinstance(value, str) and "(" not in value else value
    given = [listed] if isinstance(listed, str) else listed
    return tuple(word.strip() for word in given if word.strip())


def _model(name: str | None) -> str | None:
    trimmed = (name or "").strip()
    return "inherit" if trimmed.lower() == "inherit" else trimmed or None


def _mode(name: str | None) -> Mode | None:
    wanted = "default" if name == "manual" else name
    return next((mode for mode in MODES if mode == wanted), None)


def _scope(name: str | None) -> MemoryScope | None:
    match name:
        case "user" | "project" | "local":
            return name
        case _:
            return None
