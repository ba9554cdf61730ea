"""Views in which something is chosen and done: a model, a look, a way back, a text."""

from datetime import datetime

from bridle.commands.context import CommandContext
from bridle.commands.display import complete
from bridle.commands.exports import answers, conversation_text
from bridle.commands.history import rewind_points
from bridle.commands.models import model_choices
from bridle.extensions.themes import CUSTOM
from bridle.frontends.tui.screens.base import OpenScreen, ScreenContext, fixed
from bridle.frontends.tui.screens.choices.help import help_view
from bridle.frontends.tui.screens.choices.model import ModelView, effort_view
from bridle.frontends.tui.screens.choices.output_style import StyleRow, styles_view
from bridle.frontends.tui.screens.choices.theme import ThemeView
from bridle.frontends.tui.screens.conversation.export import copy_view, export_view
from bridle.frontends.tui.screens.conversation.rewind import RewindPoint, RewindView
from bridle.types.errors import SessionError
from bridle.types.services.checkpoints import Rewound
from bridle.version import __version__

_MOST_MEASURED = 20
"""Prompts for which it is found out what going back would change in files."""


async def open_model(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """The models to choose from."""
    choices = model_choices(context)
    current = next((each.value for each in choices if each.model == context.session.state.model), "")
    effort = context.runtime.asking.effort
    view = ModelView(choices, current=current, effort=effort, do=screen.do)
    return fixed(view, tell=view.tell)


async def open_effort(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """How much the model thinks."""
    del screen
    levels = context.runtime.facts(context.session.state.model).efforts
    return fixed(effort_view(levels, current=context.runtime.asking.effort))


async def open_theme(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """The colors."""
    settings = context.settings.config().settings
    own = [name for name in complete(context) if name.startswith(CUSTOM)]
    syntax = not settings.syntax_highlighting_disabled
    view = ThemeView(settings.theme or "auto", preview=screen.preview_theme, custom=own, syntax=syntax)
    return fixed(view)


async def open_styles(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """The output styles."""
    del screen
    current = context.settings.config().settings.output_style or "default"
    return fixed(
        styles_view([StyleRow(name=name) for name in context.runtime.sources.styles()], current=current)
    )


async def open_rewind(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """Prompts to go back to."""
    points = list(reversed(rewind_points(context)))
    checkpoints = context.runtime.records.checkpoints
    changes: dict[str, Rewound | None] = {point.uuid: None for point in points}
    for point in points[-_MOST_MEASURED:] if checkpoints is not None else ():
        try:
            changes[point.uuid] = await checkpoints.rewind(point.uuid, dry_run=True) if checkpoints else None
        except SessionError:
            continue  # Nothing was kept for this prompt, which the view tells.
    rows = [RewindPoint(uuid=each.uuid, text=each.text, time=_seconds(each.timestamp)) for each in points]
    return fixed(RewindView(rows, now=screen.clock(), changes=changes, do=screen.do))


async def open_copy(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """Answers to copy."""
    del screen
    return fixed(copy_view(answers(context.session)))


async def open_export(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """The conversation as a file."""
    del screen
    name = f"conversation-{context.session.id[:8]}.txt"
    return fixed(export_view(conversation_text(context.session), file=name))


async def open_help(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """Commands and keys."""
    commands = context.commands.all()
    view = help_view(commands, screen.keymap, version=__version__, keys_file=screen.keys_file, do=screen.do)
    return fixed(view)


def _seconds(moment: str) -> float | None:
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return None
