"""An editor: the official client of the Agent Client Protocol, connected to a real `bridle acp`."""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp import connect_to_agent, schema, text_block
from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError

from tests.fakes.program import Program

Choose = Callable[[schema.ToolCallUpdate, list[schema.PermissionOption]], str | None]
LIMIT = 60


def first(_: schema.ToolCallUpdate, options: list[schema.PermissionOption]) -> str:
    """Agrees to everything, once."""
    return options[0].option_id


class Editor:
    """Keeps what it is told, answers as it is told to, and has files and terminals of its own."""

    def __init__(self, choose: Choose = first) -> None:
        self.choose = choose
        self.updates: list[Any] = []
        self.asked: list[tuple[schema.ToolCallUpdate, list[schema.PermissionOption]]] = []
        self.buffers: dict[str, str] = {}
        """Texts that are not saved."""
        self.saved: dict[str, str] = {}
        self.saves_to_disk = True
        self.commands: list[list[str]] = []
        self.terminals: dict[str, tuple[asyncio.subprocess.Process, bytearray, asyncio.Task[None]]] = {}
        self.forms: list[Any] = []
        self.changed = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        del conn

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        del session_id
        self.updates.append(update)
        self.changed.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **_: Any
    ) -> schema.RequestPermissionResponse:
        del session_id
        self.asked.append((tool_call, options))
        self.changed.set()
        chosen = self.choose(tool_call, options)
        if chosen is None:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> schema.ReadTextFileResponse:
        del session_id
        if (text := self.buffers.get(path)) is None:
            if not Path(path).exists():
                raise RequestError.resource_not_found(path)
            text = Path(path).read_text()
        return schema.ReadTextFileResponse(content=text)

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> None:
        del session_id
        self.saved[path] = content
        self.buffers.pop(path, None)
        if self.saves_to_disk:
            Path(path).write_text(content)

    async def create_terminal(
        self, session_id: str, command: str, args: Any = None, env: Any = None, cwd: Any = None, **_: Any
    ) -> schema.CreateTerminalResponse:
        del session_id
        self.commands.append([command, *(args or [])])
        variables = {each.name: each.value for each in env or []}
        process = await asyncio.create_subprocess_exec(
            command, *(args or []), cwd=cwd, env=variables, stdout=PIPE, stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        name, output = f"terminal-{len(self.commands)}", bytearray()
        self.terminals[name] = process, output, asyncio.create_task(self._read(process, output))
        return schema.CreateTerminalResponse(terminal_id=name)

    async def terminal_output(
        self, session_id: str, terminal_id: str, **_: Any
    ) -> schema.TerminalOutputResponse:
        del session_id
        output = self.terminals[terminal_id][1]
        return schema.TerminalOutputResponse(output=output.decode(), truncated=False)

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **_: Any
    ) -> schema.WaitForTerminalExitResponse:
        del session_id
        terminal = self.terminals[terminal_id]
        code = await terminal[0].wait()
        await terminal[2]
        return schema.WaitForTerminalExitResponse(exit_code=code if code >= 0 else None)

    async def kill_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        del session_id
        os.killpg(self.terminals[terminal_id][0].pid, signal.SIGKILL)

    async def release_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        del session_id
        del self.terminals[terminal_id]

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        self.forms.append((message, mode))
        content = {"answer0": "Blue"}
        return schema.AcceptElicitationResponse(action="accept", content=content)

    async def complete_elicitation(self, elicitation_id: str, **_: Any) -> None:
        del elicitation_id

    async def ext_method(self, method: str, params: Any) -> Any:
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: Any) -> None:
        del method, params

    def of(self, kind: str) -> list[Any]:
        """The updates of one kind so far."""
        return [each for each in self.updates if each.session_update == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(each.content.text for each in self.of(kind))

    async def until(self, is_true: Callable[[], Any]) -> None:
        async with asyncio.timeout(LIMIT):
            while not is_true():
                self.changed.clear()
                await self.changed.wait()

    @staticmethod
    async def _read(process: asyncio.subprocess.Process, output: bytearray) -> None:
        assert process.stdout is not None
        while chunk := await process.stdout.read(65536):
            output += chunk


def _as_client(editor: Editor) -> Any:
    """The client is called by the names of parameters, which its type does not say."""
    return editor


@asynccontextmanager
async def editing(
    program: Program, editor: Editor, *argv: str, **abilities: Any
) -> AsyncGenerator[ClientSideConnection]:
    """`bridle acp` in an editor that has introduced itself."""
    process = await program.start("acp", *argv)
    assert process.stdin is not None and process.stdout is not None
    agent = connect_to_agent(_as_client(editor), process.stdin, process.stdout, use_unstable_protocol=True)
    try:
        async with asyncio.timeout(LIMIT):
            capabilities = schema.ClientCapabilities.model_validate(abilities)
            await agent.initialize(protocol_version=1, client_capabilities=capabilities)
            yield agent
    finally:
        await agent.close()
        process.stdin.close()
        try:
            async with asyncio.timeout(LIMIT):
                code = await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
    assert code == 0


def said(*words: str) -> list[Any]:
    return [text_block(word) for word in words]
