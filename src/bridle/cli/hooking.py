"""The hooks of a session: who listens, what they run on, and what the user is told of them."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from bridle.cli.setup import Setup
from bridle.hooks.command import CommandHooks
from bridle.hooks.handler import Handler, Kind
from bridle.hooks.http import HttpLimits, http_handler
from bridle.hooks.judged import agent_handler
from bridle.hooks.mcp_tool import mcp_tool_handler
from bridle.hooks.output import cut_into
from bridle.hooks.payload import HookContext
from bridle.hooks.runner import HookRunner, Surroundings
from bridle.hooks.table import Listeners, from_layers
from bridle.host.paths import config_home
from bridle.host.reaper import Reaper
from bridle.permissions.matching import find_rule
from bridle.permissions.prepare import Asked, Standing, prepare
from bridle.permissions.rules import parse
from bridle.sessions.session import Session
from bridle.sessions.store import transcript_path
from bridle.types.channel import Channel
from bridle.types.event import Noticed
from bridle.types.hook import HookEvent, HookOutcome, SessionEnd
from bridle.types.permission import Access, Effect
from bridle.types.sandbox import Sandbox
from bridle.types.workspace import Workspace


class SessionHooks:
    """Runs the hooks of the settings files; closed with the session."""

    listens = True

    def __init__(
        self,
        setup: Setup,
        session: Session,
        *,
        workspace: Workspace,
        channel: Channel,
        storage: str,
        sandbox: Sandbox | None,
    ) -> None:
        self._setup = setup
        self._session = session
        self._workspace = workspace
        self._channel = channel
        self._reaper = Reaper()
        self._commands = CommandHooks(
            project_dir=setup.cwd,
            storage=storage,
            env=lambda: setup.env,
            reaper=self._reaper,
            sandbox=sandbox,
        )
        self._runner = HookRunner(
            Listeners(from_layers(setup.config.layers, trusted=setup.trusted)),
            Surroundings(
                handlers=self._handlers(),
                context=self._context,
                cut=cut_into(os.path.join(storage, "hooks")),
                covers=self._covers,
            ),
        )

    async def fire(self, event: HookEvent) -> HookOutcome:
        outcome = await self._runner.fire(event)
        for text in outcome.system_messages:
            self._channel.emit(Noticed(text))
        for text in outcome.problems:
            self._channel.emit(Noticed(text, "warning"))
        return outcome

    async def say_goodbye(self) -> None:
        """Tell hooks that the session ends."""
        await self.fire(SessionEnd(reason="other"))

    async def close(self) -> None:
        await self._commands.close()
        await asyncio.to_thread(self._reaper.close)

    def _handlers(self) -> Mapping[Kind, Handler]:
        setup = self._setup
        limits = HttpLimits.of(setup.config.layers, trusted=setup.trusted)
        return {
            "command": self._commands.run,
            "http": http_handler(env=setup.env, limits=lambda: limits),
            "agent": agent_handler(None),
            "mcp_tool": mcp_tool_handler(None),
        }

    def _context(self) -> HookContext:
        setup, session = self._setup, self._session
        return HookContext(
            session_id=session.id,
            transcript_path=transcript_path(session.id, setup.cwd, setup.env),
            cwd=self._workspace.cwd,
            permission_mode=session.state.mode,
        )

    def _covers(self, rule: str, tool: str, input: Mapping[str, Any]) -> bool:
        """Whether the condition of a hook holds for a call; one that cannot be read keeps no hook back."""
        try:
            wanted = parse(rule, Effect.ASK)
        except ValueError:
            return True
        setup, workspace = self._setup, self._workspace
        path = input.get("file_path") or input.get("notebook_path") or input.get("path")
        asked = Asked(
            tool=tool,
            input=input,
            subject=str(input.get("command") or input.get("url") or path or ""),
            access=Access(reads=(workspace.resolve(path),)) if isinstance(path, str) else Access(),
        )
        standing = Standing(
            rules=(wanted,),
            cwd=workspace.cwd,
            start=workspace.start,
            roots=workspace.roots,
            home=setup.env.get("HOME") or os.path.expanduser("~"),
            config_home=config_home(setup.env),
        )
        return find_rule(prepare(asked, standing), Effect.ASK) is not None
