"""The `remote_control` request: share the session with browsers, or stop."""

from collections.abc import Mapping
from typing import Any

from bridle.protocol.control import Frame
from bridle.protocol.control_requests.dispatcher import ControlDispatcher
from bridle.types.errors import UsageError
from bridle.types.services.remote import REMOTE


async def remote_control(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame | None:
    """Share under a name, and say where; `enabled: false` stops, also where nothing was shared."""
    remote = dispatcher.runtime.features.find(REMOTE)
    if request.get("enabled") is False:
        if remote is not None:
            await remote.stop()
        return None
    if remote is None:
        raise UsageError(REMOTE.missing)
    name = request.get("name")
    await remote.share(name if isinstance(name, str) else "")
    return {
        "session_url": remote.address_with_key,
        "connect_url": remote.address_with_key,
        "environment_id": "",
        "bridge_session_id": dispatcher.session.id,
    }
