"""Chooses the tools of a session."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridle.engine.feature import Features
from bridle.engine.mcp_servers import LazyServers
from bridle.engine.session_tools import Offer, deferring, foreign, joined
from bridle.session import choices
from bridle.session.base import SessionBase
from bridle.types.tool import Tool, Toolbox

if TYPE_CHECKING:
    from bridle.session.parts.packages import Packages
    from bridle.tools.deferred_toolbox import DeferredToolbox


def offered(
    base: SessionBase,
    brought: Offer | None,
    packages: "Packages | None",
    servers: LazyServers | None,
    features: Features,
) -> tuple["DeferredToolbox | None", Toolbox]:
    """The tools of a session, and what tells some of them later where that is so."""
    setup, session = base.setup, base.session
    known = None
    if setup.lock is not None:
        from bridle.session.lock.locked import locked_tools

        known = locked_tools(setup.lock)
    own = choices.choose_tools(
        setup.options,
        setup.env,
        session.state.rules,
        languages=lambda: setup.trusted and bool(base.plugins.language_servers()),
        advised=lambda: session.state.advisor is not None,
        enabled=features.enabled_tools,
        known=known,
    )
    brought = None if brought is None else _without_taken(brought, own)
    added = () if packages is None else packages.tools(own.names())
    later = deferring(
        own,
        foreign(joined(brought, added), servers, session),
        deferral=choices.choose_deferral(setup.options, setup.env, session.state.rules),
        window=base.window,
        session=session,
        servers=servers,
    )
    return later, later or own


def _without_taken(brought: Offer, own: Toolbox) -> Offer:
    """What was brought, without tools whose name bridle uses; the same object until something changes."""
    known: list[tuple[Sequence[Tool], tuple[str, ...], Sequence[Tool]]] = []

    def offered() -> Sequence[Tool]:
        given, names = brought(), own.names()
        if not known or known[0][0] is not given or known[0][1] is not names:
            taken = any(tool.name in names for tool in given)
            kept = [tool for tool in given if tool.name not in names] if taken else given
            known[:] = [(given, names, kept)]
        return known[0][2]

    return offered
