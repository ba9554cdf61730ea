"""Commands that tell how things stand: the window, the work tree, the installation, the session."""

from collections.abc import Sequence

from bridle.commands.context import CommandContext
from bridle.commands.queries.context_window import Breakdown, context_breakdown, memory_files, skill_items
from bridle.commands.queries.doctor import Check, DoctorContext, run_checks
from bridle.commands.queries.status import status_facts
from bridle.config.installation import this_installation
from bridle.features.skills.feature import SESSION_SKILLS
from bridle.host.git.diff import TreeDiff, tree_diff
from bridle.types.command import Command, CommandResult, Says, Shows
from bridle.types.errors import UsageError
from bridle.types.visible import visible_line
from bridle.version import __version__

_CELLS = 100
_ROW = 20
_MOST_ITEMS = 8
_MARKS = {
    "system_prompt": "▣",
    "system_tools": "▤",
    "mcp_tools": "▥",
    "memory_files": "▦",
    "skills": "▧",
    "messages": "■",
}
_FREE = "·"
_HEALTH = {"ok": "✓", "warning": "!", "fault": "✗"}
_LONGEST_PATCH = 100_000


async def context(arguments: str, context: CommandContext) -> CommandResult:
    """What fills the window; `all` names every item."""
    found = breakdown_of(context)
    return Shows(view="context", arguments=arguments, text=window_text(found, everything=arguments == "all"))


def breakdown_of(context: CommandContext) -> Breakdown:
    """What the next request of this session would carry."""
    skills = skill_items(context.commands, context.runtime.features.find(SESSION_SKILLS))
    return context_breakdown(
        context.session, context.runtime, memory=memory_files(context.runtime), skills=skills
    )


def window_text(found: Breakdown, *, everything: bool) -> str:
    """A picture of the window for people without a screen."""
    marks = "".join(
        _MARKS[category.id] * round(_CELLS * category.tokens / max(1, found.size))
        for category in found.categories
    )
    cells = marks[:_CELLS].ljust(_CELLS, _FREE)
    counted = "counted by the service" if found.counted else "estimated"
    lines = [
        f"{found.model}: {found.used:,} of {found.size:,} tokens ({found.percent} %, {counted})",
        *(cells[start : start + _ROW] for start in range(0, _CELLS, _ROW)),
    ]
    for category in found.categories:
        lines.append(f"{_MARKS[category.id]} {category.name}: {category.tokens:,}")
        shown = category.items if everything else category.items[:_MOST_ITEMS]
        if everything or category.id in ("mcp_tools", "memory_files", "messages"):
            lines += [
                f"    {item.name}: {item.tokens:,}{f' ({item.note})' if item.note else ''}" for item in shown
            ]
    lines.append(f"{_FREE} Free: {found.free:,}")
    when = f"at {found.compact_at:,} tokens" if found.automatic else "only with /compact"
    lines.append(f"Compacts {when}.")
    return "\n".join(lines)


async def diff(arguments: str, context: CommandContext) -> CommandResult:
    del arguments
    found = await tree_diff(context.workspace.cwd, context.env)
    return Shows(view="diff", text=_diff_text(found))


async def doctor(arguments: str, context: CommandContext) -> CommandResult:
    del arguments
    return Shows(view="doctor", text=checks_text(await run_checks(scene_of(context))))


def scene_of(context: CommandContext) -> DoctorContext:
    """What the doctor looks at in this session."""
    return DoctorContext(
        config=context.settings.config(),
        env=context.env,
        cwd=context.workspace.start,
        trusted=context.trusted,
        model=context.session.state.model,
        servers=context.runtime.servers.status(),
        hook_faults=context.hook_faults,
    )


def checks_text(checks: Sequence[Check]) -> str:
    """The checks as lines, grouped, with what to do about each fault."""
    lines: list[str] = []
    for group in dict.fromkeys(check.group for check in checks):
        lines.append(group)
        for check in checks:
            if check.group == group:
                lines.append(f"  {_HEALTH[check.health]} {check.text}")
                lines += (f"      {check.remedy}",) if check.remedy else ()
    return "\n".join(map(visible_line, lines))


async def show_help(arguments: str, context: CommandContext) -> CommandResult:
    wanted = arguments.strip().removeprefix("/")
    if not wanted:
        shown = [command for command in context.commands.all() if not command.hidden]
        return Shows(view="help", text="\n".join(_help_line(command) for command in shown))
    command = context.commands.find(wanted)
    if command is None:
        near = context.commands.nearest(wanted)
        hint = f": did you mean /{near}?" if near else ". Try /help."
        raise UsageError(f"Unknown command /{wanted}{hint}")
    names = "".join(f", /{alias}" for alias in command.aliases)
    origin = "" if command.source == "builtin" else f"\nFrom: {command.origin or command.source}"
    return Says(
        f"/{command.name}{names} {command.argument_hint}".rstrip() + f"\n{command.description}{origin}"
    )


async def status(arguments: str, context: CommandContext) -> CommandResult:
    del arguments
    text = "\n".join(f"{fact.name}: {fact.value}" for fact in status_facts(context))
    return Shows(view="status", text=text)


async def privacy(arguments: str, context: CommandContext) -> CommandResult:
    """What leaves this machine, and how to stop it."""
    del arguments
    from bridle.commands.queries.sent_data import privacy_lines

    return Says("\n".join(privacy_lines(context.settings.config(), context.env, context.session.state.model)))


async def upgrade(arguments: str, context: CommandContext) -> CommandResult:
    """How this installation is updated."""
    del arguments, context
    installed = this_installation(__version__)
    command = installed.command()
    how = "bridle update" if command is not None else "the way you installed it"
    return Says(f"bridle {installed.version}, {installed.summary}. Update with: {how}")


def _diff_text(found: TreeDiff | None) -> str:
    if found is None:
        return "Not a git repository, or git did not respond."
    lines = [f"new file: {name}" for name in found.untracked]
    if found.patch:
        lines.append(found.patch[:_LONGEST_PATCH].rstrip())
    if found.cut or len(found.patch) > _LONGEST_PATCH:
        lines.append("… truncated: git diff shows everything")
    return "\n".join(lines) or "No changes since the last commit."


def _help_line(command: Command) -> str:
    source = "" if command.source == "builtin" else f" ({command.source})"
    return f"/{command.name} {command.argument_hint}".rstrip() + f"  {command.description}{source}"
