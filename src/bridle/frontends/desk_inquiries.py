"""What a host may look at without changing anything."""

import asyncio
import base64
import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bridle.frontends.desk import Desk
from bridle.frontends.desk_initialize import agents_of, listed_commands
from bridle.frontends.desk_servers import mcp_status
from bridle.protocol.control import Frame
from bridle.protocol.result import model_usage
from bridle.types.errors import UsageError
from bridle.types.permission import Rule
from bridle.types.text import encodable
from bridle.version import COMPATIBLE_WITH, __version__

_READ_BYTES = 1_000_000
_MOST_READ_BYTES = 10_000_000
_TAIL_CHARACTERS = 8_192
_MOST_SUGGESTIONS = 15
_MOST_VISITED = 20_000
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_LASTING = ("userSettings", "projectSettings", "localSettings")


async def get_settings(desk: Desk, request: Mapping[str, Any]) -> Frame:
    del request
    state, settings = desk.session.state, desk.means.settings
    applied = {"model": state.model, "effort": desk.runtime.asking.effort, "permissionMode": state.mode}
    answer: Frame = {
        "effective": dict(settings.effective()),
        "sources": settings.sources(),
        "applied": applied,
    }
    if problems := settings.problems():
        answer["errors"] = problems
    return answer


async def get_session_cost(desk: Desk, request: Mapping[str, Any]) -> Frame:
    del request
    usd = desk.session.total_cost_usd
    spend = {model: msgspec.to_builtins(each) for model, each in desk.session.spend.items()}
    lines = [f"Total cost: ${usd:.4f}"]
    lines += [
        f"{model}: {each.usage.context:,} tokens in, {each.usage.output:,} out, ${each.usd:.4f}"
        for model, each in desk.session.spend.items()
    ]
    return {"text": "\n".join(lines), "total_cost_usd": usd, "models": spend}


async def get_usage(desk: Desk, request: Mapping[str, Any]) -> Frame:
    """What the session has used; plans and their limits are not known here."""
    del request
    tally = desk.means.tally
    session = {
        "total_cost_usd": desk.session.total_cost_usd,
        "total_api_duration_ms": tally.api_duration_ms,
        "total_duration_ms": tally.duration_ms,
        "total_lines_added": tally.lines_added,
        "total_lines_removed": tally.lines_removed,
        "model_usage": {model: model_usage(each) for model, each in desk.session.spend.items()},
    }
    return {
        "session": session,
        "subscription_type": None,
        "rate_limits_available": False,
        "rate_limits": None,
        "behaviors": None,
    }


async def get_task_output(desk: Desk, request: Mapping[str, Any]) -> Frame:
    task_id = str(request.get("task_id"))
    task = desk.runtime.workspace.tasks.find(task_id)
    if task is None:
        raise UsageError(f"There is no task {task_id}.")
    output = desk.runtime.workspace.tasks.read(task_id, _TAIL_CHARACTERS)
    try:
        total = os.stat(task.output_file).st_size
    except OSError:
        total = len(output.encode(errors="replace"))
    truncated = total > len(output.encode(errors="replace"))
    return {"output": output, "total_bytes": total, "truncated": truncated, "status": task.status}


async def get_binary_version(desk: Desk, request: Mapping[str, Any]) -> Frame:
    del desk, request
    return {"version": COMPATIBLE_WITH, "bridle_version": __version__}


async def get_hooks_listing(desk: Desk, request: Mapping[str, Any]) -> Frame:
    del request
    return dict(desk.means.settings.hooks())


async def list_models(desk: Desk, request: Mapping[str, Any]) -> Frame:
    del request
    return {"models": list(desk.offer.models)}


async def list_permission_rules(desk: Desk, request: Mapping[str, Any]) -> Frame:
    del request
    workspace = desk.runtime.workspace
    rules = [
        {"rule": str(rule), "behavior": rule.effect.value, "source": rule.source}
        for rule in desk.session.state.rules
    ]
    state = {
        "rules": [
            {**shown, "editability": _editability(rule)}
            for shown, rule in zip(rules, desk.session.state.rules, strict=True)
        ],
        "workspaceDirectories": [{"path": root, "source": "session"} for root in workspace.roots[1:]],
        "originalCwd": workspace.start,
        "managedOnly": desk.means.settings.effective().get("allowManagedPermissionRulesOnly") is True,
    }
    return {"rules": rules, "state": state}


