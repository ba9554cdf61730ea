"""bridle behind the real Agent SDK: a project, a home and a model service of its own for each test."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    Message,
    ResultMessage,
    TextBlock,
    __version__,
    query,
)

from tests.fakes.forked import command
from tests.fakes.messages_server import MessagesServer, Script
from tests.fakes.program import Program

_OLD = __version__.startswith("0.1.")
_PASSED_ON = (
    "HOME", "CLAUDE_CONFIG_DIR", "NO_PROXY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ENABLE_TOOL_SEARCH",
)  # fmt: skip


class World:
    """What a program written for the SDK needs to know to use bridle: the path, and nothing else."""

    def __init__(self, folder: Path, server: MessagesServer) -> None:
        self.program = Program(folder, server.url)
        self.project = self.program.project
        self.server = server

    def options(self, **chosen: Any) -> ClaudeAgentOptions:
        env = {name: self.program.env[name] for name in _PASSED_ON} | chosen.pop("env", {})
        all_chosen: dict[str, Any] = {"cli_path": command(), "cwd": self.project, "env": env, **chosen}
        return ClaudeAgentOptions(**all_chosen)

    @asynccontextmanager
    async def client(self, **chosen: Any) -> AsyncGenerator[ClaudeSDKClient]:
        async with ClaudeSDKClient(self.options(**chosen)) as client:
            yield client

    async def ask(self, prompt: Any, **chosen: Any) -> list[Message]:
        """Everything that a query yields."""
        given = prompt
        if _OLD and "can_use_tool" in chosen:
            # There a permission callback needs a stream of prompts, and a hook that keeps the input open.
            given = _stream(prompt)
            chosen.setdefault("hooks", {"PreToolUse": [HookMatcher(None, [_say_nothing])]})
        return [message async for message in query(prompt=given, options=self.options(**chosen))]

    def sent(self, request: int = -1) -> Any:
        """The body of a request that the model service got."""
        return self.server.requests[request].body

    def said(self, request: int = -1) -> list[str]:
        """What the user said in a request, without reminders."""
        return [text for text in texts_of(self.sent(request), "user") if not text.startswith("<system-")]

    def results(self, request: int = -1) -> list[Any]:
        """The tool results in the last message of a request."""
        content: Any = self.sent(request)["messages"][-1]["content"]
        return [block for block in content if block["type"] == "tool_result"]


@asynccontextmanager
async def world(folder: Path, *steps: Any) -> AsyncGenerator[World]:
    script: Script = steps
    async with MessagesServer(script) as server:
        yield World(folder, server)


async def _say_nothing(input: Any, tool_use_id: str | None, context: Any) -> Any:
    return {}


async def _stream(prompt: str) -> AsyncGenerator[dict[str, Any]]:
    yield {
        "type": "user",
        "message": {"role": "user", "content": prompt},
        "parent_tool_use_id": None,
        "session_id": "",
    }


def call(name: str, id: str = "t1", /, **input: Any) -> dict[str, Any]:
    """A tool call of the model."""
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def bash(command: str, id: str = "t1") -> dict[str, Any]:
    return call("Bash", id, command=command)


def result_of(messages: list[Message]) -> ResultMessage:
    """The one result."""
    (result,) = [message for message in messages if isinstance(message, ResultMessage)]
    return result


def ended_by(result: ResultMessage, reason: str) -> bool:
    """Whether a turn ended for this reason; older releases do not tell."""
    return getattr(result, "terminal_reason", reason) == reason


def text_of(messages: list[Message]) -> str:
    """What the model said."""
    blocks = [
        block for message in messages if isinstance(message, AssistantMessage) for block in message.content
    ]
    return "".join(block.text for block in blocks if isinstance(block, TextBlock))


def texts_of(body: Any, role: str) -> list[str]:
    said: list[str] = []
    for message in body["messages"]:
        content = message["content"]
        blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == role:
            said += [block["text"] for block in blocks if block["type"] == "text"]
    return said
