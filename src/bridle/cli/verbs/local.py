"""`bridle local`: the models on this machine, and how to use them."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.providers import in_process
from bridle.providers.local_servers import LocalModel, LocalServer, discover
from bridle.providers.trimming import is_small


def run_local(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """List the models on this machine."""
    servers = asyncio.run(discover(env))
    inside = _inside(env)
    if given.on("json"):
        output: dict[str, Any] = {
            "servers": [msgspec.to_builtins(server) for server in servers],
            "inProcess": {"installed": in_process.is_installed(), "models": inside},
        }
        return say(msgspec.json.format(msgspec.json.encode(output), indent=2).decode() + "\n")
    return say("\n".join([*_servers(servers), *_engine(inside)]) + "\n")


def _servers(servers: Sequence[LocalServer]) -> list[str]:
    lines: list[str] = []
    for server in servers:
        lines.append(f"{server.label} at {server.base}")
        lines += [_line(model) for model in server.models] or ["  no models yet"]
    if not servers:
        lines.append(
            "No server found. Start one, for example: ollama serve, llama-server -m model.gguf --jinja"
        )
    elif named := next((model.name for server in servers for model in server.models), None):
        lines.append(f"\nUse one:  bridle --model {named}")
        lines.append(
            "Set its window and capabilities with bridleModels in the settings; see bridle docs local."
        )
    return lines


def _line(model: LocalModel) -> str:
    window = "window unknown" if model.window is None else f"{model.window:,} tokens"
    notes = [window]
    if model.tools is False:
        notes.append("no native tool calls")
    if model.window is not None and is_small(model.window):
        notes.append("small: prompts and tools are shortened")
    return f"  {model.name:<40} {', '.join(notes)}"


def _inside(env: Mapping[str, str]) -> list[str]:
    found = [f"local/{name}" for name in in_process.files(env)]
    return [f"local/{in_process.SAMPLE}", *found] if in_process.sample_file() is not None else found


def _engine(inside: list[str]) -> list[str]:
    if not in_process.is_installed():
        return ["", "GGUF files can also run in this process: pip install 'bridle[local]'"]
    lines = ["", "In this process (one thread; BRIDLE_LOCAL_THREADS for more):"]
    for name in inside:
        sample = "  a real model of 135M parameters for a first look, too weak for work"
        lines.append(f"  {name}{sample if name.endswith(in_process.SAMPLE) else ''}")
    lines += [] if inside else ["  no models yet: --model local//path/to/model.gguf"]
    return lines