async def read_file(desk: Desk, request: Mapping[str, Any]) -> Frame:
    path = os.path.normpath(os.path.join(desk.runtime.workspace.start, str(request.get("path"))))
    asked = request.get("max_bytes") or request.get("maxBytes")
    limit = min(asked, _MOST_READ_BYTES) if isinstance(asked, int) and asked > 0 else _READ_BYTES
    roots = [os.path.realpath(root) for root in desk.runtime.workspace.roots]
    real = os.path.realpath(path)
    if not any(real == root or real.startswith(root.rstrip("/") + "/") for root in roots):
        raise UsageError(f"{path} is outside the working folders.")

    def read() -> bytes:
        with open(real, "rb") as file:
            return file.read(limit + 1)

    try:
        data = await asyncio.to_thread(read)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    answer: Frame = {"absPath": real, "truncated": len(data) > limit}
    if request.get("encoding") == "base64":
        return {**answer, "contents": base64.b64encode(data[:limit]).decode(), "encoding": "base64"}
    text = data[:limit].decode(errors="replace")
    return {**answer, "contents": encodable(text), "lossy": text.encode(errors="replace") != data[:limit]}


async def file_suggestions(desk: Desk, request: Mapping[str, Any]) -> Frame:
    """Files and folders whose path holds the letters of the query in their order, the shortest first."""
    query = str(request.get("query") or "").lower()
    found = await asyncio.to_thread(_matching, desk.runtime.workspace.start, query)
    return {"suggestions": found}


async def reload_skills(desk: Desk, request: Mapping[str, Any]) -> Frame:
    """Read skills and commands again; the host is told of the commands that there are now."""
    del request
    skills = desk.runtime.skills
    if skills is None:
        return {"skills": []}
    await asyncio.to_thread(skills.catalog.reload)
    commands = listed_commands(desk.runtime.commands)
    desk.send(desk.means.framer.commands(commands))
    known = set(skills.names())
    return {"skills": [command for command in commands if command["name"] in known]}


async def reload_plugins(desk: Desk, request: Mapping[str, Any]) -> Frame:
    """Read plugins, skills and commands again; the host is told of all that there is now."""
    plugins = desk.runtime.plugins
    if plugins is not None:
        await plugins.reload()
    for feature in desk.runtime.features.at("reload"):
        await feature.reload()
    await reload_skills(desk, request)
    status = await mcp_status(desk, request)
    return {
        "commands": listed_commands(desk.runtime.commands),
        "agents": agents_of(desk.runtime),
        "plugins": [] if plugins is None else list(plugins.listing()),
        "mcpServers": status["mcpServers"],
        "error_count": 0 if plugins is None else len(plugins.faults()),
    }


async def reload_output_styles(desk: Desk, request: Mapping[str, Any]) -> Frame:
    del request
    return {"available_output_styles": list(desk.runtime.styles())}


def _editability(rule: Rule) -> str:
    if rule.source in _LASTING:
        return "persistent"
    return "session" if rule.source in ("cliArg", "session") else "readonly"


def _matching(folder: str, query: str) -> list[Frame]:
    fitting = [(path, is_folder) for path, is_folder in _walk(folder) if _holds(path.lower(), query)]
    fitting.sort(key=lambda each: (query not in os.path.basename(each[0].lower()), len(each[0]), each[0]))
    return [{"path": path, "isDirectory": is_folder} for path, is_folder in fitting[:_MOST_SUGGESTIONS]]


def _walk(folder: str) -> Iterator[tuple[str, bool]]:
    visited = 0
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        below = os.path.relpath(parent, folder)
        for name, is_folder in (*((each, True) for each in folders), *((each, False) for each in files)):
            visited += 1
            if visited > _MOST_VISITED:
                return
            yield os.path.normpath(os.path.join(below, name)), is_folder


def _holds(path: str, query: str) -> bool:
    letters = iter(path)
    return all(letter in letters for letter in query)
