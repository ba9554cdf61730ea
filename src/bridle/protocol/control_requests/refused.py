"""Requests about services that only the vendor has; each answer says so, or what to do instead."""

from collections.abc import Mapping
from typing import Any, NoReturn

from bridle.protocol.control import Frame
from bridle.protocol.control_requests.dispatcher import ControlDispatcher
from bridle.types.errors import UsageError

_REVIEW = "Ultrareview runs in the vendor's cloud, which bridle does not use. Run /code-review here instead."
_KEPT_NOWHERE = "bridle sends no feedback."


async def ultrareview_launch(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    del dispatcher, request
    return {"status": "error", "message": _REVIEW, "gate_blocker": "kill_switch"}


async def submit_survey_feedback(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    del dispatcher, request
    return {"feedback_id": None, "unavailable_reason": _KEPT_NOWHERE}


async def claim_session(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> NoReturn:
    """Refuse to become another session.

    Raises:
        UsageError: always; every process of bridle has its session from the start.
    """
    del dispatcher, request
    raise UsageError("not_a_spare: this process has its session already. Start another one.")


async def set_chrome_browser_hints(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> NoReturn:
    """Refuse hints that only the vendor's hosted sessions use.

    Raises:
        UsageError: always.
    """
    del dispatcher, request
    raise UsageError("set_chrome_browser_hints is only accepted in a remote-hosted session")


async def channel_enable(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> NoReturn:
    """Refuse to make a server a channel while the session runs.

    Raises:
        UsageError: always.
    """
    name = request.get("serverName")
    known = {state.name: state for state in dispatcher.runtime.servers.status()}
    state = known.get(name) if isinstance(name, str) else None
    if state is None or state.status != "connected":
        raise UsageError(f"server {name or ''} is not connected")
    raise UsageError(f"Channels are chosen at the start: bridle --channels server:{name}")
