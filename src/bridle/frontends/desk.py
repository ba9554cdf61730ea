"""Answers what a host program asks of a session besides prompts."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bridle.engine.runtime import Runtime
from bridle.engine.serve import Server
from bridle.protocol.control import ControlRequest, Frame, failure, success, unsupported
from bridle.sessions.session import Session
from bridle.types.errors import BridleError, UsageError
from bridle.types.permission import MODES, Mode
from bridle.types.text import encodable
from bridle.version import COMPATIBLE_WITH, __version__

_READ_BYTES = 1_000_000
_MOST_READ_BYTES = 10_000_000

Handler = Callable[["Desk", Mapping[str, Any]], Awaitable[Frame]]


class Offer(Struct, frozen=True, kw_only=True):
    """What a host is told once, when it introduces itself."""

    models: Sequence[Mapping[str, Any]]
    account: Mapping[str, Any]
    output_style: str = "default"
    settings: Mapping[str, Any] = {}


class Desk:
    """Takes the requests of one host, one at a time, also while a turn runs."""

    def __init__(
        self,
        session: Session,
        runtime: Runtime,
        server: Server,
        offer: Offer,
        *,
        resolve_model: Callable[[str], str],
        send: Callable[[Frame], None],
        status: Callable[[str], Frame],
        end: Callable[[], None],
    ) -> None:
        self.session = session
        self.runtime = runtime
        self.server = server
        self.offer = offer
        self.resolve_model = resolve_model
        self.first_model = session.state.model
        self.end = end
        self._send = send
        self._status = status

    async def take(self, request: ControlRequest) -> None:
        """Answer a request; one that cannot be fulfilled gets a sentence."""
        handler = HANDLERS.get(request.subtype)
        if handler is None:
            self._send(unsupported(request))
            return
        try:
            answer = await handler(self, request.request)
        except BridleError as error:
            self._send(failure(request, str(error)))
            return
        beside = _PENDING if request.subtype == "initialize" else {}
        self._send(success(request, answer, **beside))
        if request.subtype == "set_permission_mode":
            self._send(self._status(self.session.state.mode))


_PENDING: Mapping[str, Any] = {"pending_permission_requests": [], "pending_user_dialog_requests": []}


async def _initialize(desk: Desk, request: Mapping[str, Any]) -> Frame:
    offer = desk.offer
    answer: Frame = {
        "commands": [],
        "agents": [],
        "output_style": offer.output_style,
        "available_output_styles": ["default"],
        "models": list(offer.models),
        "account": dict(offer.account),
        "pid": os.getpid(),
        "claude_code_version": COMPATIBLE_WITH,
        "bridle_version": __version__,
        "current_permission_mode": desk.session.state.mode,
        "session_state": "running" if desk.server.busy else "idle",
        "fast_mode_state": "off",
        "capabilities": ["interrupt_receipt_v1"],
        "hook_on_failure_supported": True,
    }
    if request.get("hooks"):
        raise UsageError("hooks of the host are not part of this version of bridle")
    return answer


async def _interrupt(desk: Desk, request: Mapping[str, Any]) -> Frame:
    desk.server.interrupt()
    if request.get("cancel_queued"):
        return {"still_queued": [], "cancelled": desk.server.drop_waiting()}
    return {"still_queued": desk.server.waiting()}


async def _set_permission_mode(desk: Desk, request: Mapping[str, Any]) -> Frame:
    wanted = request.get("mode")
    mode: Mode | None = next(
        (each for each in MODES if each == ("default" if wanted == "manual" else wanted)), None
    )
    if mode is None:
        raise UsageError(f"There is no permission mode {wanted!r}; use one of {', '.join(MODES)}.")
    if mode not in (*desk.runtime.modes, desk.session.state.mode):
        raise UsageError(
            f"The mode {mode} was not made available when the session began; these are: "
            f"{', '.join(desk.runtime.modes)}."
        )
    desk.session.swap(mode=mode)
    return {"mode": mode}


async def _set_model(desk: Desk, request: Mapping[str, Any]) -> Frame:
    wanted = request.get("model")
    named = isinstance(wanted, str) and wanted not in ("", "default")
    model = desk.resolve_model(str(wanted)) if named else desk.first_model
    desk.session.swap(model=model)
    return {"model": model}


async def _mcp_status(desk: Desk, request: Mapping[str, Any]) -> Frame:
    return {"mcpServers": []}


async def _no_server(desk: Desk, request: Mapping[str, Any]) -> Frame:
    raise UsageError(f"Server not found: {request.get('serverName')}")


async def _rewind_files(desk: Desk, request: Mapping[str, Any]) -> Frame:
    raise UsageError("File rewinding is not enabled.")


async def _stop_task(desk: Desk, request: Mapping[str, Any]) -> Frame:
    task_id = str(request.get("task_id"))
    if desk.runtime.workspace.tasks.find(task_id) is not None:
        await desk.runtime.workspace.tasks.stop(task_id)
    return {}


async def _get_task_output(desk: Desk, request: Mapping[str, Any]) -> Frame:
    task_id = str(request.get("task_id"))
    task = desk.runtime.workspace.tasks.find(task_id)
    if task is None:
        raise UsageError(f"There is no task {task_id}.")
    return {"output": desk.runtime.workspace.tasks.read(task_id, 30_000), "status": task.status}


async def _get_settings(desk: Desk, request: Mapping[str, Any]) -> Frame:
    state = desk.session.state
    applied = {"model": state.model, "effort": desk.runtime.asking.effort, "permissionMode": state.mode}
    return {"effective": dict(desk.offer.settings), "sources": [], "applied": applied}


async def _list_models(desk: Desk, request: Mapping[str, Any]) -> Frame:
    return {"models": list(desk.offer.models)}


async def _get_binary_version(desk: Desk, request: Mapping[str, Any]) -> Frame:
    return {"version": COMPATIBLE_WITH, "bridle_version": __version__}


async def _get_session_cost(desk: Desk, request: Mapping[str, Any]) -> Frame:
    spend = {model: msgspec.to_builtins(each) for model, each in desk.session.spend.items()}
    return {"total_cost_usd": desk.session.total_cost_usd, "models": spend}


async def _list_permission_rules(desk: Desk, request: Mapping[str, Any]) -> Frame:
    rules = [
        {"rule": str(rule), "behavior": rule.effect.value, "source": rule.source}
        for rule in desk.session.state.rules
    ]
    return {"rules": rules}


async def _rename_session(desk: Desk, request: Mapping[str, Any]) -> Frame:
    title = request.get("title") or request.get("name")
    if not isinstance(title, str) or not title.strip():
        raise UsageError("A session needs a name that is not empty.")
    desk.session.note({"type": "custom-title", "customTitle": title[:200], "sessionId": desk.session.id})
    return {"title": title[:200]}


async def _read_file(desk: Desk, request: Mapping[str, Any]) -> Frame:
    path = os.path.normpath(os.path.join(desk.runtime.workspace.start, str(request.get("path"))))
    asked = request.get("maxBytes")
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
    contents = encodable(data[:limit].decode(errors="replace"))
    return {"contents": contents, "absPath": real, "truncated": len(data) > limit}


async def _end_session(desk: Desk, request: Mapping[str, Any]) -> Frame:
    desk.end()
    return {}


async def _nothing(desk: Desk, request: Mapping[str, Any]) -> Frame:
    return {}


HANDLERS: Mapping[str, Handler] = {
    "initialize": _initialize,
    "interrupt": _interrupt,
    "set_permission_mode": _set_permission_mode,
    "set_model": _set_model,
    "mcp_status": _mcp_status,
    "mcp_reconnect": _no_server,
    "mcp_toggle": _no_server,
    "rewind_files": _rewind_files,
    "stop_task": _stop_task,
    "background_tasks": _nothing,
    "get_task_output": _get_task_output,
    "get_settings": _get_settings,
    "list_models": _list_models,
    "get_binary_version": _get_binary_version,
    "get_session_cost": _get_session_cost,
    "list_permission_rules": _list_permission_rules,
    "rename_session": _rename_session,
    "read_file": _read_file,
    "end_session": _end_session,
}
"""Every request that a host may make, by its subtype."""
