"""Messages to sessions on other machines, through the server with which each of them is shared."""

import asyncio
import os.path
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.config.remote_sessions import Remote, Remotes
from bridle.engine.turn import Turn
from bridle.features.agents.records import named_before
from bridle.host.http.client import HttpClient, HttpFault, Limits, Request
from bridle.types.errors import ConfigError, ToolError
from bridle.types.services.messages import AgentMessage, Contact

PREFIX = "remote:"
_ALSO = "bridge:"
_LIMITS = Limits(connect=5.0, idle=10.0, total=20.0, body=100_000)
_QUICK = Limits(connect=2.0, idle=2.0, total=3.0, body=100_000)
_PAUSES = (0.2, 1.0)
"""Seconds before a message is sent again; the other end takes each only once."""


def is_elsewhere(to: str) -> bool:
    """Whether a recipient is a session on another machine."""
    return to.startswith((PREFIX, _ALSO))


def named_fully(to: str, turn: Turn) -> str:
    """The address with `remote:` before it, where only a session on another machine has the name."""
    to = to.strip()
    if to.startswith(_ALSO):
        return f"{PREFIX}{to.removeprefix(_ALSO)}"
    if ":" in to or Remotes(turn.runtime.env).find(to) is None:
        return to
    near = turn.runtime.workspace.tasks.find(to) or named_before(turn.runtime.records.storage, to)
    return to if near else f"{PREFIX}{to}"


async def send_elsewhere(to: str, letter: AgentMessage, turn: Turn, *, reply: tuple[str, str] | None) -> None:
    """Hand a message to a session on another machine; `reply` is where this one is reached, and its name.

    Raises:
        ToolError: it was not delivered, or that is not known.
    """
    name = to.strip().removeprefix(_ALSO).removeprefix(PREFIX)
    env = turn.runtime.env
    remote = await asyncio.to_thread(Remotes(env).find, name)
    if remote is None:
        known = ", ".join(sorted(await asyncio.to_thread(Remotes(env).all))) or "none"
        raise ToolError(
            f"Unknown remote session {name!r}. Known: {known}. The user can add one with: bridle remote "
            "add <name> <address>."
        )
    address, own = reply or ("", f"in {os.path.basename(turn.runtime.workspace.start) or '/'}")
    body = {
        "id": letter.id,
        "text": letter.text,
        "summary": letter.summary,
        "sent": letter.sent,
        "name": own,
        "reply": address,
    }
    client = HttpClient(env)
    try:
        await _deliver(client, name, remote, msgspec.json.encode(body))
    finally:
        await client.close()


async def remote_contacts(env: Mapping[str, str]) -> list[Contact]:
    """The sessions on other machines that the user has named, with whether they can be reached."""
    known = await asyncio.to_thread(Remotes(env).all)
    if not known:
        return []
    client = HttpClient(env)
    try:
        states = await asyncio.gather(*(_state(client, remote) for remote in known.values()))
    finally:
        await client.close()
    return [
        Contact(address=f"{PREFIX}{name}", kind="session", status=status, about=about)
        for name, (status, about) in zip(known, states, strict=True)
    ]


async def _deliver(client: HttpClient, name: str, remote: Remote, body: bytes) -> None:
    """Send until there is an answer; a message that came twice is taken once."""
    uncertain = False
    fault: Exception | None = None
    for pause in (*_PAUSES, None):
        try:
            status, answer = await _exchange(client, "POST", remote, body, _LIMITS)
        except HttpFault as error:
            fault, uncertain = error, uncertain or error.reason not in ("connect", "tls", "proxy")
        except ConfigError as error:
            raise ToolError(f"Could not reach {PREFIX}{name}: {error}") from error
        else:
            _check(name, status, answer)
            return
        if pause is not None:
            await asyncio.sleep(pause)
    if uncertain:
        raise ToolError(
            f"{PREFIX}{name} did not confirm the message. Check before you send it again."
        ) from fault
    raise ToolError(f"Could not deliver the message to {PREFIX}{name}: {fault}") from fault


def _check(name: str, status: int, answer: Mapping[str, Any]) -> None:
    """What the other end made of a message.

    Raises:
        ToolError: it did not take it.
    """
    said = str(answer.get("error") or "no reason given")[:300].rstrip(".")
    match status:
        case 200 if answer.get("taken") is True:
            return
        case 401:
            raise ToolError(
                f"{PREFIX}{name} no longer accepts the key. The user gets a new address there with "
                f"/remote-control and sets it here with: bridle remote add {name} <address>."
            )
        case 503:
            raise ToolError(f"{PREFIX}{name} cannot accept the message now: {said}. Try again later.")
        case 404 | 421:
            raise ToolError(f"The session {PREFIX}{name} no longer exists.")
        case _:
            raise ToolError(f"{PREFIX}{name} did not accept the message: {said}.")


async def _state(client: HttpClient, remote: Remote) -> tuple[str, str]:
    try:
        status, answer = await _exchange(client, "GET", remote, b"", _QUICK)
    except (HttpFault, ConfigError):
        return "not reachable", f"on another machine, at {remote.address}"
    if status == 200:
        return "reachable", f"on another machine: {str(answer.get('name') or remote.address)[:80]}"
    said = "the key is no longer valid" if status == 401 else "no answer"
    return f"not reachable ({said})", f"on another machine, at {remote.address}"


async def _exchange(
    client: HttpClient, method: str, remote: Remote, body: bytes, limits: Limits
) -> tuple[int, dict[str, Any]]:
    headers = (("authorization", f"Bearer {remote.token}"), ("content-type", "application/json"))
    request = Request(method, f"{remote.address}api/letters", headers, body)
    async with client.send(request, limits) as response:
        data = await response.read()
        try:
            return response.status, msgspec.json.decode(data, type=dict[str, Any])
        except msgspec.MsgspecError:
            return response.status, {}
