"""Opens the features of a session."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridle.engine.feature import Feature, Features
from bridle.extensions.index import ExtensionFiles
from bridle.features.context import FeatureContext
from bridle.features.registry import open_features
from bridle.features.skills.feature import SESSION_SKILLS
from bridle.session import choices, model_choices
from bridle.session.base import SessionBase
from bridle.types.event import Noticed

if TYPE_CHECKING:
    from bridle.engine.mcp_servers import LazyServers
    from bridle.features.agents.registry import AgentServers
    from bridle.features.teams.membership import Membership
    from bridle.session.parts.packages import Packages
    from bridle.types.agent import AgentDefinition
    from bridle.types.tool import Tool


class OfferedTools:
    """The tools of a session, for features that are opened before these are known."""

    def __init__(self) -> None:
        self.names: Sequence[str] = ()

    def __call__(self, tool: str) -> bool:
        return tool in self.names


def session_features(
    base: SessionBase,
    files: ExtensionFiles,
    servers: "LazyServers | None",
    offers: OfferedTools,
    packages: "Packages | None",
) -> Features:
    """The features of a session; nothing of them runs yet."""
    setup = base.setup
    options, env, approved = setup.options, setup.env, setup.config.approved_content
    context = FeatureContext(
        session=base.session,
        workspace=base.workspace,
        project=setup.cwd,
        storage=base.storage,
        env=env,
        inherited=setup.inherited,
        options=options,
        runtime=base.runtime,
        extension_files=files,
        earlier=base.earlier,
        defers_tools=lambda: choices.choose_deferral(options, env, base.session.state.rules).when == "always",
        wake=base.wake,
        tell=lambda text: base.channel.emit(Noticed(text)),
        warn=base.warn,
        trusted=setup.trusted,
        interactive=options.interactive,
        attended=options.is_attended,
        wants_editor=options.ide,
        lasting=options.lasts,
        closed=choices.is_closed(options, env),
        sandbox=base.sandbox,
        config=setup.config,
        facts=base.facts,
        leader=None if setup.member is None else _leader(setup.member),
        plugins=base.plugins,
        listener=base.connection.listener,
        hooks=base.hooks,
        servers=servers,
        window=base.window,
        offers=offers,
        may_choose_model=lambda name: model_choices.may_choose(name, setup),
        agent=setup.agent,
        member=setup.member,
        answers=base.host.answers,
        resolve_model=lambda name, parent: model_choices.resolve_model(name, parent, setup),
        may_choose_for_agent=lambda name, parent: model_choices.may_choose_beside(name, setup, parent),
        is_approved=lambda file: approved is None or approved.covers_file(file),
        skill_text=lambda name: _skill_text(base, name),
        open_agent_servers=lambda definition, _: _agent_servers(base, definition),
        plugin_language_servers=base.plugins.language_servers,
        plugin_monitors=base.plugins.monitors,
        own_settings=_own_settings(base, packages),
        agent_texts={} if setup.lock is None else setup.lock.group("builtin-agents"),
    )
    return open_features(context, _from_outside(base, packages, context))


def _own_settings(base: SessionBase, packages: "Packages | None") -> Mapping[str, Mapping[str, Any]]:
    rows = () if packages is None else packages.settings()
    if not rows:
        return {}
    from bridle.config.feature_settings import checked

    counting, problems = checked(base.setup.config.raw, rows)
    for problem in problems:
        base.warn(problem)
    return counting


def _from_outside(
    base: SessionBase, packages: "Packages | None", context: FeatureContext
) -> Sequence[Feature]:
    """The features of approved packages and of the program around the session."""
    openers = (*(() if packages is None else packages.features()), *base.host.features)
    if not openers:
        return ()
    from bridle.session.parts.package_features import open_guarded

    return open_guarded(openers, context)


def _leader(member: "Membership") -> tuple[str, str]:
    """The run that a teammate works for, and its name in it."""
    return member.launch.leader, member.launch.definition.name


async def _skill_text(base: SessionBase, name: str) -> str | None:
    skills = base.runtime().features.find(SESSION_SKILLS)
    return None if skills is None else await skills.text_for(name)


async def _agent_servers(base: SessionBase, definition: "AgentDefinition") -> "AgentServers | None":
    if not definition.mcp_servers:
        return None
    from bridle.session.parts.agent_servers import open_agent_servers

    return await open_agent_servers(base, definition)


def with_features(
    brought: "Callable[[], Sequence[Tool]] | None", features: Features
) -> "Callable[[], Sequence[Tool]] | None":
    """What was brought, and the tools of features; the same object until something changes."""
    if not features.at("tools"):
        return brought
    if brought is None:
        return features.tools
    known: list[tuple[Sequence[Tool], Sequence[Tool], Sequence[Tool]]] = []

    def offered() -> "Sequence[Tool]":
        first, second = brought(), features.tools()
        if not known or known[0][0] is not first or known[0][1] is not second:
            known[:] = [(first, second, (*first, *second))]
        return known[0][2]

    return offered
