"""`bridle debug prompt`: what the first request of a session costs, part by part."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bridle.cli.args import parse
from bridle.cli.options import session_options
from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.context.briefing import SessionBriefing
from bridle.engine.loop import run_turn
from bridle.host.stdio import complain
from bridle.providers.connect import home_provider
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.session.host import Host
from bridle.session.open import open_session
from bridle.session.prepare import set_up
from bridle.types.agent import AGENT_TOOL
from bridle.types.errors import UsageError
from bridle.types.event import Event
from bridle.types.hooks.outcome import NoHooks
from bridle.types.model import ModelEvent, ModelRequest
from bridle.types.origin import TYPED
from bridle.types.question import Answer, Question, Refused
from bridle.types.turn import Prompt

_MODES = ("print", "terminal", "agent")
_ALONE = ("--no-session-persistence", "--strict-mcp-config")
_NO_SERVERS = ("--mcp-config", '{"mcpServers":{}}')
_PROMPT = "hello"
_BYTES_PER_TOKEN = 4
_NAME_WIDTH = 52


class Part(Struct, frozen=True, kw_only=True):
    """A part of a request."""

    group: str
    name: str
    bytes: int
    share: float


class Cost(Struct, frozen=True, kw_only=True):
    """A request taken apart."""

    mode: str
    model: str
    bytes: int
    parts: tuple[Part, ...]


def run_prompt(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print the table and return the exit code.

    Raises:
        UsageError: there is no such mode or agent, or a flag is wrong.
        ConfigError: the settings cannot be used.
    """
    cost = asyncio.run(first_request(given.text("mode") or "print", given.all("flags"), env))
    if given.on("json"):
        return say(f"{msgspec.json.format(msgspec.json.encode(cost), indent=2).decode()}\n")
    return say(_table(cost))


def print_system_prompt(flags: Sequence[str], env: Mapping[str, str]) -> int:
    """Print the system prompt of a session with these flags, and return the exit code.

    Raises:
        UsageError: a flag is wrong.
        ConfigError: the settings cannot be used.
    """
    kind = "print" if "-p" in flags or "--print" in flags else "terminal"
    body, _ = asyncio.run(_request_of(kind, flags, env))
    blocks: list[dict[str, Any]] = msgspec.json.decode(body).get("system") or []
    return say("\n\n".join(str(block.get("text", "")) for block in blocks) + "\n")


async def first_request(mode: str, flags: Sequence[str], env: Mapping[str, str]) -> Cost:
    """What the first request of a session costs that is begun with these flags.

    Raises:
        UsageError: there is no such mode or agent.
    """
    body, files = await _request_of(mode, flags, env)
    return taken_apart(body, mode=mode, files=files)


async def _request_of(
    mode: str, flags: Sequence[str], env: Mapping[str, str]
) -> tuple[bytes, Mapping[str, str]]:
    """The body of the first request, and the memory files in it."""
    kind, _, agent = mode.partition(":")
    if kind not in _MODES or (agent and kind != "agent"):
        raise UsageError(f"--mode: {mode!r} must be print, terminal, agent or agent:TYPE")
    servers = () if "--mcp-config" in flags else _NO_SERVERS
    options = session_options(parse([*_ALONE, *servers, *flags]), interactive=kind == "terminal")
    setup = set_up(options, env)
    for problem in setup.problems:
        complain(problem)
    provider = _Capture(setup.env, _script(kind, agent))
    host = Host(setup=setup, provider=provider, warn=complain, greets=False)
    async with open_session(options, _Silence(), host=host) as live:
        features = live.server.runtime.features.without("side_work")
        runtime = live.server.runtime.replaced(hooks=NoHooks(), features=features)
        await run_turn(live.session, Prompt(content=_PROMPT, origin=TYPED), runtime)
        briefing = runtime.briefing
    wanted = 1 if kind == "agent" else 0
    if len(provider.bodies) <= wanted:
        raise UsageError(f"--mode: unknown agent {agent or 'general-purpose'!r}")
    if kind == "agent" and len(provider.bodies) < 3:
        raise UsageError(f"--mode: unknown agent {agent!r}")
    files = {file.path: file.text for file in briefing.files} if isinstance(briefing, SessionBriefing) else {}
    return provider.bodies[wanted], files


