"""Puts the parts of a session together: first its base, then the parts, then the runtime of its turns."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from bridle.config.state import installation_id
from bridle.context.briefing import SessionBriefing
from bridle.context.window import habits_from
from bridle.engine.attachments import attach_to_prompt
from bridle.engine.feature import Features
from bridle.engine.mcp_servers import LazyServers
from bridle.engine.null_parts import NO_SERVERS
from bridle.engine.permissions.notices import PermissionNotices
from bridle.engine.runtime import Asking, ContextSources, Gate, HostLink, Records, Runtime
from bridle.engine.server import Inbox
from bridle.engine.session_tools import again, fitted, news
from bridle.features.skills.feature import SESSION_SKILLS
from bridle.permissions.decision import decider
from bridle.session import choices, model_choices, permission_choices
from bridle.session.base import SessionBase
from bridle.session.commands import SessionCommands, Source
from bridle.session.conversation import checkpoints_of, transcript_of
from bridle.session.parts import tools
from bridle.session.parts.briefing import brief, permission_news
from bridle.session.parts.extensions import Extensions, chosen_style, extension_files, open_extensions
from bridle.session.parts.features import OfferedTools, session_features, with_features
from bridle.session.parts.mcp import open_servers, relayed
from bridle.session.parts.permissions import persist_in
from bridle.session.parts.provider import packages_of, session_provider, warm_up
from bridle.session.setup import Setup
from bridle.types.model import Provider
from bridle.types.tool import Toolbox

if TYPE_CHECKING:
    from bridle.context.summary import SummaryTexts
    from bridle.session.parts.packages import Packages
    from bridle.tools.deferred_toolbox import DeferredToolbox
    from bridle.transcripts.files.checkpoints import FileCheckpoints


class Parts(Struct, frozen=True, kw_only=True):
    """What a session is made of."""

    provider: Provider
    warming: asyncio.Task[None]
    """Connects ahead of the first request."""
    packages: "Packages | None"
    features: Features
    servers: LazyServers | None
    extensions: Extensions
    tools: Toolbox
    """All of them, whatever the window of the model."""
    deferring: "DeferredToolbox | None"
    """Tells some of them later."""
    toolbox: Toolbox
    """As the model that answers can take them."""
    permissions: PermissionNotices
    checkpoints: "FileCheckpoints | None"


async def open_parts(base: SessionBase) -> Parts:
    """Choose and open the parts that the engine works with.

    Raises:
        BridleError: an option asks for something that cannot be had.
    """
    setup, host = base.setup, base.host
    packages = packages_of(setup, base.warn)
    provider = host.provider or session_provider(setup, packages)
    provider = provider if host.around is None else host.around(provider)
    warming = asyncio.create_task(warm_up(provider, setup.model))
    files = extension_files(base)
    servers, offers = open_servers(base), OfferedTools()
    features = session_features(base, files, servers, offers, packages)
    brought = with_features(host.tools, features)
    deferring, offered = tools.offered(base, brought, packages, servers, features)
    offers.names = offered.names()
    extensions = open_extensions(base, files, features.find(SESSION_SKILLS))
    offered = features.toolbox(offered)
    return Parts(
        provider=features.provider(_held_to_lock(provider, setup)),
        warming=warming,
        packages=packages,
        features=features,
        servers=servers,
        extensions=extensions,
        tools=offered,
        deferring=deferring,
        toolbox=fitted(offered, base.window),
        permissions=permission_news(base),
        checkpoints=checkpoints_of(base),
    )


async def make_runtime(base: SessionBase, parts: Parts, commands: SessionCommands, inbox: Inbox) -> Runtime:
    """What turns work with.

    Raises:
        UsageError: an option cannot be used.
    """
    setup, session = base.setup, base.session
    options, config, env = setup.options, setup.config, setup.env
    extensions, servers = parts.extensions, parts.servers
    window = choices.compact_at(options, config)
    return Runtime(
        provider=parts.provider,
        channel=parts.features.channel(relayed(base.channel, servers)),
        workspace=base.workspace,
        toolbox=parts.toolbox,
        gate=_gate(base),
        records=Records(
            storage=base.storage,
            earlier=base.earlier(),
            transcript=transcript_of(setup, session),
            checkpoints=parts.checkpoints,
        ),
        host=HostLink(arrivals=inbox, leave=inbox.close, defers=base.host.defers),
        sources=ContextSources(
            attach=attach_to_prompt,
            news=news(parts.deferring, servers, parts.permissions.news),
            restore=again(parts.deferring, parts.toolbox),
            styles=extensions.style_names,
        ),
        briefing=await brief_at(base, parts, setup),
        facts=base.facts,
        asking=_asking(base),
        env=env,
        hooks=base.hooks,
        limits=choices.choose_limits(options, env),
        habits=habits_from(
            env,
            enabled=config.settings.auto_compact_enabled,
            window=window,
            collapses=config.settings.bridle_context_collapse is True,
            texts=_summary_texts(setup),
        ),
        servers=NO_SERVERS if servers is None else servers,
        features=parts.features,
        commands=commands,
    )


def _held_to_lock(provider: Provider, setup: Setup) -> Provider:
    if setup.lock is None:
        return provider
    from bridle.session.lock.locked import LockedProvider

    return LockedProvider(provider, setup.lock)


def _summary_texts(setup: Setup) -> "SummaryTexts | None":
    if setup.lock is None:
        return None
    from bridle.session.lock.locked import locked_summary

    return locked_summary(setup.lock)


def _gate(base: SessionBase) -> Gate:
    setup = base.setup
    options, config = setup.options, setup.config
    return Gate(
        decide=decider(config.settings.auto_mode),
        modes=permission_choices.choose_modes(options, config, setup.env),
        trusted=setup.trusted,
        sandbox=base.sandbox,
        sandbox_allows=permission_choices.is_unasked_inside(config),
        persist=persist_in(setup),
    )


async def brief_at(base: SessionBase, parts: Parts, place: Setup) -> SessionBriefing:
    """Write the briefing of the model for a folder."""
    style = chosen_style(parts.extensions, place.config.settings.output_style, warn=base.warn)
    return await brief(
        place,
        base.session,
        tools=parts.tools.names(),
        roots=base.roots,
        hooks=base.hooks,
        listings=(
            *parts.features.listings(parts.toolbox),
            parts.permissions.opening,
        ),
        style=style,
        facts=base.facts,
    )


def command_sources(parts: Parts) -> Sequence[Source]:
    """What brings slash commands besides bridle itself and MCP servers."""
    packages = parts.packages
    return (
        parts.features.commands,
        *(() if packages is None else (packages.commands,)),
    )


class _Closing(Protocol):
    async def close(self) -> None: ...


async def close_parts(base: SessionBase, parts: Parts) -> None:
    """Take everything down, what works for others last."""
    parts.warming.cancel()
    await asyncio.gather(parts.warming, return_exceptions=True)
    await parts.features.close()
    await base.hooks.fire_session_end("prompt_input_exit" if base.setup.options.interactive else "other")
    await base.hooks.close()
    await parts.features.release()
    await _close_each(parts.servers, base.plugins, base.sandbox)
    await _close_each(parts.provider, parts.checkpoints)


async def _close_each(*parts: _Closing | None) -> None:
    """One after the other, in this order."""
    for part in parts:
        if part is not None:
            await part.close()


def _asking(base: SessionBase) -> Asking:
    """Requests carry a name for the installation and the session, and nothing about the person."""
    setup = base.setup
    asking = model_choices.choose_asking(setup.options, setup.config, setup.env, model=setup.model)
    user = f"user_{installation_id(setup.env)}_session_{base.session.id}"
    return asking.for_user(user)
