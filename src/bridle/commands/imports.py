"""Brings over the configuration of another agent: instructions, MCP servers, custom prompts."""

import asyncio
import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.commands.context import CommandContext
from bridle.config.edit import update
from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.host.paths import config_home, global_state_file
from bridle.types.command import CommandResult, Says
from bridle.types.errors import UsageError

Agent = Literal["codex", "gemini"]

_LARGEST = 1_000_000
_MOST_PROMPTS = 200
_FOLDERS: Mapping[Agent, str] = {"codex": ".codex", "gemini": ".gemini"}


class Step(Struct, frozen=True, kw_only=True):
    """One thing to bring over."""

    source: str
    target: str
    text: str = ""
    """What is written to a new file."""
    servers: dict[str, Any] = {}
    """MCP servers that are added to the user's."""

    @property
    def summary(self) -> str:
        what = f"MCP servers {', '.join(self.servers)}" if self.servers else "a copy"
        return f"{self.source} → {self.target} ({what})"


async def bring_over(arguments: str, context: CommandContext) -> CommandResult:
    """Show what would be brought over; with `--yes` do it. What is there already is never replaced."""
    words = arguments.split()
    named: list[Agent] = [agent for agent in _FOLDERS if agent in words]
    if unknown := [word for word in words if word not in (*_FOLDERS, "--yes", "--dry-run")]:
        raise UsageError(f"There is nothing to import from {unknown[0]}; use codex or gemini.")
    steps = [step for agent in (named or [*_FOLDERS]) for step in plan(agent, context.env)]
    if not steps:
        return Says("There is nothing to bring over that is not here already.")
    lines = [step.summary for step in steps]
    if "--yes" not in words or "--dry-run" in words:
        return Says("\n".join([*lines, "Nothing was changed: /import --yes does it."]))
    for step in steps:
        await asyncio.to_thread(apply, step)
    return Says("\n".join([*lines, "Done."]))


def plan(agent: Agent, env: Mapping[str, str]) -> Iterator[Step]:
    """What an agent has that is not here yet."""
    folder = os.path.join(env.get("HOME") or os.path.expanduser("~"), _FOLDERS[agent])
    home = config_home(env)
    instructions = os.path.join(folder, "AGENTS.md" if agent == "codex" else "GEMINI.md")
    yield from _copied(instructions, os.path.join(home, "CLAUDE.md"))
    found = _codex_servers(folder) if agent == "codex" else _gemini_servers(folder)
    known = _json(global_state_file(env)).get("mcpServers")
    taken: Mapping[str, Any] = known if isinstance(known, dict) else {}
    if fresh := {name: server for name, server in found.items() if name not in taken}:
        name = "config.toml" if agent == "codex" else "settings.json"
        yield Step(source=os.path.join(folder, name), target=global_state_file(env), servers=fresh)
    prompts = os.path.join(folder, "prompts" if agent == "codex" else "commands")
    for path in _files(prompts, ".md" if agent == "codex" else ".toml"):
        target = os.path.join(home, "commands", f"{os.path.splitext(os.path.basename(path))[0]}.md")
        yield from _copied(path, target) if agent == "codex" else _gemini_command(path, target)


def apply(step: Step) -> None:
    """Bring one thing over.

    Raises:
        ConfigError: the file with the servers does not parse.
        OSError: a file cannot be written.
    """
    if step.servers:

        def change(values: dict[str, Any]) -> dict[str, Any]:
            known = values.get("mcpServers")
            return {**values, "mcpServers": {**step.servers, **(known if isinstance(known, dict) else {})}}

        update(step.target, change, mode=0o600)
        return
    make_folders(os.path.dirname(step.target), private=True)
    if not os.path.lexists(step.target):
        write_atomic(step.target, step.text.encode(errors="replace"))


def _copied(source: str, target: str) -> Iterator[Step]:
    text = _read(source)
    if text.strip() and not os.path.lexists(target):
        yield Step(source=source, target=target, text=text)


def _codex_servers(folder: str) -> dict[str, Any]:
    import tomllib

    try:
        values = tomllib.loads(_read(os.path.join(folder, "config.toml")))
    except tomllib.TOMLDecodeError:
        return {}
    return _servers(values.get("mcp_servers"))


def _gemini_servers(folder: str) -> dict[str, Any]:
    return _servers(_json(os.path.join(folder, "settings.json")).get("mcpServers"))


def _servers(found: object) -> dict[str, Any]:
    """Entries in the form that bridle reads; what is no server is left out."""
    servers: dict[str, Any] = {}
    for name, entry in found.items() if isinstance(found, dict) else ():
        match entry:
            case {"command": str() as command}:
                env, args = entry.get("env"), entry.get("args")
                servers[str(name)] = {
                    "type": "stdio",
                    "command": command,
                    "args": list(args) if isinstance(args, list) else [],
                    "env": dict(env) if isinstance(env, dict) else {},
                }
            case {"httpUrl": str() as url}:
                servers[str(name)] = {"type": "http", "url": url}
            case {"url": str() as url}:
                servers[str(name)] = {"type": "http", "url": url}
            case _:
                pass
    return servers


def _gemini_command(path: str, target: str) -> Iterator[Step]:
    import tomllib

    try:
        values = tomllib.loads(_read(path))
    except tomllib.TOMLDecodeError:
        return
    prompt = values.get("prompt")
    if not isinstance(prompt, str) or os.path.lexists(target):
        return
    description = " ".join(str(values.get("description") or "").split())
    head = f"---\ndescription: {msgspec.json.encode(description).decode()}\n---\n" if description else ""
    yield Step(source=path, target=target, text=head + prompt.replace("{{args}}", "$ARGUMENTS"))


def _files(folder: str, ending: str) -> list[str]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(ending))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names[:_MOST_PROMPTS]]


def _read(path: str) -> str:
    try:
        return read_bytes(path, _LARGEST).decode(errors="replace")
    except OSError:
        return ""


def _json(path: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(_read(path) or "{}", type=dict[str, Any])
    except msgspec.DecodeError:
        return {}
