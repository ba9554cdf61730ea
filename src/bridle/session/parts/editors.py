"""Makes the place for the editor beside a session."""

from bridle.config.state import global_config
from bridle.engine.editors.choice import Choose, wanted_by
from bridle.engine.editors.session import SessionEditors
from bridle.engine.editors.upkeep import Around
from bridle.session.base import SessionBase


def session_editors(base: SessionBase) -> SessionEditors:
    """The place for an editor; the one that the session belongs to is looked for in the background."""
    options, env = base.setup.options, base.setup.env
    editors = SessionEditors(
        Around(
            workspace=base.workspace,
            env=env,
            tell=base.warn,
            wants=_wanted(base),
            insists=options.ide,
            shows_changes=lambda: options.is_attended and global_config(env).diff_tool != "terminal",
        )
    )
    editors.begin()
    return editors


def _wanted(base: SessionBase) -> Choose | None:
    """At a terminal the editor that it belongs to, or that the user wants; elsewhere only by the flag."""
    options, env = base.setup.options, base.setup.env
    if not options.interactive and not options.ide:
        return None
    always = global_config(env).auto_connect_ide is True
    return wanted_by(env, flag=options.ide, always=always)
