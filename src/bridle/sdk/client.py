"""A conversation with a session in this process, and the short way to ask one thing."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Self

from bridle.sdk.errors import CLIConnectionError
from bridle.sdk.live import LiveSession, open_live, result_error
from bridle.sdk.messages import Message, ResultMessage
from bridle.sdk.options import Options
from bridle.sdk.permissions import PermissionMode

Prompts = AsyncIterable[Mapping[str, Any]]


async def query(
    *, prompt: str | Prompts, options: Options | None = None, transport: None = None
) -> AsyncGenerator[Message, None]:
    """Ask one thing, or a stream of things, and yield everything that is said until the last turn is done.

    Leaving the loop early ends the session and what it has started.

    Raises:
        ResultError: the last turn ended with an error; its result was yielded before.
        ProcessError: the session could not be begun.
    """
    _refuse_transport(transport)
    live = await open_live(options or Options())
    try:
        if isinstance(prompt, str):
            live.put(_user(prompt))
            live.end_input()
        else:
            live.spawn(_stream(live, prompt, close=True))
        async for message in live.messages():
            yield message
        if live.last_result is not None and live.last_result["is_error"]:
            raise result_error(live.last_result)
    finally:
        await live.close()


class Client:
    """A conversation that goes on: prompts may come at any time, also while a turn runs."""

    def __init__(self, options: Options | None = None, transport: None = None) -> None:
        _refuse_transport(transport)
        self.options = options or Options()
        self._live: LiveSession | None = None

    async def connect(self, prompt: str | Prompts | None = None) -> None:
        """Begin the session, with a first prompt or a stream of them.

        Raises:
            ProcessError: it cannot be begun like this.
        """
        self._live = live = await open_live(self.options)
        if isinstance(prompt, str):
            live.put(_user(prompt))
        elif prompt is not None:
            live.spawn(_stream(live, prompt, close=False))

    async def query(self, prompt: str | Prompts, session_id: str = "default") -> None:
        """Send a prompt, or several; what is said comes from `receive_messages` or `receive_response`."""
        live = self._session()
        if isinstance(prompt, str):
            live.put({**_user(prompt), "session_id": session_id})
        else:
            async for message in prompt:
                live.put(message)

    async def receive_messages(self) -> AsyncIterator[Message]:
        """Everything that is said, until the session is over."""
        async for message in self._session().messages():
            yield message

    async def receive_response(self) -> AsyncIterator[Message]:
        """What is said up to the end of the turn, its result included."""
        async for message in self.receive_messages():
            yield message
            if isinstance(message, ResultMessage):
                return

    async def interrupt(self) -> None:
        """End the turn that runs; the conversation can go on."""
        await self._session().request("interrupt")

    async def set_permission_mode(self, mode: PermissionMode) -> None:
        await self._session().request("set_permission_mode", mode=mode)

    async def set_model(self, model: str | None = None) -> None:
        """Let another model answer from the next request on; None is the one of the beginning."""
        await self._session().request("set_model", model=model)

    async def rewind_files(self, user_message_id: str, *, dry_run: bool = False) -> dict[str, Any]:
        """Put files back as they were at a prompt; needs `enable_file_checkpointing`.

        Raises:
            ClaudeSDKError: it is not turned on, or nothing is known about that prompt.
        """
        return await self._session().request("rewind_files", user_message_id=user_message_id, dry_run=dry_run)

    async def reconnect_mcp_server(self, server_name: str) -> None:
        live = self._session()
        if server_name not in live.servers.names:
            await live.request("mcp_reconnect", serverName=server_name)

    async def toggle_mcp_server(self, server_name: str, enabled: bool) -> None:
        live = self._session()
        if server_name in live.servers.names:
            live.servers.toggle(server_name, enabled=enabled)
        else:
            await live.request("mcp_toggle", serverName=server_name, enabled=enabled)

    async def stop_task(self, task_id: str) -> None:
        """End a background job."""
        await self._session().request("stop_task", task_id=task_id)

    async def get_mcp_status(self) -> dict[str, Any]:
        live = self._session()
        status = await live.request("mcp_status")
        return {**status, "mcpServers": [*status.get("mcpServers", ()), *live.servers.statuses()]}

    async def get_context_usage(self) -> dict[str, Any]:
        return await self._session().request("get_context_usage")

    async def get_server_info(self) -> dict[str, Any] | None:
        """What the session said about itself when it began."""
        return self._session().info

    async def disconnect(self) -> None:
        """End the session and everything that it has started; harmless when there is none."""
        live, self._live = self._live, None
        if live is not None:
            await live.close()

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.disconnect()

    def _session(self) -> LiveSession:
        if self._live is None:
            raise CLIConnectionError("Not connected. Call connect() first.")
        return self._live


async def _stream(live: LiveSession, prompts: Prompts, *, close: bool) -> None:
    async for message in prompts:
        live.put(message)
        # Whoever produces prompts without ever waiting must not keep the session from running.
        await asyncio.sleep(0)
    if close:
        live.end_input()


def _user(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None}


def _refuse_transport(transport: object) -> None:
    if transport is not None:
        raise CLIConnectionError("There is nothing to transport inside a process: leave transport out.")
