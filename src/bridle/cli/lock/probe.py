"""A small session with a script for a model: its requests show what a lock can keep, and what it cannot."""

import os
import re
import tempfile
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from bridle.cli.args import parse
from bridle.cli.options import session_options
from bridle.context.briefing import SessionBriefing
from bridle.context.environment import Environment
from bridle.engine.loop import run_turn
from bridle.engine.runtime import Runtime
from bridle.providers.connect import home_provider
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.session.host import Host
from bridle.session.lock.file import DIGEST_ALONE, Part, PromptLock, part_of
from bridle.session.open import LiveSession, open_session
from bridle.session.prepare import set_up
from bridle.tools.catalog import CATALOG
from bridle.types.agent import AGENT_TOOL
from bridle.types.event import Event
from bridle.types.model import ModelEvent, ModelRequest
from bridle.types.origin import TYPED
from bridle.types.question import Answer, Question, Refused
from bridle.types.turn import Prompt

_MODEL = "claude-probe"
_READ = next(each.name for each in CATALOG if each.traits.kind == "read")
_PLACE = "/probe"
_NEW_EACH_TIME = re.compile(r"\b(?=\w*\d)[0-9a-f]{6,}\b|\b\d+(?:\.\d+)?(?=\s?(?:ms|s)\b)")
_FLAGS = ("-p", "--no-session-persistence", "--setting-sources", "", "--model", _MODEL, "--strict-mcp-config")
_ENVIRONMENT = Environment(
    cwd=_PLACE,
    repository=False,
    platform="any",
    os_version="any",
    shell="sh",
    date="2000-01-01",
    model=_MODEL,
)


async def probe(env: Mapping[str, str], lock: PromptLock | None) -> dict[str, Part]:
    """What a fixed conversation sends, part by part: with the texts of a lock, or those of this version."""
    with tempfile.TemporaryDirectory(prefix="bridle-lock-") as folder:
        place = os.path.realpath(folder)
        bodies = await _bodies(place, env, lock)
    found: dict[str, Any] = {}
    for number, (name, body) in enumerate(bodies):
        request = msgspec.json.decode(body.replace(place.encode(), _PLACE.encode()), type=dict[str, Any])
        request.pop("metadata", None)
        before = bodies[number - 1][1] if number else b""
        known = len(msgspec.json.decode(before, type=dict[str, Any])["messages"]) if name == "next" else 0
        for index, message in enumerate(request.pop("messages")):
            if index >= known:
                found[f"request/{number}-{name}/message {index} ({message['role']})"] = _stripped(message)
        for key in ("system", "tools"):
            found[f"request/{number}-{name}/{key}"] = request.pop(key, None)
        found[f"request/{number}-{name}/fields"] = request
    # Texts stand elsewhere in the lock already: here their digests are enough.
    return {name: Part(digest=part_of(value).digest, value=DIGEST_ALONE) for name, value in found.items()}


async def _bodies(place: str, env: Mapping[str, str], lock: PromptLock | None) -> list[tuple[str, bytes]]:
    home, project = f"{place}/home", f"{place}/project"
    for path in (home, project):
        os.mkdir(path)
    with open(f"{project}/a.txt", "w", encoding="utf-8") as file:
        file.write("one\ntwo\n")
    alone = {
        "PATH": env.get("PATH", os.defpath),
        "HOME": home,
        "CLAUDE_CONFIG_DIR": f"{home}/.claude",
        "TMPDIR": place,
        "BRIDLE_STARTUP_FILES": "0",
        "ANTHROPIC_API_KEY": "sk-probe",
    }
    options = session_options(parse([*_FLAGS]))
    setup = msgspec.structs.replace(set_up(options, alone, cwd=project), lock=lock)
    provider = _Capture(alone)
    host = Host(setup=setup, provider=provider, warn=lambda _: None, greets=False, env=alone, cwd=project)
    bodies: list[tuple[str, bytes]] = []
    async with open_session(options, _Permits(), host=host) as live:
        runtime = _fixed(live)
        await run_turn(live.session, Prompt(content="look at a.txt", origin=TYPED), runtime)
    names = ("first", "next", "agent", "next")
    bodies += zip(names, provider.bodies, strict=False)
    return bodies


def _fixed(live: LiveSession) -> Runtime:
    """Turns that know nothing of this machine."""
    runtime = live.server.runtime
    briefing = runtime.briefing
    features = runtime.features.without("side_work")
    if isinstance(briefing, SessionBriefing):
        return runtime.replaced(briefing=briefing.rephrased(environment=_ENVIRONMENT), features=features)
    return runtime.replaced(features=features)


class _Permits:
    """Lets the two calls of the script through."""

    def emit(self, event: Event) -> None:
        """What happens is of no interest here."""

    async def ask(self, question: Question) -> Answer:
        del question
        return Refused(message="Nothing more runs here.", by_person=False)


class _Capture:
    """Writes every request as it would be sent, and answers from a script."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._wire = home_provider(env)
        self._script = ScriptedProvider(
            [
                says("Looking.", calls(_READ, file_path="a.txt")),
                says(
                    calls(
                        AGENT_TOOL,
                        description="Look",
                        prompt="look again",
                        subagent_type="general-purpose",
                        run_in_background=False,
                    )
                ),
                says("Seen."),
                says("Done."),
            ]
        )
        self.bodies: list[bytes] = []

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.bodies.append(self._wire.body_of(request))
        return self._script.stream(request)

    async def close(self) -> None:
        await self._wire.close()


def _stripped(message: Mapping[str, Any]) -> Any:
    """A message without the marks of the cache, and without ids and times that are new each time."""
    content = message["content"]
    if not isinstance(content, str):
        content = [
            {k: v for k, v in block.items() if k not in ("cache_control", "id", "tool_use_id")}
            for block in content
        ]
    return _NEW_EACH_TIME.sub("#", msgspec.json.encode(content).decode())
