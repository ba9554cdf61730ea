"""What comes from outside: settings, trust, transcripts, messages of servers, requests, paths of files.

Each target takes bytes, makes one input of them and checks what must always hold. Hypothesis and Atheris both
drive them; a target that raises has found something.
"""

import asyncio
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import h11

from bridle.config.load import environment, load
from bridle.config.state import is_trusted
from bridle.frontends.remote.errors import RequestRefused
from bridle.frontends.remote.http import HttpConnection, Timeouts
from bridle.host.jsonrpc import Limits, Message
from bridle.mcp.catalog import read_tools
from bridle.mcp.peer import make_peer
from bridle.mcp.transports.base import Receiver
from bridle.permissions.files import protected_names
from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, SessionPosition, prepare
from bridle.transcripts.reader import load as load_transcript
from bridle.types.errors import BridleError, McpError
from bridle.types.permission import Access, Allow, Mode
from fuzz.playground import Playground

_Each = TypeVar("_Each")
_STEPS = (
    "..", ".", "", "a.txt", "src", "link-out", "dirlink", "secret.txt", ".git", "config", "hooks",
    ".claude", ".GIT", "settings.json", ".env", "homelink", "nowhere", "~", "$HOME", "\u202e", "a\x00b",
    "x" * 300, ".mcp.json", ".bashrc", "through", "plain.txt", "é", "pointer", "bare", "proc", "self",
    "cwd", "root",
)  # fmt: skip
_KEYS = (
    "permissions", "allow", "deny", "ask", "additionalDirectories", "defaultMode", "hooks", "env", "model",
    "sandbox", "apiKeyHelper", "statusLine", "enabledPlugins", "enableAllProjectMcpServers",
    "enabledMcpjsonServers", "PreToolUse", "fallbackModel", "bridleModels", "awsAuthRefresh", "outputStyle",
    "language", "extraKnownMarketplaces", "agent", "PATH", "LD_PRELOAD", "ANTHROPIC_BASE_URL",
    "HTTPS_PROXY", "AWS_REGION", "NODE_OPTIONS", "GIT_SSH_COMMAND", "X",
)  # fmt: skip
_VALUES = (
    True, False, None, 0, -1, 1.5, "", "Bash", "Bash(*)", "bypassPermissions", "acceptEdits", "/",
    "touch pwned", [], {}, ["Bash"], ["/"], "sglang/x", "http://127.0.0.1:9", 10**30, "\ud800", [[]],
    {"": {}}, "\x1b]52;c;x\x07",
)  # fmt: skip
_MOVES_CODE = frozenset({
    "PATH", "LD_PRELOAD", "ANTHROPIC_BASE_URL", "HTTPS_PROXY", "AWS_REGION", "NODE_OPTIONS",
    "GIT_SSH_COMMAND",
})  # fmt: skip
_EXECUTES = (
    "hooks",
    "apiKeyHelper",
    "statusLine",
    "awsAuthRefresh",
    "bridleModels",
    "enableAllProjectMcpServers",
)
_ROWS: Sequence[dict[str, Any]] = (
    {"type": "user", "uuid": "a", "message": {"role": "user", "content": "hi"}, "parentUuid": None},
    {"type": "assistant", "uuid": "b", "parentUuid": "a", "message": {"role": "assistant", "content": []}},
    {"type": "summary", "summary": "x", "leafUuid": "b"},
    {"type": "bridle-leaf", "leafUuid": "a"},
    {"type": "cost-state", "cost": {}},
)


_TOOL_NAMES = (*_STEPS, "Bash", "mcp__x__y", 1)
_HEADERS = (
    b"Host: 127.0.0.1", b"Host: evil", b"Content-Length: 5", b"Content-Length: -1", b"X: \xff\xfe", b": x",
    b"X", b"Content-Length: 99999999999", b"Transfer-Encoding: chunked", b"Origin: null",
    b"Expect: 100-continue", b"Content-Length: \xc2\xb2",
)  # fmt: skip
_LINES = (b"GET / HTTP/1.1", b"POST /api/sessions HTTP/1.1", b"GET /\xff HTTP/1.1", b"A B HTTP/9", b"\0")


