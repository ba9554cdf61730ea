"""Brings over the configuration of another agent: instructions, MCP servers, custom prompts."""

import asyncio
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.commands.context import CommandContext
from bridle.config.edit import update
from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.host.paths import config_home, global_state_file
from bridle.types.command import CommandResult, Says
from bridle.types.errors import UsageError

Agent = Literal["codex", "gemini", "opencode"]
AGENTS: tuple[Agent, ...] = ("codex", "gemini", "opencode")

_LARGEST = 1_000_000
_MOST_PROMPTS = 200
_FOLDERS: Mapping[Agent, str] = {"codex": ".codex", "gemini": ".gemini", "opencode": ".config/opencode"}
_INSTRUCTIONS: Mapping[Agent, str] = {"codex": "AGENTS.md", "gemini": "GEMINI.md", "opencode": "AGENTS.md"}
_PROMPTS: Mapping[Agent, tuple[str, ...]] = {
    "codex": ("prompts",),
    "gemini": ("commands",),
    "opencode": ("command", "commands"),
}
_SETTINGS: Mapping[Agent, tuple[str, ...]] = {
    "codex": ("config.toml",),
    "gemini": ("settings.json",),
    "opencode": ("opencode.json", "opencode.jsonc", "config.json"),
}


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
    named: list[Agent] = [agent for agent in AGENTS if agent in words]
    if unknown := [word for word in words if word not in (*AGENTS, "--yes", "--dry-run")]:
        raise UsageError(f"Cannot import from {unknown[0]}. Use {', '.join(AGENTS)}.")
    steps = await asyncio.to_thread(plan_all, named, context.env)
    if not steps:
        return Says("Nothing new to import.")
    lines = [step.summary for step in steps]
    if "--yes" not in words or "--dry-run" in words:
        return Says("\n".join([*lines, "Nothing changed. Apply with: /import --yes"]))
    for step in steps:
        await asyncio.to_thread(apply, step)
    return Says("\n".join([*lines, "Done."]))


def plan_all(agents: Sequence[Agent], env: Mapping[str, str]) -> list[Step]:
    """What the named agents have, or all, that is not here yet; of two for one target the first."""
    steps: dict[tuple[str, tuple[str, ...]], Step] = {}
    for agent in agents or AGENTS:
        for step in plan(agent, env):
            steps.setdefault((step.target, tuple(step.servers)), step)
    return list(steps.values())


def plan(agent: Agent, env: Mapping[str, str]) -> Iterator[Step]:
    """What an agent has that is not here yet."""
    folder = os.path.join(env.get("HOME") or os.path.expanduser("~"), _FOLDERS[agent])
    if agent == "opencode" and env.get("XDG_CONFIG_HOME", "").startswith("/"):
        folder = os.path.join(env["XDG_CONFIG_HOME"], "opencode")
    home = config_home(env)
    yield from _copied(os.path.join(folder, _INSTRUCTIONS[agent]), os.path.join(home, "CLAUDE.md"))
    known = _json(global_state_file(env)).get("mcpServers")
    taken: Mapping[str, Any] = known if isinstance(known, dict) else {}
    for name in _SETTINGS[agent]:
        path = os.path.join(folder, name)
        found = _servers_in(agent, path)
        if fresh := {name: server for name, server in found.items() if name not in taken}:
            yield Step(source=path, target=global_state_file(env), servers=fresh)
            break
    for prompts in _PROMPTS[agent]:
        for path in _files(os.path.join(folder, prompts), ".toml" if agent == "gemini" else ".md"):
            target = os.path.join(home, "commands", f"{os.path.splitext(os.path.basename(path))[0]}.md")
            yield from _gemini_command(path, target) if agent == "gemini" else _copied(path, target)


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


def _servers_in(agent: Agent, path: str) -> dict[str, Any]:
    match agent:
        case "codex":
            return _servers(_toml(path).get("mcp_servers"))
        case "gemini":
            return _servers(_json(path).get("mcpServers"))
        case "opencode":
            return _servers(_from_opencode(_json(path).get("mcp")))


def _from_opencode(found: object) -> dict[str, Any]:
    """Entries of opencode, whose command is a list, as the others write them; not those turned off."""
    servers: dict[str, Any] = {}
    for name, entry in found.items() if isinstance(found, dict) else ():
        match entry:
            case {"enabled": False}:
                continue
            case {"type": "local", "command": [str() as command, *rest]}:
                servers[name] = {"command": command, "args": rest, "env": entry.get("environment")}
            case {"type": "remote", "url": str() as url}:
                servers[name] = {"url": url}
            case _:
                pass
    return servers


def _servers(found: object) -> dict[str, Any]:
    """Entries in the form that bridle reads; what is no server is left out."""
    servers: dict[str, Any] = {}
    for name, entry in found.items() if isinstance(found, dict) else ():
        if not _NAME.fullmatch(str(name)):
            continue
        match entry:
            case {"command": str() as command}:
                servers[str(name)] = {
                    "type": "stdio",
                    "command": command,
                    "args": [each for each in _list(entry.get("args")) if isinstance(each, str)],
                    "env": {
                        key: value
                        for key, value in _object(entry.get("env")).items()
                        if isinstance(value, str)
                    },
                }
            case {"httpUrl": str() as url}:
                servers[str(name)] = {"type": "http", "url": url}
            case {"url": str() as url}:
                servers[str(name)] = {"type": "http", "url": url}
            case _:
                pass
    return servers


def _gemini_command(path: str, target: str) -> Iterator[Step]:
    values = _toml(path)
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
    text = _read(path)
    if path.endswith(".jsonc"):
        text = _COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else "", text)
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {}


def _toml(path: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(_read(path))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_NAME = re.compile(r"[\w.@/ -]{1,100}")
"""Names of servers that every place which shows them can show."""
