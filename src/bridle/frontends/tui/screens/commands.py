"""Says what a view asks for as the commands that do it."""

import shlex
from typing import Any

import msgspec

from bridle.frontends.tui.screens.choices.model import ChooseEffort, ChooseModel
from bridle.frontends.tui.screens.choices.output_style import ChooseStyle
from bridle.frontends.tui.screens.choices.theme import ChooseTheme
from bridle.frontends.tui.screens.conversation.resume import Resume
from bridle.frontends.tui.screens.extensions.agents import ToggleAgent
from bridle.frontends.tui.screens.extensions.editors import LinkEditor, UnlinkEditor
from bridle.frontends.tui.screens.extensions.mcp import ReconnectServer, ToggleServer
from bridle.frontends.tui.screens.extensions.memory import SetAutoMemory
from bridle.frontends.tui.screens.extensions.plugins import (
    AddMarketplace,
    FavorPlugin,
    InstallPlugin,
    RemoveMarketplace,
    RemovePlugin,
    TogglePlugin,
    UpdateMarketplace,
    UpdatePlugin,
)
from bridle.frontends.tui.screens.extensions.sandbox import SetLeaving, SetSandbox
from bridle.frontends.tui.screens.extensions.skills import SetVisibility
from bridle.frontends.tui.screens.session.config import SetSetting
from bridle.frontends.tui.screens.session.context_items import DropItem, HoldItem, StubItem
from bridle.frontends.tui.screens.session.goal import SetGoal
from bridle.frontends.tui.screens.session.permissions import AddFolder, AddRule, RemoveFolder, RemoveRule
from bridle.frontends.tui.screens.session.pins import AddPin, RemovePin
from bridle.frontends.tui.screens.session.tasks import StopAllTasks, StopTask
from bridle.frontends.tui.screens.workflows.commands import (
    DirectAgent,
    PauseRun,
    ResumeRun,
    SaveRun,
    StopRun,
)
from bridle.types.text import encodable_value

_SCOPES = {
    "userSettings": "user",
    "projectSettings": "project",
    "localSettings": "local",
    "session": "session",
}


def commands_for(wanted: Any) -> tuple[str, ...]:
    """The slash commands that do what a view asked for, in order; none for what only a front end can do."""
    match wanted:
        case AddRule(effect, text, destination):
            return (f"/permissions {effect} {text} {_SCOPES[destination]}",)
        case RemoveRule(text=text):
            return (f"/permissions remove {text}",)
        case AddFolder(path, destination):
            scope = _SCOPES[destination]
            return (f"/add-dir {path}" if scope == "session" else f"/add-dir --{scope} {path}",)
        case RemoveFolder(path=path):
            return (f"/remove-dir {path}",)
        case SetSetting(key, value, scope):
            flag = "" if scope == "user" else f"--{scope} "
            return (f"/config {flag}{shlex.quote(f'{key}={_value(value)}')}",)
        case ChooseModel():
            effort = (f"/effort {wanted.effort}",) if wanted.effort else ()
            return (f"/model {wanted.id}{' s' if wanted.session_only else ''}", *effort)
        case ChooseEffort(level):
            return (f"/effort {level}",)
        case ChooseTheme(name, syntax):
            if syntax is None:
                return (f"/theme {name}",)
            off = "default" if syntax else "true"
            return (f"/theme {name}", f"/config syntaxHighlightingDisabled={off}")
        case ChooseStyle(name):
            return (f"/output-style {name}",)
        case ReconnectServer(name):
            return (f"/mcp reconnect {name}",)
        case ToggleServer(name, enabled):
            return (f"/mcp {'enable' if enabled else 'disable'} {name}",)
        case StopTask(id):
            return (f"/tasks stop {id}",)
        case StopAllTasks():
            return ("/tasks stop all",)
        case Resume(command=""):
            return (f"/resume {wanted.session_id}",)
        case _:
            return _commands_for_panel(wanted)


def _commands_for_panel(wanted: Any) -> tuple[str, ...]:
    match wanted:
        case AddPin(text):
            return (f"/pin add {text}",)
        case RemovePin(id):
            return (f"/pin remove {id}",)
        case StubItem(id):
            return (f"/items stub {id}",)
        case DropItem(id):
            return (f"/items drop {id}",)
        case HoldItem(id, on):
            return (f"/items {'hold' if on else 'release'} {id}",)
        case SetGoal(condition):
            return (f"/goal {condition or 'clear'}",)
        case LinkEditor(port):
            return (f"/ide {port}",)
        case UnlinkEditor():
            return ("/ide off",)
        case SetAutoMemory(on):
            return (f"/memory {'on' if on else 'off'}",)
        case SetSandbox(mode):
            unasked = "true" if mode == "auto" else "false"
            ask = () if mode == "off" else (f"/config --local sandbox.autoAllowBashIfSandboxed={unasked}",)
            return (f"/sandbox {'off' if mode == 'off' else 'on'}", *ask)
        case SetLeaving(allowed):
            return (f"/config --local sandbox.allowUnsandboxedCommands={'true' if allowed else 'false'}",)
        case _:
            return _commands_for_plugins(wanted)


def _commands_for_plugins(wanted: Any) -> tuple[str, ...]:
    match wanted:
        case InstallPlugin(id, scope):
            return (f"/plugin install {id} {scope}",)
        case RemovePlugin(id):
            return (f"/plugin uninstall {id}",)
        case UpdatePlugin(id):
            return (f"/plugin update {id}",)
        case FavorPlugin(id, favorite):
            return (f"/plugin favorite {id} {'on' if favorite else 'off'}",)
        case SetVisibility(name, visibility):
            return (f"/skills {name} {visibility}",)
        case ToggleAgent(name, enabled):
            return (f"/agents {name} {'on' if enabled else 'off'}",)
        case TogglePlugin(id, enabled):
            return (f"/plugin {'enable' if enabled else 'disable'} {id}",)
        case AddMarketplace(source):
            return (f"/plugin marketplace add {source}",)
        case RemoveMarketplace(name):
            return (f"/plugin marketplace remove {name}",)
        case UpdateMarketplace(name):
            return (f"/plugin marketplace update {name}",)
        case _:
            return _commands_for_workflows(wanted)


def _commands_for_workflows(wanted: Any) -> tuple[str, ...]:
    match wanted:
        case PauseRun(id):
            return (f"/workflows {id} pause",)
        case ResumeRun(id):
            return (f"/workflows {id} resume",)
        case StopRun(id):
            return (f"/workflows {id} stop",)
        case DirectAgent(run, number, verdict):
            return (f"/workflows {run} {verdict} {number}",)
        case SaveRun(id, name, scope, replace):
            flags = f"{' --user' if scope == 'user' else ''}{' --force' if replace else ''}"
            return (f"/workflows {id} save {name}{flags}",)
        case _:
            return ()


def _value(value: Any) -> str:
    if value is None:
        return "default"
    return value if isinstance(value, str) else msgspec.json.encode(encodable_value(value)).decode()
