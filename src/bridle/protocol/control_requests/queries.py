"""What a host may look at without changing anything."""

import asyncio
import base64
import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bridle.features.skills.feature import SESSION_SKILLS
from bridle.protocol.control import Frame
from bridle.protocol.control_requests.dispatcher import ControlDispatcher
from bridle.protocol.control_requests.initialize import agents_of, listed_commands
from bridle.protocol.control_requests.servers import mcp_status
from bridle.protocol.result_frame import model_usages
from bridle.types.errors import UsageError
from bridle.types.permission import Rule
from bridle.types.services.plugins import PLUGINS
from bridle.types.text import encodable
from bridle.version import COMPATIBLE_WITH, __version__

_READ_BYTES = 1_000_000
_MOST_READ_BYTES = 10_000_000
_TAIL_CHARACTERS = 8_192
_MOST_SUGGESTIONS = 15
_MOST_VISITED = 20_000
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_ELSEWHERE = {
    "ultracode": False,
    "ultracodeRequested": False,
    "ultracodeAvailable": False,
    "ultrathinkAvailable": False,
    "outsideFileToolReadsBlocked": False,
    "outsideFileToolWritesBlocked": False,
    "outsideBlocksCountLaunchFoldersOnly": False,
    "launchEnvLeftOwnFilesInPlace": True,
}
"""What hosts read about features that bridle has not."""
_LASTING = ("userSettings", "projectSettings", "localSettings")


