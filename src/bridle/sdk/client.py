"""A conversation with a session in this process, and the short way to ask one thing."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Self

from bridle.sdk.errors import CLIConnectionError
from bridle.sdk.in_process import LiveSession, open_live, result_error
from bridle.sdk.messages import Message, ResultMessage
from bridle.sdk.options import Options
from bridle.sdk.permissions import PermissionMode

Prompts = AsyncIterable[Mapping[str, Any]]


async def query(
    *, prompt: str | Prompts, options: Options | None = None, transport: None = None
) -> AsyncGenerator[Message, None]:
    """Ask one thing, or a stream of things, and yield each message until the last turn is done.

    Leaving the loop early ends the session and every process that it has started.

    Args:
        prompt: a text, or an async iterable of messages such as
            `{"type": "user", "message": {"role": "user", "content": "…"}}`.
        options: how the session runs.
        transport: must be None; the session runs in this process.

    Yields:
        Every message of the session; the last one is a `ResultMessage`.

    Raises:
        ResultError: the last turn ended with an error; its result was yielded before.
        ProcessError: the session could not be started.
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
    """A conversation that stays open: send prompts at any time, also while a turn runs.

    Use it as an async context manager, or call `connect` and `disconnect`.

    Args:
        options: how the session runs.
        transport: must be None; the session runs in this process.
    """

    def __init__(self, options: Options | None = None, transport: None = None) -> None:
        _refuse_transport(transport)
        self.options = options or Options()
        """The options that the session was made with."""
        self._live: LiveSession | None = None

    async def connect(self, prompt: str | Prompts | None = None) -> None:
        """Start the session.

        Args:
            prompt: the first prompt, or a stream of prompts that is read in the background.

        Raises:
            ProcessError: the session cannot be started with these options.
        """
        self._live = live = await open_live(self.options)
        if isinstance(prompt, str):
            live.put(_user(prompt))
        elif prompt is not None:
            live.spawn(_stream(live, prompt, close=False))

    async def query(self, prompt: str | Prompts, session_id: str = "default") -> None:
        """Send a prompt, or several. Read the answer with `receive_response` or `receive_messages`.

        Args:
            prompt: a text, or an async iterable of messages.
            session_id: written into the prompt; the conversation stays the same.

        Raises:
            CLIConnectionError: the client is not connected.
        """
        live = self._session()
        if isinstance(prompt, str):
            live.put({**_user(prompt), "session_id": session_id})
        else:
            async for message in prompt:
                live.put(message)

    async def receive_messages(self) -> AsyncIterator[Message]:
        """Yield every message until the session ends."""
        async for message in self._session().messages():
            yield message

    async def receive_response(self) -> AsyncIterator[Message]:
        """Yield the messages of the current turn, up to and including its `ResultMessage`."""
        async for message in self.receive_messages():
            yield message
            if isinstance(message, ResultMessage):
                return

    async def interrupt(self) -> None:
        """Stop the running turn; the conversation stays usable."""
        await self._session().request("interrupt")

    async def set_permission_mode(self, mode: PermissionMode) -> None:
        """Change what happens to calls that no rule decides.

        Args:
            mode: the mode from the next call on.
        """
        await self._session().request("set_permission_mode", mode=mode)

    async def set_model(self, model: str | None = None) -> None:
        """Use another model from the next request on.

        Args:
            model: an alias or an id; None for the model that the session started with.
        """
        await self._session().request("set_model", model=model)

    async def rewind(self, user_message_id: str, *, force: bool = False) -> dict[str, Any]:
        """Put conversation and files back as they were at a prompt.

        Needs `Options.enable_file_checkpointing`.

        Args:
            user_message_id: the uuid of the prompt.
            force: overwrite files that other programs have changed since.

        Returns:
            The files that were changed, with counts of lines.

        Raises:
            ClaudeSDKError: checkpointing is off, the prompt is unknown, or others have changed files since;
                then nothing was changed.
        """
        return await self._session().request(
            "rewind_files", user_message_id=user_message_id, conversation=True, force=force
        )

    async def redo(self, *, force: bool = False) -> None:
        """Take the newest rewind back, until another prompt is sent.

        Args:
            force: overwrite files that other programs have changed since.

        Raises:
            ClaudeSDKError: there is none, or others have changed files since.
        """
        await self._session().request("redo", force=force)

    async def rewind_files(self, user_message_id: str, *, dry_run: bool = False) -> dict[str, Any]:
        """Restore files to how they were at a prompt; needs `Options.enable_file_checkpointing`.

        Args:
            user_message_id: the uuid of the prompt.
            dry_run: only say what would change.

        Returns:
            The files that were changed, with counts of lines.

        Raises:
            ClaudeSDKError: checkpointing is off, or the prompt is unknown.
        """
        return await self._session().request("rewind_files", user_message_id=user_message_id, dry_run=dry_run)

    async def reconnect_mcp_server(self, server_name: str) -> None:
        """Connect again to an MCP server that failed; tools of this program need no connection."""
        live = self._session()
        if server_name not in live.servers.names:
            await live.request("mcp_reconnect", serverName=server_name)

    async def toggle_mcp_server(self, server_name: str, enabled: bool) -> None:
        """Turn an MCP server on or off for this session.

        Args:
            server_name: its name in the configuration.
            enabled: whether its tools are offered.
        """
        live = self._session()
        if server_name in live.servers.names:
            live.servers.toggle(server_name, enabled=enabled)
        else:
            await live.request("mcp_toggle", serverName=server_name, enabled=enabled)

    async def stop_task(self, task_id: str) -> None:
        """Stop a background task.

        Args:
            task_id: the id from `TaskStartedMessage`.
        """
        await self._session().request("stop_task", task_id=task_id)

    async def get_mcp_status(self) -> dict[str, Any]:
        """The state and the tools of every MCP server, in the shape of `McpStatusResponse`."""
        live = self._session()
        status = await live.request("mcp_status")
        return {**status, "mcpServers": [*status.get("mcpServers", ()), *live.servers.statuses()]}

    async def get_context_usage(self) -> dict[str, Any]:
        """What fills the context window, in the shape of `ContextUsageResponse`."""
        return await self._session().request("get_context_usage")

    async def get_server_info(self) -> dict[str, Any] | None:
        """What the session reported at its start: commands, models, account and output styles."""
        return self._session().info

    async def disconnect(self) -> None:
        """End the session and everything that it has started; does nothing without a session."""
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
        # An iterator that never waits must not keep the session from running.
        await asyncio.sleep(0)
    if close:
        live.end_input()


def _user(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None}


def _refuse_transport(transport: object) -> None:
    if transport is not None:
        raise CLIConnectionError("An in-process session has no transport: leave transport out.")