def taken_apart(body: bytes, *, mode: str, files: Mapping[str, str]) -> Cost:
    """The parts of a request of the Messages API, in the order in which they are sent."""
    request: dict[str, Any] = msgspec.json.decode(body)
    sizes = [*_system(request), *_tools(request), *_messages(request, files)]
    sizes.append(
        ("other", "model, limits, marks and brackets", len(body) - sum(size for _, _, size in sizes))
    )
    parts = tuple(
        Part(group=group, name=name, bytes=size, share=round(size / len(body), 4))
        for group, name, size in sizes
    )
    return Cost(mode=mode, model=str(request.get("model", "")), bytes=len(body), parts=parts)


def _script(kind: str, agent: str) -> ScriptedProvider:
    """Answers that lead to the request that is wanted."""
    if kind != "agent":
        return ScriptedProvider([says("Done.")])
    begin = calls(
        AGENT_TOOL,
        description="Look",
        prompt=_PROMPT,
        subagent_type=agent or "general-purpose",
        run_in_background=False,
    )
    return ScriptedProvider([says(begin), says("Done."), says("Done.")])


class _Capture:
    """Writes every request as it would be sent, and answers from a script."""

    def __init__(self, env: Mapping[str, str], script: ScriptedProvider) -> None:
        self._wire = home_provider(env)
        self._script = script
        self.bodies: list[bytes] = []

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.bodies.append(self._wire.body_of(request))
        return self._script.stream(request)

    async def close(self) -> None:
        await self._wire.close()


class _Silence:
    """Shows nothing and allows nothing."""

    def emit(self, event: Event) -> None:
        """What happens is of no interest here."""

    async def ask(self, question: Question) -> Answer:
        del question
        return Refused(message="Nothing runs here.", by_person=False)


def _system(request: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    for block in request.get("system", ()):
        for section in _sections(block["text"]):
            yield "system prompt", _title(section), _size(section)


def _tools(request: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    for tool in request.get("tools", ()):
        yield "tools", tool["name"], len(msgspec.json.encode(tool))


def _messages(request: Mapping[str, Any], files: Mapping[str, str]) -> Iterator[tuple[str, str, int]]:
    for message in request.get("messages", ()):
        content: Any = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            text = block.get("text", "")
            if text == _PROMPT:
                yield "prompt", "what the user typed", _size(text)
                continue
            held = {path: file for path, file in files.items() if file.strip() and file.strip() in text}
            for path, file in held.items():
                yield "memory files", path, _size(file.strip())
                text = text.replace(file.strip(), "", 1)
            yield "reminders", "around memory files" if held else _title(text), _size(text)


def _sections(text: str) -> list[str]:
    """The text cut before each heading of the first level."""
    parts = text.split("\n# ")
    return [part if index == 0 else f"# {part}" for index, part in enumerate(parts) if part.strip()]


def _title(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("<system-reminder")), "")
    return first.strip("# ")[:_NAME_WIDTH] or "(nothing)"


def _size(text: str) -> int:
    return len(msgspec.json.encode(text)) - 2


def _table(cost: Cost) -> str:
    tokens = cost.bytes // _BYTES_PER_TOKEN
    lines = [f"First request ({cost.mode}, {cost.model}): {cost.bytes:,} bytes, about {tokens:,} tokens"]
    for group in dict.fromkeys(part.group for part in cost.parts):
        own = [part for part in cost.parts if part.group == group]
        total = sum(part.bytes for part in own)
        count = f" ({len(own)})" if len(own) > 1 else ""
        lines.append(f"\n{_row(group.capitalize() + count, total, total / cost.bytes)}")
        if group != "other" and len(own) > 1:
            ordered = sorted(own, key=lambda part: -part.bytes)
            lines += (_row(f"  {part.name}", part.bytes, part.share) for part in ordered)
    return "\n".join(lines) + "\n"


def _row(name: str, size: int, share: float) -> str:
    return f"{name[: _NAME_WIDTH + 2]:<{_NAME_WIDTH + 2}}{size:>9,}{share:>7.1%}"