class Dice:
    """Choices taken from bytes, one after the other; when those are used up, the first choice."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def below(self, most: int) -> int:
        self._at += 1
        return self._data[self._at - 1] % most if self._at <= len(self._data) else 0

    def pick(self, choices: Sequence[_Each]) -> _Each:
        return choices[self.below(len(choices))]

    def left(self) -> bytes:
        return self._data[self._at :]

    def value(self, depth: int = 0) -> Any:
        """A JSON value with known keys in odd places."""
        if depth < 4 and (kind := self.below(4)) < 2:
            count = 1 + self.below(4)
            if kind == 0:
                return {self.pick(_KEYS): self.value(depth + 1) for _ in range(count)}
            return [self.value(depth + 1) for _ in range(count)]
        return self.pick(_VALUES)


def files(data: bytes, playground: Playground) -> None:
    """S30, S31, S33: a file tool reads and edits inside only, wherever links lead, and no protected name."""
    dice = Dice(data)
    tool = dice.pick(("Read", "Write", "Edit", "Glob", "Grep", "NotebookEdit"))
    mode: Mode = dice.pick(("default", "acceptEdits", "plan", "dontAsk"))
    start = dice.pick((playground.project, playground.root, "/", playground.home))
    path = "/".join((start, *(dice.pick(_STEPS) for _ in range(1 + dice.below(6)))))
    reads = tool in ("Read", "Glob", "Grep")
    access = Access(reads=(path,)) if reads else Access(writes=(path,))
    asked = CallRequest(tool=tool, input={"file_path": path}, subject=path, read_only=reads, access=access)
    standing = SessionPosition(
        mode=mode, cwd=playground.project, start=playground.project, roots=(playground.project,),
        home=playground.home, config_home=f"{playground.home}/.claude",
    )  # fmt: skip
    if not isinstance(decide(prepare(asked, standing)), Allow):
        return
    real = os.path.realpath(path)
    assert real == playground.project or real.startswith(f"{playground.project}/"), path
    if not reads:
        *folders, name = real.removeprefix(playground.project).casefold().split("/")
        assert mode == "acceptEdits", path
        assert protected_names.FOLDERS.isdisjoint((*folders, name)) and name not in protected_names.FILES, (
            path
        )


def settings(data: bytes, folder: Path) -> None:
    """S40, S41: whatever a folder's settings hold, nothing executes or widens rights before trust."""
    dice = Dice(data)
    project = folder / "project"
    (project / ".claude").mkdir(parents=True, exist_ok=True)
    written = {dice.pick(_KEYS): dice.value() for _ in range(1 + dice.below(5))}
    text = json.dumps(written).encode("utf-8", "replace") if dice.below(4) else dice.left()
    (project / ".claude" / dice.pick(("settings.json", "settings.local.json"))).write_bytes(text)
    env = {"HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / "config")}
    try:
        config = load(cwd=str(project), env=env, flag=None, setting_sources=None, trusted=False)
    except BridleError:
        return
    permissions = config.raw.get("permissions") or {}
    assert not permissions.get("allow") and not permissions.get("additionalDirectories"), text
    assert permissions.get("defaultMode") not in ("bypassPermissions", "acceptEdits", "auto"), text
    assert not any(config.raw.get(key) for key in _EXECUTES), text
    assert _MOVES_CODE.isdisjoint(environment(config, {}, trusted=False)), text


def trust(data: bytes, folder: Path) -> None:
    """S42: no state file but one that names this very folder makes it trusted."""
    dice = Dice(data)
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    named = dice.pick(("/", str(folder), f"{project}/", str(project).upper(), "", "project"))
    value = dice.pick(_VALUES)
    state = dice.pick(
        ({"projects": {named: {"hasTrustDialogAccepted": value}}}, {"projects": dice.value()}, dice.value())
    )
    text = json.dumps(state).encode("utf-8", "replace") if dice.below(3) else dice.left()
    (folder / ".claude.json").write_bytes(text)
    env = {"HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder)}
    assert not is_trusted(env, str(project)), text


def transcripts(data: bytes, folder: Path) -> None:
    """R2: every file loads, and a line that cannot be used costs only itself."""
    dice = Dice(data)
    lines: list[bytes] = []
    for _ in range(dice.below(8)):
        row: dict[str, Any] = dict(dice.pick(_ROWS))
        if dice.below(3) == 0:
            row[dice.pick(("type", "uuid", "parentUuid", "message", "isSidechain", "x"))] = dice.value()
        line = json.dumps(row).encode("utf-8", "replace")
        lines.append(line[: dice.below(len(line))] if dice.below(6) == 5 else line)
    lines.append(dice.left())
    path = folder / "session.jsonl"
    path.write_bytes(b"\n".join(lines))
    loaded = load_transcript(str(path))
    assert loaded.broken_lines <= len(b"\n".join(lines).split(b"\n"))
    assert all(entry in loaded.chain for entry in loaded.entries)


def messages(data: bytes) -> None:
    """S44, R12: no message of a server raises, and every tool it lists has a plain name of its own."""
    dice = Dice(data)
    asyncio.run(_talk([_message(dice) for _ in range(1 + dice.below(6))]))
    listed = [
        {
            "name": dice.pick(_TOOL_NAMES),
            "inputSchema": dice.value(),
            "description": dice.value(),
        }
        for _ in range(dice.below(4))
    ]
    tools, _ = read_tools(dice.pick(_STEPS), listed, checks_headers=bool(dice.below(2)))
    names = [tool.full_name for tool in tools]
    assert len(names) == len(set(names)) and all(name.startswith("mcp__") for name in names), names
    assert all(name.isascii() and name.replace("-", "_").isidentifier() for name in names), names


def requests(data: bytes) -> None:
    """S60: bytes that reach the server of a shared session are a request, declined, or nothing."""
    asyncio.run(_visit(_request(Dice(data))))


def _message(dice: Dice) -> Any:
    if dice.below(3) == 0:
        return dice.value()
    message: dict[str, Any] = {
        "jsonrpc": "2.0",
        "method": dice.pick(("ping", "notifications/progress", "x", 1, None)),
    }
    message["id"] = dice.pick((1, 2, "1", None, -1, 10**30, True))
    message[dice.pick(("params", "result", "error"))] = dice.value()
    if dice.below(2):
        del message["method"]
    return message


class _Silent:
    """A connection that takes everything and says nothing."""

    streams = False

    async def open(self, receiver: Receiver) -> None: ...

    async def send(self, message: Message, headers: Mapping[str, str] | None = None) -> None: ...

    async def close(self) -> None: ...

    def agree(self, revision: str) -> None: ...

    def begin(self) -> None: ...


async def _talk(received: Sequence[Any]) -> None:
    heard: list[object] = []

    def notified(method: str, params: Mapping[str, Any]) -> None:
        heard.append((method, params))

    peer = make_peer("s", _Silent(), answers={}, notified=notified, noted=heard.append)
    asking = asyncio.create_task(peer.request("tools/list", limits=Limits(5.0)))
    await asyncio.sleep(0)
    for message in received:
        peer.take(message)
    await peer.close()
    try:
        assert isinstance(await asking, dict)
    except McpError:
        pass  # That is how it says that there is no usable answer.


def _request(dice: Dice) -> bytes:
    line, headers = dice.pick(_LINES), [dice.pick(_HEADERS) for _ in range(dice.below(6))]
    return b"\r\n".join((line, *headers, b"", dice.left()))


async def _visit(sent: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visit = HttpConnection(reader, writer, Timeouts(request=5.0))
        try:
            head = await visit.head()
            if head is not None:
                request = await visit.whole(head)
                assert request.method and request.path is not None
        except RequestRefused as refusal:
            assert 400 <= refusal.status < 600
        except OSError:
            pass  # The other end went away.
        except h11.LocalProtocolError:
            pass  # It wanted to be told to continue after it had ended.
        finally:
            writer.close()
            served.set_result(None)

    served: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        writer.write(sent)
        writer.write_eof()
        await served
        await reader.read(1 << 16)
        writer.close()


TARGETS: Mapping[str, Callable[[bytes, Playground], None]] = {
    "files": files,
    "settings": lambda data, _: _in_a_folder(settings, data),
    "trust": lambda data, _: _in_a_folder(trust, data),
    "transcripts": lambda data, _: _in_a_folder(transcripts, data),
    "messages": lambda data, _: messages(data),
    "requests": lambda data, _: requests(data),
}


def try_once(name: str, data: bytes, playground: Playground) -> None:
    """Give one input to one target."""
    TARGETS[name](data, playground)


def _in_a_folder(target: Callable[[bytes, Path], None], data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        target(data, Path(folder))
