"""Commands about what may run: rules, plan mode, the sandbox."""

from typing import Literal

from bridle.commands.context import CommandContext
from bridle.commands.queries.rules import folder_rows, recent_denials, rule_rows
from bridle.commands.settings import save
from bridle.engine.permissions.grants import set_mode
from bridle.permissions.auto.grants import mode_notice
from bridle.permissions.rules import parse, write
from bridle.permissions.updates import PERSISTENT, changed_rules
from bridle.types.command import Asks, CommandResult, Says, Shows
from bridle.types.errors import UsageError
from bridle.types.event import Noticed
from bridle.types.permission import Effect, Mode, PermissionUpdate, Rule, RuleValue

Destination = Literal["userSettings", "projectSettings", "localSettings", "session"]

_SCOPES: dict[str, Destination] = {
    "user": "userSettings",
    "project": "projectSettings",
    "local": "localSettings",
    "session": "session",
}


async def permissions(arguments: str, context: CommandContext) -> CommandResult:
    """Show rules, or change one: `allow Bash(git *) local`, `remove Bash(git *)`."""
    words = arguments.split()
    if not words:
        return Shows(view="permissions", text=_rules(context))
    action, rest = words[0], words[1:]
    scope = _SCOPES.get(rest[-1]) if len(rest) > 1 else None
    text = " ".join(rest[:-1] if scope is not None else rest)
    if not text or action not in ("allow", "ask", "deny", "remove"):
        raise UsageError("Use /permissions allow|ask|deny|remove <rule> [user|project|local|session].")
    if action == "remove":
        await remove_rule(text, context)
        return Says(f"Removed {text}.")
    where = scope or "localSettings"
    await add_rule(text, Effect(action), where, context)
    return Says(f"{action.capitalize()} {text} ({where}).")


async def add_rule(text: str, effect: Effect, where: Destination, context: CommandContext) -> Rule:
    """Let a rule count from now on, and keep it where that is meant.

    Raises:
        UsageError: it is no rule.
        ConfigError: the file does not parse.
    """
    try:
        rule = parse(text, effect, where)
    except ValueError as error:
        raise UsageError(str(error)) from error
    await _apply(_update("addRules", rule, where), context)
    return rule


async def remove_rule(text: str, context: CommandContext, *, effect: Effect | None = None) -> int:
    """Remove a rule wherever possible; how often it was there.

    Raises:
        UsageError: there is no such rule, or none that can be changed here.
    """
    hits = [
        rule
        for rule in context.session.state.rules
        if write(rule) == text and (effect is None or rule.effect is effect)
    ]
    if not hits:
        raise UsageError(f"Unknown rule {text}. /permissions lists the rules.")
    places: tuple[Destination, ...] = ("userSettings", "projectSettings", "localSettings", "session")
    done = 0
    for rule in hits:
        for where in places:
            if rule.source == where or (where == "session" and rule.source == "cliArg"):
                await _apply(_update("removeRules", rule, where), context)
                context.session.swap(
                    rules=tuple(each for each in context.session.state.rules if each != rule)
                )
                done += 1
    if not done:
        raise UsageError(f"{text} is set in {hits[0].source} and cannot be removed here.")
    return done


async def choose_mode(mode: Mode, context: CommandContext) -> None:
    """Switch the permission mode.

    Raises:
        UsageError: it was not made available when the session began.
    """
    state = context.session.state
    if mode not in (*context.runtime.gate.modes, state.mode):
        raise UsageError(f"Mode {mode} is not available. Modes: {', '.join(context.runtime.gate.modes)}.")
    if (notice := mode_notice(state.mode, mode, state.rules)) is not None:
        context.runtime.channel.emit(Noticed(notice, "warning"))
    set_mode(context.session, context.runtime, mode)


async def plan(arguments: str, context: CommandContext) -> CommandResult:
    await choose_mode("plan", context)
    if arguments:
        return Asks(content=arguments, shown=f"/plan {arguments}")
    return Says("Plan mode is on: nothing changes until you approve a plan.")


async def sandbox(arguments: str, context: CommandContext) -> CommandResult:
    wanted = arguments.strip().lower()
    if wanted in ("on", "off"):
        path = await save("sandbox.enabled", wanted == "on", context, scope="local")
        return Says(f"The sandbox will be {wanted} at the next start ({path}).")
    if wanted:
        raise UsageError("Use /sandbox, /sandbox on or /sandbox off.")
    settings = context.settings.config().settings.sandbox
    boundary = context.runtime.gate.sandbox
    lines = [f"The sandbox is {'on' if boundary is not None else 'off'} in this session."]
    if settings is not None and settings.network is not None:
        lines.append(f"Allowed domains: {', '.join(settings.network.allowed_domains or ()) or 'none'}.")
    if boundary is not None:
        unasked = "without approval" if context.runtime.gate.sandbox_allows else "with approval"
        lines.append(f"Sandboxed commands run {unasked}.")
    return Shows(view="sandbox", text="\n".join(lines))


def _update(kind: Literal["addRules", "removeRules"], rule: Rule, where: Destination) -> PermissionUpdate:
    value: RuleValue = {"toolName": rule.tool}
    if rule.content is not None:
        value["ruleContent"] = rule.content
    return {"type": kind, "destination": where, "behavior": rule.effect.value, "rules": [value]}


async def _apply(update: PermissionUpdate, context: CommandContext) -> None:
    if update["destination"] in PERSISTENT:
        await context.runtime.gate.persist(update)
    session = context.session
    session.swap(rules=changed_rules(session.state.rules, update))


def _rules(context: CommandContext) -> str:
    lines = [f"Mode: {context.session.state.mode}"]
    for row in rule_rows(context.session.state.rules, tools=context.runtime.toolbox.names()):
        fault = f"  (no effect: {row.fault})" if row.fault else ""
        lines.append(f"{row.effect.value:<5} {row.text}  [{row.source}]{fault}")
    lines += [
        f"folder {row.path}{'' if row.source else '  (start)'}" for row in folder_rows(context.workspace)
    ]
    lines += [f"denied {denial.tool}" for denial in recent_denials(context.server.last)]
    return "\n".join(lines)
