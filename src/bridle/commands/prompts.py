"""Commands that stand for a prompt of ours."""

import os.path

from bridle.commands.context import CommandContext
from bridle.commands.delegation import delegate, report_text
from bridle.features.agents.feature import AGENTS
from bridle.host.paths import config_home
from bridle.types.command import Asks, CommandResult, Says
from bridle.types.errors import UsageError
from bridle.types.services.delegation import Delegation
from bridle.types.services.schedules import SCHEDULES

_TEXTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "texts")
_LONGEST_DESCRIPTION = 60


async def init(arguments: str, context: CommandContext) -> CommandResult:
    del context
    return asks("init", arguments)


async def security_review(arguments: str, context: CommandContext) -> CommandResult:
    del context
    return asks("security-review", arguments)


async def status_line(arguments: str, context: CommandContext) -> CommandResult:
    wish = arguments or "the folder, git branch, model and context usage"
    text = _text("status_line").format(config=config_home(context.env), wish=wish)
    return Asks(content=text, shown=f"/statusline {arguments}".strip())


async def onboarding(arguments: str, context: CommandContext) -> CommandResult:
    del context
    return asks("team-onboarding", arguments)


async def auto_mode_setup(arguments: str, context: CommandContext) -> CommandResult:
    del context
    return asks("auto-mode-setup", arguments)


async def subtask(arguments: str, context: CommandContext) -> CommandResult:
    """Hand a task to a copy of the conversation that works on the side."""
    if not arguments:
        raise UsageError("Give a task: /subtask <task>.")
    if context.runtime.features.find(AGENTS) is None:
        return Asks(content=arguments, shown=f"/subtask {arguments}")
    delegation = Delegation(description=arguments[:_LONGEST_DESCRIPTION], prompt=arguments, background=True)
    return Says(report_text(await delegate(delegation, context)))


async def schedule(arguments: str, context: CommandContext) -> CommandResult:
    """Schedule a prompt on this machine, or list those that are scheduled."""
    if arguments:
        return asks("schedule", arguments)
    schedules = context.runtime.features.find(SCHEDULES)
    found = () if schedules is None else schedules.all()
    if not found:
        return Says(
            "Nothing is scheduled. Say what and when: /schedule run the tests every morning at 9. "
            "Scheduled prompts run in a session of this folder that stays open."
        )
    return Says("\n".join(f"{each.id}: {each.words}: {each.prompt[:200]}" for each in found))


async def watch_pull_request(arguments: str, context: CommandContext) -> CommandResult:
    del context
    return asks("autofix-pr", arguments)


async def deep_review(arguments: str, context: CommandContext) -> CommandResult:
    del context
    return asks("ultrareview", arguments)


def asks(name: str, arguments: str) -> Asks:
    """The prompt of a command, with what the user adds."""
    text = _text(name.replace("-", "_"))
    wish = f"\n\nThe user adds: {arguments}" if arguments else ""
    return Asks(content=text + wish, shown=f"/{name} {arguments}".strip())


def _text(name: str) -> str:
    with open(os.path.join(_TEXTS, f"{name}.md"), encoding="utf-8") as file:
        return file.read().strip()
