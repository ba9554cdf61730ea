"""Requests that change a session: its turn, its settings, its files."""

import os.path
from collections.abc import Mapping
from typing import Any

from bridle.engine.model_switch import switch_model
from bridle.permissions.auto.grants import mode_notice
from bridle.protocol.control import Frame
from bridle.protocol.control_requests.dispatcher import ControlDispatcher
from bridle.types.errors import UsageError
from bridle.types.event import Noticed
from bridle.types.hooks.environment import DirectoryAdded
from bridle.types.model import Thinking
from bridle.types.permission import MODES, Mode
from bridle.types.services.checkpoints import Rewound
from bridle.types.variables import is_on
from bridle.types.workspace import FileState

_LONGEST_TITLE = 200
_LARGEST_SEED = 1_000_000


async def interrupt(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    dispatcher.server.interrupt()
    if not dispatcher.runtime.host.offer.per_task_stop:
        dispatcher.runtime.features.interrupt()
    if request.get("cancel_queued") is True:
        return {"still_queued": [], "cancelled": dispatcher.server.withdraw()}
    return {"still_queued": dispatcher.server.waiting()}


async def cancel_async_message(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    uuid = request.get("message_uuid")
    return {"cancelled": isinstance(uuid, str) and bool(dispatcher.server.withdraw(uuid))}


async def set_permission_mode(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    wanted = request.get("mode")
    mode: Mode | None = next(
        (each for each in MODES if each == ("default" if wanted == "manual" else wanted)), None
    )
    if mode is None:
        raise UsageError(f"Unknown permission mode {wanted!r}; use one of {', '.join(MODES)}.")
    if mode not in (*dispatcher.runtime.gate.modes, dispatcher.session.state.mode):
        raise UsageError(
            f"The mode {mode} is not available in this session; use one of: "
            f"{', '.join(dispatcher.runtime.gate.modes)}."
        )
    if (
        notice := mode_notice(dispatcher.session.state.mode, mode, dispatcher.session.state.rules)
    ) is not None:
        dispatcher.runtime.channel.emit(Noticed(notice, "warning"))
    dispatcher.session.swap(mode=mode)
    return {"mode": mode}


async def set_model(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    wanted = request.get("model")
    named = isinstance(wanted, str) and wanted not in ("", "default")
    model = dispatcher.services.resolve_model(str(wanted)) if named else dispatcher.first_model
    if model != dispatcher.session.state.model:
        await switch_model(dispatcher.session, dispatcher.runtime, model)
        dispatcher.send(dispatcher.services.framer.command_output(f"Set model to {model}"))
    return {"model": model}


async def set_max_thinking_tokens(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> None:
    """A budget from the next request on; 0 turns thinking off, null goes back to what is usual."""
    if "max_thinking_tokens" not in request:
        return
    match request["max_thinking_tokens"]:
        case None:
            dispatcher.session.swap(thinking=None)
        case bool():
            raise UsageError("max_thinking_tokens must be a whole number or null.")
        case int() as budget if budget >= 0:
            dispatcher.session.swap(thinking=Thinking("enabled", budget) if budget else Thinking("disabled"))
        case _:
            raise UsageError("max_thinking_tokens must be a whole number from 0 up, or null.")


async def apply_flag_settings(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> None:
    await dispatcher.services.settings.apply(_settings(request))


async def update_settings(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> None:
    await dispatcher.services.settings.write(str(request.get("source")), _settings(request))


async def rename_session(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> None:
    title = request.get("title") or request.get("name")
    if not isinstance(title, str) or not title.strip():
        raise UsageError("The session name is empty.")
    if request.get("session_id") not in (None, dispatcher.session.id):
        raise UsageError(f"This is session {dispatcher.session.id}, not {request['session_id']}.")
    short = title[:_LONGEST_TITLE]
    dispatcher.session.note(
        {"type": "custom-title", "customTitle": short, "sessionId": dispatcher.session.id}
    )
    dispatcher.send(dispatcher.services.framer.title(short))


async def set_color(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    if not isinstance(color := request.get("color"), str) or not color:
        raise UsageError('set_color needs the name of a color, or "default".')
    dispatcher.session.note(
        {"type": "agent-color", "agentColor": color[:40], "sessionId": dispatcher.session.id}
    )
    return {}


async def register_repo_root(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Work in one more folder, which must lie inside one that the session works in already."""
    workspace = dispatcher.runtime.workspace
    named = str(request.get("directory") or "")
    path = os.path.realpath(os.path.join(workspace.start, os.path.expanduser(named)))
    if not named or not os.path.isdir(path):
        raise UsageError(f"No such folder: {named!r}.")
    roots = [os.path.realpath(root) for root in workspace.roots]
    if not any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots):
        raise UsageError(f"{path} is outside the working directories.")
    if path not in roots:
        workspace.roots = (*workspace.roots, path)
        if dispatcher.runtime.hooks.listens_to("DirectoryAdded"):
            await dispatcher.runtime.hooks.fire(DirectoryAdded(directory=path, source="register_repo_root"))
    return {}


async def set_cwd(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Continue in another folder; one outside the working folders needs the word of the host."""
    from bridle.commands.folders import enter_folder, is_working_folder, move_files

    workspace, named = dispatcher.runtime.workspace, request.get("path")
    if not isinstance(named, str) or not named:
        raise UsageError("set_cwd needs the path of a folder.")
    path = workspace.resolve(named)
    if not os.path.isdir(path):
        return _rejected("not_found", f"No such folder: {path}.")
    if dispatcher.server.busy:
        return _rejected("busy", "A turn is running: wait until it ends, or interrupt it, and try again.")
    if not is_working_folder(path, dispatcher.runtime) and request.get("trust_accepted") is not True:
        return {"status": "needs_trust", "directory": path}
    changed = path != workspace.cwd
    if changed:
        await enter_folder(path, dispatcher.session, dispatcher.runtime)
    session, server = dispatcher.session, dispatcher.server
    kept = move_files(session, server, tell_hooks=dispatcher.services.settings.moved)
    return {"status": "ok", "cwd": path, "changed": changed, "transcript_relocated": kept}


async def seed_read_state(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> None:
    """Count a file as read, if it still is as the host says it was."""
    path, mtime = request.get("path"), request.get("mtime")
    if not isinstance(path, str) or not isinstance(mtime, int | float):
        raise UsageError("seed_read_state needs a path and its mtime in milliseconds.")
    real = dispatcher.runtime.workspace.resolve(path)
    with open(real, "rb") as file:
        facts = os.fstat(file.fileno())
        data = file.read(_LARGEST_SEED + 1)
    if facts.st_mtime_ns // 1_000_000 == int(mtime) and len(data) <= _LARGEST_SEED:
        text = data.decode("utf-8", "replace")
        dispatcher.runtime.workspace.files.note(real, FileState(content=text, mtime_ns=facts.st_mtime_ns))


async def rewind_files(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    checkpoints = dispatcher.runtime.records.checkpoints
    if checkpoints is None:
        raise UsageError("File rewinding is not enabled.")
    prompt = str(request.get("user_message_id") or "")
    dry_run, force = request.get("dry_run") is True, request.get("force") is True
    if request.get("conversation") is True and not dry_run:
        from bridle.commands.history import go_back  # Few hosts rewind conversations.

        done = await go_back(prompt, dispatcher.session, dispatcher.runtime, force=force)
        return _rewound(done or Rewound())
    return _rewound(await checkpoints.rewind(prompt, dry_run=dry_run, force=force))


async def redo(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    from bridle.commands.history import redo_newest

    force = request.get("force") is True
    said = await redo_newest(dispatcher.session, dispatcher.runtime, force=force)
    return {"message": said}


def _rewound(done: Rewound) -> Frame:
    answer: Frame = {
        "canRewind": done.can_rewind,
        "filesChanged": list(done.files_changed),
        "insertions": done.insertions,
        "deletions": done.deletions,
    }
    if done.skipped_links:
        answer["skippedLinks"] = len(done.skipped_links)
    if done.unkept:
        answer["notKept"] = list(done.unkept)
    if done.foreign:
        answer["changedByOthers"] = list(done.foreign)
    return answer


async def stop_task(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    tasks, task_id = dispatcher.runtime.workspace.tasks, str(request.get("task_id"))
    if tasks.find(task_id) is not None:
        await tasks.stop(task_id)
    return {}


async def background_tasks(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Move running calls to the background: all, or the one that is named."""
    if is_on(dispatcher.runtime.env, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"):
        raise UsageError("Background tasks are turned off in this session.")
    named = request.get("tool_use_id")
    call_id = named if isinstance(named, str) else None
    moved = dispatcher.runtime.features.move_to_background(call_id)
    return {} if call_id is None else {"backgrounded": moved > 0}


async def end_session(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> None:
    del request
    dispatcher.server.withdraw()
    dispatcher.services.end()


async def nothing(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> None:
    """There is nothing here that the request could change."""
    del dispatcher, request


def _rejected(reason: str, message: str) -> Frame:
    return {"status": "rejected", "reason": reason, "message": message}


def _settings(request: Mapping[str, Any]) -> dict[str, Any]:
    settings = request.get("settings")
    if not isinstance(settings, dict):
        raise UsageError("settings must be an object.")
    return settings