async def get_settings(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    del request
    state, settings = dispatcher.session.state, dispatcher.services.settings
    applied = {
        **_ELSEWHERE,
        "model": state.model,
        "effort": dispatcher.runtime.asking.effort,
        "permissionMode": state.mode,
        "advisor": settings.effective().get("advisorModel"),
    }
    answer: Frame = {
        "effective": dict(settings.effective()),
        "sources": settings.sources(),
        "applied": applied,
    }
    if problems := settings.problems():
        answer["errors"] = problems
    return answer


async def get_session_cost(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    del request
    usd = dispatcher.session.total_cost_usd
    spend = {model: msgspec.to_builtins(each) for model, each in dispatcher.session.spend.items()}
    lines = [f"Total cost: ${usd:.4f}"]
    lines += [
        f"{model}: {each.usage.context:,} tokens in, {each.usage.output:,} out, ${each.usd:.4f}"
        for model, each in dispatcher.session.spend.items()
    ]
    return {"text": "\n".join(lines), "total_cost_usd": usd, "models": spend}


async def get_usage(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """What the session has used; plans and their limits are not known here."""
    del request
    work = dispatcher.session.work
    session = {
        "total_cost_usd": dispatcher.session.total_cost_usd,
        "total_api_duration_ms": work.api_ms,
        "total_duration_ms": dispatcher.services.totals.duration_ms,
        "total_lines_added": work.lines_added,
        "total_lines_removed": work.lines_removed,
        "model_usage": model_usages(dispatcher.session.spend),
    }
    return {
        "session": session,
        "subscription_type": None,
        "rate_limits_available": False,
        "rate_limits": None,
        "behaviors": None,
    }


async def get_task_output(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    task_id = str(request.get("task_id"))
    task = dispatcher.runtime.workspace.tasks.find(task_id)
    if task is None:
        raise UsageError(f"Unknown task {task_id}.")
    output = dispatcher.runtime.workspace.tasks.read(task_id, _TAIL_CHARACTERS)
    try:
        total = os.stat(task.output_file).st_size
    except OSError:
        total = len(output.encode(errors="replace"))
    truncated = total > len(output.encode(errors="replace"))
    return {"output": output, "total_bytes": total, "truncated": truncated, "status": task.status}


async def get_binary_version(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    del dispatcher, request
    return {"version": COMPATIBLE_WITH, "bridle_version": __version__}


async def get_hooks_listing(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    del request
    return dict(dispatcher.services.settings.hooks())


async def list_models(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    del request
    return {"models": list(dispatcher.offer.models)}


async def list_permission_rules(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    del request
    workspace = dispatcher.runtime.workspace
    rules = [
        {"rule": str(rule), "behavior": rule.effect.value, "source": rule.source}
        for rule in dispatcher.session.state.rules
    ]
    state = {
        "rules": [
            {**shown, "editability": _editability(rule)}
            for shown, rule in zip(rules, dispatcher.session.state.rules, strict=True)
        ],
        "workspaceDirectories": [{"path": root, "source": "session"} for root in workspace.roots[1:]],
        "originalCwd": workspace.start,
        "managedOnly": dispatcher.services.settings.effective().get("allowManagedPermissionRulesOnly")
        is True,
    }
    return {"rules": rules, "state": state}


async def read_file(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    path = os.path.normpath(os.path.join(dispatcher.runtime.workspace.start, str(request.get("path"))))
    asked = request.get("max_bytes") or request.get("maxBytes")
    limit = min(asked, _MOST_READ_BYTES) if isinstance(asked, int) and asked > 0 else _READ_BYTES
    roots = [os.path.realpath(root) for root in dispatcher.runtime.workspace.roots]
    real = os.path.realpath(path)
    if not any(real == root or real.startswith(root.rstrip("/") + "/") for root in roots):
        raise UsageError(f"{path} is outside the working directories.")

    def read() -> bytes:
        with open(real, "rb") as file:
            return file.read(limit + 1)

    try:
        data = await asyncio.to_thread(read)
    except OSError as error:
        raise UsageError(f"Can't read {path}: {error.strerror}.") from error
    answer: Frame = {"absPath": real, "requested_path": str(request.get("path"))}
    if len(data) > limit:
        answer["truncated"] = True
    if request.get("encoding") == "base64":
        return {**answer, "contents": base64.b64encode(data[:limit]).decode(), "encoding": "base64"}
    text = data[:limit].decode(errors="replace")
    return {**answer, "contents": encodable(text), "lossy": text.encode(errors="replace") != data[:limit]}


async def file_suggestions(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Files and folders whose path holds the letters of the query in their order, the shortest first."""
    query = str(request.get("query") or "").lower()
    found = await asyncio.to_thread(_matching, dispatcher.runtime.workspace.start, query)
    return {"suggestions": found, "cwd": dispatcher.runtime.workspace.start}


async def reload_skills(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Read skills and commands again; returns the commands that there are now."""
    del request
    skills = dispatcher.runtime.features.find(SESSION_SKILLS)
    if skills is None:
        return {"skills": []}
    await asyncio.to_thread(skills.catalog.reload)
    commands = listed_commands(dispatcher.runtime.commands)
    dispatcher.send(dispatcher.services.framer.commands(commands))
    known = set(skills.names())
    return {"skills": [command for command in commands if command["name"] in known]}


async def reload_plugins(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Read plugins, skills and commands again; returns everything that there is now."""
    plugins = dispatcher.runtime.features.find(PLUGINS)
    if plugins is not None:
        await plugins.reload()
    for feature in dispatcher.runtime.features.at("reload"):
        await feature.reload()
    await reload_skills(dispatcher, request)
    status = await mcp_status(dispatcher, request)
    return {
        "commands": listed_commands(dispatcher.runtime.commands),
        "agents": agents_of(dispatcher.runtime),
        "plugins": [] if plugins is None else list(plugins.listing()),
        "mcpServers": status["mcpServers"],
        "error_count": 0 if plugins is None else len(plugins.faults()),
    }


async def reload_output_styles(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    del request
    return {"available_output_styles": list(dispatcher.runtime.sources.styles())}


def _editability(rule: Rule) -> str:
    if rule.source in _LASTING:
        return "persistent"
    return "session" if rule.source in ("cliArg", "session") else "readonly"


def _matching(folder: str, query: str) -> list[Frame]:
    fitting = [(path, is_folder) for path, is_folder in _walk(folder) if _holds(path.lower(), query)]
    fitting.sort(key=lambda each: (query not in os.path.basename(each[0].lower()), len(each[0]), each[0]))
    return [
        {"path": f"{path}/" if is_folder else path, "isDirectory": is_folder}
        for path, is_folder in fitting[:_MOST_SUGGESTIONS]
    ]


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
