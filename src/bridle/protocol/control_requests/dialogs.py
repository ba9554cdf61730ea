"""What a host shows its user in dialogs: status, plan, conversation, instruction files, skills."""

import asyncio
import os.path
import re
import time
from collections.abc import Mapping
from typing import Any

from bridle.context.tokens import estimate
from bridle.features.plan_mode.feature import SESSION_PLAN
from bridle.features.skills.feature import SESSION_SKILLS
from bridle.host.paths import config_home
from bridle.protocol.control import Frame
from bridle.protocol.control_requests.dispatcher import ControlDispatcher
from bridle.types.services.session import MEMORY
from bridle.version import COMPATIBLE_WITH, __version__

_LONGEST_NAME = 50
_INSTRUCTIONS = "CLAUDE.md"


async def get_status(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    del request
    session, runtime = dispatcher.session, dispatcher.runtime
    about = {
        "Version": f"{COMPATIBLE_WITH} (bridle {__version__})",
        "Session ID": session.id,
        "Session name": session.title,
        "cwd": runtime.workspace.cwd,
        "API key": dispatcher.offer.account.get("apiKeySource"),
        "Anthropic base URL": runtime.env.get("ANTHROPIC_BASE_URL"),
    }
    servers = [f"{each.name} ({each.status})" for each in runtime.servers.status()]
    around = {
        "Model": session.state.model,
        "Permission mode": session.state.mode,
        "MCP servers": ", ".join(servers),
        "Setting sources": ", ".join(str(each["source"]) for each in dispatcher.services.settings.sources()),
    }
    return {"sections": [_section("Session", about), _section("Environment", around)]}


async def get_plan(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    del request
    from bridle.features.plan_mode.plans import read_plan

    plans = dispatcher.runtime.features.find(SESSION_PLAN)
    if plans is None:
        return {"exists": False}
    path = plans.path_of(dispatcher.session.id)
    text = await asyncio.to_thread(read_plan, path)
    return {"exists": False} if text is None else {"exists": True, "path": path, "content": text}


async def export_conversation(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """The conversation as text, and a name for the file that the host may write."""
    del request
    from bridle.commands.exports import conversation_text, first_prompt

    session = dispatcher.session
    words = re.sub(r"[^a-z0-9]+", "-", (session.title or first_prompt(session.entries)).lower()).strip("-")
    name = words[:_LONGEST_NAME].strip("-") or "conversation"
    now = time.strftime("%Y-%m-%d-%H%M%S")
    return {"text": conversation_text(session), "default_filename": f"{now}-{name}.txt"}


async def get_memory_dialog(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """The instruction files that can be edited, those of the project and of the user first."""
    del request
    workspace, home = dispatcher.runtime.workspace, config_home(dispatcher.runtime.env)
    usual = {
        os.path.join(workspace.start, _INSTRUCTIONS): ("project", "Project instructions"),
        os.path.join(home, _INSTRUCTIONS): ("user", "User instructions"),
    }
    loaded = {path: (kind.lower(), f"{kind} file") for path, kind, _ in dispatcher.services.memory()}
    shown = {**loaded, **usual}
    files = [
        {
            "kind": kind,
            "path": path,
            "label": label,
            "description": f"Saved in {_short(path, workspace.start, dispatcher.runtime.env)}",
            "exists": os.path.isfile(path),
        }
        for path in dict.fromkeys((*usual, *loaded))
        for kind, label in (shown[path],)
    ]
    memory = dispatcher.runtime.features.find(MEMORY)
    is_on = memory is not None
    folder = {"kind": "auto", "path": f"{memory}/", "label": "Open auto-memory folder", "description": ""}
    return {
        "files": files,
        "folders": [folder] if is_on else [],
        "memories": [],
        "auto_memory": {"enabled": is_on, "toggleable": True, "status": "on" if is_on else "off"},
        "auto_dream": {
            "shown": False,
            "enabled": False,
            "toggleable": False,
            "status": "off",
            "detail": "",
        },
    }


async def get_sandbox_dialog(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Whether commands run behind a boundary, and what the settings say about it."""
    del request
    gate, settings = dispatcher.runtime.gate, dispatcher.services.settings
    wanted = _object(settings.effective().get("sandbox"))
    files, network = _object(wanted.get("filesystem")), _object(wanted.get("network"))
    managed = [each for each in settings.sources() if each["source"] == "policySettings"]
    locked = any("sandbox" in each["settings"] for each in managed)
    is_on = gate.sandbox is not None
    mode = "disabled" if not is_on else "auto-allow" if gate.sandbox_allows else "regular"
    return {
        "supported": True,
        "locked": locked,
        "overrides_locked": locked,
        "policy_origins": [str(each["path"]) for each in managed if "sandbox" in each["settings"]],
        "enabled": is_on,
        "enabled_in_settings": wanted.get("enabled") is True,
        "mode": mode,
        "auto_allow_available": True,
        "no_sandbox_allowed": gate.sandbox is None or gate.sandbox.may_be_left,
        "unsandboxed_fallback": wanted.get("failIfUnavailable") is not True,
        "dependencies": {"errors": [], "warnings": []},
        "excluded_commands": _list(wanted.get("excludedCommands")),
        "restrictions": {
            "fs_deny_read": _list(files.get("denyRead")),
            "fs_allow_read": _list(files.get("allowRead")),
            "fs_allow_write": _list(files.get("allowWrite")),
            "fs_deny_write": _list(files.get("denyWrite")),
            "network_allowed_domains": _list(network.get("allowedDomains")),
            "network_denied_domains": _list(network.get("deniedDomains")),
            "network_managed": network.get("allowManagedDomainsOnly") is True,
            "unix_sockets": _list(network.get("allowUnixSockets")),
            "allow_all_unix_sockets": network.get("allowAllUnixSockets") is True,
            "ignored_glob_patterns": [],
        },
    }


async def get_skills_dialog(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    del request
    skills = dispatcher.runtime.features.find(SESSION_SKILLS)
    if skills is None:
        return {"skills": []}
    advertised = {skill.name for skill in skills.for_model()}
    callable_ones = advertised | {skill.name for skill in skills.for_user()}
    return {
        "skills": [
            {
                "name": skill.name,
                "display_name": skill.values.get("name") or skill.name,
                "description": skill.summary,
                "source": skill.source,
                "tokens": estimate(f"{skill.name} {skill.summary}"),
                "state": "on" if skill.name in callable_ones else "off",
                "advertised": skill.name in advertised,
                "handles": {},
            }
            for skill in skills.catalog.all().values()
        ]
    }


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _section(title: str, rows: Mapping[str, Any]) -> Frame:
    return {
        "title": title,
        "rows": [{"label": label, "value": str(value)} for label, value in rows.items() if value],
    }


def _short(path: str, start: str, env: Mapping[str, str]) -> str:
    for folder, sign in ((start, "."), (env.get("HOME", ""), "~")):
        if folder and path.startswith(folder.rstrip("/") + "/"):
            return f"{sign}{path[len(folder.rstrip('/')) :]}"
    return path
