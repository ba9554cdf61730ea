"""Makes the place for what runs beside a conversation."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bridle.engine.feature import Features
from bridle.features.context import FeatureContext
from bridle.features.registry import open_features
from bridle.session import choices
from bridle.session.base import SessionBase
from bridle.types.event import Noticed

if TYPE_CHECKING:
    from bridle.engine.editors.session import SessionEditors
    from bridle.sessions.session import Session
    from bridle.types.channel import Channel
    from bridle.types.tool import Tool


def session_features(base: SessionBase) -> Features:
    """The features of a session; nothing of them runs yet."""
    setup = base.setup
    options, env = setup.options, setup.env
    return open_features(
        FeatureContext(
            session=base.session,
            workspace=base.workspace,
            project=setup.cwd,
            storage=base.storage,
            env=env,
            wake=base.wake,
            tell=lambda text: base.channel.emit(Noticed(text)),
            trusted=setup.trusted,
            lasting=options.lasts,
            closed=choices.is_closed(options, env),
            sandbox=base.sandbox,
            plugin_language_servers=base.plugins.language_servers,
            plugin_monitors=base.plugins.monitors,
        )
    )


def open_editors(base: SessionBase) -> "SessionEditors | None":
    """The place for an editor beside the session; None where there can be none."""
    options, env = base.setup.options, base.setup.env
    is_lasting = options.lasts
    if not (is_lasting or options.ide) or choices.is_closed(options, env):
        return None
    from bridle.session.parts.editors import session_editors

    return session_editors(base)


def beside_editor(channel: "Channel", editors: "SessionEditors | None") -> "Channel":
    """The channel that asks for permission, with the editor beside it."""
    if editors is None:
        return channel
    from bridle.engine.editors.channel import EditorChannel

    return EditorChannel(channel, editors)


def with_editor(
    brought: "Callable[[], Sequence[Tool]] | None", editors: "SessionEditors | None"
) -> "Callable[[], Sequence[Tool]] | None":
    """What was brought, and the tools of the editor; the same object until something changes."""
    if editors is None or brought is None:
        return brought if editors is None else editors.tools
    known: list[tuple[Sequence[Tool], Sequence[Tool], Sequence[Tool]]] = []

    def offered() -> "Sequence[Tool]":
        first, second = brought(), editors.tools()
        if not known or known[0][0] is not first or known[0][1] is not second:
            known[:] = [(first, second, (*first, *second))]
        return known[0][2]

    return offered


def editor_news(editors: "SessionEditors | None") -> "tuple[Callable[[Session], str | None], ...]":
    """What the editor has to tell conversations."""
    return () if editors is None else (editors.news,)
