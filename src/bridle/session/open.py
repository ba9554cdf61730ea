"""Opens a session: the one way for print mode, the terminal, programs, teammates and background jobs."""

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from bridle.config.options import SessionOptions
from bridle.engine.model_facts import window_in_use
from bridle.engine.server import Inbox, Server
from bridle.features.background.feature import patience
from bridle.host.programs import PROGRAMS
from bridle.session import choices, model_choices
from bridle.session.assembly import Parts, brief_at, close_parts, command_sources, make_runtime, open_parts
from bridle.session.base import CurrentRuntime, SessionBase
from bridle.session.commands import SessionCommands
from bridle.session.conversation import close_conversation, open_conversation, recall_files, storage_of
from bridle.session.host import Begun, Connection, Host
from bridle.session.parts.hooks import fire_session_start, has_hooks, lazy_hooks
from bridle.session.parts.permissions import open_sandbox
from bridle.session.parts.plugins import open_plugins
from bridle.session.prepare import set_up
from bridle.session.settings import SessionSettings
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.channel import Channel
from bridle.types.variables import is_on
from bridle.types.workspace import Workspace

_ALONE = Host()


@asynccontextmanager
async def open_session(
    options: SessionOptions | Begun, channel: Channel | Connection, *, host: Host = _ALONE
) -> "AsyncGenerator[LiveSession]":
    """Begin or continue a conversation, ready for prompts; everything is closed at the end.

    A host whose channel must know the settings and the conversation calls `begin_session` first and gives
    what that returns.

    Raises:
        SessionError: there is no such conversation, or it cannot be opened.
        BridleError: the options cannot be used.
    """
    begun = options if isinstance(options, Begun) else begin_session(options, host)
    connection = channel if isinstance(channel, Connection) else Connection(channel=channel)
    live: LiveSession | None = None
    try:
        live = await _assemble(begun.setup, begun.session, connection, begun.host)
        await live.begin()
        yield live
    finally:
        if live is None:
            begun.session.close()
        else:
            await live.close()


def begin_session(options: SessionOptions, host: Host = _ALONE) -> Begun:
    """Read the settings and begin or continue the conversation.

    Raises:
        SessionError: there is no such conversation, or it cannot be opened.
        BridleError: the options cannot be used.
    """
    env = os.environ if host.env is None else host.env
    setup = host.setup or set_up(options, env, cwd=host.cwd)
    session = open_conversation(setup, warn=host.tell, follow=host.follow)
    return Begun(setup=setup, session=session, host=host)


class LiveSession:
    """A session that can be talked to; made by `open_session`, which also closes it."""

    def __init__(
        self, base: SessionBase, parts: Parts, commands: SessionCommands, server: Server, inbox: Inbox
    ) -> None:
        self.setup = base.setup
        self.session = base.session
        self.inbox = inbox
        """Prompts are put here; closing it ends the session after the last."""
        self.server = server
        """Runs the prompts, and holds the runtime as it is now."""
        self.settings = SessionSettings(
            base.setup,
            base.session,
            server,
            base.hooks,
            warn=base.warn,
            plugin_hooks=base.plugins.hook_tables,
        )
        self.commands = commands
        self._base = base
        self._parts = parts
        commands.attend(server, self.settings, inbox)

    async def serve(self, *, wait_for_tasks: float | None = None) -> None:
        """Run every prompt until the inbox is closed, then wait for background jobs, as long as is usual."""
        seconds = patience(self.setup.env) if wait_for_tasks is None else wait_for_tasks
        await self.server.serve(wait_for_tasks=seconds, say_waiting=self._base.host.tell)

    async def begin(self) -> None:
        """Let in what comes from outside, go to the work tree, and tell hooks.

        Raises:
            UsageError: there can be no such work tree, or something is not as in the lock.
        """
        base, parts = self._base, self._parts
        for feature in parts.features.at("open"):
            await feature.open()
        if self.setup.options.locked and self.setup.lock is not None:
            from bridle.session.lock.locked import refuse_changes

            refuse_changes(self, self.setup.lock)
        await self._let_scripts_in()
        if parts.packages is not None:
            parts.packages.listen(base.hooks)
        base.plugins.follow(base.hooks)
        if self.setup.options.worktree is not None or self.session.worktree is not None:
            await self._go_to_worktree()
        if base.host.greets and has_hooks(base.hooks, self.setup):
            await fire_session_start(base.hooks.open(), self.setup, self.session)

    def plugins(self) -> Sequence[Mapping[str, Any]]:
        """The plugins of the session, as hosts get them."""
        return self._base.plugins.listing()

    async def close(self) -> None:
        """End everything that the session has started."""
        await close_parts(self._base, self._parts)
        if self._base.workspace.worktree is not None:
            from bridle.features.worktrees.start import leave_worktree

            await leave_worktree(self.server.runtime, self.session)
        close_conversation(self.session, self.setup)

    async def _let_scripts_in(self) -> None:
        """Scripts beside the session may use its MCP servers, where a variable asks for that."""
        servers = self._parts.servers
        if servers is not None and is_on(self.setup.env, "ENABLE_EXPERIMENTAL_MCP_CLI"):
            from bridle.session.parts.mcp_endpoint import automate

            await automate(self.session, self._base.runtime, servers)

    async def _go_to_worktree(self) -> None:
        """Move to the work tree that the options ask for, or in which the conversation was left."""
        from bridle.features.worktrees.start import enter_worktree

        if has_hooks(self._base.hooks, self.setup):
            self._base.hooks.open()
        await enter_worktree(self.server.runtime, self.session, self.setup.options.worktree, self._base.warn)
        there = msgspec.structs.replace(self.setup, cwd=self._base.workspace.cwd)
        self.server.change(briefing=await brief_at(self._base, self._parts, there))


async def _assemble(setup: Setup, session: Session, connection: Connection, host: Host) -> LiveSession:
    inbox, current = Inbox(), CurrentRuntime()
    base = await _lay_base(setup, session, connection, host, inbox=inbox, current=current)
    parts = await open_parts(base)
    commands = SessionCommands(base, command_sources(parts))
    runtime = await make_runtime(base, parts, commands, inbox)
    server = Server(session, runtime, inbox, on_work=connection.work, on_rest=connection.rest)
    current.server = server
    return LiveSession(base, parts, commands, server, inbox)


async def _lay_base(
    setup: Setup,
    session: Session,
    connection: Connection,
    host: Host,
    *,
    inbox: Inbox,
    current: CurrentRuntime,
) -> SessionBase:
    options, config = setup.options, setup.config
    channel, member = connection.channel, setup.member
    if member is not None:
        channel = member.join(session, channel, inbox.put)  # Its leader shares it.
    storage = storage_of(setup, session)
    roots = choices.choose_roots(options, config, setup.cwd, trusted=setup.trusted)
    workspace = Workspace(setup.cwd, extra_roots=roots)
    PROGRAMS.watch(workspace)
    recall_files(session, workspace)
    facts = model_choices.facts_of(options, config, setup.env)
    plugins = await open_plugins(setup, warn=host.warn)
    return SessionBase(
        setup=setup,
        session=session,
        host=host,
        connection=connection,
        channel=channel,
        workspace=workspace,
        hooks=lazy_hooks(setup, session, current, wake=inbox.put, plugins=plugins, warn=host.warn),
        sandbox=await open_sandbox(setup, workspace, channel, host.warn),
        plugins=plugins,
        storage=storage,
        roots=roots,
        facts=facts,
        window=window_in_use(facts, session),
        wake=inbox.put,
        runtime=current,
    )
