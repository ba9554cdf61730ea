"""Logins that a host leads its user through: to MCP servers, and the vendor's, which bridle has not."""

from collections.abc import Mapping
from typing import Any, NoReturn

from bridle.protocol.control import Frame
from bridle.protocol.control_requests.dispatcher import ControlDispatcher
from bridle.providers.refusals import NO_SUBSCRIPTION
from bridle.types.errors import UsageError


async def mcp_authenticate(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Begin to log in to a server; the page that the user must visit."""
    redirect = request.get("redirectUri")
    own = not isinstance(redirect, str) or not redirect
    page = await dispatcher.runtime.servers.begin_login(_server(request), None if own else str(redirect))
    return {
        "authUrl": page.url,
        "requiresUserAction": True,
        "callbackExpected": True,
        "redirectScheme": "localhost" if own else "custom",
        "state": page.state,
        **({} if page.port is None else {"callbackPort": page.port}),
    }


async def mcp_oauth_callback_url(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Finish a login with the address at which the browser of the host ended."""
    address = request.get("callbackUrl")
    if not isinstance(address, str) or not address:
        raise UsageError("mcp_oauth_callback_url needs callbackUrl: where the browser ended.")
    await dispatcher.runtime.servers.finish_login(_server(request), address)
    return {}


async def mcp_clear_auth(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    await dispatcher.runtime.servers.log_out(_server(request))
    return {}


async def claude_authenticate(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> NoReturn:
    """Refuse the login with a subscription.

    Raises:
        UsageError: always.
    """
    del dispatcher, request
    raise UsageError(NO_SUBSCRIPTION)


async def no_login_waits(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> NoReturn:
    """Refuse the end of a login that cannot have begun.

    Raises:
        UsageError: always.
    """
    del dispatcher, request
    raise UsageError("No active claude_authenticate flow")


def _server(request: Mapping[str, Any]) -> str:
    name = request.get("serverName")
    return name if isinstance(name, str) else ""
